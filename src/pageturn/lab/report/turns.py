"""Shared parts of the drawings over turns: the results that are drawn, the scale, and hover areas."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.report.axes import Frame
from pageturn.lab.report.groups import Group
from pageturn.lab.report.scales import Scale
from pageturn.lab.report.svg import Node, node, svg_group
from pageturn.lab.results import Result

MOST_POINTS = 420  # of a line: more could not be seen
_MOST_STRETCHES = 90  # hover areas


class Drawn(NamedTuple):
    """A result whose turns are drawn, and the number of its policy, which decides colour and shape."""

    result: Result
    number: int


def example(group: Group, session: str | None, budget_tokens: int | None) -> tuple[Drawn, ...]:
    """The session of a group that is drawn, under each policy."""
    return tuple(Drawn(result, group.number(result.policy)) for result in group.example(session, budget_tokens))


def turns_across(count: int, start: float, end: float) -> Scale:
    """A scale of turns, the first of which is 1."""
    return Scale(1.0, max(count, 2), start, end)


def stretches(frame: Frame, count: int, tell: Callable[[Sequence[int]], str]) -> Iterator[Node]:
    """Stretches of turns as hover areas, one turn each if there are not too many; `tell` describes one."""
    wanted = min(count, _MOST_STRETCHES)
    half = (frame.x.end - frame.x.start) / max(count - 1, 1) / 2
    for at in range(wanted):
        turns = range(count * at // wanted, count * (at + 1) // wanted)
        left = max(frame.x(turns[0] + 1) - half, frame.x.start)
        right = min(frame.x(turns[-1] + 1) + half, frame.x.end)
        area = node(
            "rect", x=left, y=frame.y.end, width=right - left, height=frame.y.start - frame.y.end, class_="hover"
        )
        yield svg_group(area, tip=tell(turns))


def named(turns: Sequence[int]) -> str:
    """A stretch of turns, numbered from 1."""
    first, last = turns[0] + 1, turns[-1] + 1
    return f"turn {first:,}" if first == last else f"turns {first:,} to {last:,}"
