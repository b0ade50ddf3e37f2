"""The router: chooses an agent or a model by past outcomes, explains the choice, and learns from its outcome.

    >>> import pageturn as pt
    >>> router = pt.Router.open("agent.db")
    >>> decision = router.choose(["openai/gpt-5", "anthropic/claude-opus-5"], "model_call", {"domain": "sql"})
    >>> router.observe(decision, True)

Choosing reads the store but does not write to it; decisions are written with their outcomes, or by `flush`.
"""

import math
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import NamedTuple, Self

from pageturn.routing import CATALOGUE, Beliefs, Decision, DelegationConfig, Mode, Scored, Setting
from pageturn.routing.decisions import DISABLED
from pageturn.routing.estimates import Estimates
from pageturn.routing.failover import left_after, nearest, read_failure, read_verdict
from pageturn.routing.modes import MODES, Aim, RandomSource, mode_of, name_now
from pageturn.routing.prices import MONEY_A_SECOND, Costs, Price
from pageturn.routing.skills import MODEL_CALL, require_name, require_skill_name, setting
from pageturn.routing.stored_state import scope_of_beliefs
from pageturn.stores import MemorySidecars, Sidecars, SqliteStore, open_store, path_of
from pageturn.values.checks import require_callable, require_text
from pageturn.values.errors import InvalidInput, show
from pageturn.values.ids import uuid7
from pageturn.values.json import Instant
from pageturn.values.messages import Message
from pageturn.values.relevance import Bucket, bucket_for_messages

_MOST_PENDING = 256  # decisions without an outcome that are held in memory before they are written
_MOST_SETTINGS = 1_000


class _Rest(NamedTuple):
    """What somebody asked for. A clock that was set back does not make it longer."""

    since: datetime
    until: datetime

    def left(self, now: datetime) -> float:
        """The seconds that are left of it."""
        return (self.until - now).total_seconds() if self.since <= now < self.until else 0.0


class _Ready(NamedTuple):
    """What a choice among the same candidates needs until something is learned."""

    scored: tuple[Scored, ...]  # as if chance had no part
    drawn: tuple[
        tuple[int, Aim, tuple[str, float, float, float, float]], ...
    ]  # those whom chance moves, and their fields
    expected: float  # of the one whom one would take without exploring
    mode: Mode  # held, so that no other takes its identity meanwhile


