"""Reset: past a threshold, everything before the active task becomes one summary (Lu et al., arXiv:2510.06727)."""

from typing import Self

import msgspec

from pageturn.policies.contract import DerivePolicy, Tokens


class Reset(DerivePolicy, frozen=True, tag="reset"):
    """Once per crossing of the threshold: prompt, one summary, the task turn, then the newest whole units."""

    threshold_tokens: Tokens

    def fitted(self, window_tokens: int) -> Self:
        return msgspec.structs.replace(self, threshold_tokens=self.threshold_tokens or round(window_tokens / 2))
