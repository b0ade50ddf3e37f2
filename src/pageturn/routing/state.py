"""The routing state: one Beta posterior for each agent, skill and bucket (CADMAS-CTX, arXiv:2604.17950).

Posteriors are scored by a lower confidence bound. The state is a sidecar: it never becomes part of a context. Time is passed in, and an
agent without outcomes scores 0 in both selection rules.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from pageturn.routing.posteriors import BetaPosterior, clamp_lambda
from pageturn.values.checks import require_bool, require_finite, require_instance, require_several
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed
from pageturn.values.relevance import Bucket, Dependency, Difficulty, ToolUse

MAX_SHRINKAGE = 2.0  # m_z: neighbours never weigh more than two observations


ALL_BUCKETS = tuple(Bucket(d, e, t) for d in Difficulty for e in Dependency for t in ToolUse)


def neighbours(bucket: Bucket) -> tuple[Bucket, ...]:
    """The buckets that differ from this one in one axis."""
    axes = Bucket.__struct_fields__
    return tuple(b for b in ALL_BUCKETS if sum(getattr(b, axis) != getattr(bucket, axis) for axis in axes) == 1)


class DelegationConfig(Closed):
    """The settings: uncertainty penalty, margin, prior strength, forgetting, and whether scores are used at all."""

    gamma: float = 0.5
    delta: float = 0.05
    kappa: float = 2.0
    lambda_: float = msgspec.field(name="lambda", default=1.0)
    enabled: bool = False

    def __post_init__(self) -> None:
        for name, at_least in (("gamma", None), ("delta", None), ("kappa", 0.0), ("lambda_", 0.0)):
            require_finite(f"$.{name.rstrip('_')}", getattr(self, name), at_least=at_least)
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))
        require_bool("$.enabled", self.enabled)


def graded(
    known: BetaPosterior | None,
    verdicts: Iterable[float],
    config: DelegationConfig,
    *,
    now: datetime,
    weight: float = 1.0,
) -> BetaPosterior:
    """The posterior after these verdicts, with what was known before; an unseen cell starts undecided."""
    posterior = known or BetaPosterior.from_self_confidence(0.5, config.kappa, now=now)
    for verdict in verdicts:
        posterior = posterior.graded(verdict, clamp_lambda(config.lambda_), now=now, weight=weight)
    return posterior


def _lent(own: BetaPosterior, means: Sequence[float], weight: float) -> BetaPosterior:
    """A posterior with a number of pseudo-counts at the mean of others' means."""
    alpha = own.alpha + sum(means) / len(means) * weight
    beta = own.beta + sum(1.0 - mean for mean in means) / len(means) * weight
    return msgspec.structs.replace(own, alpha=alpha, beta=beta)


