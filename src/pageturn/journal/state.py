"""The state of a session: the result of its journal, updated entry by entry and never rebuilt.

`apply` is the only thing that changes it, and the same entries always give the same state.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from pageturn.journal.note_state import NoteBoard
from pageturn.policies import STORED_DEFAULT
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.too_long import Bound
from pageturn.values import entries as e
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.faults import DuplicateTool, Refetch
from pageturn.values.handles import parse
from pageturn.values.json import Closed
from pageturn.values.layout import IndexLine
from pageturn.values.messages import Role
from pageturn.values.notes import ContextMessage
from pageturn.values.pages import CallReference, Page, PageKind, ResidencyLevel
from pageturn.values.proposals import Op
from pageturn.values.units import ABANDONED, Unit
from pageturn.values.usage import Usage

_AUTHOR_TOKENS = 32  # more than the words around a plan or a wish take that say that a model wrote it
_FURTHEST_CALL = (
    4_096  # pages between a result and its call; a result without a call would be looked for in the whole session
)


class FaultRecord(Closed):
    """A fault as the journal has it."""

    seq: int
    entry: e.Faulted


class Write(Closed):
    """One write to a field: how, the blob that holds the value, and the pages that it rests on."""

    op: Op
    value: str
    evidence: frozenset[int] = frozenset()


class Field(Closed):
    """A field that writeback wrote: the writes since it was last set as a whole, and how many there were in all."""

    writes: tuple[Write, ...] = ()
    version: int = 0


class SessionState(msgspec.Struct):
    """The present of one session."""

    head: int = 0
    pages: list[Page] = []
    turns: list[int] = []  # the page of each turn that was not undone
    turn: int = 0  # how many turns there were, the undone ones too
    is_opening: bool = True  # whether only instructions have been given so far
    system: int | None = None  # the page that took the place of the opening prompt
    rules: dict[str, tuple[int, ...]] = {}  # by digest: the pages that are or were rules and say just that, in order
    model: str | None = None  # the one that the session talks to
    people: list[int] = []  # the pages that a person wrote
    pins: dict[int, e.TextReference | None] = {}  # page -> the structured form that its author gave
    from_task_log: set[int] = set()  # pages that a task log pinned, and nobody else
    plan: e.PlanSet | None = None
    spared: set[int] = set()  # pages of undone turns that only their pin keeps
    preferences: dict[int, str | None] = {}  # page -> scope
    noteboard: NoteBoard = msgspec.field(default_factory=NoteBoard)
    renditions: list[e.RenditionAdmitted] = []
    fields: dict[str, Field] = {}
    policy: ChosenPolicy = STORED_DEFAULT
    grants: set[str] = set()
    faults: list[FaultRecord] = []
    usage: Usage | None = None
    resets: list[int] = []  # the page of each reset that was not undone
    placed: dict[int, e.Placed] = {}  # by the first page of each unit that a fold placed and no sealed line covers
    lines: list[IndexLine] = []
    folded: int = 0  # the last page that the last fold placed
    folds: list[int] = []  # the turn of each fold
    forms_folded: int = 0  # how many admitted forms the last fold knew of
    has_handles: bool = True  # whether the texts of the last fold name pages
    unreasoned: list[tuple[int, int]] = []  # behind the first page and up to the second, folds took out the reasoning
    promises: int = 0  # how often something was pinned or unpinned
    changes: int = 0  # how often something that was shown no longer held
    changes_folded: int = 0  # how many of those the last fold knew of
    is_cold: bool = False  # the cache was gone before the coming turn
    seen: int = 0  # the last page that a model was shown
    shown: e.Shown | None = None  # what it was shown last
    overtaken: list[int] = []  # the last page of each context since the last fold whose answer something came before
    fetched: dict[int, int] = {}  # how often a page had to be fetched again
    fetched_since_fold: set[int] = set()
    calibrations: dict[str, Calibration] = {}  # by model
    bounds: dict[str, Bound] = {}  # by model: what a provider that refused a prompt left us
    next_txn: int = 0
    staged: dict[int, e.Staged] = {}
    waiting: dict[int, e.Staged] = {}  # for a person
    settled: dict[str, e.Committed | e.Rejected] = {}  # by the key of the proposal
    lost: dict[int, e.EntryLost] = {}  # entries that cannot be read, by the number of the first
    restored: dict[
        int, str
    ] = {}  # pages whose entries were damaged and were made again from their words: what was wrong

    @property
    def damage(self) -> e.EntryLost | None:
        """The first entry that cannot be read and whose loss nobody has accepted."""
        return next((lost for lost in self.lost.values() if not lost.is_accepted), None)

    @property
    def last_reset(self) -> int:
        """The page of the last reset that was not undone: its summary covers every page before it. 0 where there is none."""
        return self.resets[-1] if self.resets else 0

    @property
    def notes(self) -> dict[str, ContextMessage]:
        """The durable notes, by key."""
        return self.noteboard.notes

    def page(self, seq: int) -> Page | None:
        """The page with that number."""
        at = self.index(seq)
        return self.pages[at] if at is not None else None

    def index(self, seq: int) -> int | None:
        """Where the page with that number is in `pages`."""
        at = self.after(seq) - 1
        return at if at >= 0 and self.pages[at].seq == seq else None

    def after(self, seq: int) -> int:
        """Where the first page with a greater number is in `pages`."""
        return bisect_left(self.pages, seq + 1, key=lambda page: page.seq)

    def kind(self, page: Page) -> PageKind:
        """What a page is for now: a constraint while it is pinned; a text that was pinned is mere talk after."""
        if page.seq in self.pins:
            return PageKind.CONSTRAINT
        return PageKind.CONVERSATION if page.kind is PageKind.CONSTRAINT else page.kind

    def path(self, unit: Unit) -> tuple[ResidencyLevel, ...]:
        """The levels that a unit may visit. A call whose result is a rule stays what it is, unless somebody gave a shorter form of it."""
        if len(unit) > 1:
            rules = [page for page in unit if self.kind(page).is_rule]
            if not rules:
                return PageKind.EVIDENCE.degradation_path
            have_forms = all(self.pins.get(page.seq) is not None or self._has_approved_form(page) for page in rules)
            return PageKind.CONSTRAINT.degradation_path if have_forms else (ResidencyLevel.FULL,)
        path = self.kind(unit[0]).degradation_path
        return path[:-1] if self.is_in_force(unit[0]) else path

    def _has_approved_form(self, page: Page) -> bool:
        forms = (each for each in self.renditions if each.approved and each.first == each.last == page.seq)
        return any(each.level is ResidencyLevel.STRUCTURED for each in forms)

    def repeats_rule(self, page: Page) -> bool:
        """Whether another rule says the same byte for byte, so that this one is not shown again: the first of them is, or the prompt
        that was set as the opening one, which stands before all others.
        """
        same = self.rules.get(page.digest, ())
        if len(same) < 2 or page.seq == self.system or not self.kind(page).is_rule:
            return False
        before = (self.page(seq) for seq in same if seq < page.seq or seq == self.system)
        return any(other is not None and other.counts and self.kind(other).is_rule for other in before)

    def is_unreasoned(self, page: Page) -> bool:
        """Whether a fold took out the reasoning of a page."""
        at = bisect_left(
            self.unreasoned, page.seq, key=lambda span: span[1]
        )  # they are in order, and apart from each other
        return at < len(self.unreasoned) and self.unreasoned[at][0] < page.seq

    def open_calls(self) -> list[tuple[Page, CallReference]]:
        """The calls that somebody still waits for, with their pages, the oldest first; after so many turns a call is abandoned."""
        start = self.after(self.turns[-ABANDONED] - 1) if len(self.turns) >= ABANDONED else 0
        waiting: dict[int, tuple[Page, CallReference]] = {}  # by the order in which they were made
        places: dict[str, list[int]] = {}
        made = 0
        for page in self.pages[start:]:
            if page.undone:
                continue
            for result in page.results:
                if same := places.get(result.call):
                    del waiting[same.pop()]
            for call in page.calls if page.counts else ():
                waiting[made] = (page, call)
                places.setdefault(call.id, []).append(made)
                made += 1
        return list(waiting.values())

    def is_in_force(self, page: Page) -> bool:
        """Whether a page holds the present plan."""
        return self.plan is not None and self.plan.page == page.seq and self.kind(page) is PageKind.PLAN

    def is_authoritative(self, page: Page) -> bool:
        """Whether a page is a rule or speaks in the host's own voice: only with a person's approval may a model put it into other words."""
        return self.kind(page).is_rule or page.role in (Role.SYSTEM, Role.DEVELOPER)

    def is_out_of_scope(self, page: Page, scope: str | None) -> bool:
        """Whether a page is a preference for a scope that is neither this one, the session's, nor granted. A pin is for any."""
        wanted = self.preferences.get(page.seq)
        return wanted is not None and wanted != scope and wanted not in self.grants and page.seq not in self.pins

    def live_pages(self) -> Iterator[Page]:
        """The pages that count: neither undone nor erased."""
        return (page for page in self.pages if page.counts)

    def between(self, first: int, last: int) -> list[Page]:
        """The pages that count, from one number to another."""
        return [page for page in self.pages[self.after(first - 1) : self.after(last)] if page.counts]

    def size_between(self, first: int, last: int) -> int:
        """The bytes of those."""
        return sum(page.size for page in self.between(first, last))

    def turn_of(self, page: Page) -> int:
        """The turn, counted from 1, that a page belongs to: the one that it led to, or that produced it."""
        return bisect_left(self.turns, page.seq) + 1

    def start_of_turns(self, count: int) -> int | None:
        """The number of the first page of the last `count` turns, or None if there are not so many.

        A turn begins with what was said after the turn or the reset before it; results belong to the turn that called.
        """
        if not 0 < count <= len(self.turns):
            return None
        earlier = self.turns[-count - 1] if count < len(self.turns) else 0
        before = max([earlier, *(page for page in self.resets if page < self.turns[-count])])
        belonging = self.belonging(before + 1, self.head)
        return self.pages[belonging[0]].seq if belonging else None

    def belonging(self, first: int, last: int) -> list[int]:
        """Where the pages are that belong to turns in this range, pinned or not: talk, and results of calls made in it."""
        belonging = []
        calls: set[str] = set()  # made so far in the range; some vendors use an id twice
        for at in range(self.after(first - 1), self.after(last)):
            calls.update(call.id for call in self.pages[at].calls)
            if self._belongs(self.pages[at], calls):
                belonging.append(at)
        return belonging

    def _belongs(self, page: Page, calls: set[str]) -> bool:
        kind = page.kind if page.seq in self.pins else self.kind(page)
        if page.undone or kind not in (PageKind.EVIDENCE, PageKind.CONVERSATION):
            return False  # rules, plans and wishes outlive the turn in which they were stated
        return not page.results or any(result.call in calls for result in page.results)

    def tool_of(self, page: Page) -> str | None:
        """The name of the tool whose result a page holds."""
        if not page.results:
            return page.calls[0].name if page.calls else None
        caller = self.caller(page)
        return next((call.name for call in caller.calls if call.id == page.results[0].call), None) if caller else None

    def caller(self, page: Page) -> Page | None:
        """The page that made the call which a page answers."""
        wanted = {result.call for result in page.results}
        last = self.after(page.seq) - 1
        before = (self.pages[at] for at in range(last, max(-1, last - _FURTHEST_CALL), -1))
        return next((other for other in before if any(call.id in wanted for call in other.calls)), None)

    def level_of(self, page: Page) -> ResidencyLevel:
        """The level at which a model was last shown a page, or will be first."""
        if page.seq > self.folded:
            return ResidencyLevel.FULL
        if any(line.first <= page.seq <= line.last for line in self.lines):
            return ResidencyLevel.POINTER
        caller = self.caller(page) if page.results else None
        placed = self.placed.get(caller.seq if caller is not None else page.seq)
        if placed is not None and 0 < placed.whole_from <= page.seq:
            return ResidencyLevel.FULL
        return placed.level if placed is not None else ResidencyLevel.POINTER


