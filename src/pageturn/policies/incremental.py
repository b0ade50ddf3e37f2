"""Incremental: score everything against the task, then pack greedily (Liu et al., arXiv:2512.22087)."""

from typing import Self

import msgspec

from pageturn.policies.contract import DerivePolicy, Tokens
from pageturn.windows import budget_within


class Incremental(DerivePolicy, frozen=True, tag="incremental"):
    """Task turn, pins and the newest units are kept; the rest competes by relevance for `budget_tokens`."""

    budget_tokens: Tokens

    def fitted(self, window_tokens: int) -> Self:
        return msgspec.structs.replace(self, budget_tokens=budget_within(self.budget_tokens, window_tokens))
