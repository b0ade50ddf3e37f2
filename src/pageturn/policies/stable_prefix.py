"""Holding still: the beginning of a context that a fold had better leave as it is.

Whatever stands behind the first change is billed as written anew. So a unit near the beginning may keep a level that is no longer the
best for it, if enough stands behind it that would not change either.
"""

from collections.abc import Mapping, Sequence

from pageturn.values.layout import Candidate, Levels
from pageturn.values.pages import ResidencyLevel
from pageturn.values.vendors import STUDY

_SAVED = STUDY.prices.write - STUDY.prices.read  # by a token that is read from the cache, relative to a fresh one
_MOST = 0.2  # of the room that may be wasted
_WASTED = 3.0  # and of one that does not stand at its best until the next fold, in reading and in room


def held(
    units: Sequence[Candidate], wanted: Mapping[int, ResidencyLevel], least: Levels, room: int
) -> dict[int, ResidencyLevel | None]:
    """The units that stay as they stand, from the oldest on: with a level, or None where that is in an index line.

    So many that what is saved exceeds what is wasted by most; never one that must rise.
    """
    levels: dict[int, ResidencyLevel | None] = {}
    saved = wasted = most = 0.0
    until = 0
    for unit in units:
        if not _may_stay(unit, least.get(unit.first)):
            break
        levels[unit.first] = unit.stands
        tokens = _tokens(unit, unit.stands)
        wasted += abs(tokens - _tokens(unit, wanted.get(unit.first)))
        if wasted > _MOST * room:
            break
        if wasted:  # before the first change everything is saved anyway
            saved += tokens
        if _SAVED * saved - _WASTED * wasted > most:
            most, until = _SAVED * saved - _WASTED * wasted, len(levels)
    return dict(list(levels.items())[:until])


def _may_stay(unit: Candidate, least: ResidencyLevel | None) -> bool:
    is_offered = unit.stands is None or unit.stands in unit.sizes
    return is_offered and (least is None or (unit.stands is not None and unit.stands >= least))


def _tokens(unit: Candidate, level: ResidencyLevel | None) -> int:
    return unit.sizes[unit.at_least(level)] if level is not None else 0
