"""Draws the cumulative bill of a session by turn, between sending everything and the lower bound."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from pageturn.lab.report.axes import Frame, colour, cut, mark, width_of
from pageturn.lab.report.scales import compact, from_nothing, kept, spread
from pageturn.lab.report.svg import Node, add, label, path, picture, rule
from pageturn.lab.report.turns import MOST_POINTS, Drawn, named, stretches, turns_across
from pageturn.lab.results import ReplayedTurn, Result

_LEFT, _TOP, _BOTTOM = 52, 30, 46


def spending(drawn: Sequence[Drawn], width: float, everything: Result | None = None) -> Node:
    """The bill so far under each policy, between the two bounds; for sending everything only the total, if the results have no more."""
    height = min(max(width * 0.5, 320), 470)
    turns = drawn[0].result.turns
    lines = [
        _Line(each.result.policy, _so_far(each.result.turns), each.number)
        for each in drawn
        if each.result != everything
    ]
    lines += [
        _Line("least possible" if width > 500 else "the least", tuple(accumulate(turn.floor for turn in turns))),
        _Line("sending everything" if width > 500 else "everything", _of_everything(drawn[0].result, everything)),
    ]
    margin = min(max(width_of(line.words) for line in lines) + 30, width * 0.42)
    highest = max(line.bills[-1] for line in lines)
    length = max(len(line.bills) for line in lines)
    frame = Frame(turns_across(length, _LEFT, width - margin), from_nothing(highest, height - _BOTTOM, _TOP))
    description = f"The bill so far at each turn: {', '.join(line.words for line in lines)}"
    drawing = picture(width, height, description, label("bill so far, in tokens of fresh input", 0, 14, class_="faint"))
    add(drawing, *frame.grid(compact))
    add(drawing, *frame.bottom(compact, "turn", ticks=8 if width > 500 else 4))
    for line in reversed(lines):
        add(drawing, _curve(line.bills, frame, "dashed" if line.number is None else f"line {colour(line.number)}"))
    add(drawing, *_ends(lines, frame, width))
    add(drawing, *stretches(frame, length, lambda some: _description(lines, some[-1])))
    return drawing


class _Line(NamedTuple):
    name: str
    bills: tuple[float, ...]  # so far, at each turn
    number: int | None = None  # of the policy

    def until(self, at: int) -> float:
        return self.bills[min(at, len(self.bills) - 1)]

    @property
    def words(self) -> str:
        return f"{self.name} {compact(self.bills[-1])}"


def _so_far(turns: Sequence[ReplayedTurn]) -> tuple[float, ...]:
    return tuple(accumulate(turn.billed for turn in turns))


def _of_everything(result: Result, everything: Result | None) -> tuple[float, ...]:
    """From the turns of a result, or from a replay, or only the total, at every turn."""
    if any(turn.whole for turn in result.turns):
        return tuple(accumulate(turn.whole for turn in result.turns))
    return _so_far(everything.turns) if everything else (result.score.whole,) * len(result.turns)


def _ends(lines: Sequence[_Line], frame: Frame, width: float) -> Iterator[Node]:
    """Each line's name at its end, moved apart if they would overlap."""
    places = [frame.y(line.bills[-1]) for line in lines]
    for line, place, moved in zip(lines, places, spread(places, 16, frame.y.end, frame.y.start), strict=True):
        left = frame.x.end + 15
        yield rule(frame.x.end + 2, place, left - 3, moved, "lead thin")
        if line.number is not None:
            yield mark(line.number, left + 3, moved, 4.5)
            left += 12
        yield label(cut(line.words, width - left), left, moved + 4, class_="faint" if line.number is None else None)


def _description(lines: Sequence[_Line], at: int) -> str:
    by_bill = sorted(lines, key=lambda line: (-line.until(at), line.name))
    return "\n".join([f"until {named([at])}", *(f"{line.name} {line.until(at):,.0f}" for line in by_bill)])


def _curve(values: Sequence[float], frame: Frame, class_: str) -> Node:
    points = [(frame.x(at + 1), frame.y(values[at])) for at in kept(values, MOST_POINTS)]
    return path(points if len(points) > 1 else [*points, (frame.x.end, points[0][1])], class_)
