"""Paged: floors first, then the budget where it matters, and rarely move anything."""

from typing import Self

import msgspec

from pageturn.policies.contract import DerivePolicy, Tokens
from pageturn.windows import budget_within


class Paged(DerivePolicy, frozen=True, tag="paged"):
    """The default of a new session: old pages hold still between folds, so the cached prefix stays valid."""

    budget_tokens: Tokens = 0

    def fitted(self, window_tokens: int) -> Self:
        return msgspec.structs.replace(self, budget_tokens=budget_within(self.budget_tokens, window_tokens))