def apply(state: SessionState, seq: int, entry: e.Entry) -> None:
    """Take one more entry into account; entries come in order, and none is left out."""
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
    """Where a session comes from changes nothing of what it is; imports look it up in the journal."""


def _model(state: SessionState, _: int, entry: e.ModelChosen) -> None:
    state.model = entry.model


def _system(state: SessionState, _: int, entry: e.SystemReplaced) -> None:
    for at, page in enumerate(state.pages):
        is_opening = page.kind is PageKind.BOOTSTRAP and page.seq not in state.pins
        if is_opening and page.seq < entry.page:
            state.pages[at] = msgspec.structs.replace(page, replaced=True)
        if not page.kind.is_rule:
            break
    before = state.index(state.system) if state.system is not None and state.system not in state.pins else None
    if before is not None:
        state.pages[before] = msgspec.structs.replace(state.pages[before], replaced=True)
    state.system = entry.page
    state.changes += 1


def _turn(state: SessionState, _: int, entry: e.TurnTaken) -> None:
    state.turn += 1
    state.turns.append(entry.page)
    state.usage = entry.usage or state.usage
    state.is_cold = False
    has_to_leave = state.noteboard.take_turn(entry.shown, entry.page)
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
    if entry.shown.fold is not None:
        _fold(state, entry.shown.fold)
    state.changes += has_to_leave or entry.shown.is_outdated


