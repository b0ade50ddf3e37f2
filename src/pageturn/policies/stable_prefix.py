"""Finds the beginning of a context that a fold should leave unchanged, because rewriting it costs more than it saves.

Everything after the first change is billed as a cache write. So a unit near the beginning may keep a level that is no longer the best
one for it, if enough unchanged text follows it.
"""

from collections.abc import Callable, Sequence

from pageturn.policies.packing import Values, beyond
from pageturn.values.layout import Candidate, Levels
from pageturn.values.pages import ResidencyLevel

_MOST = 0.2  # of the room may be wasted


def held(
    units: Sequence[Candidate],
    least: Levels,
    worth: Callable[[Candidate], Values],
    room: int,
    *,
    reading: float,
    writing: float,
) -> dict[int, ResidencyLevel | None]:
    """The units that keep their level, from the oldest on: each with its level, or None for those in an index line.

    As many as fit and make the greatest difference between what is saved by not writing them again and what better levels would gain;
    never one that must rise. `reading` and `writing` are the prices of a token until the next fold.
    """
    levels: dict[int, ResidencyLevel | None] = {}
    gain = most = 0.0
    until = wasted = taken = 0
    for unit in units:
        lowest = least.get(unit.first)
        if not _may_stay(unit, lowest):
            break
        if unit.shown_at is not None:
            taken += beyond(unit, unit.shown_at, lowest)
        if taken > room:
            break
        values = worth(unit)
        levels[unit.first] = unit.shown_at
        stays = _net(unit, unit.shown_at, values, reading)
        best, free = max(
            ((_net(unit, level, values, reading + writing), level) for level in _open_to(unit, lowest)),
            key=lambda choice: choice[0],
        )
        wasted += max(0, _tokens(unit, unit.shown_at) - _tokens(unit, free))
        if wasted > _MOST * room:
            break
        gain += stays - best
        if gain > most:
            most, until = gain, len(levels)
    return dict(list(levels.items())[:until])


def _may_stay(unit: Candidate, least: ResidencyLevel | None) -> bool:
    is_offered = unit.shown_at is None or unit.shown_at in unit.sizes
    return is_offered and (least is None or (unit.shown_at is not None and unit.shown_at >= least))


def _open_to(unit: Candidate, least: ResidencyLevel | None) -> list[ResidencyLevel | None]:
    """The levels that a unit may have, from an index line up."""
    if least is None:
        return [None, *unit.sizes]
    return [level for level in unit.sizes if level >= least]


def _net(unit: Candidate, level: ResidencyLevel | None, values: Values, price: float) -> float:
    """What a unit saves at a level, less what it costs there."""
    return values[level] - price * unit.sizes[level] if level is not None else 0.0


def _tokens(unit: Candidate, level: ResidencyLevel | None) -> int:
    return unit.sizes[level] if level is not None else 0
