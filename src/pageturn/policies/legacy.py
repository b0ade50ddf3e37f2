"""Legacy: hygiene, then keep the newest that fit."""

from pageturn.layout import Candidate, Frame, Levels
from pageturn.pages import ResidencyLevel
from pageturn.policies.contract import DerivePolicy
from pageturn.policies.keeping import Kept

_CASCADE = (16, 12, 8, 6, 3, 1)  # the newest units that are kept whole: the first number of them that fits
_TERMINAL = 4  # the newest units that are shortened where not one fits whole
_RECENT = 8  # units that are never taken for repetitions
_LOW = 0.75  # of the room above the floors, that the units of the cascade may take
_BELOW_FULL = tuple(ResidencyLevel)[1:]


class Legacy(DerivePolicy, tag="legacy"):
    """The oldest pipeline: no budget of its own, the model's capacity decides.

    Repetitions go first. Where that is not enough, all but the newest units go, and where not even one of those fits, they are shortened.
    """

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        kept = Kept(frame, least, tokens, _LOW)
        newest_first = kept.units[::-1]
        clean = [unit for at, unit in enumerate(newest_first) if at < _RECENT or not unit.is_repetition]
        for count in (len(clean), *_CASCADE):
            tail = clean[:count]
            if sum(max(0, kept.cost(unit)) for unit in tail) <= kept.room:
                kept.take(tail)
                return kept.levels
        return _shortened(kept, newest_first[:_TERMINAL])


def _shortened(kept: Kept, newest_first: list[Candidate]) -> Levels:
    """The newest units, each at the highest level below full that fits."""
    for unit in newest_first:
        for level in _BELOW_FULL:
            if level >= unit.floor:
                kept.take([unit], level)
            if unit.first in kept.levels:
                break
    return kept.levels


STORED_DEFAULT = Legacy()  # what a stored session that names no policy means
