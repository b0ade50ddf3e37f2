"""Draws the gap of each policy to the oracle and to the lower bound of misses."""

from collections.abc import Iterator
from typing import NamedTuple

from pageturn.lab.report.axes import Frame, colour, cut, mark
from pageturn.lab.report.groups import Group, Row
from pageturn.lab.report.scales import Scale, compact, from_nothing, percent
from pageturn.lab.report.svg import Node, add, label, node, path, picture, rule, svg_group

_LANE = 24


class Gap(NamedTuple):
    """A row that was compared with the oracle; all values are shares of what was needed."""

    row: Row
    missed: float
    oracle: float
    bound: float


def gaps(group: Group) -> tuple[Gap, ...]:
    """The rows that were compared with the oracle on every session."""
    found = []
    for row in group.rows:
        compared = [result.oracle for result in row.results if result.oracle is not None]
        if len(compared) == len(row.results) and not row.is_foreseen:
            demanded = max(row.score.demanded, 1)
            sums = (sum(getattr(one, name) for one in compared) for name in ("missed", "oracle_missed", "bound"))
            found.append(Gap(row, *(total / demanded for total in sums)))
    return tuple(found)


def gap_to_oracle(group: Group, width: float) -> Node:
    """A lane for each row: what it missed, what the oracle missed, and the lower bound for every method."""
    found = gaps(group)
    left = 190 if width > 500 else 128
    budgets = sorted({gap.row.budget_tokens for gap in found})
    height = 34 + sum(22 + _LANE * sum(gap.row.budget_tokens == budget for gap in found) for budget in budgets) + 46
    highest = max(max(gap.missed, gap.oracle, gap.row.missed.high) for gap in found)
    frame = Frame(from_nothing(highest, left, width - 66), Scale(0, 1, height - 46, 30))
    description = "; ".join(
        f"{gap.row.policy} at {compact(gap.row.budget_tokens)}: {percent(gap.missed)}, the oracle {percent(gap.oracle)}"
        for gap in found
    )
    drawing = picture(width, height, f"Demanded names that were missed. {description}", *_key(width))
    add(drawing, *_across(frame, width))
    top = 34.0
    for budget in budgets:
        add(drawing, label(f"{compact(budget)} tokens", 0, top + 14, class_="title"))
        top += 22
        for gap in found:
            if gap.row.budget_tokens == budget:
                add(drawing, _lane(gap, group.number(gap.row.policy), frame, top + _LANE / 2))
                top += _LANE
    return drawing


def _across(frame: Frame, width: float) -> Iterator[Node]:
    for value in frame.x.ticks(6 if width > 500 else 3):
        yield rule(frame.x(value), frame.y.start, frame.x(value), frame.y.end, "grid")
        yield label(percent(value), frame.x(value), frame.y.start + 16, anchor="middle", class_="faint small")
    yield label(
        "demanded names that were missed",
        (frame.x.start + frame.x.end) / 2,
        frame.y.start + 36,
        anchor="middle",
        class_="faint",
    )


def _key(width: float) -> Iterator[Node]:
    yield mark(0, 7, 10, 4.5)
    yield label("the policy", 17, 14, class_="faint small")
    yield node("circle", cx=92, cy=10, r=4.5, class_="hollow")
    yield label("the oracle", 102, 14, class_="faint small")
    yield rule(176, 4, 176, 16, "bound")
    yield label(
        "lower bound: what every method misses" if width > 500 else "lower bound", 183, 14, class_="faint small"
    )


def _lane(gap: Gap, number: int, frame: Frame, y: float) -> Node:
    row = gap.row
    here, there, least = frame.x(gap.missed), frame.x(gap.oracle), frame.x(gap.bound)
    tip = (
        f"{row.policy} at {row.budget_tokens:,} tokens\nmissed {percent(gap.missed)} of {row.score.demanded:,} names\n"
        f"the oracle missed {percent(gap.oracle)}\nlower bound: {percent(gap.bound)}"
    )
    return svg_group(
        label(cut(row.policy, frame.x.start - 22), frame.x.start - 12, y + 4, anchor="end"),
        rule(frame.x.start, y, frame.x.end, y, "grid"),
        path([(there, y), (here, y)], f"line {colour(number)}"),
        rule(least, y - 6, least, y + 6, "bound"),
        node("circle", cx=there, cy=y, r=4.5, class_="hollow"),
        mark(number, here, y, 5),
        label(f"{(gap.missed - gap.oracle) * 100:+.1f}", frame.x.end + 8, y + 4, class_="small"),
        tip=tip,
    )
