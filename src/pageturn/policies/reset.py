"""Reset: past a threshold, everything before the active task becomes one summary (Lu et al., arXiv:2510.06727)."""

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.windows import budget_within


class Reset(DerivePolicy, tag="reset"):
    """Once per crossing of the threshold: prompt, one summary, the task turn, then the newest whole units.

    A threshold of 0 is half of the model's window.
    """

    threshold_tokens: Whole

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.threshold_tokens or (window_tokens + 1) // 2, window_tokens)
