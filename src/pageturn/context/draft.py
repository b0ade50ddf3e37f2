"""Holds a layout while the laws and the policy's choices raise its levels."""

from collections.abc import Callable

from pageturn.context.layouts import Layouts
from pageturn.values.layout import Candidate, Details, Frame, Placement, Why
from pageturn.values.pages import ResidencyLevel


class Draft:
    """A layout in progress: levels, their reasons, and notices."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.levels = lowest_levels(frame)
        self.whys: dict[int, Why] = {}
        self.notices: list[str] = []
        self.details = Details()
        self.layouts = Layouts(frame)
        self.units = self.layouts.units

    def placements(self) -> tuple[Placement, ...]:
        """The placements with the present levels."""
        return tuple([self._explained(placement) for placement in self.layouts.placements(self.levels, self.details)])

    def tokens(self) -> int:
        """The tokens with the present levels."""
        return self.frame.fixed_tokens + self.layouts.tokens(self.levels, self.details)

    def _explained(self, placement: Placement) -> Placement:
        why = self.whys.get(placement.first)
        if why is None or why is placement.why or placement.line is not None:
            return placement
        return Placement(placement.first, placement.last, placement.level, placement.tokens, why)

    def raised(self, unit: Candidate, level: ResidencyLevel, why: Why) -> bool:
        """Raise a unit, if it fits."""
        before = dict(self.levels)
        self.levels[unit.first] = level
        if self.tokens() > self.frame.budget_tokens:
            self.levels = before
            return False
        self.whys[unit.first] = why
        return True


def lowest_levels(frame: Frame) -> dict[int, ResidencyLevel]:
    """Every unit at its lowest level: bound units keep their cheapest form, others share index lines."""
    return {unit.first: unit.cheapest for unit in frame.candidates if unit.is_bound}


def largest_count(count: int, keep: Callable[[int], bool]) -> int:
    """The largest count for which `keep` succeeds; it has been called with that count last."""
    if keep(count):
        return count
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if keep(middle) else (low, middle - 1)
    keep(low)
    return low
