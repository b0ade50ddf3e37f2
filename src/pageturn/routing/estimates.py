"""Estimates candidates for the routing modes from the stored posteriors."""

from collections.abc import Callable
from datetime import datetime

from pageturn.routing.pooling import Estimate
from pageturn.routing.skills import Setting
from pageturn.routing.state import DelegationState
from pageturn.routing.stored_state import Beliefs, context_of


class Estimates:
    """The estimates of candidates in one setting; without prices, every cost is 0."""

    def __init__(
        self,
        beliefs: Beliefs,
        where: Setting,
        *,
        now: datetime,
        cost: Callable[[str], float] = lambda _: 0.0,
        value: float = 1.0,
    ) -> None:
        self._beliefs = beliefs
        self._setting = where
        self._now = now
        self._context = context_of(where)
        self._state: DelegationState | None = None
        self._estimates: dict[str, Estimate] = {}
        self._pool = beliefs.pool(where, now)
        self.usual = self._pool.usual(self._context)
        self.outcomes = self._pool.trials
        self.cost = cost
        self.value = value

    def cell_score(self, agent: str) -> float:
        """The lower bound of its cell alone; 0 if it was never seen."""
        posterior = self._beliefs.posterior(agent, self._setting)
        return 0.0 if posterior is None else posterior.score(self._beliefs.config.gamma)

    def warmed_score(self, agent: str) -> float:
        """The lower bound of its cell, which borrows outcomes if it is empty."""
        if self._state is None:
            self._state = self._beliefs.state
        return self._state.warmed(agent, *self._setting, now=self._now).score(self._beliefs.config.gamma)

    def estimate(self, agent: str) -> Estimate:
        """The estimate, using everything that is known of others and in other cells."""
        if agent not in self._estimates:
            self._estimates[agent] = self._pool.estimate(agent, self._context)
        return self._estimates[agent]
