"""The router: chooses an agent or a model by past outcomes, explains the choice, and learns from its outcome.

    >>> import pageturn as pt
    >>> router = pt.Router.open("agent.db")
    >>> decision = router.choose(["openai/gpt-5", "anthropic/claude-opus-5"], "model_call", {"domain": "sql"})
    >>> router.observe(decision, True)

Choosing reads the store but does not write to it; decisions are written with their outcomes, or by `flush`.
"""

import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

import msgspec

from pageturn.routing import CATALOGUE, Beliefs, Decision, DelegationConfig, Mode, Setting
from pageturn.routing.arguments import Arguments, names_of
from pageturn.routing.decisions import DISABLED, ESTIMATES, WEAK, Outcome
from pageturn.routing.declared import Declared
from pageturn.routing.failover import Failure, left_after, nearest, read_failure, read_verdict
from pageturn.routing.limits import Limits, Needs, Traffic
from pageturn.routing.modes import MODES, RandomSource, mode_of, name_now
from pageturn.routing.prices import MONEY_A_SECOND, VALUE_OF_SUCCESS, Costs, Price
from pageturn.routing.scoring import Scoring, best
from pageturn.routing.skills import MODEL_CALL, require_name, require_skill_name, setting
from pageturn.routing.stored_state import scope_of_beliefs
from pageturn.routing.warm_caches import WarmCaches
from pageturn.stores import FullStore, MemorySidecars, Sidecars, open_store, path_of
from pageturn.values.checks import require_bool, require_callable, require_finite, require_instance, require_text
from pageturn.values.errors import InvalidInput, show
from pageturn.values.ids import uuid7
from pageturn.values.json import Instant
from pageturn.values.messages import Message
from pageturn.values.relevance import Bucket

_MOST_PENDING = 256  # decisions without an outcome that are held in memory before they are written


