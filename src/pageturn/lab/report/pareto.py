"""Cost against coverage: every policy at every budget, and the front of those that no other beats."""

from collections.abc import Iterator

from pageturn.lab.report.chapters import Chapter, Row
from pageturn.lab.report.elements import Node, group, label, picture, rule, way
from pageturn.lab.report.frames import Box, Frame, Labels, colour, mark
from pageturn.lab.report.scales import Scale, around, compact, percent, times
from pageturn.lab.resampling import Spread

_LEFT, _TOP, _BOTTOM = 52, 30, 46


def pareto(chapter: Chapter, width: float) -> Node:
    """The bill of each row against what it still showed, with what resampled sessions come to."""
    height = min(max(width * 0.58, 340), 540)
    frame = Frame(
        around((end for row in chapter.rows for end in row.cost), _LEFT, width - 14),
        _within_one(around((end for row in chapter.rows for end in row.coverage), height - _BOTTOM, _TOP, margin=0.08)),
    )
    drawing = picture(width, height, told(chapter))
    drawing.append(label("demanded names that stood in the request", 0, 14, class_="faint"))
    drawing.append(
        label(
            "cheaper and more complete ↖" if width < 500 else "↖ cheaper and more complete",
            width - 14,
            14,
            anchor="end",
            class_="faint",
        )
    )
    drawing.extend(frame.grid(percent, ticks=6))
    drawing.extend(frame.bottom(times, "bill, relative to sending everything", ticks=9 if width > 500 else 5))
    drawing.extend(_everything(frame))
    places = [(frame.x(row.cost.value), frame.y(row.coverage.value)) for row in chapter.rows]
    room = Box(frame.x.start, frame.y.end, frame.x.end, frame.y.start)
    labels = Labels(room, [Box(x - 7, y - 7, x + 7, y + 7) for x, y in places])
    drawing.append(_front(chapter, frame))
    for policy in chapter.policies:
        rows = chapter.rows_of(policy.name)
        if len(rows) > 1:
            points = [(frame.x(row.cost.value), frame.y(row.coverage.value)) for row in rows]
            drawing.append(way(points, f"line thin {colour(policy.number)}"))
    for row in chapter.rows:
        drawing.append(_point(row, chapter, frame))
    for policy in chapter.policies:
        last = chapter.rows_of(policy.name)[-1]
        drawing.extend(labels.place(policy.name, frame.x(last.cost.value), frame.y(last.coverage.value), "title"))
    if len(chapter.budgets) > 1:
        for row, (x, y) in zip(chapter.rows, places, strict=True):
            drawing.extend(labels.place(compact(row.budget_tokens), x, y, "faint small"))
    return drawing


def told(chapter: Chapter) -> str:
    """The front in words."""
    named = ", ".join(
        f"{row.policy} at {compact(row.budget_tokens)} tokens ({times(row.cost.value)}, {percent(row.coverage.value)})"
        for row in chapter.front
    )
    return f"Bill against coverage. On the front: {named}"


def details(row: Row) -> str:
    """All of a row that is worth knowing when one points at it."""
    score = row.score
    lines = [
        f"{row.policy} at {row.budget_tokens:,} tokens",
        f"bill {spread(row.cost, times)} of sending everything",
        f"{times(score.cost_with_refetches)} with reading again what was missed",
        f"{times(score.over_floor)} of the least possible",
        f"coverage {spread(row.coverage, percent)}",
        f"{score.missed:,} of {score.demanded:,} names missed",
        f"{len(row.results):,} sessions, {score.turns:,} turns, {score.rewritten:,} of them rewritten",
    ]
    return "\n".join(lines)


def spread(measure: Spread, show: object) -> str:
    """A measure with its interval."""
    assert callable(show)
    if measure.low == measure.high:
        return str(show(measure.value))
    return f"{show(measure.value)} [{show(measure.low)}, {show(measure.high)}]"


def _within_one(scale: Scale) -> Scale:
    return scale._replace(high=min(scale.high, max(1.004, scale.low + 0.02)))


def _everything(frame: Frame) -> Iterator[Node]:
    if frame.x.low < 1 < frame.x.high:
        at = frame.x(1)
        yield rule(at, frame.y.start, at, frame.y.end, "dashed thin")
        yield label("sending everything", at + 5, frame.y.start - 7, class_="faint small")


def _front(chapter: Chapter, frame: Frame) -> Node:
    """Steps along the front: at each bill, the best that can be had for it."""
    steps: list[tuple[float, float]] = []
    for row in chapter.front:
        x, y = frame.x(row.cost.value), frame.y(row.coverage.value)
        steps += [(x, steps[-1][1] if steps else frame.y.start), (x, y)]
    steps.append((frame.x.end, steps[-1][1]))
    return group(way(steps, "front"), tip="the front: nothing is cheaper and shows more")


def _point(row: Row, chapter: Chapter, frame: Frame) -> Node:
    number = chapter.number(row.policy)
    x, y = frame.x(row.cost.value), frame.y(row.coverage.value)
    across = rule(frame.x(row.cost.low), y, frame.x(row.cost.high), y, f"line thin {colour(number)}")
    up = rule(x, frame.y(row.coverage.low), x, frame.y(row.coverage.high), f"line thin {colour(number)}")
    return group(across, up, mark(number, x, y), tip=details(row))
