"""The recorder: how a session's facts get into its journal.

It writes again after a conflict where that is safe, and keeps faults that the store does not take until it does.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from pageturn.entries import BoundaryCrossed, BoundaryKind, Committed, Entry, Faulted, Rejected, Waiting
from pageturn.errors import Conflict, StoreError
from pageturn.faults import AnyFault, FlushMiss
from pageturn.ids import micros
from pageturn.journal import Fresh, Journal
from pageturn.paging import Pager
from pageturn.settling import Settlement, approve, reject, settle


class Recorder:
    """Writes to one journal."""

    def __init__(self, pager: Pager, clock: Callable[[], datetime]) -> None:
        self._pager = pager
        self._clock = clock
        self.unwritten: list[Faulted] = []  # faults that the store has not taken yet
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
            except Conflict:
                self.journal.catch_up()
            else:
                return

    # -- faults

    def fault(self, fault: AnyFault, *, page: int | None = None, detail: str = "") -> AnyFault:
        """Record a fault and hand it on; what the store does not take now is written at the next boundary."""
        self.keep(fault, page=page, detail=detail)
        with suppress(StoreError):
            self.flush_faults()
        return fault

    def keep(self, fault: AnyFault, *, page: int | None = None, detail: str = "") -> None:
        """Remember a fault until the next is written."""
        words = detail[:500].encode("utf-8", "replace").decode()
        self.unwritten.append(Faulted(fault=fault, turn=self.journal.state.turn, page=page, detail=words))

    def flush_faults(self) -> None:
        """Write the faults that are not written yet."""
        if self.unwritten:
            self.write([Fresh(entry) for entry in self.unwritten])
            self.unwritten.clear()

    # -- proposals

    def settle_all(self) -> None:
        """Settle what is staged, by this session or by one that crashed. What waits for a person goes on waiting."""
        while self.journal.state.staged:
            self._settle(next(iter(self.journal.state.staged)))

    def settle_for_certain(self, txn: int) -> Committed | Waiting | Rejected:
        """Decide what is staged, whoever else writes: a `Conflict` would say, wrongly, that nothing was written."""
        head = self.journal.head
        while txn in self.journal.state.staged:
            try:
                return self._settle(txn)
            except Conflict:
                self.journal.catch_up()
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
            except Conflict:
                self.journal.catch_up()
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
