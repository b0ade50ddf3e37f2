"""Decides how many tokens a context may have: by the caller's budget, the policy, the model's window, and what providers reported."""

from bisect import bisect_left
from typing import NamedTuple

from pageturn.journal.state import SessionState
from pageturn.policies import DerivePolicy
from pageturn.policies.checked import CheckedPolicy
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.windows import window_of
from pageturn.values.errors import BudgetTooSmall, ModelTooSmall
from pageturn.values.usage import MOST_TOKENS

_RESERVE_SHARE = 4  # a quarter of a small budget is kept back,
_SMALL_BUDGET = 600  # and half of what a budget has beyond this, if that is more
_LARGEST_RESERVE = 512
_LEAST_CALIBRATED = 4  # at least a quarter of the budget is left, whatever a provider reports


class _Known(NamedTuple):
    """A limit, and everything that it depends on."""

    policy: DerivePolicy
    model: str
    budget_tokens: int | None
    calibration: Calibration | None
    tokens: int


def reserve(budget_tokens: int) -> int:
    """The tokens that a promise leaves to the steps to come: their index lines grow, though slowly."""
    return min(max(budget_tokens // _RESERVE_SHARE, (budget_tokens - _SMALL_BUDGET) // 2), _LARGEST_RESERVE)


def budget_with_reserve(tokens: int) -> int:
    """The smallest budget that leaves so many tokens besides its reserve."""
    budgets = range(tokens, tokens * 2)
    return budgets[bisect_left(budgets, tokens, key=lambda budget: budget - reserve(budget))]


class TokenLimits:
    """The token limits of one session. A caller's budget is in the provider's tokens, and everything else in our count."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._known: _Known | None = None

    def limit(self, policy: DerivePolicy, model: str, budget_tokens: int | None) -> int:
        """The most tokens that the caller, the policy and the model's window allow."""
        known, calibration = self._known, self._state.calibrations.get(model)
        if (
            known is None
            or known.policy is not policy
            or known.model is not model
            or known.budget_tokens is not budget_tokens
            or known.calibration is not calibration
        ):
            limit = CheckedPolicy(policy).limit_tokens(window_of(model))
            limit = self._calibrated(model, min(limit, budget_tokens) if budget_tokens else limit)
            known = self._known = _Known(policy, model, budget_tokens, calibration, limit)
        return known.tokens

    def most(self, model: str, limit: int) -> int:
        """The limit, or less for a model that has rejected a prompt."""
        bound = self._state.bounds.get(model)
        return limit if bound is None else min(limit, bound.most)

    def room_for(self, model: str, limit: int, error: BudgetTooSmall) -> int:
        """The tokens to send when the required pages exceed the bound; raises if that many were rejected before."""
        needed = error.needed_tokens
        if needed > limit:
            at_least = self._budget_for(model, needed)
            raise BudgetTooSmall(needed_tokens=at_least, budget_tokens=limit, handles=error.handles) from None
        bound = self._state.bounds[model]  # exists, since otherwise the limit would have sufficed
        room = bound.room_for(needed)
        if room is None:
            assert bound.refused is not None
            raise ModelTooSmall(
                model=model, refused_tokens=bound.refused, needed_tokens=needed, handles=error.handles
            ) from None
        return room

    def reported_for(self, model: str, tokens: int) -> int:
        """What the provider will report for this many tokens of our count."""
        return self._state.calibrations.get(model, Calibration()).expected(tokens)

    def _calibrated(self, model: str, tokens: int) -> int:
        """The provider's tokens converted to our count; never more."""
        room = self._state.calibrations.get(model, Calibration()).room(tokens)
        return min(tokens, max(room, tokens // _LEAST_CALIBRATED))

    def _budget_for(self, model: str, tokens: int) -> int:
        """The smallest budget that leaves this many tokens of our count."""
        if tokens >= MOST_TOKENS:  # a journal that was made up: no model takes so many
            return tokens
        budgets = range(tokens, _LEAST_CALIBRATED * (tokens + 1))
        return budgets[bisect_left(budgets, tokens, key=lambda budget: self._calibrated(model, budget))]
