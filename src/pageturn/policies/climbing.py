"""Climbing: from the levels that must be, upward by value per token, until the room is used."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pageturn.layout import Candidate, Levels
from pageturn.pages import ResidencyLevel

Values = Mapping[ResidencyLevel, float]

_CUT = 50  # tokens, about, that it takes to cut an index line in two


class Step(NamedTuple):
    """Raising a unit to a level: what each token of it is worth, and how many there are."""

    rate: float
    unit: Candidate
    level: ResidencyLevel
    tokens: int


def climb(
    units: Sequence[Candidate],
    levels: Levels,
    value: Callable[[Candidate], Values],
    room: int,
    *,
    least_rate: float = 0.0,
) -> dict[int, ResidencyLevel]:
    """The levels that so much room is best spent on, in the order in which they were chosen.

    A unit climbs along the upper convex hull of its levels, so that a dear step never hides a better one behind it. What then is
    left of the room goes to any step that still fits, so that nothing affordable is left.
    """
    chosen = dict(levels)
    climbed: dict[int, ResidencyLevel] = {}
    worth = {unit.first: value(unit) for unit in units}
    heap = [_queued(way) for unit in units if (way := hull(unit, levels.get(unit.first), worth[unit.first]))]
    heapq.heapify(heap)
    too_dear: list[Step] = []
    while heap:
        *_, way = heapq.heappop(heap)
        step, rest = way[0], way[1:]
        if step.rate <= least_rate:
            break
        if step.tokens > room:
            too_dear.append(step)
            continue
        room -= step.tokens
        chosen[step.unit.first] = step.level
        climbed.pop(step.unit.first, None)
        climbed[step.unit.first] = step.level
        if rest:
            heapq.heappush(heap, _queued(rest))
    for dear in too_dear:
        unit, now = dear.unit, chosen.get(dear.unit.first)
        most = room + (unit.sizes[now] if now is not None else -_CUT)
        fitting = {level: size for level, size in unit.sizes.items() if level == now or size <= most}
        for step in hull(unit._replace(sizes=fitting), now, worth[unit.first]):
            if step.rate > least_rate:
                room -= step.tokens
                climbed[unit.first] = step.level
    return climbed


def _queued(way: list[Step]) -> tuple[float, int, list[Step]]:
    """A way up, in the order of a heap: the best rate first, and of equal ones the newest."""
    return (-way[0].rate, -way[0].unit.first, way)


def hull(unit: Candidate, start: ResidencyLevel | None, values: Values) -> list[Step]:
    """The steps up from a level, or from an index line, each dearer per unit of value than the one before it."""
    tokens, worth = (unit.sizes[start], values[start]) if start in unit.sizes else (-_CUT, 0.0)
    ends = [(tokens, worth)]
    steps: list[Step] = []
    for level in reversed(unit.sizes):
        if start is not None and level <= start:
            continue
        size, value = unit.sizes[level], values[level]
        rate = _rate(*ends[-1], size, value)
        while steps and rate >= steps[-1].rate:  # a step on the way that is no better than the whole way is left out
            steps.pop()
            ends.pop()
            rate = _rate(*ends[-1], size, value)
        steps.append(Step(rate, unit, level, size - ends[-1][0]))
        ends.append((size, value))
    return steps


def _rate(tokens: int, worth: float, more_tokens: int, more_worth: float) -> float:
    """What each token more is worth."""
    return (more_worth - worth) / max(more_tokens - tokens, 1)
