"""Settles the proposals of a session, and the boundaries before which all of them must be settled."""

from collections.abc import Callable, Sequence

from pageturn.journal.journal import Fresh
from pageturn.journal.writing import Recorder
from pageturn.values.checks import require_text
from pageturn.values.entries import (
    BoundaryCrossed,
    BoundaryKind,
    Committed,
    Pinned,
    Rejected,
    SessionReset,
    Waiting,
    sets_plan,
)
from pageturn.values.errors import BudgetTooSmall, Conflict, InvalidInput, StoreError, show
from pageturn.values.faults import FlushMiss
from pageturn.values.messages import user
from pageturn.values.pages import Page, PageKind
from pageturn.values.proposals import InvariantViolation, Proposal, ProposalForReview
from pageturn.writeback.settle import Settlement, approve, for_review, ground_of, reject, settle, staged
from pageturn.writeback.validation import flaw_of_reset


class Writeback:
    """Settles the proposals of one session."""

    def __init__(self, recorder: Recorder, require_room: Callable[[Sequence[Fresh]], None]) -> None:
        self._recorder = recorder
        self._require_room = require_room  # raises `BudgetTooSmall` if no context could show what is promised
        self._journal = recorder.journal

    def propose(self, proposal: Proposal) -> Committed | Waiting | Rejected:
        """Stage a proposal and decide it. A proposal whose key was decided, waits or is staged already is not staged again."""
        state = self._journal.state
        txn = state.next_txn
        if proposal.key is not None:
            if (settled := state.settled.get(proposal.key)) is not None:
                return settled
            for same, waiting in state.waiting.items():
                if waiting.proposal.key == proposal.key:
                    return Waiting(txn=same)
            same_key = (txn for txn, waiting in state.staged.items() if waiting.proposal.key == proposal.key)
            txn = next(same_key, txn)
        if txn not in state.staged:
            self._recorder.write([staged(proposal, txn)])
        return self.settle_for_certain(txn)

    def waiting(self) -> tuple[ProposalForReview, ...]:
        """The proposals that wait for a person, the oldest first."""
        pager, scope = self._recorder.pager, self._journal.row.scope
        return tuple(for_review(pager, txn, scope) for txn in self._journal.state.waiting)

    def settle_all(self) -> None:
        """Settle what was staged, by this session or by one that crashed. Proposals that wait for a person still wait.

        If entries cannot be read, it is unknown what was settled already.
        """
        while self._journal.state.staged and self._journal.state.damage is None:
            self._settle(next(iter(self._journal.state.staged)))

    def settle_for_certain(self, txn: int) -> Committed | Waiting | Rejected:
        """Decide what is staged, even if others write meanwhile: a `Conflict` would wrongly say that nothing was written."""
        head = self._journal.head
        while txn in self._journal.state.staged:
            try:
                return self._settle(txn)
            except Conflict as conflict:
                self._recorder.catch_up(conflict)
        return self._decided_since(head, txn)

    def approve(self, txn: int) -> Committed | Rejected:
        """Record a person's approval of a waiting proposal; if another person answered first, that answer holds."""
        self._require_waiting(txn)
        return self._answer(txn, lambda: approve(self._recorder.pager, txn, self._journal.row.scope))

    def reject(self, txn: int, reason: str) -> Committed | Rejected:
        """Record a person's rejection of a waiting proposal; if another person answered first, that answer holds."""
        self._require_waiting(txn)
        require_text("reason", reason)
        return self._answer(txn, lambda: reject(txn, reason))

    def _require_waiting(self, txn: int) -> None:
        waiting = self._journal.state.waiting
        if type(txn) is not int or txn not in waiting:
            ids = ", ".join(map(str, waiting))
            which = f"one of {ids}" if ids else "though no proposal is waiting"
            raise InvalidInput("id", expected=f"the id of a proposal that is waiting, {which}", got=show(txn))

    def _answer(self, txn: int, settlement: Callable[[], Settlement]) -> Committed | Rejected:
        head = self._journal.head
        while txn in self._journal.state.waiting:
            try:
                outcome, entries = self._with_room(settlement())
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
        outcome, entries = self._with_room(settle(self._recorder.pager, txn, self._journal.row.scope))
        self._recorder.write(entries)
        return outcome

    def _with_room(self, settlement: Settlement) -> Settlement:
        """The settlement, unless it would commit a plan or a rule that no context has room for."""
        if not any(sets_plan(each.entry) or isinstance(each.entry, Pinned) for each in settlement.entries):
            return settlement
        try:
            self._require_room(settlement.entries)
        except BudgetTooSmall as error:
            rejected = Rejected(txn=settlement.outcome.txn, reason=InvariantViolation(f"it has no room: {error}"))
            return Settlement(rejected, [Fresh(rejected)])
        return settlement

    # -- boundaries

    def reset(self, summary: str, *, force: bool) -> Page:
        """Replace everything by a summary of the host's. Its author must have seen all of it, so a conflict is an error here."""
        pager = self._recorder.pager
        flaw = None if force else flaw_of_reset(summary, ground_of(pager, self._journal.row.scope))
        if flaw is not None:
            expected = "a text that can replace everything since the last reset (force=True takes any)"
            raise InvalidInput("summary", expected=expected, got=f"one that cannot: {flaw}")
        self._recorder.flush_faults()
        self.settle_all()
        page = pager.page(user(summary, synthetic=True), PageKind.CONVERSATION, ahead=1)
        covering = SessionReset(page=self._journal.head + 2)
        self._recorder.write([Fresh(BoundaryCrossed(kind=BoundaryKind.RESET)), page, Fresh(covering)])
        return self._journal.state.pages[-1]

    def before_compaction(self) -> list[Fresh]:
        """The boundary entry for a fold, to be written with its turn once everything is settled; none if a `FlushMiss` is recorded
        instead.

        A conflict is raised: the caller must have seen what others wrote.
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
        """Pass a boundary with everything written, or return a fault."""
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
