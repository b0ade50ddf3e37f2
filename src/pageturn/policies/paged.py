"""Paged: floors first, then the budget where it matters, and rarely move anything."""

from pageturn.policies.contract import DerivePolicy, Whole
from pageturn.windows import budget_within


class Paged(DerivePolicy, tag="paged"):
    """The default of a new session: old pages hold still between folds, so the cached prefix stays valid.

    A budget of 0 is all that the model takes.
    """

    budget_tokens: Whole = 0

    def limit_tokens(self, window_tokens: int) -> int:
        return budget_within(self.budget_tokens, window_tokens)
