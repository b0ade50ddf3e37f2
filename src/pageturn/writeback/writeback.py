"""Settles the proposals of a session, and the boundaries before which all of them must be settled."""

from collections.abc import Callable

from pageturn.journal.journal import Fresh
from pageturn.journal.writing import Recorder
from pageturn.values.entries import BoundaryCrossed, BoundaryKind, Committed, Rejected, Waiting
from pageturn.values.errors import Conflict, StoreError
from pageturn.values.faults import FlushMiss
from pageturn.writeback.settle import Settlement, approve, reject, settle


class Writeback:
    """Settles the proposals of one session."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._journal = recorder.journal

    def settle_all(self) -> None:
        """Settle what is staged, by this session or by one that crashed. What waits for a person goes on waiting.

        Where entries cannot be read nobody knows what was settled already.
        """
        while self._journal.state.staged and self._journal.state.damage is None:
            self._settle(next(iter(self._journal.state.staged)))

    def settle_for_certain(self, txn: int) -> Committed | Waiting | Rejected:
        """Decide what is staged, whoever else writes: a `Conflict` would say, wrongly, that nothing was written."""
        head = self._journal.head
        while txn in self._journal.state.staged:
            try:
                return self._settle(txn)
            except Conflict as conflict:
                self._recorder.catch_up(conflict)
        return self._decided_since(head, txn)

    def approve(self, txn: int) -> Committed | Rejected:
        """Write a person's approval of what waits; where another answered first, that answer holds."""
        return self._answer(txn, lambda: approve(self._recorder.pager, txn, self._journal.row.scope))

    def reject(self, txn: int, reason: str) -> Committed | Rejected:
        """Write a person's refusal of what waits; where another answered first, that answer holds."""
        return self._answer(txn, lambda: reject(txn, reason))

    def _answer(self, txn: int, settlement: Callable[[], Settlement]) -> Committed | Rejected:
        head = self._journal.head
        while txn in self._journal.state.waiting:
            try:
                outcome, entries = settlement()
                self._recorder.write(entries)
            except Conflict as conflict:
                self._recorder.catch_up(conflict)
            else:
                assert not isinstance(outcome, Waiting), "a person has answered"
                return outcome
        answered = self._decided_since(head, txn)
        assert not isinstance(answered, Waiting), "it waited before"
        return answered

    def _decided_since(self, head: int, txn: int) -> Committed | Waiting | Rejected:
        later = (entry for _, entry in self._journal.entries(after=head))
        return next(each for each in later if isinstance(each, Committed | Waiting | Rejected) and each.txn == txn)

    def _settle(self, txn: int) -> Committed | Waiting | Rejected:
        outcome, entries = settle(self._recorder.pager, txn, self._journal.row.scope)
        self._recorder.write(entries)
        return outcome

    # -- boundaries

    def before_compaction(self) -> list[Fresh]:
        """The boundary that a fold is, to be written with its turn once nothing is dirty; none where a `FlushMiss` is kept instead.

        A conflict is told: whoever appends must have seen what others wrote.
        """
        try:
            self._recorder.flush_faults()
            self.settle_all()
        except Conflict:
            raise
        except StoreError as error:
            self._recorder.keep(FlushMiss(), detail=f"{BoundaryKind.COMPACTION}: {error}")
            return []
        return [Fresh(BoundaryCrossed(kind=BoundaryKind.COMPACTION))]

    def cross(self, kind: BoundaryKind) -> FlushMiss | None:
        """Pass a boundary with nothing dirty left behind, or say that something was."""
        try:
            self._recorder.insist(self._recorder.flush_faults)
            self._recorder.insist(self.settle_all)
            self._recorder.insist(lambda: self._recorder.append(BoundaryCrossed(kind=kind)))
            self._journal.keep_snapshot()
        except StoreError as error:
            fault = FlushMiss()
            self._recorder.keep(fault, detail=f"{kind}: {error}")
            return fault
        return None
