"""A user's own policy: the newest units whole as far as the budget goes, and nothing else. It wants too much, so the laws have work."""

import pageturn as pt
from pageturn.policies import register_policy
from pageturn.values.layout import Frame, Levels


@register_policy("newest_first")
class NewestFirst(pt.DerivePolicy, tag="newest_first"):
    budget_tokens: int = 0

    def limit_tokens(self, window_tokens: int) -> int:
        return self.budget_tokens or super().limit_tokens(window_tokens)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        newest_first = sorted(frame.candidates, key=lambda unit: -unit.first)
        return {unit.first: pt.ResidencyLevel.FULL for unit in newest_first if unit.sizes}
