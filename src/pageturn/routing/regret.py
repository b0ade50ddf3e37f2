"""Estimates from a log of decisions the loss compared with the best single candidate of each bucket, as far as the log allows.

Only the outcome of the chosen candidate is known. An agent's rate over all tasks is estimated from those that it was given, each
weighted by how unlikely that was (self-normalised importance weights). If an agent was hardly ever likely to be chosen, the log says
nothing about what it would have done, and the estimate says so.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from pageturn.routing.decisions import Logged
from pageturn.routing.quantiles import Interval
from pageturn.routing.skills import Setting

LEAST_EFFECTIVE = 20.0  # decisions that an estimate needs
_SOME_CHANCE = 0.01
_LEAST_SUPPORTED = 0.5  # the share of decisions in which an agent must have had a chance
_MASS = 0.95


class Rate(NamedTuple):
    """The estimated rate of an agent over all tasks of a bucket."""

    agent: str
    estimated: float
    error: float
    effective: float  # the effective number of decisions behind it
    supported: float  # the share of decisions in which it had a chance

    @property
    def is_supported(self) -> bool:
        """Whether the log has enough support."""
        return self.effective >= LEAST_EFFECTIVE and self.supported >= _LEAST_SUPPORTED


class Regret(NamedTuple):
    """The loss per task in a bucket; without an interval if the log has too little support."""

    setting: Setting
    decisions: int
    observed: float
    best: str | None
    regret: float
    interval: Interval | None
    unknown: tuple[str, ...]  # agents without enough support; one of them may be better than the best


def regrets(log: Iterable[Logged]) -> list[Regret]:
    """The loss in each bucket, those with the most decisions first."""
    by_setting: dict[Setting, list[Logged]] = {}
    for entry in log:
        if entry.verdict is not None:
            by_setting.setdefault(entry.decision.setting, []).append(entry)
    found = [_regret(where, entries) for where, entries in by_setting.items()]
    return sorted(found, key=lambda each: -each.decisions)


def _regret(where: Setting, entries: Sequence[Logged]) -> Regret:
    rates = _rates(entries)
    verdicts = [entry.verdict or 0.0 for entry in entries]
    observed = sum(verdicts) / len(verdicts)
    known = [each for each in rates if each.is_supported]
    unknown = tuple(each.agent for each in rates if not each.is_supported)
    if not known:
        return Regret(where, len(entries), observed, None, math.nan, None, unknown)
    best = max(known, key=lambda each: each.estimated)
    # The best of several estimates is partly the luckiest, so each gets only its share of the allowed error.
    far = NormalDist().inv_cdf(1.0 - (1.0 - _MASS) / 2.0 / len(known))
    own = math.sqrt(observed * (1.0 - observed) / len(entries))
    error = far * math.hypot(best.error, own)
    regret = best.estimated - observed
    return Regret(where, len(entries), observed, best.agent, regret, Interval(regret - error, regret + error), unknown)


def _rates(entries: Sequence[Logged]) -> list[Rate]:
    given: dict[str, list[tuple[float, float]]] = {}
    chances: dict[str, int] = {}
    for entry in entries:
        decision = entry.decision
        for agent, share in decision.probabilities.items():
            given.setdefault(agent, [])
            chances[agent] = chances.get(agent, 0) + (share >= _SOME_CHANCE or agent == decision.choice)
        if entry.probability > 0.0:
            given.setdefault(decision.choice, []).append((1.0 / entry.probability, entry.verdict or 0.0))
    return [_rate(agent, each, chances.get(agent, 0) / len(entries)) for agent, each in sorted(given.items())]


def _rate(agent: str, given: Sequence[tuple[float, float]], supported: float) -> Rate:
    total = sum(weight for weight, _ in given)
    if total == 0.0:
        return Rate(agent, math.nan, math.nan, 0.0, supported)
    estimated = sum(weight * verdict for weight, verdict in given) / total
    effective = total**2 / sum(weight * weight for weight, _ in given)
    # Of the weights, and never less than what this number of outcomes allows: with successes alone the former would be 0.
    spread = math.sqrt(sum((weight * (verdict - estimated)) ** 2 for weight, verdict in given)) / total
    leaning = (estimated * effective + 1.0) / (effective + 2.0)
    return Rate(agent, estimated, max(spread, math.sqrt(leaning * (1.0 - leaning) / effective)), effective, supported)
