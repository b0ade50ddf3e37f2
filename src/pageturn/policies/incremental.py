"""Incremental: score everything against the task, then pack greedily (Liu et al., arXiv:2512.22087)."""

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.windows import budget_within


class Incremental(DerivePolicy, tag="incremental"):
    """Task turn, pins and the newest units are kept; the rest competes by relevance for the budget.

    A budget of 0 is all that the model takes.
    """

    budget_tokens: Whole

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.budget_tokens, window_tokens)
