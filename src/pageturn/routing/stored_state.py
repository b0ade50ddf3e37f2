"""Keeps the routing state and the log of decisions in a store, shared by sessions and processes.

Both are a sidecar: they are never part of a context. Every change reads and writes within one transaction of the store, so no outcome
is lost and none counts twice. Changes by other processes are seen at the next read.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import TypeVar

import msgspec

from pageturn.routing.decisions import Decision, Logged, Outcome
from pageturn.routing.pooling import Cell, Context, Estimate, Pool
from pageturn.routing.posteriors import BetaPosterior, Evidence, clamp_lambda
from pageturn.routing.pruning import Entry, Pruned, beyond, older, remains
from pageturn.routing.rests import Rests
from pageturn.routing.skills import Setting, require_name
from pageturn.routing.state import DelegationConfig, DelegationState, graded
from pageturn.stores import Change, SidecarDocument, Sidecars, Slot
from pageturn.values.checks import require_bool, require_finite, require_instance, require_text, require_whole
from pageturn.values.errors import InvalidInput, PageturnError, StoreError, show
from pageturn.values.ids import fitting_session_id, require_session_id
from pageturn.values.json import Closed, Instant, from_json, to_json
from pageturn.values.relevance import Bucket

T = TypeVar("T")

DEFAULT_SCOPE = "default"
STRENGTH_OF_DECLARED = 12.0  # outcomes that a declared score counts for, unless its source has a strength of its own
_STRONGEST = 1e6
_MOST_RETRIES = 1_000  # each is counted by itself, while others wait
_BATCH = 500  # decisions that are dropped in one transaction, while others wait
_CONFIG = "config"  # keys of posteriors contain bars, so this is not one of them


class Forgotten(Closed):
    """The record that an agent's observations were forgotten, except for a share."""

    agent: str
    keep: float