class DelegationState(msgspec.Struct, forbid_unknown_fields=True):
    """All posteriors, by the flat key `agent|skill|difficulty|dependency|tool_use`, and the settings."""

    beliefs: dict[str, BetaPosterior] = msgspec.field(default_factory=dict)
    config: DelegationConfig = msgspec.field(default_factory=DelegationConfig)

    def __post_init__(self) -> None:
        for key in self.beliefs:
            if key.count("|") != 4:
                raise InvalidInput(
                    "$.beliefs", expected="keys of the form agent|skill|difficulty|dependency|tool_use", got=show(key)
                )
        self.beliefs = dict(sorted(self.beliefs.items()))

    @staticmethod
    def key(agent: str, skill: str, bucket: Bucket) -> str:
        """The flat key of a posterior."""
        for name, value in (("agent", agent), ("skill", skill)):
            if not isinstance(value, str) or "|" in value:
                raise InvalidInput(f"$.{name}", expected="a name without '|'", got=show(value))
        require_instance("$.bucket", bucket, Bucket)
        return f"{agent}|{skill}|{bucket.difficulty}|{bucket.dependency}|{bucket.tool_use}"

    def ensure(self, agent: str, skill: str, bucket: Bucket, c_self: float, *, now: datetime) -> BetaPosterior:
        """The posterior of this cell, seeded with `c_self` if there is none yet."""
        key = self.key(agent, skill, bucket)
        if key not in self.beliefs:
            self._put(key, BetaPosterior.from_self_confidence(c_self, self.config.kappa, now=now))
        return self.beliefs[key]

    def score(self, agent: str, skill: str, bucket: Bucket) -> float | None:
        """The lower confidence bound of this cell, or None if it was never seeded."""
        posterior = self.beliefs.get(self.key(agent, skill, bucket))
        return None if posterior is None else posterior.score(self.config.gamma)

    def update(self, agent: str, skill: str, bucket: Bucket, outcome: bool, *, now: datetime) -> None:
        """Record one outcome; an unseen cell starts undecided."""
        posterior = self.ensure(agent, skill, bucket, 0.5, now=now)
        self._put(self.key(agent, skill, bucket), posterior.update(outcome, self.config.lambda_, now=now))

    def delegate_to(self, local: str, peers: Sequence[str], skill: str, bucket: Bucket) -> str | None:
        """The best peer that beats the local agent by more than the margin, or None: the local agent does the work."""
        bar = self._score_or_zero(local, skill, bucket) + self.config.delta
        require_several("peers", peers, "names of agents")
        better = [peer for peer in peers if peer != local and self._score_or_zero(peer, skill, bucket) > bar]
        return self.rank_candidates(better, skill, bucket)

    def rank_candidates(self, candidates: Sequence[str], skill: str, bucket: Bucket) -> str | None:
        """The candidate with the best score, the earlier one on a tie; None if there are no candidates."""
        require_several("candidates", candidates, "names of agents")
        return max(candidates, key=lambda name: self._score_or_zero(name, skill, bucket), default=None)

    def shrink_cold_start(
        self, agent: str, skill: str, bucket: Bucket, neighbors: Iterable[Bucket], m_z: float, *, now: datetime
    ) -> None:
        """Lend a cell without observations at most `m_z` pseudo-counts from the mean of its neighbours' means."""
        require_finite("$.m_z", m_z)
        weight = min(max(m_z, 0.0), MAX_SHRINKAGE)
        key = self.key(agent, skill, bucket)
        own = self.beliefs.get(key)
        if weight == 0.0 or (own is not None and own.n > 0):
            return
        near = (self.beliefs.get(self.key(agent, skill, other)) for other in neighbors if other != bucket)
        means = [posterior.mean for posterior in near if posterior is not None and posterior.n > 0]
        if not means:
            return
        self._put(key, _lent(self.ensure(agent, skill, bucket, 0.5, now=now), means, weight))

    def warmed(self, agent: str, skill: str, bucket: Bucket, *, now: datetime) -> BetaPosterior:
        """The posterior of this cell; without observations, with at most two lent by the nearest cells that have any.

        Nearest are the agent's buckets that differ in one axis, then all of its cells at that skill, divided or not, then those of all
        agents. Nothing is stored.
        """
        near = neighbours(bucket)
        keys = (self.key(agent, skill, each) for each in (bucket, *near))
        nearest = DelegationState({key: self.beliefs[key] for key in keys if key in self.beliefs}, self.config)
        own = nearest.ensure(agent, skill, bucket, 0.5, now=now)
        nearest.shrink_cold_start(agent, skill, bucket, near, MAX_SHRINKAGE, now=now)
        shrunk = nearest.ensure(agent, skill, bucket, 0.5, now=now)
        if own.n > 0 or shrunk != own:
            return shrunk
        means = self._farther_lenders(agent, skill)
        return _lent(own, means, MAX_SHRINKAGE) if means else own

    def _farther_lenders(self, agent: str, skill: str) -> list[float]:
        """The means of the agent's other observed cells at a skill; if there are none, of all agents'."""
        base = skill.partition("@")[0]
        own, pool = [], []
        for key, posterior in self.beliefs.items():
            name, at, _ = key.split("|", 2)
            if posterior.n > 0 and at.partition("@")[0] == base:
                pool.append(posterior.mean)
                if name == agent:
                    own.append(posterior.mean)
        return own or pool

    def merge(self, other: "DelegationState") -> "DelegationState":
        """The evidence of both, with the settings of this one."""
        require_instance("other", other, DelegationState)
        lambda_ = clamp_lambda(self.config.lambda_)
        merged = dict(self.beliefs)
        for key, theirs in other.beliefs.items():
            merged[key] = merged[key].merge(theirs, lambda_) if key in merged else theirs
        return DelegationState(merged, self.config)

    def _score_or_zero(self, agent: str, skill: str, bucket: Bucket) -> float:
        return self.score(agent, skill, bucket) or 0.0

    def _put(self, key: str, posterior: BetaPosterior) -> None:
        """Store a posterior; keys stay sorted, so that equal states have equal bytes."""
        fresh = key not in self.beliefs
        self.beliefs[key] = posterior
        if fresh:
            self.beliefs = dict(sorted(self.beliefs.items()))
