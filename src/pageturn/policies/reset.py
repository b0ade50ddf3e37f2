"""Reset: past a threshold, replaces everything before the current task by one summary (Lu et al., arXiv:2510.06727)."""

from typing import ClassVar

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.policies.packing import Kept
from pageturn.tokens.windows import budget_within
from pageturn.values.layout import Frame, Levels

_TAIL = 1 / 3  # of the room above the floors, for the newest units: two thirds are free until the next crossing


class Reset(DerivePolicy, tag="reset"):
    """Once per crossing of the threshold: prompt, one summary, the task turn, then the newest whole units.

    A threshold of 0 is half of the model's window. A ledger keeps what the removed steps changed.
    """

    keeps_ledger: ClassVar[bool] = True
    wishes_summaries: ClassVar[bool] = True

    threshold_tokens: Whole

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.threshold_tokens or (window_tokens + 1) // 2, window_tokens)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        kept = Kept(frame, least, tokens, _TAIL)
        kept.take_newest(kept.room)
        return kept.levels
