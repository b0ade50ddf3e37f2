"""Defines the Beta posterior of one agent's outcomes at one skill in one bucket."""

import math
from datetime import datetime
from typing import NamedTuple

import msgspec

from pageturn.routing.quantiles import Interval, credible_interval
from pageturn.values.checks import require_bool, require_finite, require_whole
from pageturn.values.json import Closed, Instant

_SHORTEST_MEMORY = 0.9  # a lambda below it would remember fewer than ten outcomes
_LEAST_EVIDENCE, _MOST_EVIDENCE = 1e-9, 1e15  # outcomes; larger numbers are not real counts
NEUTRAL = 0.5  # the confidence of a cell without a declared score


class Evidence(NamedTuple):
    """Outcomes without any prior: successes, and their number; fractions if the past fades."""

    successes: float
    trials: float


class BetaPosterior(Closed):
    """Successes and failures of one agent at one skill in one bucket, as pseudo-counts."""

    alpha: float
    beta: float
    n: int
    c_self: float
    kappa: float
    last_update: Instant

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "kappa"):
            require_finite(f"$.{name}", getattr(self, name), at_least=0.0)
        require_finite("$.c_self", self.c_self, at_least=0.0, at_most=1.0)
        require_whole("$.n", self.n)
        for name in ("alpha", "beta", "c_self", "kappa"):
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))
        if type(self.last_update) is not Instant:
            msgspec.structs.force_setattr(self, "last_update", Instant.of(self.last_update))

    @classmethod
    def from_self_confidence(cls, c_self: float, kappa: float, *, now: datetime) -> "BetaPosterior":
        """A posterior without observations, seeded with the agent's own confidence."""
        require_finite("$.c_self", c_self)
        require_finite("$.kappa", kappa)
        c = min(max(c_self, 0.0), 1.0)
        return cls(kappa * c, kappa * (1.0 - c), 0, c, kappa, Instant.of(now))

    @property
    def mean(self) -> float:
        """The expected success rate."""
        total = self.alpha + self.beta
        return self.alpha / total if total > 0.0 else 0.0

    @property
    def variance(self) -> float:
        """The variance of the success rate."""
        total = self.alpha + self.beta
        scale = total * total * (total + 1.0)
        if 0.0 < scale < math.inf:
            return self.alpha * self.beta / scale
        # Counts too large to be squared: the same value, divided step by step.
        return self.alpha / total * (self.beta / total) / (total + 1.0) if total > 0.0 else 0.0

    def score(self, gamma: float) -> float:
        """The lower confidence bound: mean less `gamma` standard deviations."""
        return self.mean - gamma * math.sqrt(self.variance)

    def interval(self, mass: float = 0.95) -> Interval:
        """The interval of the success rate with this probability."""
        require_finite("mass", mass, at_least=0.0, at_most=1.0)
        return credible_interval(self.alpha, self.beta, mass)

    def update(self, outcome: bool, lambda_: float, *, now: datetime) -> "BetaPosterior":
        """The posterior after one more outcome; `lambda_` below 1 forgets the past."""
        require_bool("$.outcome", outcome)
        return self.graded(1.0 if outcome else 0.0, lambda_, now=now)

    def graded(self, verdict: float, lambda_: float, *, now: datetime, weight: float = 1.0) -> "BetaPosterior":
        """The posterior after a verdict between failure, 0, and success, 1; weak evidence weighs less than an outcome."""
        require_finite("$.verdict", verdict, at_least=0.0, at_most=1.0)
        require_finite("$.weight", weight, at_least=0.0, at_most=1.0)
        return msgspec.structs.replace(
            self,
            alpha=self.alpha * lambda_ + weight * verdict,
            beta=self.beta * lambda_ + weight * (1.0 - verdict),
            n=self.n + 1,
            last_update=Instant.of(now),
        )

    def faded(self, keep: float) -> "BetaPosterior":
        """The same with this share of the observations; the prior stays."""
        require_finite("$.keep", keep, at_least=0.0, at_most=1.0)
        return msgspec.structs.replace(
            self,
            alpha=self.alpha * keep + self.kappa * self.c_self * (1.0 - keep),
            beta=self.beta * keep + self.kappa * (1.0 - self.c_self) * (1.0 - keep),
            n=self.n if keep > 0.0 else 0,
        )

    def corrected(self, before: Evidence, after: Evidence, more: int) -> "BetaPosterior":
        """The same with counted evidence replaced by other evidence; `more` verdicts than before."""
        return msgspec.structs.replace(
            self,
            alpha=max(0.0, self.alpha - before.successes + after.successes),
            beta=max(0.0, self.beta - (before.trials - before.successes) + (after.trials - after.successes)),
            n=max(0, self.n + more),
        )

    def evidence(self, lambda_: float) -> Evidence:
        """The observations without the prior, and never more than `n` outcomes: what neighbours lent is not evidence."""
        if self.n == 0:
            return Evidence(0.0, 0.0)
        left = self.kappa * lambda_**self.n  # of the prior
        successes = max(0.0, self.alpha - left * self.c_self)
        failures = max(0.0, self.beta - left * (1.0 - self.c_self))
        return _evidence(successes, failures, float(self.n))

    def known(self, lambda_: float) -> Evidence:
        """The evidence, with what the agent declared of itself unless that was neutral."""
        if self.c_self == NEUTRAL:
            return self.evidence(lambda_)
        return _evidence(self.alpha, self.beta, _MOST_EVIDENCE)

    def merge(self, other: "BetaPosterior", lambda_: float) -> "BetaPosterior":
        """Both records as one; of two priors only the stronger stays."""
        mine, theirs = self.evidence(lambda_), other.evidence(lambda_)
        prior = max(self, other, key=lambda each: (each.kappa, each.c_self))
        n = self.n + other.n
        left = prior.kappa * lambda_**n
        successes = mine.successes + theirs.successes
        failures = (mine.trials - mine.successes) + (theirs.trials - theirs.successes)
        return BetaPosterior(
            alpha=left * prior.c_self + successes,
            beta=left * (1.0 - prior.c_self) + failures,
            n=n,
            c_self=prior.c_self,
            kappa=prior.kappa,
            last_update=max(self.last_update, other.last_update),
        )


def _evidence(successes: float, failures: float, most: float) -> Evidence:
    """This many outcomes, or as many as are allowed at the same rate."""
    trials = successes + failures
    if trials < _LEAST_EVIDENCE:
        return Evidence(0.0, 0.0)
    most = min(most, _MOST_EVIDENCE)
    if trials <= most:
        return Evidence(successes, trials)
    return Evidence(successes / 2.0 / (successes / 2.0 + failures / 2.0) * most, most)  # halves, which cannot overflow


def clamp_lambda(value: float) -> float:
    """The forgetting factor in use: 1 for an invalid value, and never less than .9."""
    if not math.isfinite(value) or value <= 0.0 or value > 1.0:
        return 1.0
    return max(value, _SHORTEST_MEMORY)