def _learn(state: SessionState, shown: e.Shown, usage: Usage | None) -> None:
    """What an accepted prompt says: how the provider counts, and that the next one may be a little larger."""
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
    spans = state.unreasoned  # in order, and apart from each other
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
    """Among the rules that say the same, in order. Each change makes a new tuple: what was only supposed leaves the old one alone."""
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
    """A page that somebody took back leaves the context at once, so that nobody goes by it."""
    if state.pages[at].counts:
        _undo(state, at)
        state.changes += 1


def _promise_changed(state: SessionState, page: int) -> None:
    """A page that stands in words of ours, or in a line, cannot wait for its new promise until the next fold."""
    state.promises += 1
    placed = state.placed.get(page)
    is_short = page <= state.folded and (placed is None or placed.level is not ResidencyLevel.FULL)
    is_scoped = state.preferences.get(page) is not None  # and may not have been shown at all
    own = state.page(page)
    has_twin = own is not None and len(state.rules.get(own.digest, ())) > 1  # of which one stands for the other
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
    state.noteboard.add(entry.note)


def _retraction(state: SessionState, _: int, entry: e.NoteRetracted) -> None:
    state.changes += state.noteboard.retract(entry.key, now=entry.now)


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
    """A plan or wish that an earlier version let a model state with the role system: from now on it stands as the model's own."""
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
    """A boundary changes nothing: it says that nothing was left to change. Only the cache may be gone."""
    state.is_cold = state.is_cold or entry.kind is e.BoundaryKind.COLD_CACHE


def _reset(state: SessionState, _: int, entry: e.SessionReset) -> None:
    state.resets.append(entry.page)
    state.changes += 1


def _policy(state: SessionState, _: int, entry: e.PolicyChosen) -> None:
    state.policy = entry.policy
    state.changes += 1 if state.pages else 0


def _grant(state: SessionState, _: int, entry: e.ScopeGranted) -> None:
    if (entry.scope in state.grants) is not entry.allowed and entry.scope in state.preferences.values():
        state.changes += 1  # preferences for that scope come into the context, or leave it
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
    state.noteboard.undo(entry.first)
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
    """Take into account that the words of a page are gone, be it before that is written down here."""
    at = state.index(entry.page)
    if at is not None:
        if state.pages[at].erased:
            return  # it was noticed before it was written down
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
