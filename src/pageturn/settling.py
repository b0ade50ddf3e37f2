"""Settling: what has to be written for a proposal, first to stage it and then to decide it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from pageturn.bodies import digest_of
from pageturn.entries import Committed, Rejected, RenditionAdmitted, Staged
from pageturn.errors import StoreError
from pageturn.journal import Fresh, Journal
from pageturn.messages import Message
from pageturn.pages import Page
from pageturn.paging import Pager
from pageturn.proposals import Proposal, ProvenanceFail
from pageturn.recall import page_of
from pageturn.renditions.fencing import escaped
from pageturn.wire import to_json
from pageturn.writeback import Ground, level_of, plan_of, validate


class Settlement(NamedTuple):
    """How a proposal ended, and the entries that say so."""

    outcome: Committed | Rejected
    entries: list[Fresh]


def staged(proposal: Proposal, txn: int) -> Fresh:
    """The entry that stages a proposal, its value beside it as a blob."""
    data = to_json(proposal.value)
    digest = digest_of(data)
    return Fresh(Staged(txn=txn, proposal=msgspec.structs.replace(proposal, value=None), value=digest), {digest: data})


def settle(pager: Pager, txn: int, scope: str | None) -> Settlement:
    """Decide a staged proposal. Deterministic, so that it does not matter whether a crash came in between."""
    journal = pager.journal
    state = journal.state
    waiting = state.staged[txn]
    value = journal.value(waiting.value)
    proposal = msgspec.structs.replace(waiting.proposal, value=value)
    messages = partial(_messages, journal)
    ground = Ground(state, scope, partial(page_of, state), journal.value, pager.counter.text, messages)
    was_erased = value is msgspec.UNSET
    rejection = ProvenanceFail("its evidence was erased") if was_erased else validate(proposal, ground)
    if rejection is not None:
        rejected = Rejected(txn=txn, reason=rejection)
        return Settlement(rejected, [Fresh(rejected)])
    committed = Committed(txn=txn)
    return Settlement(committed, [*_effects(pager, txn, proposal), Fresh(committed)])


def _messages(journal: Journal, pages: Sequence[Page]) -> list[Message] | None:
    """The messages of pages; None where the store cannot give them all."""
    try:
        return [message for page in pages if (message := journal.message(page)) is not None]
    except StoreError:
        return None


def _effects(pager: Pager, txn: int, proposal: Proposal) -> list[Fresh]:
    """What a valid proposal changes, beside the field that it is kept in."""
    level = level_of(proposal)
    if level is not None:
        pages = [page for handle in proposal.evidence if (page := page_of(pager.journal.state, handle)) is not None]
        first, last = min(page.seq for page in pages), max(page.seq for page in pages)
        # Handles of the pages that it stands for may be redeemed; whatever else looks like one of ours does not pass for it.
        text = escaped(proposal.value, {page.handle for page in pager.journal.state.between(first, last)})
        data = text.encode()
        tokens = pager.counter.text(text)
        entry = RenditionAdmitted(first=first, last=last, level=level, digest=digest_of(data), tokens=tokens, txn=txn)
        return [Fresh(entry, {entry.digest: data})]
    if proposal.field == "plan":
        return pager.plan(plan_of(proposal))
    if proposal.field == "preference":
        return pager.preference(proposal.value, proposal.scope)
    return []
