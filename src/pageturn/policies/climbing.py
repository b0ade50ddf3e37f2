"""Climbing: from the levels that must be, upward by value per token, until the room is used."""

import heapq
from collections.abc import Callable, Iterable, Mapping
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
    units: Iterable[Candidate],
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
    ways = {unit.first: hull(unit, levels.get(unit.first), value(unit)) for unit in units}
    heap = [(-way[0].rate, -way[0].unit.first, way) for way in ways.values() if way]
    heapq.heapify(heap)
    left_over: list[Step] = []
    while heap:
        _, first, way = heapq.heappop(heap)
        step, *rest = way
        if step.rate <= least_rate:
            break
        if step.tokens > room:
            left_over.append(step)
            continue
        room -= step.tokens
        chosen[-first] = step.level
        climbed.pop(-first, None)
        climbed[-first] = step.level
        if rest:
            heapq.heappush(heap, (-rest[0].rate, first, rest))
    for step in left_over:
        unit, now = step.unit, chosen.get(step.unit.first)
        paid = unit.sizes[now] if now is not None else 0
        between = (level for level in unit.sizes if level < step.level and (now is None or level > now))
        fitting = [level for level in between if unit.sizes[level] - paid <= room]
        if fitting:
            climbed[unit.first] = max(fitting)
            room -= unit.sizes[max(fitting)] - paid
    return climbed


def hull(unit: Candidate, start: ResidencyLevel | None, values: Values) -> list[Step]:
    """The steps up from a level, or from an index line, each dearer per unit of value than the one before it."""
    tokens, worth = (unit.sizes[start], values[start]) if start is not None else (-_CUT, 0.0)
    above = sorted((size, level) for level, size in unit.sizes.items() if start is None or level > start)
    steps: list[Step] = []
    while above:
        best = max(above, key=lambda each: ((values[each[1]] - worth) / max(each[0] - tokens, 1), each[0]))
        size, level = best
        steps.append(Step((values[level] - worth) / max(size - tokens, 1), unit, level, size - tokens))
        tokens, worth = size, values[level]
        above = [each for each in above if each[1] > level]
    return steps