class Router:
    """Chooses an agent by past outcomes, and learns from new ones."""

    def __init__(
        self,
        beliefs: Beliefs | None = None,
        *,
        mode: str | Mode | None = None,  # lcb with a local agent, cost with prices, otherwise thompson
        skills: Iterable[str] = (),  # beyond those of the catalogue
        rng: RandomSource | int | None = None,  # a seed, or what draws
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
        self.beliefs = Beliefs(MemorySidecars(), clock=clock) if beliefs is None else beliefs
        self.skills = CATALOGUE.union(names)
        self._mode = mode
        self._rng = _rng_of(rng)
        self._clock = clock
        self._entropy = entropy
        self._own_store: SqliteStore | None = None
        self._pending: dict[str, Decision] = {}
        self._resting: dict[str, _Rest] = {}
        self._ready: dict[tuple[object, ...], _Ready] = {}
        self._ready_at = -1
        self._agents: dict[tuple[str, ...], tuple[str, ...]] = {}  # that were checked before, by what was given
        self._settings: dict[object, Setting] = {}

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | Sidecars = ":memory:",
        scope: str | None = None,
        *,
        config: DelegationConfig | None = None,
        mode: str | Mode | None = None,
        skills: Iterable[str] = (),
        rng: RandomSource | int | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """A router on the routing state of a store, of one scope or of the sessions without a scope."""
        if scope is not None:
            require_text("scope", scope)
        opened = None if isinstance(url, Sidecars) else open_store(path_of(url))
        store = url if isinstance(url, Sidecars) else opened
        assert store is not None
        beliefs = Beliefs(store, scope_of_beliefs(scope), clock=clock, config=config)
        router = cls(beliefs, mode=mode, skills=skills, rng=rng, clock=clock, entropy=entropy)
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
        local: str | None = None,  # who does it unless a candidate is better by the margin
        mode: str | Mode | None = None,
        prices: Mapping[str, Price] | None = None,
        running: str | None = None,  # who has the session's prompt in its cache
        money_a_second: float = MONEY_A_SECOND,
    ) -> Decision:
        """Pick one of the candidates for a task: of a skill, in a bucket that is given, divided by axes, or read off messages."""
        agents = self._checked(candidates, local)
        local = None if local is None else str.__str__(local)
        where = self._setting(skill, bucket, messages)
        costs = Costs.of(prices, running, money_a_second)
        usual = "lcb" if local is not None else "cost" if prices else "thompson"
        return self._decide(agents, where, mode or self._mode or usual, costs, local)

    def choose_router_target(
        self,
        decision: Decision | str,
        error: object,
        candidates: Iterable[str] | None = None,
        *,
        prices: Mapping[str, Price] | None = None,
        retries: int = 0,
    ) -> Decision | None:
        """Record an error with its attribution, and pick another candidate: never one that failed; None if no other would help.

        It goes on as the decision was made: in its mode, and with its local agent. Where cost decides, it needs the prices
        again; without them, success alone does.
        """
        decision = self._known(decision)
        known: Iterable[str] = (*(each.agent for each in decision.candidates), *decision.left_out)
        if candidates is not None:
            named = _names(candidates)
            known = self._checked(named, None) if named else ()
        now = self._clock()
        failure = read_failure(error, now=now)
        failed = (*decision.failed, decision.choice)
        left = left_after(failed, known)
        costs = Costs.of(prices)
        mode = self._mode_of(decision)
        if mode is MODES["cost"]:
            mode = mode if costs.prices else MODES["thompson"]
            for name in left if costs.prices else ():
                costs.asking(name)  # refused before anything is counted
        verdict, excused = (0.0, None) if failure.blames_agent else (None, failure.why)
        self._count(decision, verdict, excused, retries)
        if failure.rest_seconds:
            self._resting[decision.choice] = _Rest(now, now + timedelta(seconds=failure.rest_seconds))
        if not left or not failure.helps_elsewhere:
            return None
        awake = [name for name in left if not self._rest_left(name, now)] or left
        agents = nearest(awake, decision.choice, failure)
        local = decision.local if decision.local in awake else None
        if local is not None and local not in agents:
            agents.append(local)
        return self._decide(tuple(agents), decision.setting, mode, costs, local, failed, left)

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
        failed: tuple[str, ...] = (),
        named: Sequence[str] = (),
    ) -> Decision:
        now = self._clock()
        self.beliefs.refresh()
        config = self.beliefs.config
        chosen_mode = mode_of(mode)
        awake = self._awake(agents, now)
        ready = self._readied(awake, where, chosen_mode, costs, now)
        scored = list(ready.scored)
        if config.enabled:
            if ready.drawn:
                draw = self._rng.gauss(0.0, 1.0)
                for at, aim, fields in ready.drawn:
                    scored[at] = Scored(*fields, aim.at(draw))
            choice = self._best(scored, local, config.delta)
        else:
            choice = awake[0] if local is None else local
        left_out = (
            () if awake is agents and not named else tuple(name for name in (named or agents) if name not in awake)
        )
        decision = Decision(
            uuid7(now, self._entropy),
            Instant.of(now),
            where.skill,
            where.bucket,
            chosen_mode.name if config.enabled else DISABLED,
            choice,
            tuple(scored),
            config.enabled and local is None and _mean_of(choice, scored) < ready.expected,
            local,
            0.0 if local is None else config.delta,
            self.beliefs.version,
            failed,
            self._rest_left(choice, now),
            left_out,
        )
        self._pending[decision.id] = decision
        if len(self._pending) > _MOST_PENDING:
            self.flush()
        return decision

    def _readied(self, agents: tuple[str, ...], where: Setting, mode: Mode, costs: Costs, now: datetime) -> _Ready:
        """Estimates and aims; recomputed only after something was learned."""
        if self._ready_at != self.beliefs.version:
            self._ready.clear()
            self._ready_at = self.beliefs.version
        key = (agents, where, id(mode), *((tuple(costs.prices.items()), *costs[1:]) if costs.prices else ()))
        ready = self._ready.get(key)
        if ready is None:
            view = Estimates(self.beliefs, where, now=now, cost=costs.asking)
            aims = [_checked_aim(mode.aim(agent, view), agent) for agent in agents]
            scored = tuple(
                Scored(agent, *view.estimate(agent), *aim, aim.centre) for agent, aim in zip(agents, aims, strict=True)
            )
            expected = max(each.mean for each in scored)
            drawn = tuple((at, aim, _FIELDS(scored[at])) for at, aim in enumerate(aims) if aim.spread > 0.0)
            ready = self._ready[key] = _Ready(scored, drawn, expected, mode)
        return ready

    def _best(self, scored: Sequence[Scored], local: str | None, margin: float) -> str:
        """The best score; a local agent keeps the work unless it is beaten by more than the margin."""
        own = next((each.score for each in scored if each.agent == local), None)  # none also if it rests
        peers = [each for each in scored if each.agent != local]
        top = max(map(_SCORE, peers), default=-math.inf)
        if own is not None and local is not None and not top > own + margin:
            return local
        equals = [each for each in peers if each.score == top]
        # Where chance has a part, it has one between equals too: tasks that start together are not all given to the first.
        best = self._rng.choice(equals) if len(equals) > 1 and equals[0].spread > 0.0 else equals[0]
        return best.agent

    def _awake(self, agents: tuple[str, ...], now: datetime) -> tuple[str, ...]:
        """Those that did not ask for rest; if all did, the one that is back first."""
        if not self._resting:
            return agents
        self._resting = {name: rest for name, rest in self._resting.items() if rest.left(now)}
        awake = tuple(name for name in agents if name not in self._resting)
        return awake or (min(agents, key=lambda name: self._resting[name].until),)

    def _rest_left(self, agent: str, now: datetime) -> float:
        rest = self._resting.get(agent)
        return 0.0 if rest is None else rest.left(now)

    def _checked(self, candidates: Iterable[str], local: str | None) -> tuple[str, ...]:
        """The names of the candidates, each once, and the local agent among them."""
        given = _names(candidates) if local is None else (*_names(candidates), local)
        if not given:
            raise InvalidInput("candidates", expected="at least one name", got="none")
        try:
            agents = self._agents.get(given)
        except TypeError:  # a name that cannot even be looked up
            agents = None
        if agents is None:
            for agent in given:
                require_name("candidates", agent)
            agents = tuple(dict.fromkeys(map(str.__str__, given)))  # plain text, also of enums and arrays
            if len(self._agents) >= _MOST_SETTINGS:
                self._agents.clear()
            self._agents[given] = agents
        return agents

    def _setting(self, skill: str, bucket: object, messages: Sequence[Message] | None) -> Setting:
        if messages is not None and bucket is not None:
            raise InvalidInput("bucket", expected="a bucket or messages", got="both")
        given = messages if messages is not None else bucket
        if isinstance(given, list | tuple):
            if not all(isinstance(each, Message) for each in given):
                raise InvalidInput("bucket", expected="a Bucket, axes by name, a text, or messages", got=show(given))
            given = bucket_for_messages(given)
        key = (skill, tuple(given.items()) if isinstance(given, dict) else given)
        try:
            where = self._settings.get(key)
        except TypeError:  # what cannot be looked up is looked at
            return setting(skill, given, self.skills)  # type: ignore[arg-type]
        if where is None:
            where = setting(skill, given, self.skills)  # type: ignore[arg-type]  # it refuses what is none of its types
            self._settings = {**self._settings, key: where} if len(self._settings) < _MOST_SETTINGS else {key: where}
        return where

    # -- learning

    def observe(self, decision: Decision | str, outcome: object, *, retries: int = 0) -> bool:
        """Record the outcome of a decision: true or false, a grade, an exception, or the results of tool calls; each retry counts as a failure.

        A decision may be named by its id, later and elsewhere, once it was written. The same outcome twice counts once, and
        the answer says whether it was new.
        """
        value, excused = read_verdict(outcome, now=self._clock())
        return self._count(self._known(decision), value, excused, retries)

    def _count(self, decision: Decision, verdict: float | None, excused: str | None, retries: int) -> bool:
        is_first = decision.id in self._pending  # nobody else knows of it
        counted = self.beliefs.observe(decision, verdict, retries=retries, excused=excused, is_first=is_first)
        self._pending.pop(decision.id, None)
        return counted

    def flush(self) -> None:
        """Store the decisions that have no outcome yet, so that other processes can observe them."""
        self.beliefs.keep(list(self._pending.values()))
        self._pending.clear()

    def close(self) -> None:
        """Store what is left, and close a store that was opened here."""
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


