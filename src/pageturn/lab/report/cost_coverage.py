"""Draws cost against coverage for every policy and budget, with the Pareto front."""

from collections.abc import Callable, Iterator

from pageturn.lab.bootstrap import Spread
from pageturn.lab.report.axes import Box, Frame, Labels, colour, mark
from pageturn.lab.report.groups import Group, Row
from pageturn.lab.report.scales import Scale, around, by_ratio, compact, percent, times
from pageturn.lab.report.svg import Node, add, label, node, path, picture, rule, svg_group

_LEFT, _TOP, _BOTTOM = 52, 30, 46


def cost_against_coverage(group: Group, width: float) -> Node:
    """The bill of each row against its coverage, with the intervals of resampled sessions."""
    is_narrow = width < 500
    height = 400 if is_narrow else min(width * 0.62, 580)
    frame = Frame(
        by_ratio((end for row in group.rows for end in row.bill), _LEFT, width - 14),
        _within_one(around((end for row in group.rows for end in row.coverage), height - _BOTTOM, _TOP, margin=0.08)),
    )
    drawing = picture(width, height, description(group))
    add(drawing, label("coverage: names in calls that the request showed", 0, 14, class_="faint"))
    if not is_narrow:
        add(drawing, label("↖ cheaper and more complete", width - 14, 14, anchor="end", class_="faint"))
    if group.front:
        add(drawing, _front(group, frame))
    add(drawing, *frame.grid(percent, ticks=6))
    add(drawing, *frame.bottom(times, "bill, relative to sending everything", ticks=4 if is_narrow else 9))
    add(drawing, *_everything(frame))
    places = [_place(row, frame) for row in group.rows]
    room = Box(frame.x.start, frame.y.end, frame.x.end, frame.y.start)
    taken = [Box(x - 8, y - 8, x + 8, y + 8) for x, y in places]
    if frame.x.low < 1 < frame.x.high:
        taken.append(Box(frame.x(1) - 3, room.top, frame.x(1) + 3, room.bottom))
    labels = Labels(room, taken)
    for policy in group.policies:
        rows = group.rows_of(policy.name)
        if len(rows) > 1:
            class_ = "dashed thin" if rows[0].is_foreseen else f"line thin {colour(policy.number)}"
            add(drawing, path([_place(row, frame) for row in rows], class_))
    for row in group.rows:
        add(drawing, _point(row, group, frame))
    for policy in group.policies:
        points = [_place(row, frame) for row in reversed(group.rows_of(policy.name))]
        add(drawing, *labels.place(policy.name, points, "title"))
    for row, place in zip(group.rows, places, strict=True):
        if len(group.rows_of(row.policy)) > 1 and not is_narrow:
            add(drawing, *labels.place(compact(row.budget_tokens), [place], "faint small"))
    return drawing


def description(group: Group) -> str:
    """The front as text."""
    named = ", ".join(
        f"{row.policy} at {compact(row.budget_tokens)} tokens ({times(row.bill.value)}, {percent(row.coverage.value)})"
        for row in group.front
    )
    return f"Bill against coverage. On the front: {named or 'nobody'}"


def details(row: Row) -> str:
    """The details of a row, shown on hover."""
    score = row.score
    lines = [
        f"{row.policy} at {row.budget_tokens:,} tokens",
        *(
            [f"priced bill {times(score.priced())}, {percent(score.share_missing)} of turns miss"]
            if score.is_priced
            else []
        ),
        f"bill {spread(row.bill, times)} of sending everything",
        f"{times(score.bill_with_refetches)} with re-fetches",
        f"{times(score.over_floor)} the floor",
        f"coverage {spread(row.coverage, percent)}",
        f"{score.missed:,} of {score.demanded:,} names missed",
        f"{len(row.results):,} sessions, {score.turns:,} turns, {score.folds:,} folds",
    ]
    return "\n".join(lines)


def spread(measure: Spread, show: Callable[[float], str]) -> str:
    """A measure with its interval."""
    if measure.low == measure.high:
        return show(measure.value)
    return f"{show(measure.value)} [{show(measure.low)}, {show(measure.high)}]"


def _place(row: Row, frame: Frame) -> tuple[float, float]:
    return frame.x(row.bill.value), frame.y(row.coverage.value)


def _within_one(scale: Scale) -> Scale:
    return scale._replace(high=min(scale.high, max(1.004, scale.low + 0.02)))


def _everything(frame: Frame) -> Iterator[Node]:
    if frame.x.low < 1 < frame.x.high:
        at = frame.x(1)
        yield rule(at, frame.y.start, at, frame.y.end, "dashed thin")
        has_room = frame.x.end - at > 130
        anchor, x = ("start", at + 5) if has_room else ("end", at - 5)
        yield label("sending everything", x, frame.y.start - 7, anchor=anchor, class_="faint small")


def _front(group: Group, frame: Frame) -> Node:
    """Steps along the front: the best coverage for each bill. Everything below is beaten."""
    steps: list[tuple[float, float]] = []
    for row in group.front:
        x, y = _place(row, frame)
        steps += [(x, steps[-1][1] if steps else frame.y.start), (x, y)]
    steps.append((frame.x.end, steps[-1][1]))
    beaten = path([*steps, (frame.x.end, frame.y.start)], "beaten", is_closed=True)
    return svg_group(beaten, path(steps, "front"), tip="below the front: something is cheaper and shows more")


def _point(row: Row, group: Group, frame: Frame) -> Node:
    number = group.number(row.policy)
    x, y = _place(row, frame)
    class_ = "axis thin" if row.is_foreseen else f"line thin {colour(number)}"
    across = rule(frame.x(row.bill.low), y, frame.x(row.bill.high), y, class_)
    up = rule(x, frame.y(row.coverage.low), x, frame.y(row.coverage.high), class_)
    shape = node("circle", cx=x, cy=y, r=5, class_="hollow") if row.is_foreseen else mark(number, x, y)
    return svg_group(across, up, shape, tip=details(row))
