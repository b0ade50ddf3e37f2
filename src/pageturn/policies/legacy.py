"""Legacy: removes repetitions, then keeps the newest units that fit."""

from pageturn.policies.contract import DerivePolicy
from pageturn.policies.packing import Kept
from pageturn.values.layout import Frame, Levels

_CASCADE = (16, 12, 8, 6, 3, 1)  # how many of the newest units stay in full: the first number that fits
_TERMINAL = 4  # the newest units, shown as high as there is room for, whatever else is removed
_RECENT = 8  # units that never count as repetitions
_LOW = 0.75  # of the room above the floors, for the kept units


class Legacy(DerivePolicy, tag="legacy"):
    """The oldest pipeline. It has no budget of its own: the model's capacity decides.

    Repetitions are removed first; if that is not enough, all but the newest units; the very newest are shortened if they do not fit.
    """

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        kept = Kept(frame, least, tokens, _LOW)
        newest_first = kept.units[::-1]
        clean = [unit for at, unit in enumerate(newest_first) if at < _RECENT or not unit.is_repetition]
        fitting = (count for count in (len(clean), *_CASCADE) if kept.have_room_for(clean[:count]))
        kept.take(clean[: next(fitting, 0)])
        for unit in newest_first[:_TERMINAL]:
            kept.take_highest(unit)
        return kept.levels


STORED_DEFAULT = Legacy()  # the policy of a stored session that names none