def _rng_of(rng: RandomSource | int | None) -> RandomSource:
    """What draws: as given, or made from a seed, or from the system's randomness."""
    if rng is None or type(rng) is int:
        return random.Random(rng)  # noqa: S311
    if not (callable(getattr(rng, "gauss", None)) and callable(getattr(rng, "choice", None))):
        raise InvalidInput("rng", expected="a seed, or an object with the methods of random.Random", got=show(rng))
    return rng  # type: ignore[return-value]


def _names(candidates: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple; a set is refused, because the first of equals is chosen, and it has no first."""
    if isinstance(candidates, str | bytes | set | frozenset | Mapping) or not isinstance(candidates, Iterable):
        raise InvalidInput("candidates", expected="names in an order", got=show(candidates))
    return tuple(candidates)


def _checked_aim(aim: object, agent: str) -> Aim:
    """What a mode aims at, which may be anybody's."""
    if isinstance(aim, tuple) and len(aim) == 2:
        with suppress(TypeError, OverflowError):
            if math.isfinite(aim[0]) and math.isfinite(aim[1]) and aim[1] >= 0.0:
                return Aim(*aim)
    raise InvalidInput("mode", expected=f"a centre and a spread of 0 or more for {agent!r}", got=show(aim))


_FIELDS = attrgetter("agent", "mean", "deviation", "centre", "spread")


def _mean_of(agent: str, scored: Sequence[Scored]) -> float:
    return next(each.mean for each in scored if each.agent == agent)


_SCORE = attrgetter("score")