class Beliefs:
    """The routing state of one scope of a store. `Router.open` makes it for the sessions of a scope."""

    def __init__(
        self,
        store: Sidecars,
        scope: str = DEFAULT_SCOPE,
        *,
        clock: Callable[[], datetime],
        config: DelegationConfig | None = None,
        half_life: timedelta | None = None,  # after which an outcome counts half; None: never
    ) -> None:
        require_session_id(scope)
        if half_life is not None and not (isinstance(half_life, timedelta) and half_life > timedelta()):
            raise InvalidInput("half_life", expected="a timedelta above 0, or none", got=show(half_life))
        self.scope = scope
        self._store = store
        self._clock = clock
        self._name = f"delegation/{scope}"
        self._log = f"decisions/{scope}"
        self._pruned = Slot(f"pruned/{scope}", "log")
        self._forgotten = f"forgotten/{scope}"
        self._half_life = half_life
        self._version = 0
        self._config = DelegationConfig(enabled=True)
        self._cells: dict[str, BetaPosterior] = {}
        self._families: dict[str, dict[str, dict[str, tuple[Cell, datetime]]]] = {}  # by skill and agent, for the pools
        self._pools: dict[str, Pool] = {}
        self._pools_at: datetime | None = None
        self.refresh()
        if config is not None and config != self._config:
            self.configure(config)

    # -- looking

    @property
    def config(self) -> DelegationConfig:
        """The settings, which the scope shares."""
        return self._config

    @property
    def version(self) -> int:
        """The last change that this object knows of."""
        return self._version

    @property
    def state(self) -> DelegationState:
        """All posteriors as a `DelegationState`; changing it changes nothing here."""
        self.refresh()
        return DelegationState(dict(self._cells), self._config)

    def refresh(self) -> bool:
        """Read what others changed; returns whether they did."""
        latest = self._store.sidecar_version()
        if latest == self._version:
            return False
        version, documents = self._store.sidecar(self._name, after=self._version)
        read = {key: self._read(key, document.body) for key, document in documents.items()}  # all of them, or none
        for key, value in read.items():
            self._take(key, value)
        self._version = max(version, latest)
        return bool(read)

    def posterior(self, agent: str, setting: Setting) -> BetaPosterior | None:
        """The posterior of one agent in one cell, if any."""
        return self._cells.get(DelegationState.key(agent, *setting))

    def rests(self) -> Rests:
        """The agents that rest, for all routers of this scope."""
        return Rests(self._store, self.scope)

    def estimate(self, agent: str, setting: Setting) -> Estimate:
        """The estimate for an agent, using everything that is known of others and in other cells."""
        return self.pool(setting, self._clock()).estimate(agent, context_of(setting))

    def pool(self, setting: Setting, now: datetime) -> Pool:
        """The estimates of all agents at the skill of a setting. If evidence ages, it does so hour by hour."""
        base = setting.base
        if self._half_life is not None:
            hour = now.replace(minute=0, second=0, microsecond=0)
            if hour != self._pools_at:
                self._pools.clear()
                self._pools_at = hour
        if base not in self._pools:
            family = self._families.get(base, {})
            self._pools[base] = Pool(
                {
                    agent: [cell._replace(evidence=self._left(cell.evidence, since)) for cell, since in cells.values()]
                    for agent, cells in family.items()
                }
            )
        return self._pools[base]

    def _left(self, evidence: Evidence, since: datetime) -> Evidence:
        """What time leaves of evidence that was last added to at some moment."""
        if self._half_life is None or self._pools_at is None:
            return evidence
        keep = self._keep(since, self._pools_at)
        return Evidence(evidence.successes * keep, evidence.trials * keep)

    def _keep(self, since: datetime, now: datetime) -> float:
        age = (now - since) / self._half_life if self._half_life is not None else 0.0
        return math.pow(0.5, min(max(age, 0.0), 1_000.0))

    def delegate_to(self, local: str, peers: Sequence[str], skill: str, bucket: Bucket) -> str | None:
        """The peer to hand a task to by the rule of CADMAS-CTX, its lower bound, or None to do it yourself. No decision is logged: a
        `Router` does that.
        """
        return self.state.delegate_to(local, peers, skill, bucket)

    # -- changing

    def configure(self, config: DelegationConfig) -> None:
        """Change the settings for everyone who shares the scope."""
        require_instance("config", config, DelegationConfig)
        slot = Slot(self._name, _CONFIG)
        body = to_json(config)
        self._store.amend([slot], lambda found: {} if found[slot] == body else {slot: body})
        self.refresh()
        self._config = config

    def declare(self, agent: str, setting: Setting, confidence: float, strength: float = STRENGTH_OF_DECLARED) -> bool:
        """Store a declared score of an agent, if nothing is known of it there yet; it counts for `strength` outcomes. Returns whether it
        was new.
        """
        require_name("agent", agent)
        require_finite("confidence", confidence, at_least=0.0, at_most=1.0)
        require_finite("strength", strength, at_least=0.0, at_most=_STRONGEST)
        fresh = BetaPosterior.from_self_confidence(confidence, strength, now=self._clock())
        slot = self._slot(agent, setting)
        return self._amend([slot], lambda found: {} if found[slot] is not None else {slot: to_json(fresh)})

    def forget(self, agent: str, keep: float = 0.0) -> int:
        """Forget the observations of an agent, or keep a share of them, for example when its model changed; returns how many cells it
        had.

        Declared scores stay. The log keeps its decisions.
        """
        require_name("agent", agent)
        require_finite("keep", keep, at_least=0.0, at_most=1.0)
        self.refresh()
        slots = [Slot(self._name, key) for key in self._cells if key.partition("|")[0] == agent]
        now = Instant.of(self._clock())
        event = Slot(self._forgotten, f"{now} {self._version} {agent}")

        def change(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
            faded = {
                slot: to_json(self._decoded(BetaPosterior, slot.key, body).faded(keep))
                for slot in slots
                if (body := found[slot]) is not None
            }
            return {**faded, event: to_json(Forgotten(agent, keep))} if faded else {}

        self._amend([*slots, event], change)
        return len(slots)

    def forgotten(self) -> Iterator[tuple[int, "Forgotten"]]:
        """What was forgotten on request, each with the number of the change."""
        for key, document in self._store.sidecar(self._forgotten).documents.items():
            yield document.version, self._decoded(Forgotten, key, document.body)

    def update(self, agent: str, skill: str, bucket: Bucket, outcome: bool) -> None:
        """Count one outcome that belongs to no decision."""
        require_name("agent", agent)
        require_bool("outcome", outcome)
        slot = self._slot(agent, Setting(skill, bucket))
        self._amend([slot], lambda found: {slot: self._counted(slot, found[slot], Outcome(float(outcome)))[1]})

    def take(self, state: DelegationState) -> None:
        """Add the evidence of another state, and its settings if this scope has none."""
        require_instance("state", state, DelegationState)
        slots = {Slot(self._name, key): posterior for key, posterior in state.beliefs.items()}
        config = Slot(self._name, _CONFIG)
        lambda_ = clamp_lambda(self._config.lambda_)

        def change(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
            kept: dict[Slot, bytes | None] = {}
            for slot, theirs in slots.items():
                body = found[slot]
                mine = None if body is None else self._decoded(BetaPosterior, slot.key, body)
                kept[slot] = to_json(theirs if mine is None else mine.merge(theirs, lambda_))
            if found[config] is None:
                kept[config] = to_json(state.config)
            return kept

        self._amend([*slots, config], change)

    # -- decisions

    def keep(self, decisions: Sequence[Decision]) -> None:
        """Write decisions into the log, before their outcomes are known."""
        slots = {Slot(self._log, decision.id): _logged(decision) for decision in decisions}
        if slots:
            self._amend(
                list(slots), lambda found: {slot: to_json(slots[slot]) for slot, body in found.items() if body is None}
            )

    def decision(self, id: str) -> Decision | None:  # noqa: A002
        """A decision of the log."""
        require_text("id", id)
        body = self._store.document(Slot(self._log, id))
        return None if body is None else self._decoded(Logged, id, body).decision

    def observe(
        self, decision: Decision, outcome: Outcome, *, is_first: bool = False, is_correction: bool = False
    ) -> bool:
        """Record the outcome of a decision once. Returns whether it changed anything; a different verdict is an error.

        A correction replaces what was recorded, and a strong outcome replaces a weak one; a weak one after a strong one changes
        nothing. An outcome of a decision that may have been pruned is an error, unless the caller knows that it was never written.
        """
        require_whole("retries", outcome.retries, below=_MOST_RETRIES)
        cell = self._slot(decision.choice, decision.setting)
        entry = Slot(self._log, decision.id)
        known: SidecarDocument | None = None  # what was recorded, and when, if needed
        missing = False

        def change(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
            nonlocal missing
            missing = False
            body = found[entry]
            if body is None and not is_first:
                self._refuse_pruned(decision, found[self._pruned])
            before = _logged(decision) if body is None else self._decoded(Logged, decision.id, body)
            if not before.is_settled:
                counted, posterior = self._counted(cell, found[cell], outcome)
                kept = {entry: to_json(before.settled(outcome, counted))}
                return {**kept, cell: posterior} if outcome.verdicts else kept
            was = before.outcome
            if was.says(outcome) or (outcome.is_weak and not was.is_weak and not is_correction):
                return {}
            if not is_correction and not (was.is_weak and not outcome.is_weak):
                expected = f"{was}, as was recorded before, or a correction that is named as such"
                raise InvalidInput("outcome", expected=expected, got=str(outcome))
            if known is None or known.body != body:
                missing = True
                return {}
            return self._replaced(before, outcome, known.version, entry, cell, found[cell])

        slots = [entry, cell] if is_first else [entry, cell, self._pruned]
        changed = self._amend(slots, change)
        while missing:
            known = self._store.sidecar(self._log, after=decision.seen).documents.get(decision.id)
            changed = self._amend(slots, change)
        return changed

    def _replaced(  # noqa: PLR0917
        self, before: Logged, outcome: Outcome, version: int, entry: Slot, cell: Slot, body: bytes | None
    ) -> Mapping[Slot, bytes | None]:
        """The documents after an outcome that was counted is replaced by another."""
        lambda_ = clamp_lambda(self._config.lambda_)
        was = before.outcome
        if body is None or not was.verdicts:  # it was excused, and counts from now on
            counted, posterior = self._counted(cell, body, outcome)
            kept = {cell: posterior} if outcome.verdicts else {}
        else:
            mine = self._decoded(BetaPosterior, cell.key, body)
            age = max(0, mine.n - before.counted) if before.counted else 0
            more = len(outcome.verdicts) - len(was.verdicts)
            corrected = mine.corrected(was.evidence(lambda_, age), outcome.evidence(lambda_, age), more)
            counted = max(0, before.counted + more)
            kept = {cell: to_json(corrected)}
        return {entry: to_json(before.settled(outcome, counted, version)), **kept}

    def log(self) -> Iterator[Entry]:
        """Every decision that was written, each with the number of the change that settled it, in that order."""
        for key, document in self._store.sidecar(self._log).documents.items():
            yield document.version, self._decoded(Logged, key, document.body)

    @property
    def pruned(self) -> Pruned | None:
        """What remains of the pruned decisions, if any."""
        return self._read_pruned(self._store.document(self._pruned))

    def prune(self, *, keep: int | None = None, before: datetime | None = None, abandoned: bool = False) -> int:
        """Drop the oldest decisions with an outcome: all but the newest `keep`, or those made before a moment; returns how many.

        What they taught stays. Decisions that wait for their outcome stay too, unless they were made before that moment and
        `abandoned` is true.
        """
        if (keep is None) == (before is None) or (abandoned and before is None):
            expected = "a number of decisions to keep, or a moment before which they go"
            raise InvalidInput("keep", expected=expected, got="both" if keep is not None and before else show(keep))
        if keep is not None:
            require_whole("keep", keep)
        moment = None if before is None else Instant.of(before)
        gone = 0
        while True:
            log = list(self.log())
            going = beyond(log, keep or 0) if moment is None else older(log, moment, abandoned=abandoned)
            batches = [going[at : at + _BATCH] for at in range(0, len(going), _BATCH)]
            dropped = list(takewhile(self._drop, batches))
            gone += sum(map(len, dropped))
            if len(dropped) == len(batches):  # otherwise another writer came between
                return gone

    # -- inside

    def _amend(self, slots: Sequence[Slot], change: Change) -> bool:
        kept: dict[Slot, bytes | None] = {}

        def remember(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
            kept.update(change(found))
            return kept

        version = self._store.amend(slots, remember)
        if kept and version == self._version + 1:  # no other writer came between, so only our own change is new
            for slot, body in kept.items():
                if slot.sidecar == self._name and body is not None:
                    self._take(slot.key, self._read(slot.key, body))
            self._version = version
        else:
            self.refresh()
        return bool(kept)

    def _drop(self, going: Sequence[Entry]) -> bool:
        """Drop entries, unless one of them was dropped or settled meanwhile."""
        slots = {Slot(self._log, entry.decision.id): entry for _, entry in going}

        def change(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
            for slot, entry in slots.items():
                body = found[slot]
                if body is None or (not entry.is_settled and self._decoded(Logged, slot.key, body).is_settled):
                    return {}
            left = remains(going, self._read_pruned(found[self._pruned]), self._config)
            return {**dict.fromkeys(slots), self._pruned: to_json(left)}

        return self._amend([*slots, self._pruned], change)

    def _slot(self, agent: str, setting: Setting) -> Slot:
        require_instance("setting", setting, Setting)
        return Slot(self._name, DelegationState.key(agent, *setting))

    def _counted(self, slot: Slot, body: bytes | None, outcome: Outcome) -> tuple[int, bytes]:
        """How many verdicts a cell has counted after an outcome, and its posterior then."""
        known = None if body is None else self._decoded(BetaPosterior, slot.key, body)
        now = self._clock()
        if known is not None and self._half_life is not None:
            known = msgspec.structs.replace(known.faded(self._keep(known.last_update, now)), n=known.n)
        posterior = graded(known, outcome.verdicts, self._config, now=now, weight=outcome.weight)
        return posterior.n, to_json(posterior)

    def _read_pruned(self, body: bytes | None) -> Pruned | None:
        return None if body is None else self._decoded(Pruned, self._pruned.key, body)

    def _refuse_pruned(self, decision: Decision, body: bytes | None) -> None:
        """Raise for an outcome that may have been counted before, and can no longer be looked up."""
        pruned = self._read_pruned(body)
        if pruned is not None and decision.at <= pruned.until:
            expected = f"one that is in the log, or was made after {pruned.until}, up to where it was pruned"
            raise InvalidInput("decision", expected=expected, got=show(decision.id))

    def _read(self, key: str, body: bytes) -> BetaPosterior | DelegationConfig:
        if key == _CONFIG:
            return self._decoded(DelegationConfig, key, body)
        if key.count("|") != 4:
            raise StoreError(f"beliefs of scope {self.scope!r}: {key!r} is not the key of a posterior")
        return self._decoded(BetaPosterior, key, body)

    def _decoded(self, type_: type[T], key: str, body: bytes) -> T:
        try:
            return from_json(type_, body)
        except InvalidInput as error:
            raise StoreError(f"beliefs of scope {self.scope!r} are damaged at {key!r}: {error}") from error

    def _take(self, key: str, value: BetaPosterior | DelegationConfig) -> None:
        if isinstance(value, DelegationConfig):
            self._config = value
            for known, posterior in self._cells.items():
                self._take(known, posterior)
            return
        self._cells[key] = value
        agent, skill, rest = key.split("|", 2)
        base, _, division = skill.partition("@")
        family = self._families.setdefault(base, {}).setdefault(agent, {})
        context = Context(division or rest.split("|", 1)[1], f"{division}|{rest}")
        family[context.name] = Cell(context, value.known(clamp_lambda(self._config.lambda_))), value.last_update
        self._pools.pop(base, None)


def scope_of_beliefs(scope: str | None) -> str:
    """The name under which the sessions of a scope share the routing state; those without a scope share the default one."""
    if scope is None:
        return DEFAULT_SCOPE
    return fitting_session_id(scope) if scope != DEFAULT_SCOPE else f"{DEFAULT_SCOPE}-scope"


def context_of(setting: Setting) -> Context:
    """The place of a setting: neighbours share the division of the skill, or else all axes but difficulty."""
    division = setting.skill.partition("@")[2]
    difficulty, dependency, tool_use = (getattr(setting.bucket, axis) for axis in Bucket.__struct_fields__)
    rest = f"{dependency}|{tool_use}"
    return Context(division or rest, f"{division}|{difficulty}|{rest}")


def _logged(decision: Decision) -> Logged:
    return Logged(decision, decision.probability)


def examine_beliefs(store: Sidecars) -> Iterator[str]:
    """What is wrong with the posteriors and decisions of a store; for `journal.doctor.examine(also=...)`."""
    try:
        scopes = sorted({name.partition("/")[2] for name in store.sidecars()})
    except StoreError as error:
        yield str(error)
        return
    for scope in scopes:
        try:
            beliefs = Beliefs(store, scope, clock=lambda: datetime.min.replace(tzinfo=UTC))
            for _ in beliefs.log():
                pass
            _ = beliefs.pruned
        except PageturnError as error:
            yield str(error)