class Router:
    """Chooses an agent by past outcomes, and learns from new ones."""

    def __init__(
        self,
        beliefs: Beliefs | None = None,
        *,
        mode: str | Mode | None = None,  # lcb with a local agent, cost with prices, otherwise thompson
        value: float = VALUE_OF_SUCCESS,  # in the unit of the prices
        skills: Iterable[str] = (),  # in addition to those of the catalogue
        rng: RandomSource | int | None = None,  # a seed, or a source of randomness
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        if not isinstance(beliefs, Beliefs | None):
            raise InvalidInput("beliefs", expected="Beliefs or nothing (Router.open takes a file)", got=show(beliefs))
        if mode is not None:
            mode_of(mode)
        if not isinstance(skills, Iterable):
            raise InvalidInput("skills", expected="names of skills", got=show(skills))
        for path, function in (("clock", clock), ("entropy", entropy)):
            require_callable(path, function)
        names = (skills,) if isinstance(skills, str) else tuple(skills)
        for name in names:
            require_skill_name(name)
        require_finite("value", value, at_least=0.0)
        self.beliefs = Beliefs(MemorySidecars(), clock=clock) if beliefs is None else beliefs
        self.skills = CATALOGUE.union(names)
        self._mode = mode
        self._value = value
        self._rng = _rng_of(rng)
        self._clock = clock
        self._entropy = entropy
        self._own_store: FullStore | None = None
        self._pending: dict[str, Decision] = {}
        self._rests = self.beliefs.rests()
        self._traffic = Traffic()
        self._warm_caches = WarmCaches()
        self._scoring = Scoring(self.beliefs)
        self._arguments = Arguments(self.skills)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | Sidecars = ":memory:",
        scope: str | None = None,
        *,
        config: DelegationConfig | None = None,
        enabled: bool | None = None,
        half_life: timedelta | None = None,
        mode: str | Mode | None = None,
        value: float = VALUE_OF_SUCCESS,
        skills: Iterable[str] = (),
        rng: RandomSource | int | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """A router on the routing state of a store, of one scope or of the sessions without a scope.

        `DelegationConfig` is off by default, as its serialised form is. Settings that differ from the default switch the router on,
        unless `enabled=False` is given. After `half_life` an outcome counts half.
        """
        if scope is not None:
            require_text("scope", scope)
        if enabled is not None:
            require_bool("enabled", enabled)
        if config is not None:
            require_instance("config", config, DelegationConfig)
        if config is not None and (enabled is not None or config != DelegationConfig()):
            config = msgspec.structs.replace(config, enabled=enabled is not False)
        elif enabled is not None:
            config = DelegationConfig(enabled=enabled)
        opened = None if isinstance(url, Sidecars) else open_store(path_of(url))
        store = url if isinstance(url, Sidecars) else opened
        assert store is not None
        beliefs = Beliefs(store, scope_of_beliefs(scope), clock=clock, config=config, half_life=half_life)
        router = cls(beliefs, mode=mode, value=value, skills=skills, rng=rng, clock=clock, entropy=entropy)
        router._own_store = opened
        return router

    # -- choosing

    def choose(
        self,
        candidates: Iterable[str],
        skill: str = MODEL_CALL,
        bucket: Bucket | Mapping[str, str] | Sequence[Message] | str | None = None,
        *,
        messages: Sequence[Message] | None = None,
        local: str | None = None,  # it does the task unless a candidate is better by the margin
        mode: str | Mode | None = None,
        prices: Mapping[str, Price] | None = None,
        value: float | None = None,  # of a success, in the unit of the prices; the router's own by default
        running: str | None = None,  # the agent with the session's prompt in its cache
        session: str | None = None,  # whose last choice is the running one, unless `running` says otherwise
        cached_tokens: int = 0,  # of the prefix that the running agent has in its cache
        money_a_second: float = MONEY_A_SECOND,
        most_money: float | None = None,  # a cap on what a candidate may cost
        least_success: float | None = None,  # a candidate that is not expected to reach it is left out, unless none is
        tokens: int | None = None,  # of the prompt
        limits: Mapping[str, Limits] | None = None,
    ) -> Decision:
        """Pick one of the candidates for a task: of a skill, in a bucket that is given, divided by axes, or derived from messages.

        If prices decide, the best candidate has the most of `value` times its optimistic rate, less its cost.
        """
        agents = self._arguments.agents(candidates, local)
        local = None if local is None else str.__str__(local)
        where = self._arguments.setting(skill, bucket, messages)
        if session is not None:
            require_text("session", session)
            running = running if running is not None else self._warm_caches.of(session, self._clock())
        costs = Costs.of(prices, running, money_a_second, cached_tokens, self._value if value is None else value)
        needs = Needs.of(limits, tokens, most_money, least_success)
        usual = "lcb" if local is not None else "cost" if prices else "thompson"
        decision = self._decide(agents, where, mode or self._mode or usual, costs, local, needs)
        if session is not None:
            self._warm_caches.note(session, decision.choice, self._clock())
        return decision

    def choose_router_target(
        self,
        decision: Decision | str,
        error: object,
        candidates: Iterable[str] | None = None,
        *,
        prices: Mapping[str, Price] | None = None,
        limits: Mapping[str, Limits] | None = None,
        tokens: int | None = None,
        retries: int = 0,
    ) -> Decision | None:
        """Record an error with its attribution, and pick another candidate: never one that failed; None if no other would help.

        It continues as the decision was made: in its mode, and with its local agent. If cost decides, it needs the prices again;
        without them, success alone decides. A prompt that was too long goes to a candidate with a longer window, by its limits or by
        its name.
        """
        decision = self._known(decision)
        known: Iterable[str] = (*(each.agent for each in decision.candidates), *decision.left_out)
        if candidates is not None:
            named = names_of(candidates)
            known = self._arguments.agents(named, None) if named else ()
        now = self._clock()
        failure = read_failure(error, now=now)
        failed = (*decision.failed, decision.choice)
        left = left_after(failed, known)
        costs = Costs.of(prices, decision.running, value=decision.value or self._value)
        needs = Needs.of(limits, tokens or failure.prompt_tokens, None, None)
        mode = self._mode_of(decision)
        if mode is MODES["cost"]:
            mode = mode if costs.prices else MODES["thompson"]
            for name in left if costs.prices else ():
                costs.asking(name)  # refused before anything is counted
        verdict, excused = (0.0, None) if failure.blames_agent else (None, failure.why)
        self._count(decision, Outcome(verdict, retries, excused), failure)
        if failure.is_too_long:
            left = [name for name in left if needs.window(name) > needs.window(decision.choice)]
        elif not failure.helps_elsewhere:
            left = []
        if not left:
            return None
        resting = self._rests.of(left, now)
        awake = [name for name in left if name not in resting] or left
        agents = awake if failure.is_too_long else nearest(awake, decision.choice, failure)
        local = decision.local if decision.local in awake else None
        if local is not None and local not in agents:
            agents.append(local)
        return self._decide(tuple(agents), decision.setting, mode, costs, local, needs, failed, left)

    def _mode_of(self, decision: Decision) -> Mode:
        """The mode of a decision, or the router's own if it is no longer known."""
        own = mode_of(self._mode or "thompson")
        return own if own.name == decision.mode else MODES.get(name_now(decision.mode), own)

    def _decide(  # noqa: PLR0917
        self,
        agents: tuple[str, ...],
        where: Setting,
        mode: str | Mode,
        costs: Costs,
        local: str | None,
        needs: Needs,
        failed: tuple[str, ...] = (),
        named: Sequence[str] = (),
    ) -> Decision:
        now = self._clock()
        self.beliefs.refresh()
        self._rests.refresh(self.beliefs.version)
        config = self.beliefs.config
        chosen_mode = mode_of(mode)
        asked, reasons = self._able(agents, costs, needs, now)
        ready = self._scoring.of(asked, where, chosen_mode, costs, now)
        if needs.least_success is not None and config.enabled:
            poor = ready.poor(needs.least_success)
            if poor:
                reasons |= poor
                asked = tuple(agent for agent in asked if agent not in poor)
                ready = self._scoring.of(asked, where, chosen_mode, costs, now)
        if config.enabled:
            scored = ready.with_chance(self._rng)
            choice = best(scored, self._rng, local, config.delta)
        else:
            scored = list(ready.scored)
            choice = asked[0] if local is None or local not in asked else local
        self._traffic.ask(choice, needs, now)
        mean = next(each.mean for each in scored if each.agent == choice)
        everybody = named or agents
        decision = Decision(
            id=uuid7(now, self._entropy),
            at=Instant.of(now),
            skill=where.skill,
            bucket=where.bucket,
            mode=chosen_mode.name if config.enabled else DISABLED,
            choice=choice,
            candidates=tuple(scored),
            explored=config.enabled and local is None and mean < ready.expected,
            local=local,
            margin=0.0 if local is None else config.delta,
            seen=self.beliefs.version,
            failed=failed,
            wait_seconds=self._rest_left(choice, now),
            left_out=() if everybody is asked else tuple(name for name in everybody if name not in asked),
            reasons=reasons,
            value=costs.value if costs.prices else 0.0,
            costs={agent: costs.asking(agent) for agent in asked if agent in costs.prices},
            running=costs.running,
            cache_money=costs.cache,
            estimates=ESTIMATES,
        )
        self._pending[decision.id] = decision
        if len(self._pending) > _MOST_PENDING:
            self.flush()
        return decision

    def _able(
        self, agents: tuple[str, ...], costs: Costs, needs: Needs, now: datetime
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Those that can be called now, and why the others cannot; at least one always can."""
        reasons: dict[str, str] = {}
        for find in (
            needs.too_long,
            lambda left: needs.too_dear(left, costs),
            lambda left: self._resting(left, now),
            lambda left: self._traffic.full(left, needs, now),
        ):
            found = find(agents)
            if found:
                reasons |= found
                agents = tuple(agent for agent in agents if agent not in found)
        return agents, reasons

    def _resting(self, agents: Sequence[str], now: datetime) -> dict[str, str]:
        """Those that rest; if all do, the one that is back first is not among them."""
        rests = dict(self._rests.of(agents, now))
        if rests and len(rests) == len(agents):
            del rests[min(agents, key=lambda name: rests[name].until)]
        return {agent: f"it rests for {rest.left(now):.0f} s, since {rest.why}" for agent, rest in rests.items()}

    def _rest_left(self, agent: str, now: datetime) -> float:
        rest = self._rests.of((agent,), now).get(agent)
        return 0.0 if rest is None else rest.left(now)

    # -- learning

    def observe(
        self,
        decision: Decision | str,
        outcome: object,
        *,
        retries: int = 0,
        weight: float | None = None,
        is_weak: bool | None = None,
        is_correction: bool = False,
        seconds: float | None = None,
        money: float | None = None,
    ) -> bool:
        """Record the outcome of a decision: true or false, a grade, an exception, or the results of tool calls; each retry counts as a
        failure.

        A decision may be named by its id, later and from elsewhere, once it was written; an unknown one is an error. The same outcome
        twice counts once, and the return value says whether it changed anything. Weak evidence, such as results of tool calls, counts
        a quarter and is replaced by a strong outcome; any other change must be marked as a correction. `seconds` and `money` are what
        the call took.
        """
        reports = _reported(outcome, retries, weight, is_weak, seconds, money, self._clock())
        return self._count(self._known(decision), *reports, is_correction=is_correction)

    def observe_all(self, outcomes: Iterable[tuple[Decision | str, object]]) -> int:
        """Record many outcomes; returns how many changed anything. All are checked before any is counted."""
        now = self._clock()
        reports = [
            (self._known(decision), *_reported(outcome, 0, None, None, None, None, now))
            for decision, outcome in outcomes
        ]
        return sum(self._count(*each) for each in reports)

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions that wait for their outcome, oldest first: those of this router, and all that were written."""
        written = {entry.decision.id: entry.decision for _, entry in self.beliefs.log() if not entry.is_settled}
        return tuple(sorted((written | self._pending).values(), key=lambda each: each.at))

    def declare(self, scores: Iterable[Declared]) -> int:
        """Load declared scores, for agents without any outcome or score there yet; returns how many were new."""
        table = list(scores)
        for each in table:
            if not isinstance(each, Declared):
                raise InvalidInput("scores", expected="Declared scores", got=show(each))
            require_name("agent", each.agent)
        return sum(
            self.beliefs.declare(each.agent, setting(each.skill, each.bucket, self.skills), each.score, each.strength)
            for each in table
        )

    def _count(
        self, decision: Decision, outcome: Outcome, failure: Failure | None = None, *, is_correction: bool = False
    ) -> bool:
        is_first = decision.id in self._pending  # no other object knows it
        counted = self.beliefs.observe(decision, outcome, is_first=is_first, is_correction=is_correction)
        self._pending.pop(decision.id, None)
        if counted and not is_correction:
            now = self._clock()
            if failure is None and outcome.verdict is not None:
                self._rests.answered(decision.choice, now)
            elif failure is not None and failure.is_down:
                self._rests.failed(decision.choice, failure, now)
        return counted

    def flush(self) -> None:
        """Store the decisions that have no outcome yet, so that other processes can observe them."""
        self.beliefs.keep(list(self._pending.values()))
        self._pending.clear()

    def close(self) -> None:
        """Store the remaining decisions, and close a store that was opened here."""
        self.flush()
        if self._own_store is not None:
            self._own_store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _known(self, decision: Decision | str) -> Decision:
        if isinstance(decision, Decision):
            return decision
        known = self._pending.get(decision) if isinstance(decision, str) else None
        if known is None and isinstance(decision, str):
            known = self.beliefs.decision(decision)
        if known is None:
            raise InvalidInput("decision", expected="a decision, or the id of one that was written", got=show(decision))
        return known


def _reported(  # noqa: PLR0917
    outcome: object,
    retries: int,
    weight: float | None,
    is_weak: bool | None,
    seconds: float | None,
    money: float | None,
    now: datetime,
) -> tuple[Outcome, Failure | None]:
    """The reported outcome, and the failure if it was one."""
    read = read_verdict(outcome, now=now)
    weak = read.is_weak if is_weak is None else is_weak
    require_bool("is_weak", weak)
    counts = weight if weight is not None else WEAK if weak else 1.0
    return Outcome(read.value, retries, read.excused, counts, weak, seconds, money), read.failure


def _rng_of(rng: RandomSource | int | None) -> RandomSource:
    """The source of randomness: as given, from a seed, or the system's."""
    if rng is None or type(rng) is int:
        return random.Random(rng)  # noqa: S311
    if not (callable(getattr(rng, "gauss", None)) and callable(getattr(rng, "choice", None))):
        raise InvalidInput("rng", expected="a seed, or an object with the methods of random.Random", got=show(rng))
    return rng  # type: ignore[return-value]
