"""Applies entries to the state of a session, one function for each kind of entry.

`apply` is the only thing that changes a state, and the same entries always give the same state.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import msgspec

from pageturn.journal.state import FaultRecord, Field, SessionState, Write
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.too_long import Bound
from pageturn.values import entries as e
from pageturn.values.faults import DuplicateTool, Refetch
from pageturn.values.handles import parse
from pageturn.values.messages import Role
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.proposals import Op
from pageturn.values.usage import Usage

_AUTHOR_TOKENS = 32  # more tokens than the words that mark a plan or a preference as the model's


def apply(state: SessionState, seq: int, entry: e.Entry) -> None:
    """Apply one more entry; entries come in order, and none is left out."""
    assert seq == state.head + 1, f"entry {seq} after {state.head}"
    state.head = seq
    _APPLY[type(entry)](state, seq, entry)


def _message(state: SessionState, _: int, entry: e.MessageAdded) -> None:
    state.pages.append(entry.page)
    if entry.page.kind in (PageKind.EVIDENCE, PageKind.CONVERSATION):
        state.is_opening = False
    if entry.page.kind.is_rule:
        _list_rule(state, entry.page)
    if entry.page.is_human:
        state.people.append(entry.page.seq)


def _imported(_state: SessionState, _: int, _entry: e.Imported) -> None:
    """The origin of a session changes nothing in its state; imports look it up in the journal."""


def _model(state: SessionState, _: int, entry: e.ModelChosen) -> None:
    state.model = entry.model


def _system(state: SessionState, _: int, entry: e.SystemReplaced) -> None:
    opening = [
        page for page in takewhile(lambda page: page.kind.is_rule, state.pages) if page.kind is PageKind.BOOTSTRAP
    ]
    before = [page.seq for page in opening if page.seq < entry.page]
    before += [state.system] if state.system is not None else []
    digests = {page.digest for page in map(state.page, before) if page is not None and page.seq not in state.pins}
    again = [seq for digest in digests for seq in state.rules.get(digest, ())]  # a client may have sent it again later
    for seq in {*before, *again} - {*state.pins, entry.page}:
        at = state.index(seq)
        if at is not None and state.pages[at].kind is PageKind.BOOTSTRAP:
            state.pages[at] = msgspec.structs.replace(state.pages[at], replaced=True)
    state.system = entry.page
    state.changes += 1


def _turn(state: SessionState, _: int, entry: e.TurnTaken) -> None:
    state.turn += 1
    state.turns.append(entry.page)
    state.usage = entry.usage or state.usage
    state.is_cold = False
    has_to_leave = state.note_state.take_turn(entry.shown, entry.page)
    if entry.shown is None:
        state.seen = entry.page if state.shown is None else state.seen
        return
    if entry.unreasoned:
        _take_out_reasoning(state, (entry.page - 1, entry.page))
    state.seen = entry.shown.upto
    state.shown = entry.shown
    if state.pages[state.after(entry.shown.upto)].seq < entry.page:
        state.overtaken.append(entry.shown.upto)
    _learn(state, entry.shown, entry.usage)
    fold, kept = entry.shown.fold, entry.shown.kept
    if fold is not None:
        _fold(state, fold)
    if fold is not None or kept is not None:
        state.tried, state.fold_cost = state.turn, fold.cost if fold is not None else kept
        state.fold_tokens, state.read_since_fold = entry.shown.tokens, 0
    else:
        state.read_since_fold += max(0, entry.shown.tokens - state.fold_tokens)
    state.changes += has_to_leave or entry.shown.is_outdated


def _learn(state: SessionState, shown: e.Shown, usage: Usage | None) -> None:
    """Learn from an accepted prompt: how the provider counts, and that the next prompt may be a little larger."""
    if usage is not None and usage.input_tokens and shown.tokens:
        known = state.calibrations.get(shown.model, Calibration())
        state.calibrations[shown.model] = known.observe(counted=shown.tokens, reported=usage.input_tokens)
    if shown.model in state.bounds:
        state.bounds[shown.model] = state.bounds[shown.model].accepting(shown.tokens)


def _fold(state: SessionState, fold: e.Fold) -> None:
    state.placed |= fold.placed
    for first in fold.gone:
        del state.placed[first]
    state.lines = list(fold.lines)
    state.folded = fold.upto
    state.folds.append(state.turn)
    state.fetched_since_fold.clear()
    state.overtaken.clear()
    state.changes_folded = fold.changes if fold.changes is not None else state.changes
    state.forms_folded = fold.forms
    state.has_handles = fold.has_handles
    if fold.unreasoned is not None:
        _take_out_reasoning(state, fold.unreasoned)


def _take_out_reasoning(state: SessionState, span: tuple[int, int]) -> None:
    if span[0] >= span[1]:
        return  # it has no page
    spans = state.unreasoned  # in order, and without overlaps
    first = bisect_left(spans, span[0], key=lambda each: each[1])
    end = bisect_right(spans, span[1], key=lambda each: each[0])
    together = [*spans[first:end], span]
    state.unreasoned[first:end] = [(min(each[0] for each in together), max(each[1] for each in together))]


def _usage(state: SessionState, _: int, entry: e.UsageReported) -> None:
    if entry.most_tokens is None:
        state.usage = entry.usage
    elif entry.usage.model is not None:
        state.bounds[entry.usage.model] = Bound(entry.most_tokens, entry.refused_tokens)


def _forgotten(state: SessionState, _: int, entry: e.OverflowForgotten) -> None:
    state.bounds.pop(entry.model, None)


def _pin(state: SessionState, _: int, entry: e.Pinned) -> None:
    state.pins[entry.page] = entry.structured
    page = state.page(entry.page)
    if page is not None:
        _list_rule(state, page)
    (state.from_task_log.add if entry.source == e.TASK_LOG else state.from_task_log.discard)(entry.page)
    _promise_changed(state, entry.page)


def _list_rule(state: SessionState, page: Page) -> None:
    """Add to the rules with the same text, in order. Each change makes a new tuple, so that a supposed change leaves the old one alone."""
    same = state.rules.get(page.digest, ())
    at = bisect_left(same, page.seq)
    if page.seq not in same[at : at + 1]:
        state.rules[page.digest] = (*same[:at], page.seq, *same[at:])


def _unpin(state: SessionState, _: int, entry: e.Unpinned) -> None:
    state.pins.pop(entry.page, None)
    state.from_task_log.discard(entry.page)
    _promise_changed(state, entry.page)
    if entry.page in state.spared:
        state.changes += 1
        state.spared.discard(entry.page)
        _undo(state, state.after(entry.page) - 1)
    at = state.index(entry.page)
    if entry.withdrawn and at is not None:
        _withdraw(state, at)


def _withdraw(state: SessionState, at: int) -> None:
    """Remove a withdrawn page from the context at once."""
    if state.pages[at].counts:
        _undo(state, at)
        state.changes += 1


def _promise_changed(state: SessionState, page: int) -> None:
    """Record that a page shown in a short form or an index line got a new promise, which cannot wait for the next fold."""
    state.promises += 1
    placed = state.placed.get(page)
    is_short = page <= state.folded and (placed is None or placed.level is not ResidencyLevel.FULL)
    is_scoped = state.preferences.get(page) is not None  # and may not have been shown at all
    own = state.page(page)
    has_twin = own is not None and len(state.rules.get(own.digest, ())) > 1  # of which only one is shown
    if is_short or is_scoped or has_twin:
        state.changes += 1


def _plan(state: SessionState, _: int, entry: e.PlanSet) -> None:
    state.plan = entry
    if not entry.page:
        for at, page in enumerate(state.pages):
            if state.kind(page) is PageKind.PLAN:
                _withdraw(state, at)


def _preference(state: SessionState, _: int, entry: e.Preferred) -> None:
    state.preferences[entry.page] = entry.scope


def _note(state: SessionState, _: int, entry: e.NoteAdded) -> None:
    state.note_state.add(entry.note)


def _retraction(state: SessionState, _: int, entry: e.NoteRetracted) -> None:
    state.changes += state.note_state.retract(entry.key, now=entry.now)


def _rendition(state: SessionState, _: int, entry: e.RenditionAdmitted) -> None:
    state.renditions.append(entry)


def _staged(state: SessionState, _: int, entry: e.Staged) -> None:
    state.staged[entry.txn] = entry
    state.next_txn = entry.txn + 1


def _waiting(state: SessionState, _: int, entry: e.Waiting) -> None:
    state.waiting[entry.txn] = state.staged.pop(entry.txn)


def _settled(state: SessionState, _: int, entry: e.Committed | e.Rejected) -> None:
    staged = state.waiting.pop(entry.txn) if entry.txn in state.waiting else state.staged.pop(entry.txn)
    if staged.proposal.key is not None:
        state.settled[staged.proposal.key] = entry
    if isinstance(entry, e.Committed) and staged.proposal.is_memory:
        field = state.fields.get(staged.proposal.field, Field())
        before = () if staged.proposal.op is Op.SET_WITH_VERSION else field.writes
        pages = (parse(handle) for handle in staged.proposal.evidence)
        evidence = frozenset(page[0] for page in pages if page is not None)
        writes = (*before, Write(staged.proposal.op, staged.value, evidence))
        state.fields[staged.proposal.field] = Field(writes, field.version + 1)
    elif isinstance(entry, e.Committed):
        _name_author(state, staged.proposal.field)


def _name_author(state: SessionState, field: str) -> None:
    """Attribute to the model a plan or preference that an earlier version let it state with the role system."""
    written = {"plan": [state.plan.page] if state.plan else [], "preference": [*state.preferences][-1:]}.get(field, [])
    for at in map(state.index, written):
        if at is not None and state.pages[at].role is Role.SYSTEM:
            page = state.pages[at]
            tokens = page.tokens + _AUTHOR_TOKENS
            state.pages[at] = msgspec.structs.replace(page, role=Role.USER, synthetic=True, tokens=tokens)


def _fault(state: SessionState, seq: int, entry: e.Faulted) -> None:
    state.faults.append(FaultRecord(seq, entry))
    if isinstance(entry.fault, DuplicateTool | Refetch) and entry.page is not None:
        state.fetched[entry.page] = state.fetched.get(entry.page, 0) + 1
        state.fetched_since_fold.add(entry.page)


def _boundary(state: SessionState, _: int, entry: e.BoundaryCrossed) -> None:
    """A boundary changes nothing, except that the cache may have expired."""
    state.is_cold = state.is_cold or entry.kind is e.BoundaryKind.COLD_CACHE


def _reset(state: SessionState, _: int, entry: e.SessionReset) -> None:
    state.resets.append(entry.page)
    state.changes += 1


def _policy(state: SessionState, _: int, entry: e.PolicyChosen) -> None:
    state.policy = entry.policy
    state.changes += 1 if state.pages else 0


def _grant(state: SessionState, _: int, entry: e.ScopeGranted) -> None:
    if (entry.scope in state.grants) is not entry.allowed and entry.scope in state.preferences.values():
        state.changes += 1  # preferences for that scope enter the context, or leave it
    (state.grants.add if entry.allowed else state.grants.discard)(entry.scope)


def _tombstone(state: SessionState, _: int, entry: e.TurnsUndone) -> None:
    for at in state.belonging(entry.first, entry.last):
        page = state.pages[at].seq
        if page in state.pins:
            state.spared.add(page)
        else:
            _undo(state, at)
    for pages in (state.turns, state.resets):
        del pages[bisect_right(pages, entry.first - 1) :]
    state.renditions = [each for each in state.renditions if each.last < entry.first or each.first > entry.last]
    state.note_state.undo(entry.first)
    state.changes += 1


def _undo(state: SessionState, at: int) -> None:
    state.pages[at] = msgspec.structs.replace(state.pages[at], undone=True)


def _lost(state: SessionState, seq: int, entry: e.EntryLost) -> None:
    state.head = max(seq, entry.last)
    state.lost[seq] = entry
    state.changes += 1


def _erasure(state: SessionState, _: int, entry: e.PageErased) -> None:
    forget_page(state, entry)
    for page in entry.also:
        forget_page(state, e.PageErased(page=page, digest=""))


def forget_page(state: SessionState, entry: e.PageErased) -> None:
    """Account for the erasure of a page, even before an entry of this session says so."""
    at = state.index(entry.page)
    if at is not None:
        if state.pages[at].erased:
            return  # the erasure was noticed before its entry was written
        state.pages[at] = msgspec.structs.replace(state.pages[at], erased=True)
    state.changes += 1
    state.lines = [
        msgspec.structs.replace(line.plain, folders=None, ledger=None)
        if line.first <= entry.page <= line.last
        else line
        for line in state.lines
    ]
    state.pins.pop(entry.page, None)
    state.from_task_log.discard(entry.page)
    state.preferences.pop(entry.page, None)
    state.resets = [page for page in state.resets if page != entry.page]
    state.renditions = [each for each in state.renditions if not each.first <= entry.page <= each.last]
    for name, field in state.fields.items():
        left = tuple(write for write in field.writes if entry.page not in write.evidence)
        if len(left) < len(field.writes):
            state.fields[name] = Field(left, field.version)


_APPLY: dict[type[e.Entry], Callable[[SessionState, int, Any], None]] = {
    e.MessageAdded: _message,
    e.Imported: _imported,
    e.ModelChosen: _model,
    e.SystemReplaced: _system,
    e.TurnTaken: _turn,
    e.UsageReported: _usage,
    e.OverflowForgotten: _forgotten,
    e.Pinned: _pin,
    e.Unpinned: _unpin,
    e.PlanSet: _plan,
    e.Preferred: _preference,
    e.NoteAdded: _note,
    e.NoteRetracted: _retraction,
    e.RenditionAdmitted: _rendition,
    e.Staged: _staged,
    e.Waiting: _waiting,
    e.Committed: _settled,
    e.Rejected: _settled,
    e.Faulted: _fault,
    e.BoundaryCrossed: _boundary,
    e.SessionReset: _reset,
    e.PolicyChosen: _policy,
    e.ScopeGranted: _grant,
    e.TurnsUndone: _tombstone,
    e.PageErased: _erasure,
    e.EntryLost: _lost,
}
