"""Spends the room above the required levels, in one of two ways.

By value: raise units from the required levels, the best value per token first, until the room is used. Or whole: add units one after
another, in the policy's order, while there is room.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pageturn.values.layout import About, Candidate, Frame, Levels, Why
from pageturn.values.pages import ResidencyLevel

Values = Mapping[ResidencyLevel, float]

_FULL = ResidencyLevel.FULL
_FIRST = (Why.RULE, Why.PLAN)
_WRITTEN = 0.25  # of the room, for forms that somebody wrote for units that may then be shown no higher
_CUT = 50  # tokens, about, that it takes to cut an index line in two


def room_in(frame: Frame, tokens: int, share: float) -> int:
    """The tokens that may be spent if these are taken: a share of the room above the floors. Negative if they take more."""
    return frame.needed_tokens + int(share * (frame.budget_tokens - frame.needed_tokens)) - tokens


class Step(NamedTuple):
    """A step that raises a unit to a level: the value of each token, and how many tokens."""

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
    price: Callable[[int], float] = lambda _: 0.0,
) -> dict[int, ResidencyLevel]:
    """The steps on which the room is best spent, in the order in which they are chosen.

    A unit is raised along the upper convex hull of its levels, so that an expensive step never hides a better one after it. The
    remaining room goes to any step that still fits, so that nothing affordable is left. `price` gives the least value of a token, for
    the room that is left.
    """
    chosen = dict(levels)
    climbed: dict[int, ResidencyLevel] = {}
    worth = {unit.first: value(unit) for unit in units}
    heap = [_queued(way) for unit in units if (way := hull(unit, levels.get(unit.first), worth[unit.first]))]
    heapq.heapify(heap)
    too_large: list[Step] = []
    while heap:
        *_, way = heapq.heappop(heap)
        step, rest = way[0], way[1:]
        if step.rate <= price(room):
            break
        if step.tokens > room:
            too_large.append(step)
            continue
        room -= step.tokens
        chosen[step.unit.first] = step.level
        climbed.pop(step.unit.first, None)
        climbed[step.unit.first] = step.level
        if rest:
            heapq.heappush(heap, _queued(rest))
    for large in too_large:
        unit, now = large.unit, chosen.get(large.unit.first)
        most = room + (unit.sizes[now] if now is not None else -_CUT)
        fitting = {level: size for level, size in unit.sizes.items() if level == now or size <= most}
        for step in hull(unit._replace(sizes=fitting), now, worth[unit.first]):
            if step.rate > price(room):
                room -= step.tokens
                climbed[unit.first] = step.level
    return climbed


def _queued(way: list[Step]) -> tuple[float, int, list[Step]]:
    """A step as an entry of the heap: the best rate first, and of equal ones the newest."""
    return (-way[0].rate, -way[0].unit.first, way)


def hull(unit: Candidate, start: ResidencyLevel | None, values: Values) -> list[Step]:
    """The steps up from a level, or from an index line, each worth less per token than the one before it."""
    tokens, worth = (unit.sizes[start], values[start]) if start in unit.sizes else (-_CUT, 0.0)
    ends = [(tokens, worth)]
    steps: list[Step] = []
    for level, size in reversed(unit.sizes.items()):
        if start is not None and level <= start:
            continue
        value = values[level]
        rate = _rate(tokens, worth, size, value)
        while steps and rate >= steps[-1].rate:  # a step that is no better than the direct way to the next is left out
            steps.pop()
            ends.pop()
            tokens, worth = ends[-1]
            rate = _rate(tokens, worth, size, value)
        steps.append(Step(rate, unit, level, size - tokens))
        tokens, worth = size, value
        ends.append((size, value))
    return steps


def _rate(tokens: int, worth: float, more_tokens: int, more_worth: float) -> float:
    """The value per additional token."""
    more = more_tokens - tokens
    return (more_worth - worth) / (max(1, more))


def beyond(unit: Candidate, level: ResidencyLevel, now: ResidencyLevel | None) -> int:
    """The tokens that a unit takes at a level beyond its present ones; None if it is in an index line."""
    return unit.sizes[level] - (unit.sizes[unit.at_least(now)] if now is not None else 0)


class Kept:
    """Units to be shown in full, above the minimum that the laws demand, within some room."""

    def __init__(self, frame: Frame, least: Levels, tokens: int, share: float) -> None:
        """The room is a share of the room above the floors; all of it if the fold need not make room."""
        share = share if frame.is_pressed else 1.0
        self.units = [unit for unit in frame.candidates if unit.sizes]
        self.room = room_in(frame, tokens, share)
        self.levels: dict[int, ResidencyLevel] = {}
        self._least = least
        for unit in self.units:
            if unit.why in _FIRST or unit.about is About.SUMMARY:
                self.take_highest(unit)
        self._take_written()

    def _take_written(self) -> None:
        """Take the shortest form that somebody wrote for a unit, the newest units first, as long as some of the room lasts."""
        room = int(self.room * _WRITTEN)
        for unit in reversed(self.units):
            if unit.written and 0 < (cost := self.cost(unit, unit.written[-1])) <= room:
                room -= cost
                self.take([unit], unit.written[-1])

    def cost(self, unit: Candidate, level: ResidencyLevel = _FULL) -> int:
        """What a unit takes beyond what the laws demand anyway."""
        return beyond(unit, level, self.levels.get(unit.first, self._least.get(unit.first)))

    def have_room_for(self, units: Iterable[Candidate]) -> bool:
        """Whether all of them fit."""
        return sum(max(0, self.cost(unit)) for unit in units) <= self.room

    def take(self, units: Iterable[Candidate], level: ResidencyLevel = _FULL) -> None:
        """Take each that fits."""
        for unit in units:
            if level in unit.sizes and (cost := self.cost(unit, level)) <= self.room and self._is_below(unit, level):
                self.room -= cost
                self.levels[unit.first] = level

    def take_highest(self, unit: Candidate) -> None:
        """Take a unit at the highest level that fits."""
        for level in unit.sizes:
            self.take([unit], level)

    def is_whole(self, unit: Candidate) -> bool:
        """Whether a unit was taken in full."""
        return self.levels.get(unit.first) is _FULL

    def take_newest(self, room: int) -> None:
        """Take the newest ones in a row, until one that the laws do not show anyway is too large for the room."""
        room = min(room, self.room)
        for unit in reversed(self.units):
            cost = self.cost(unit)
            if cost <= room and self._is_below(unit, _FULL):
                room -= cost
                self.room -= cost
                self.levels[unit.first] = _FULL
            elif unit.first not in self._least and unit.first not in self.levels:
                return

    def _is_below(self, unit: Candidate, level: ResidencyLevel) -> bool:
        now = self.levels.get(unit.first, self._least.get(unit.first))
        return now is None or now < level
