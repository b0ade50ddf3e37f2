"""Replays many sessions under many policies at many budgets, in parallel if there is an executor.

Sessions are streamed: only those being replayed are in memory. Results come in the order of the sessions, so the same sweep writes the
same bytes with any number of workers.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pageturn.context.renditions import BUILT_IN, Renderers
from pageturn.lab.baselines import cut, everything, keep_last, masking, prototype
from pageturn.lab.oracle import Oracle
from pageturn.lab.our_policies import CharacterCounter, Deriving, remembering
from pageturn.lab.peers import Peer, read_commands
from pageturn.lab.replay import Recording, Replay, Shows
from pageturn.lab.results import OracleGap, Result, ResultKey, to_line
from pageturn.lab.server_compaction import clear_tool_uses, compact
from pageturn.lab.traces import Trace
from pageturn.policies import AnyPolicy, Incremental, Legacy, OracleReplay, Paged, Reset
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.values.errors import InvalidInput, show
from pageturn.values.model_prices import ModelPrice
from pageturn.values.vendors import IDEAL_CACHE, VENDORS, Vendor

CHARACTER_COUNTER = CharacterCounter.name
_POLICIES: dict[str, tuple[type[Any], str | None]] = {  # and the field that holds the budget
    "paged": (Paged, "budget_tokens"),
    "legacy": (Legacy, None),
    "reset": (Reset, "threshold_tokens"),
    "incremental": (Incremental, "budget_tokens"),
}
_BASELINES: dict[str, Callable[[int, TokenCounter], Shows]] = {
    "everything": lambda _, __: everything,
    "keep-last": lambda budget, counter: keep_last(budget, counter.message),
    "masking": lambda _, __: masking(),
    "cut": lambda budget, _: cut(budget, 0.4),
    "prototype": lambda budget, _: prototype(budget, 0.7),
    "anthropic-compact": lambda budget, _: compact(budget),
    "anthropic-clear-tool-uses": lambda budget, _: clear_tool_uses(budget),
    "openai-compact": lambda budget, _: compact(budget, keeps_people=True),
}
_PEER = "peer"
_CHARACTERS_ONLY = ("cut", "prototype", "anthropic-compact", "anthropic-clear-tool-uses", "openai-compact", _PEER)
METHODS = (*_POLICIES, *_BASELINES)


class Method(NamedTuple):
    """A row of a table: a policy with its settings, `paged:miss_tokens=0`; a baseline; or another library."""

    label: str
    name: str
    settings: Mapping[str, Any] = {}
    command: Sequence[str] = ()  # that runs the other library

    @classmethod
    def parse(cls, text: str) -> "Method":
        """The method that a text names."""
        name, _, given = text.partition(":")
        if name not in METHODS:
            raise InvalidInput("policy", expected=f"one of {', '.join(METHODS)}", got=show(name))
        pairs = [pair.partition("=") for pair in given.split(",") if pair]
        settings = {field.strip(): _value(text, value) for field, _, value in pairs}
        method = cls(text, name, settings)
        if method.policy(1) is None and settings:
            raise InvalidInput("policy", expected=f"{name} without settings", got=show(text))
        return method

    @classmethod
    def peers(cls, path: Path) -> tuple["Method", ...]:
        """The other libraries whose runners a file names."""
        commands = read_commands(path)
        taken = next((name for name in commands if name.partition(":")[0] in METHODS), None)
        if taken is not None:
            raise InvalidInput(str(path), expected="names that no method of ours has", got=show(taken))
        return tuple(cls(name, _PEER, command=command) for name, command in commands.items())

    def policy(self, budget_tokens: int) -> AnyPolicy | None:
        """The policy for a budget; None for a baseline or another library."""
        if self.name not in _POLICIES:
            return None
        kind, field = _POLICIES[self.name]
        settings = {field: budget_tokens, **self.settings} if field is not None else self.settings
        try:
            policy: AnyPolicy = msgspec.convert({"policy": self.name, **settings}, kind)
        except msgspec.ValidationError as error:
            raise InvalidInput(
                "policy", expected=f"settings of {self.name}", got=f"{self.label!r} ({error})"
            ) from error
        return policy

    def shows(self, budget_tokens: int, counter: TokenCounter, renderers: Renderers = BUILT_IN) -> Shows:
        """What it shows within a budget."""
        policy = self.policy(budget_tokens)
        if policy is not None:
            return Deriving(policy, counter, budget_tokens=budget_tokens, renderers=renderers)
        if self.name in _CHARACTERS_ONLY and counter.name != CHARACTER_COUNTER:
            raise InvalidInput(
                "policy", expected="one that counts as you do", got=f"{self.label}, which counts characters"
            )
        if self.command:
            return Peer(self.label, self.command, budget_tokens)
        return _BASELINES[self.name](budget_tokens, counter)


class Setup(NamedTuple):
    """What a sweep does with every session."""

    methods: tuple[Method, ...]
    budgets: tuple[int, ...]
    counter: str = CHARACTER_COUNTER  # or the name of a model
    vendor: str | None = None  # whose cache rules apply
    lookahead: int | None = None  # how far the oracle looks ahead, if it is wanted
    price: ModelPrice | None = None  # of a model; its vendor's rules are used for billing unless a vendor is named

    @property
    def billing(self) -> Vendor:
        """How requests are billed; results store its name."""
        rules = VENDORS[self.vendor] if self.vendor is not None else None
        return self.price.vendor(rules) if self.price is not None else rules or IDEAL_CACHE

    def counting(self) -> TokenCounter:
        """The counter."""
        return CharacterCounter() if self.counter == CHARACTER_COUNTER else counter_for(self.counter)

    def keys(self, trace: Trace) -> list[ResultKey]:
        """The results that a session will have."""
        counter = self.counting().name
        return [
            ResultKey(trace.source, trace.id, label, budget, counter, self.billing.name)
            for budget in self.budgets
            for label in self.labels
        ]

    def has(self, key: ResultKey) -> bool:
        """Whether the sweep produces a result."""
        counted = (key.counter, key.vendor) == (self.counting().name, self.billing.name)
        return counted and key.policy in self.labels and key.budget_tokens in self.budgets

    @property
    def labels(self) -> tuple[str, ...]:
        """The rows."""
        oracle = (oracle_label(self.lookahead),) if self.lookahead is not None else ()
        return (*(method.label for method in self.methods), *oracle)


def oracle_label(lookahead: int) -> str:
    """The row of the oracle."""
    return f"oracle, {lookahead} ahead"


def sweep(
    traces: Iterable[Trace],
    setup: Setup,
    executor: Executor | None = None,
    *,
    workers: int = 1,
    known: AbstractSet[ResultKey] = frozenset(),
) -> Iterator[list[bytes]]:
    """The lines of every session, in order; without results that are known already."""
    wanted = ((trace, known & set(setup.keys(trace))) for trace in traces)
    if executor is None:
        yield from (results(trace, setup, skipped) for trace, skipped in wanted)
        return
    running: deque[Future[list[bytes]]] = deque()
    for trace, skipped in wanted:
        running.append(executor.submit(results, trace, setup, skipped))
        if len(running) > 2 * workers:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()


def results(trace: Trace, setup: Setup, known: AbstractSet[ResultKey] = frozenset()) -> list[bytes]:
    """The results of one session, as lines; none of those that are known."""
    keys = [key for key in setup.keys(trace) if key not in known]
    if not keys:
        return []
    counter = setup.counting()
    recording = Recording(trace, tokens=counter.message, vendor=setup.billing)
    methods = {method.label: method for method in setup.methods}
    renderers = remembering(BUILT_IN)
    oracles: dict[int, tuple[Replay, list[int]]] = {}
    lines = []
    for key in keys:
        budget = key.budget_tokens
        if setup.lookahead is not None and budget not in oracles:
            oracle = Oracle(OracleReplay(setup.lookahead), budget, counter)
            oracles[budget] = (recording.replay(oracle), oracle.bounds)
        foreseen = oracles.get(budget)
        method = methods.get(key.policy)
        replay = (
            recording.replay(method.shows(budget, counter, renderers))
            if method is not None
            else foreseen[0]
            if foreseen
            else None
        )
        assert replay is not None, "a row without a method is the oracle's"
        policy = method.policy(budget) if method is not None else OracleReplay(setup.lookahead or 0)
        result = Result(
            *key[1::-1],
            policy=key.policy,
            budget_tokens=budget,
            counter=key.counter,
            vendor=key.vendor,
            score=replay.score,
            settings=msgspec.to_builtins(policy) if policy is not None else {},
            faults=replay.faults,
            turns=replay.turns,
            oracle=_gap(replay, *foreseen, setup.lookahead or 0) if foreseen is not None else None,
            price=setup.price,
            compactions=len(trace.compactions),
        )
        lines.append(to_line(result))
    return lines


def _gap(replay: Replay, foreseen: Replay, bounds: list[int], lookahead: int) -> OracleGap:
    """How far a replay is from the oracle, which may at every turn also show what the replay showed."""
    missed = [len(turn.missed) for turn in replay.turns]
    best = [min(ours, len(turn.missed)) for ours, turn in zip(missed, foreseen.turns, strict=True)]
    return OracleGap(lookahead, sum(missed), sum(best), sum(bounds))


def _value(text: str, value: str) -> Any:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput("policy", expected="settings as name=number", got=show(text)) from error
