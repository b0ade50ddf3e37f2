"""Keeps which agents may not be chosen for a while, shared by all routers on a store: requested rests, and cool-downs after errors.

An agent that asks to be tried later rests as long as it asks. One that fails several times in a row rests too, longer each time, and
is then tried again; an answer ends it. It is a sidecar, and says nothing about how good an agent is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pageturn.routing.failover import Failure
from pageturn.stores import Sidecars, Slot
from pageturn.values.errors import InvalidInput, StoreError
from pageturn.values.json import Closed, Instant, from_json, to_json

_PATIENCE = 2  # errors in a row before an agent rests
_FIRST_REST = 60.0  # seconds after these; twice as long after each further one
_FIRST_LIMITED = 10.0  # seconds after a rate limit that does not say how long
_LONGEST = 900.0
_FORGIVEN = timedelta(hours=1)  # after a rest, the next error counts as the first


class Rest(Closed):
    """How often an agent failed in a row, and until when it rests. A clock that was set back does not prolong it."""

    errors: int
    since: Instant
    until: Instant
    why: str

    def left(self, now: datetime) -> float:
        """The seconds that are left of it."""
        return (self.until - Instant.of(now)).total_seconds() if self.since <= now < self.until else 0.0

    def after(self, failure: Failure, now: datetime) -> "Rest":
        """The rest after one more error."""
        errors = (0 if Instant.of(now) - self.until > _FORGIVEN else self.errors) + 1
        seconds = failure.rest_seconds
        if seconds == 0.0 and failure.is_limit:
            seconds = min(_FIRST_LIMITED * 2.0 ** min(errors - 1, 10), _LONGEST)
        elif seconds == 0.0 and errors >= _PATIENCE:
            seconds = min(_FIRST_REST * 2.0 ** min(errors - _PATIENCE, 10), _LONGEST)
        until = now + timedelta(seconds=seconds)
        if self.left(now) and self.until > until:  # an error of an earlier request does not shorten it
            return Rest(errors, self.since, self.until, self.why)
        return Rest(errors, Instant.of(now), Instant.of(until), failure.why)


class Rests:
    """The rests of one scope of a store."""

    def __init__(self, store: Sidecars, scope: str) -> None:
        self._store = store
        self._name = f"rests/{scope}"
        self._version = 0
        self._rests: dict[str, Rest] = {}

    def refresh(self, version: int) -> None:
        """Read what other routers noted, if the store changed up to this version."""
        if version != self._version:
            found, documents = self._store.sidecar(self._name, after=self._version)
            for agent, document in documents.items():
                self._rests[agent] = self._decoded(agent, document.body)
            self._version = found

    def of(self, agents: Sequence[str], now: datetime) -> Mapping[str, Rest]:
        """Those of these agents that rest now."""
        if not self._rests:
            return {}
        return {a: rest for a in agents if (rest := self._rests.get(a)) is not None and rest.left(now)}

    def failed(self, agent: str, failure: Failure, now: datetime) -> None:
        """Note an error of an agent."""
        slot = Slot(self._name, agent)
        fresh = Rest(0, Instant.of(now), Instant.of(now), "")

        def change(found: Mapping[Slot, bytes | None]) -> Mapping[Slot, bytes | None]:
            body = found[slot]
            before = fresh if body is None else self._decoded(agent, body)
            return {slot: to_json(before.after(failure, now))}

        self._store.amend([slot], change)
        self.refresh(self._store.sidecar_version())

    def answered(self, agent: str, now: datetime) -> None:
        """Note that an agent answered: its earlier failures no longer count. A requested rest stays."""
        before = self._rests.get(agent)
        if before is None or before.errors == 0:
            return
        slot = Slot(self._name, agent)
        until = before.until if before.left(now) else Instant.of(now)
        over = Rest(0, min(before.since, until), until, before.why)
        self._store.amend([slot], lambda _: {slot: to_json(over)})
        self.refresh(self._store.sidecar_version())

    def _decoded(self, agent: str, body: bytes) -> Rest:
        try:
            return from_json(Rest, body)
        except InvalidInput as error:
            raise StoreError(f"{self._name} is damaged at {agent!r}: {error}") from error
