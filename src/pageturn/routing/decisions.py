"""Defines routing decisions: what was chosen, why, and the outcome, stored so that they can be explained and replayed."""

import math
from collections.abc import Mapping
from statistics import NormalDist

import msgspec

from pageturn.routing.modes import Aim, probabilities, probability
from pageturn.routing.pooling import Estimate
from pageturn.routing.posteriors import Evidence
from pageturn.routing.quantiles import Interval
from pageturn.routing.skills import Setting
from pageturn.values.checks import require_finite, require_whole
from pageturn.values.json import Closed, Instant
from pageturn.values.relevance import Bucket

DISABLED = "disabled"
ESTIMATES = 2  # the present method of estimating; 1 was a normal distribution of rates
WEAK = 0.25  # of an outcome: an indirect sign, such as failed tool calls or a repeated question


class Scored(Closed):
    """A candidate: its estimate, its score, and the part of chance in it."""

    agent: str
    mean: float
    deviation: float
    centre: float
    spread: float
    score: float

    def interval(self, mass: float = 0.95) -> Interval:
        """The interval of its rate with this probability: of the estimated normal distribution of log-odds."""
        require_finite("mass", mass, at_least=0.0, at_most=1.0)
        if mass == 1.0:
            return Interval(0.0, 1.0)
        far = NormalDist().inv_cdf(0.5 + mass / 2.0)
        at = Estimate(self.mean, self.deviation).at
        return Interval(at(-far), at(far))


class Decision(Closed, omit_defaults=True):
    """One choice among candidates, with everything that it was based on."""

    id: str
    at: Instant
    skill: str
    bucket: Bucket
    mode: str
    choice: str
    candidates: tuple[Scored, ...]
    explored: bool = False  # another candidate was expected to be better
    local: str | None = None
    margin: float = 0.0
    seen: int = 0  # the last change of the store's sidecars that the estimates include
    failed: tuple[str, ...] = ()  # those that were tried before
    wait_seconds: float = 0.0  # the retry-after that an error asked for
    left_out: tuple[str, ...] = ()  # candidates that rest, or that come after siblings of the failed one
    reasons: Mapping[str, str] = msgspec.field(default_factory=dict)  # why candidates were left out
    value: float = 0.0  # of a success, if money decides
    costs: Mapping[str, float] = msgspec.field(default_factory=dict)  # of each candidate, if known
    running: str | None = None  # the candidate with the session's prompt in its cache
    cache_money: float = 0.0  # what that cache saves, and a switch loses
    estimates: int = 1  # the method of estimating that it used

    @property
    def setting(self) -> Setting:
        """The skill and bucket of the task."""
        return Setting(self.skill, self.bucket)

    @property
    def scores(self) -> Mapping[str, float]:
        """The score of each candidate."""
        return {each.agent: each.score for each in self.candidates}

    @property
    def ranking(self) -> tuple[str, ...]:
        """The candidates, the best score first; in the caller's order where scores are equal."""
        return tuple(each.agent for each in sorted(self.candidates, key=lambda each: -each.score))

    @property
    def why(self) -> str:
        """The reason, in a sentence."""
        reasons = [self._why]
        if self.running is not None and self.cache_money > 0.0:
            if self.choice == self.running:
                reasons.append(f"it has the session's prompt in its cache, which saves {self.cache_money:g}")
            else:
                reasons.append(f"although leaving {self.running} loses a prompt cache worth {self.cache_money:g}")
        reasons += [f"{agent} is left out: {reason}" for agent, reason in self.reasons.items()]
        return "; ".join(reasons)

    @property
    def _why(self) -> str:
        chosen = next((each for each in self.candidates if each.agent == self.choice), None)
        if self.mode == DISABLED or chosen is None:
            return f"{self.choice}: delegation is disabled, so the caller's order applies"
        others = [each for each in self.candidates if each.agent != self.choice]
        if not others:
            return f"{self.choice}: no other candidate is left" if self.failed else f"{self.choice}: the only candidate"
        best = max(others, key=lambda each: each.score)
        if self.local == self.choice:
            return f"{self.choice} keeps it: {best.agent} scores {best.score:.3f}, not more than {chosen.score:.3f} and the margin {self.margin:g}"
        beaten = f"{self.choice} scores {chosen.score:.3f} by {self.mode}, {best.agent} {best.score:.3f}"
        if self.mode == "cost" and self.value:
            beaten += f" (a success is worth {self.value:g}, and it costs {self.costs[self.choice]:g})"
        if self.local is not None:
            return f"{beaten}; the local {self.local} is beaten by more than the margin {self.margin:g}"
        if self.explored:
            hoped = max(self.candidates, key=lambda each: each.mean)
            return f"{beaten}; explored, since {hoped.agent} is expected to be better ({hoped.mean:.3f} to {chosen.mean:.3f})"
        return beaten

    @property
    def intervals(self) -> Mapping[str, Interval]:
        """The interval of each candidate's rate, with a probability of 95 %."""
        return {each.agent: each.interval() for each in self.candidates}

    @property
    def probabilities(self) -> Mapping[str, float]:
        """How likely each candidate was to be chosen."""
        if self.mode == DISABLED:
            return {each.agent: float(each.agent == self.choice) for each in self.candidates}
        agents, aims = self._aims()
        shares = dict(zip(agents, probabilities(aims), strict=True))
        return {each.agent: shares[each.agent] for each in self.candidates}

    @property
    def probability(self) -> float:
        """How likely the choice was."""
        agents, aims = self._aims()
        if self.mode == DISABLED or self.choice not in agents:
            return 1.0
        return probability(aims, agents.index(self.choice))

    def _aims(self) -> tuple[list[str], list[Aim]]:
        """The scores between which the choice was made; the local agent first, which keeps the work on a tie."""
        ordered = sorted(self.candidates, key=lambda each: each.agent != self.local)
        aims = [Aim(each.centre, each.spread) for each in ordered]
        if aims and ordered[0].agent == self.local:  # a hair more than the margin, since of equals it is the one
            aims[0] = Aim(math.nextafter(aims[0].centre + self.margin, math.inf), aims[0].spread)
        return [each.agent for each in ordered], aims


