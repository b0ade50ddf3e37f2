"""The recorder: how a session's facts get into its journal.

It writes again after a conflict where that is safe, and keeps faults that the store does not take until it does.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar, cast

from pageturn.entries import BoundaryCrossed, BoundaryKind, Committed, Entry, Faulted, Rejected, Waiting
from pageturn.errors import Conflict, StoreError
from pageturn.faults import AnyFault, BackendError, Fault, FlushMiss
from pageturn.ids import micros
from pageturn.journal import Fresh, Journal
from pageturn.paging import Pager
from pageturn.recall import Damage
from pageturn.settling import Settlement, approve, reject, settle

Outcome = TypeVar("Outcome")
_MOST_DAMAGES = 20  # pages that one call finds damaged, and that are written down one by one


class Recorder:
    """Writes to one journal."""

    def __init__(self, pager: Pager, clock: Callable[[], datetime]) -> None:
        self._pager = pager
        self._clock = clock
        self.unwritten: list[Faulted] = []  # faults that the store has not taken yet
        self._told: set[int] = set()  # pages whose fault is told once
        self.is_closed = False

    @property
    def journal(self) -> Journal:
        """The journal that it writes to."""
        return self._pager.journal

    def write(self, fresh: Sequence[Fresh]) -> None:
        """Write entries, all or none."""
        self.require_open()
        self.journal.append(fresh, at=micros(self._clock()))

    def append(self, entry: Entry) -> None:
        """Write one entry that brings no words."""
        self.write([Fresh(entry)])

    def require_open(self) -> None:
        """Refuse to go on with a session that was closed."""
        if self.is_closed:
            raise StoreError(f"session {self.journal.row.id!r} is closed")

    def insist(self, write: Callable[[], object]) -> None:
        """Write what does not depend on what others write: after a conflict, simply again."""
        while True:
            try:
                write()
            except Conflict as conflict:
                self._catch_up(conflict)
            else:
                return

    def _catch_up(self, conflict: Conflict) -> None:
        """Take in what others wrote, before trying again. Where nobody did, the store is damaged, and trying again would never end."""
        if not self.journal.catch_up():
            raise conflict

    # -- faults

    def fault(self, fault: AnyFault, *, page: int | None = None, detail: str = "") -> AnyFault:
        """Record a fault and hand it on."""
        self.keep(fault, page=page, detail=detail)
        self.flush_faults_at_once()
        return fault

    def with_faults(self, outcome: Outcome, damages: Sequence[Damage], detail: str) -> Outcome:
        """Hand on an outcome. Every page that could not be read is recorded by itself; if there is none, the outcome where it is a fault."""
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

    def fault_once(self, fault: AnyFault, page: int) -> None:
        """Record the fault of a page that whoever reads on and on meets each time."""
        if page not in self._told:
            self._told.add(page)
            self.fault(fault, page=page)

    def keep(self, fault: AnyFault, *, page: int | None = None, detail: str = "") -> None:
        """Remember a fault until the next is written."""
        words = detail[:500].encode("utf-8", "replace").decode()
        self.unwritten.append(Faulted(fault=fault, turn=self.journal.state.turn, page=page, detail=words))

    def flush_faults_at_once(self) -> None:
        """Write the faults that are not written yet; nobody waits for that, and what the store does not take waits for the next boundary."""
        with suppress(StoreError), self.journal.store.at_once():
            self.flush_faults()

    def flush_faults(self) -> None:
        """Write the faults that are not written yet."""
        if self.unwritten:
            self.write([Fresh(entry) for entry in self.unwritten])
            self.unwritten.clear()

    # -- proposals

    def settle_all(self) -> None:
        """Settle what is staged, by this session or by one that crashed. What waits for a person goes on waiting.

        Where entries cannot be read nobody knows what was settled already.
        """
        while self.journal.state.staged and self.journal.state.damage is None:
            self._settle(next(iter(self.journal.state.staged)))

    def settle_for_certain(self, txn: int) -> Committed | Waiting | Rejected:
        """Decide what is staged, whoever else writes: a `Conflict` would say, wrongly, that nothing was written."""
        head = self.journal.head
        while txn in self.journal.state.staged:
            try:
                return self._settle(txn)
            except Conflict as conflict:
                self._catch_up(conflict)
        return self._decided_since(head, txn)

    def approve(self, txn: int) -> Committed | Rejected:
        """Write a person's approval of what waits; where another answered first, that answer holds."""
        return self._answer(txn, lambda: approve(self._pager, txn, self.journal.row.scope))

    def reject(self, txn: int, reason: str) -> Committed | Rejected:
        """Write a person's refusal of what waits; where another answered first, that answer holds."""
        return self._answer(txn, lambda: reject(txn, reason))

    def _answer(self, txn: int, settlement: Callable[[], Settlement]) -> Committed | Rejected:
        head = self.journal.head
        while txn in self.journal.state.waiting:
            try:
                outcome, entries = settlement()
                self.write(entries)
            except Conflict as conflict:
                self._catch_up(conflict)
            else:
                assert not isinstance(outcome, Waiting), "a person has answered"
                return outcome
        answered = self._decided_since(head, txn)
        assert not isinstance(answered, Waiting), "it waited before"
        return answered

    def _decided_since(self, head: int, txn: int) -> Committed | Waiting | Rejected:
        later = (entry for _, entry in self.journal.entries(after=head))
        return next(each for each in later if isinstance(each, Committed | Waiting | Rejected) and each.txn == txn)

    def _settle(self, txn: int) -> Committed | Waiting | Rejected:
        outcome, entries = settle(self._pager, txn, self.journal.row.scope)
        self.write(entries)
        return outcome

    # -- boundaries

    def before_compaction(self) -> list[Fresh]:
        """The boundary that a fold is, to be written with its turn once nothing is dirty; none where a `FlushMiss` is kept instead.

        A conflict is told: whoever appends must have seen what others wrote.
        """
        try:
            self.flush_faults()
            self.settle_all()
        except Conflict:
            raise
        except StoreError as error:
            self.keep(FlushMiss(), detail=f"{BoundaryKind.COMPACTION}: {error}")
            return []
        return [Fresh(BoundaryCrossed(kind=BoundaryKind.COMPACTION))]

    def cross(self, kind: BoundaryKind) -> FlushMiss | None:
        """Pass a boundary with nothing dirty left behind, or say that something was."""
        try:
            self.insist(self.flush_faults)
            self.insist(self.settle_all)
            self.insist(lambda: self.append(BoundaryCrossed(kind=kind)))
            self.journal.keep_snapshot()
        except StoreError as error:
            fault = FlushMiss()
            self.keep(fault, detail=f"{kind}: {error}")
            return fault
        return None
