"""Writes the facts of a session to its journal.

It retries after a conflict if that is safe, and keeps faults that the store does not accept until it does.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar, cast

from pageturn.journal.journal import Fresh, Journal
from pageturn.journal.lookup import Damage
from pageturn.journal.paging import Pager
from pageturn.values.entries import Entry, Faulted
from pageturn.values.errors import Conflict, StoreError
from pageturn.values.faults import AnyFault, BackendError, Fault
from pageturn.values.ids import micros

Outcome = TypeVar("Outcome")
_MOST_DAMAGES = 20  # pages found damaged by one call that are recorded one by one


class Recorder:
    """Writes to one journal."""

    def __init__(self, pager: Pager, clock: Callable[[], datetime]) -> None:
        self.pager = pager
        self._clock = clock
        self.unwritten: list[Faulted] = []  # faults that the store has not accepted yet
        self.is_closed = False

    @property
    def journal(self) -> Journal:
        """The journal that it writes to."""
        return self.pager.journal

    def write(self, fresh: Sequence[Fresh]) -> None:
        """Write entries, all or none."""
        self.require_open()
        self.journal.append(fresh, at=micros(self._clock()))

    def append(self, entry: Entry) -> None:
        """Write one entry without content."""
        self.write([Fresh(entry)])

    def require_open(self) -> None:
        """Raise if the session was closed."""
        if self.is_closed:
            raise StoreError(f"session {self.journal.row.id!r} is closed: open it again with Session.open")

    def insist(self, write: Callable[[], object]) -> None:
        """Write something that does not depend on what others write; after a conflict, write it again."""
        while True:
            try:
                write()
            except Conflict as conflict:
                self.catch_up(conflict)
            else:
                return

    def catch_up(self, conflict: Conflict) -> None:
        """Read what others wrote before trying again. If nothing was written, the store is damaged, and retrying would never end."""
        if not self.journal.catch_up():
            raise conflict

    # -- faults

    def fault(self, fault: AnyFault, *, page: int | None = None, detail: str = "") -> AnyFault:
        """Record a fault and return it."""
        self.keep(fault, page=page, detail=detail)
        self.flush_faults_at_once()
        return fault

    def with_faults(self, outcome: Outcome, damages: Sequence[Damage], detail: str) -> Outcome:
        """Return an outcome. Every unreadable page is recorded by itself; if there is none, the outcome is recorded if it is a fault."""
        own = self.journal.row.id
        for session, page, fault in damages[:_MOST_DAMAGES]:
            if session == own:
                self.keep(fault, page=page.seq if page is not None else None, detail=detail)
            else:
                self.keep(fault, detail=f"session {session} {page.handle if page is not None else ''}".rstrip())
        if len(damages) > _MOST_DAMAGES:
            left = len(damages) - _MOST_DAMAGES
            self.keep(BackendError(f"{left:,} more pages cannot be read"), detail=detail)
        if not damages and isinstance(outcome, Fault):
            self.keep(cast("AnyFault", outcome), detail=detail)
        self.flush_faults_at_once()
        return outcome

    def keep(self, fault: AnyFault, *, page: int | None = None, detail: str = "") -> None:
        """Keep a fault until the next write."""
        words = detail[:500].encode("utf-8", "replace").decode()
        self.unwritten.append(Faulted(fault=fault, turn=self.journal.state.turn, page=page, detail=words))

    def flush_faults_at_once(self) -> None:
        """Write pending faults without waiting; those that the store does not accept now are written at the next boundary."""
        with suppress(StoreError), self.journal.store.at_once():
            self.flush_faults()

    def flush_faults(self) -> None:
        """Write the faults that are not written yet."""
        if self.unwritten:
            self.write([Fresh(entry) for entry in self.unwritten])
            self.unwritten.clear()