class Outcome(Closed, omit_defaults=True):
    """The outcome of a decision."""

    verdict: float | None
    retries: int = 0
    excused: str | None = None  # why the outcome is not counted against the agent
    weight: float = 1.0
    is_weak: bool = False  # a stronger one replaces it
    seconds: float | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        require_whole("$.retries", self.retries)
        if self.verdict is not None:
            require_finite("$.verdict", self.verdict, at_least=0.0, at_most=1.0)
        require_finite("$.weight", self.weight, at_least=0.0, at_most=1.0)
        for name in ("seconds", "money"):
            if getattr(self, name) is not None:
                require_finite(f"$.{name}", getattr(self, name), at_least=0.0)

    @property
    def verdicts(self) -> list[float]:
        """The counted verdicts: a failure for each retry, and then the verdict, if it has one."""
        return [0.0] * self.retries + ([] if self.verdict is None else [self.verdict])

    def says(self, other: "Outcome") -> bool:
        """Whether both count the same."""
        return self.verdicts == other.verdicts and (self.excused, self.weight, self.is_weak) == (
            other.excused,
            other.weight,
            other.is_weak,
        )

    def evidence(self, lambda_: float, age: int) -> Evidence:
        """What is left of it in a posterior that has counted this many verdicts since."""
        successes = trials = 0.0
        for verdict in self.verdicts:
            successes, trials = successes * lambda_ + self.weight * verdict, trials * lambda_ + self.weight
        return Evidence(successes * lambda_**age, trials * lambda_**age)

    def __str__(self) -> str:
        value = "an excuse" if self.verdict is None else f"{self.verdict:g}"
        return f"{value} with {self.retries} retries" + (" (weak)" if self.is_weak else "")


class Former(Closed):
    """An outcome that was replaced, and the number of the change that had counted it."""

    version: int
    outcome: Outcome


class Logged(Closed, omit_defaults=True):
    """A decision as the log stores it: with the probability of its choice, and its outcome."""

    decision: Decision
    probability: float
    verdict: float | None = None
    retries: int = 0
    excused: str | None = None  # why the outcome is not counted against the agent
    weight: float = 1.0
    is_weak: bool = False
    seconds: float | None = None
    money: float | None = None
    counted: int = 0  # verdicts of its cell when it was counted, including its own
    former: tuple[Former, ...] = ()

    def __post_init__(self) -> None:
        require_whole("$.retries", self.retries)
        if self.verdict is not None:
            require_finite("$.verdict", self.verdict, at_least=0.0, at_most=1.0)

    @property
    def is_settled(self) -> bool:
        """Whether its outcome is known."""
        return self.verdict is not None or self.excused is not None

    @property
    def outcome(self) -> Outcome:
        """The outcome of the decision."""
        return Outcome(self.verdict, self.retries, self.excused, self.weight, self.is_weak, self.seconds, self.money)

    @property
    def verdicts(self) -> list[float]:
        """The counted verdicts."""
        return self.outcome.verdicts

    def settled(self, outcome: Outcome, counted: int, replaced_at: int | None = None) -> "Logged":
        """The same with an outcome; an earlier outcome is kept, with the number of the change that had counted it."""
        former = self.former if replaced_at is None else (*self.former, Former(replaced_at, self.outcome))
        return msgspec.structs.replace(self, **msgspec.structs.asdict(outcome), counted=counted, former=former)
