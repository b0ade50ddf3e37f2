"""Makes the entries of a proposal: to stage it, then to commit or reject it, or to leave it to a person."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from pageturn.journal.journal import Fresh, Journal
from pageturn.journal.lookup import page_of
from pageturn.journal.paging import Pager
from pageturn.values.digests import digest_of
from pageturn.values.entries import Committed, Rejected, RenditionAdmitted, Staged, Waiting
from pageturn.values.errors import StoreError
from pageturn.values.fencing import escaped
from pageturn.values.json import to_json
from pageturn.values.messages import Message
from pageturn.values.pages import Page
from pageturn.values.proposals import AnyRejection, Declined, Proposal, ProposalForReview, ProvenanceFail
from pageturn.values.search_text import search_text
from pageturn.writeback.validation import Ground, level_of, needs_person, plan_of, replaced_by, validate


class Settlement(NamedTuple):
    """The outcome of a proposal, and the entries that record it."""

    outcome: Committed | Waiting | Rejected
    entries: list[Fresh]


def staged(proposal: Proposal, txn: int) -> Fresh:
    """The entry that stages a proposal, with its value as a blob."""
    data = to_json(proposal.value)
    digest = digest_of(data)
    return Fresh(Staged(txn=txn, proposal=msgspec.structs.replace(proposal, value=None), value=digest), {digest: data})


def settle(pager: Pager, txn: int, scope: str | None) -> Settlement:
    """Decide a staged proposal. Deterministic, so that a crash in between makes no difference."""
    return _settled(pager, pager.journal.state.staged[txn], scope, approved=False)


def approve(pager: Pager, txn: int, scope: str | None) -> Settlement:
    """The result of a person's approval: the proposal is committed, unless it has become invalid."""
    return _settled(pager, pager.journal.state.waiting[txn], scope, approved=True)


def reject(txn: int, reason: str) -> Settlement:
    """The result of a person's rejection."""
    rejected = Rejected(txn=txn, reason=Declined(reason))
    return Settlement(rejected, [Fresh(rejected)])


def for_review(pager: Pager, txn: int, scope: str | None) -> ProposalForReview:
    """A waiting proposal in the form that a person needs to decide on it."""
    journal = pager.journal
    staged = journal.state.waiting[txn]
    proposal, rejection = _validated(pager, staged, scope)
    page = replaced_by(proposal, ground_of(pager, scope)) or page_of(journal.state, proposal.evidence[0])
    messages = _messages(journal, [page]) if page is not None else None
    objection = None if rejection is None else getattr(rejection, "detail", rejection.code)
    shown = proposal if proposal.value is not msgspec.UNSET else staged.proposal
    handle = page.handle if page is not None else proposal.evidence[0]
    return ProposalForReview(txn, shown, handle, search_text(messages[0]) if messages else "", objection)


def ground_of(pager: Pager, scope: str | None) -> Ground:
    """What proposals to a session are validated against."""
    journal = pager.journal
    messages = partial(_messages, journal)
    return Ground(journal.state, scope, partial(page_of, journal.state), journal.value, pager.counter.text, messages)


def _validated(pager: Pager, staged: Staged, scope: str | None) -> tuple[Proposal, AnyRejection | None]:
    """A proposal with its value, and the reason against it, if any."""
    value = pager.journal.value(staged.value)
    proposal = msgspec.structs.replace(staged.proposal, value=value)
    if value is msgspec.UNSET:
        return proposal, ProvenanceFail("its evidence was erased")
    return proposal, validate(proposal, ground_of(pager, scope))


def _settled(pager: Pager, staged: Staged, scope: str | None, *, approved: bool) -> Settlement:
    txn = staged.txn
    proposal, rejection = _validated(pager, staged, scope)
    if rejection is not None:
        rejected = Rejected(txn=txn, reason=rejection)
        return Settlement(rejected, [Fresh(rejected)])
    if not approved and needs_person(proposal, ground_of(pager, scope)):
        waiting = Waiting(txn=txn)
        return Settlement(waiting, [Fresh(waiting)])
    committed = Committed(txn=txn)
    return Settlement(committed, [*_effects(pager, txn, proposal, approved=approved), Fresh(committed)])


def _messages(journal: Journal, pages: Sequence[Page]) -> list[Message] | None:
    """The messages of pages; None if the store cannot return them all."""
    try:
        return [message for page in pages if (message := journal.message(page)) is not None]
    except StoreError:
        return None


def _effects(pager: Pager, txn: int, proposal: Proposal, *, approved: bool) -> list[Fresh]:
    """What a valid proposal changes, besides the field that it is stored in."""
    level = level_of(proposal)
    if level is not None:
        pages = [page for handle in proposal.evidence if (page := page_of(pager.journal.state, handle)) is not None]
        first, last = min(page.seq for page in pages), max(page.seq for page in pages)
        # Handles of the pages that it replaces stay usable; anything else that looks like one of ours is escaped.
        text = escaped(proposal.value, {page.handle for page in pager.journal.state.between(first, last)})
        data = text.encode()
        tokens = pager.counter.text(text)
        entry = RenditionAdmitted(
            first=first, last=last, level=level, digest=digest_of(data), tokens=tokens, txn=txn, approved=approved
        )
        return [Fresh(entry, {entry.digest: data})]
    if proposal.field == "plan":
        return pager.plan(plan_of(proposal), by_model=True)
    if proposal.field == "preference":
        return pager.preference(proposal.value, proposal.scope, by_model=True)
    # It becomes the person's own rule, except for text that looks like a handle or a tag of ours.
    if proposal.field == "pin":
        return pager.constraint(escaped(proposal.value), None)
    return []
