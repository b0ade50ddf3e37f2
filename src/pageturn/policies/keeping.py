"""Keeping: units that stand whole, taken one after the other as long as there is room."""

from collections.abc import Iterable

from pageturn.layout import About, Candidate, Frame, Levels, Why
from pageturn.pages import ResidencyLevel

_FULL = ResidencyLevel.FULL
_FIRST = (Why.RULE, Why.PLAN)


class Kept:
    """Units that are to stand whole, beside the least that the laws demand, within some room."""

    def __init__(self, frame: Frame, least: Levels, tokens: int, share: float) -> None:
        """The room is a share of what there is above the floors; all of it where nothing presses."""
        share = share if frame.is_pressed else 1.0
        self.units = [unit for unit in frame.candidates if unit.sizes]
        self.room = frame.needed_tokens + int(share * (frame.budget_tokens - frame.needed_tokens)) - tokens
        self.levels: dict[int, ResidencyLevel] = {}
        self._least = least
        for unit in self.units:
            if unit.why in _FIRST or unit.about is About.SUMMARY:
                self.take_highest(unit)

    def cost(self, unit: Candidate, level: ResidencyLevel = _FULL) -> int:
        """What a unit takes more than the laws demand anyway."""
        now = self.levels.get(unit.first, self._least.get(unit.first))
        return unit.sizes[level] - (unit.sizes[unit.at_least(now)] if now is not None else 0)

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

    def take_newest(self, room: int) -> None:
        """Take the newest in a row, until one that the laws do not show anyway is too large for so much room."""
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
