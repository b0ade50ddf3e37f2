"""Keeps the present context of a journal: a frozen beginning from the last fold, and all later pages at full.

It is updated with every message, so that a context between folds costs little. It can always be rebuilt from the journal alone,
with the same result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

from pageturn.context.fold import Folded, FoldMaker, Needed, Sent, Terms
from pageturn.context.frozen_prefix import FrozenPrefix
from pageturn.context.minimum_bound import MinimumBound
from pageturn.context.notes import (
    NO_NOTES,
    NO_PLACED_NOTES,
    NotePlacer,
    NoteRequests,
    PlacedNotes,
    add,
    base_of,
    put_into,
)
from pageturn.context.page_faults import faults_of_context, page_faults
from pageturn.context.pairing import Pairing
from pageturn.context.renditions import Renderers
from pageturn.context.sealed_runs import has_place
from pageturn.context.unit_forms import LevelGone
from pageturn.context.wishes import wishes
from pageturn.journal.journal import Fresh, Journal
from pageturn.tokens.counters import TokenCounter
from pageturn.values.context import Context
from pageturn.values.entries import FoldReason, NoteShown, Shown, TextReference
from pageturn.values.errors import BudgetTooSmall, RuleUnreadable
from pageturn.values.faults import AnyFault
from pageturn.values.garbage_collection import without_garbage_collection
from pageturn.values.layout import NEVER, FoldCost, Growth, Layout, Placement, Why
from pageturn.values.messages import Message, Role
from pageturn.values.notes import ContextMessageTarget
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.prompt import Bands
from pageturn.values.reasoning import has_reasoning, without_reasoning
from pageturn.values.recall_tool import RecallTool
from pageturn.values.vendors import ReasoningRule, profile_of

_STARVED = 0.1  # of the room that a fold should leave free
_FAR_OVER = 4  # times the budget; what is larger than that by thousands of pages was imported at once
_IMPORTED = 2_000  # pages
_OPTIONAL = (FoldReason.PAYS, FoldReason.COLD)  # folds that are tried for what they save, and that nothing demands
_PREPARED_FROM = 8_000  # tokens; a context that is smaller and was never folded may never be


class ContextRequest(NamedTuple):
    """The arguments of a derivation."""

    terms: Terms
    model: str
    host_tools: tuple[Mapping[str, Any], ...]
    recall_tool: RecallTool | None
    tools_digest: str


class Derived(NamedTuple):
    """A context, and what must be written when it is acknowledged."""

    context: Context
    shown: Shown
    folded: Folded | None
    turn: int  # how many there were before
    pins: Mapping[int, TextReference | None]  # of the pages in it

    @property
    def blobs(self) -> Mapping[str, bytes]:
        """The blobs to write with it."""
        return self.folded.blobs if self.folded is not None else {}


class WorkingSet:
    """The present context of one journal."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers, *, shows_handles: bool) -> None:
        self._journal = journal
        self._count = counter.message
        self._folder = FoldMaker(journal, counter, renderers, shows_handles=shows_handles)
        self._least = MinimumBound(journal, self._folder.forms.sizes)
        self._placer = NotePlacer(journal.spans[0].session, counter.message)
        self._made_of: tuple[int, int] | None = None  # the folds and the changes of the journal
        self._head = 0  # the last entry that is taken in
        self._is_broken = False  # the last layout cannot be shown any more: content is gone
        self._planned: tuple[object, Folded] | None = None
        self._budget_tokens = 0  # of the last context
        self._loop: tuple[int, int, int | None] = (-1, 0, None)  # the changes, the pages looked at, the open loop
        self._begin_after(FrozenPrefix())

    def _begin_after(self, prefix: FrozenPrefix) -> None:
        """Start from the result of a fold; later pages are added one by one."""
        state = self._journal.state
        self._prefix = prefix
        self._recent: list[Placement] = []  # the placements of later pages
        self._closed = 0  # how many overtaken contexts are included
        self._taken = state.after(state.folded)  # how many pages of the journal are included
        self._taken_in: list[tuple[Page, int]] = []  # the pages of the tail that are shown, with their tokens
        self._promises = state.promises
        self._rule_tokens = self._tokens_of_rules()
        self._opening, self._is_opening = prefix.opening, not state.folded  # how many messages are the base prompt
        notes, is_settled = state.note_state.standing, self._is_settled()
        behind = [each for each in notes if each.after <= state.folded] if state.folded and is_settled else []
        made = [self._placer.message(each.note, each.digest) for each in behind]
        # An unsettled state is folded before it is sent, and the fold places the notes.
        # How many of the notes that were sent are included.
        self._notes_taken = len(behind) if is_settled else len(notes)
        self._front = len(behind)  # how many of them are after the base prompt
        self._has_reasoning = any(map(has_reasoning, prefix.messages))
        self._frozen = put_into(prefix.messages, prefix.opening, [message for message, _ in made])
        self._tail = Pairing(self._count, self._frozen)
        self._frozen_tokens = prefix.tokens + sum(tokens for _, tokens in made)
        self._digest = _named(bytes.fromhex(prefix.digest), [each.digest for each in behind])

    def add(self, page: Page, message: Message) -> None:
        """Cache a message that was just written."""
        self._folder.forms.hold(page, message)

    def prepare(self) -> None:
        """Take in what was just written, and prepare forms, so that the next derivation has little left to do.

        The write itself has succeeded by then, so an error is not raised here: the derivation meets it again, and raises it.
        """
        tokens = self._frozen_tokens + self._tail.tokens
        if tokens > _FAR_OVER * self._budget_tokens:
            return  # most of what is imported at once is never shown
        with suppress(Exception):
            self._take_in()
            self._folder.prepare(forms=bool(self._journal.state.folded) or tokens >= _PREPARED_FROM)

    def tokens_of(self, page: Page) -> int:
        """The tokens of a page at full."""
        return self._folder.forms.sizes.of(page)

    def derive(self, asked: ContextRequest) -> Derived:
        """The context for the next call. Writes nothing."""
        terms, state = asked.terms, self._journal.state
        self._budget_tokens = terms.budget_tokens
        self._take_in()
        tokens = terms.fixed_tokens + self._tokens_unfolded()
        requests = self._placer.requests(state)
        wanted = requests.tokens if requests is not NO_NOTES else 0
        reason = self._reason_to_fold(asked, tokens + wanted)
        folded = self._fold(asked, reason, tokens, requests) if reason is not None else None
        kept: FoldCost | None = None
        unfolded = add(requests, terms.budget_tokens - tokens, state.note_state.left_out)
        if folded is not None and reason in _OPTIONAL:
            if self._changes_nothing(folded, unfolded):
                kept, folded = folded.fold.cost, None
            elif self._shortens_new(folded):
                folded = None
        faults = self._faults_of_context()
        upto = state.pages[-1].seq if state.pages else 0
        if folded is not None:
            prefix, placed_notes, front = folded.prefix, folded.placed_notes, 0
            tokens, messages, digest = folded.layout.tokens, prefix.messages, bytes.fromhex(prefix.digest)
            opening, frozen = prefix.opening, len(prefix.messages) + len(placed_notes.front)
        else:
            prefix, front = self._prefix, self._front
            placed_notes = unfolded
            messages, digest = self._tail.messages, self._digest
            opening, frozen = self._opening, len(self._frozen)
        shown_notes: tuple[NoteShown, ...] = ()
        if placed_notes is not NO_PLACED_NOTES:
            tokens += placed_notes.tokens if folded is None else 0
            messages, digest = placed_notes.into(messages, opening), _named(digest, placed_notes.digests)
            shown_notes = placed_notes.shown(base_of(state), upto)
        fold = folded.fold if folded is not None else None
        shown = Shown(
            upto, asked.model, tokens, terms.budget_tokens, asked.tools_digest, digest.hex(), fold, shown_notes, kept
        )
        context = Context(
            messages=messages,
            host_tools=asked.host_tools,
            recall_tool=asked.recall_tool,
            tokens=tokens,
            budget_tokens=terms.budget_tokens,
            model=asked.model,
            fold=fold,
            faults=faults,
            wanted=tuple(wishes(state, terms.policy, prefix.placements)) if folded is not None else (),
            notices=(
                *prefix.notices,
                *(_notices(folded.layout) if folded is not None else ()),
                *(placed_notes.notices if placed_notes is not NO_PLACED_NOTES else ()),
                *terms.policy.notices,
            ),
            frozen=frozen,
            notes=requests.outcomes(placed_notes, is_folded=folded is not None) if requests is not NO_NOTES else (),
            bands=Bands(opening, opening + front + len(placed_notes.front), len(messages) - len(placed_notes.suffix)),
            folded=prefix.explained,
            recent=tuple(self._recent) if folded is None else (),
            needed_tokens=folded.layout.needed_tokens if folded is not None else 0,
            token_price=_token_price(fold.cost if fold is not None else kept or state.fold_cost),
        )
        return Derived(context, shown, folded, state.turn, dict(state.pins) if folded is not None else {})

    def _changes_nothing(self, folded: Folded, unfolded: PlacedNotes) -> bool:
        """Whether a fold shows nothing but what stands, with these notes."""
        now = unfolded.into(self._tail.messages, self._opening)
        return folded.placed_notes.into(folded.prefix.messages, folded.prefix.opening) == now

    def _shortens_new(self, folded: Folded) -> bool:
        """Whether a fold shows less than all of a page that the model has not seen yet. One that nothing demands can wait for a turn."""
        new = (each for each in folded.prefix.placements if each.last > self._journal.state.seen)
        shortened = (each for each in new if each.level is not ResidencyLevel.FULL and each.why is not Why.RULE)
        placed = (folded.fold.placed.get(each.first) for each in shortened)
        return any(each is None or not each.whole_from for each in placed)

    def _tokens_unfolded(self) -> int:
        """The tokens of everything that is shown, if nothing is folded; what was not taken in, far over the budget, counts as it came."""
        pages = self._journal.state.pages
        if self._taken >= len(pages):
            return self._frozen_tokens + self._tail.tokens
        rest = sum([page.tokens for page in pages[self._taken :] if page.counts])
        return self._frozen_tokens + self._tail.placed_tokens + rest

    def acknowledge(self, derived: Derived) -> None:
        """Note that the context was answered and recorded: its fold, if it has one, is now in force."""
        if derived.folded is None:
            return
        state = self._journal.state
        self._folder.adopt(derived.folded)
        self._made_of = (len(state.folds), state.changes)
        self._is_broken = False
        self._begin_after(derived.folded.prefix)

    def _take_in(self, *, is_whole: bool = False) -> None:
        """Include whatever was written since, by this session or by others.

        If that is far over the budget, only its beginning, unless the `whole` is asked for: it is folded in any case, and the fold
        reads what it needs. So an import of a hundred thousand messages is not read twice.
        """
        state = self._journal.state
        most = NEVER if is_whole else _FAR_OVER * self._budget_tokens
        now = (len(state.folds), state.changes)
        if self._made_of == now and self._head == state.head:
            return
        if self._made_of != now:
            if self._made_of is None or self._made_of[1] != now[1]:
                self._folder.forget()
            self._made_of = now
            self._begin_after(self._last_prefix())
        if self._taken and self._is_late(state.pages[self._taken - 1]):
            self._begin_after(self._prefix)
        for page in state.pages[self._taken :]:
            if self._tail.placed_tokens > most and len(state.pages) - self._taken > _IMPORTED:
                return
            self._take_notes(page)
            if self._closed < len(state.overtaken) and state.overtaken[self._closed] < page.seq:
                self._tail.close()
                self._closed += 1
            self._take(page)
            self._taken += 1
        self._head = state.head

    def _is_late(self, last: Page) -> bool:
        """Whether a note or the end of a context belongs before a page that is included already."""
        state = self._journal.state
        notes = state.note_state.standing
        if self._notes_taken < len(notes) and notes[self._notes_taken].after < last.seq:
            return True
        return self._closed < len(state.overtaken) and state.overtaken[self._closed] < last.seq

    def _last_prefix(self) -> FrozenPrefix:
        """The result of the last fold; empty if it is no longer valid, and then the next context folds again."""
        self._is_broken = False
        if not self._journal.state.folded or not self._is_settled():
            return FrozenPrefix()
        try:
            return self._folder.prefix()
        except LevelGone:
            self._is_broken = True
            return FrozenPrefix()

    def _take_notes(self, page: Page) -> None:
        """Include the notes that were sent before a page."""
        notes = self._journal.state.note_state.standing
        while self._notes_taken < len(notes) and notes[self._notes_taken].after < page.seq:
            each = notes[self._notes_taken]
            self._tail.add_note(*self._placer.message(each.note, each.digest))
            self._digest = _named(self._digest, [each.digest])
            self._front += each.band is not ContextMessageTarget.CONVERSATION
            self._notes_taken += 1

    def _take(self, page: Page) -> None:
        state, forms = self._journal.state, self._folder.forms
        if page.counts:
            self._recent.append(self._placed(page))
        if not has_place(page) or state.repeats_rule(page) or self._journal.is_out_of_scope(page):
            return
        message = forms.message(page)
        if message is None:
            return
        tokens = forms.sizes.of(page)
        if has_reasoning(message):
            if state.is_unreasoned(page):
                message = without_reasoning(message)
                if message is None:
                    return
                tokens = self._count(message)
            else:
                self._has_reasoning = True
        if self._is_opening:
            self._is_opening = page.kind.is_rule
            self._opening += self._is_opening
        self._taken_in.append((page, tokens))
        if state.kind(page).is_rule:
            self._rule_tokens += tokens
        self._tail.add(message, tokens, forms.handle(page))
        self._digest = blake2b(self._digest + page.digest.encode(), digest_size=16).digest()

    def _placed(self, page: Page) -> Placement:
        """The placement of a page added since the last fold."""
        if self._journal.is_out_of_scope(page):
            return Placement(page.seq, page.seq, ResidencyLevel.POINTER, 0, Why.SCOPE, handles=(page.handle,))
        tokens = self._folder.forms.sizes.of(page)
        return Placement(page.seq, page.seq, ResidencyLevel.FULL, tokens, Why.NEW, handles=(page.handle,))

    def needed_with(self, rule: Sequence[Fresh], terms: Terms, most: int) -> Needed:
        """The tokens that a context needs with one more rule: floors, the task if it may be verbatim, and notes.

        An upper bound of them if that is at most `most`, since it is cheaper to compute.
        """
        beside = self._note_tokens()
        texts = sum(self._count(each.message) for each in rule if each.message is not None)
        bound = self._least.with_rule(rule, texts)
        if bound is not None and terms.fixed_tokens + beside + bound <= most:
            return Needed(terms.fixed_tokens + beside + bound, bound)
        self._take_in()
        tasks, head = self._folder.tasks(), self._journal.head
        try:
            with self._journal.supposing(rule):
                needed = self._folder.needed(terms, tasks)
                return needed._replace(tokens=needed.tokens + beside)
        finally:
            self._folder.forms.forget_after(head)

    def _note_tokens(self) -> int:
        requests = self._placer.requests(self._journal.state)
        return sum(wanted.tokens for wanted in (*requests.lasting, *requests.passing))

    def accept_rule(self, needed: Needed) -> None:
        """Note that the rule of `needed_with` was written."""
        self._least.keep(needed.upper_bound)

    def unpinned(self) -> None:
        """Note that a page is no longer a rule."""
        self._least.unpinned()

    def _faults_of_context(self) -> tuple[AnyFault, ...]:
        if not (self._journal.state.restored or self._folder.is_damaged):
            return ()
        try:
            return faults_of_context(self._journal.state, self._folder.damaged)
        except RuleUnreadable:
            self._made_of = None  # the store may have been repaired before the next try
            raise

    def faults(self) -> Iterator[tuple[int, AnyFault]]:
        """Faults for pages that could not be read, by page."""
        return page_faults(self._journal.state, self._folder.damaged)

    def _is_settled(self) -> bool:
        return self._journal.state.changes == self._journal.state.changes_folded

    def _reason_to_fold(self, asked: ContextRequest, tokens: int) -> FoldReason | None:
        state, terms = self._journal.state, asked.terms
        handles_changed = bool(state.folded) and state.has_handles is not terms.can_point
        if not self._is_settled() or self._is_broken or handles_changed:
            return FoldReason.CHANGED
        if tokens > terms.budget_tokens:
            return FoldReason.FULL
        holds = self._head_holds(asked)
        if self._has_reasoning and not holds:
            return FoldReason.CHANGED  # reasoning is only sent to its own model, after the messages it was based on
        growth = self._growth(asked, tokens, holds=holds)
        if terms.policy.is_full(growth, terms.budget_tokens):
            return FoldReason.FULL
        if not terms.policy.pays(growth, terms.budget_tokens):
            return None
        return FoldReason.COLD if growth.is_cold else FoldReason.PAYS

    def _tokens_of_rules(self) -> int:
        """The tokens of rules, which no fold can take away."""
        folded = sum(each.tokens for each in self._prefix.placements if each.why is Why.RULE)
        return folded + sum(tokens for page, tokens in self._taken_in if self._journal.state.kind(page).is_rule)

    def _growth(self, asked: ContextRequest, tokens: int, *, holds: bool) -> Growth:
        """How the context has grown since the last fold; `holds` says that model and tools are those of the last call."""
        state = self._journal.state
        if self._promises != state.promises:  # a page of the tail became a rule, or is none any more
            self._promises, self._rule_tokens = state.promises, self._tokens_of_rules()
        grown = min(self._tail.tokens, max(0, tokens - state.fold_tokens))
        return Growth(
            tokens,
            standing_tokens=self._frozen_tokens + self._tail.tokens - grown,
            grown_tokens=grown,
            turns=state.turn - state.tried,
            is_cold=state.is_cold or not holds,
            fixed_tokens=asked.terms.fixed_tokens + self._rule_tokens,
            read_tokens=state.read_since_fold,
            last_fold=state.fold_cost,
        )

    def _head_holds(self, asked: ContextRequest) -> bool:
        """Whether the call has the same model and tools as the one before."""
        before = self._journal.state.shown
        return before is None or (before.model == asked.model and before.tools == asked.tools_digest)

    def _sent(self, asked: ContextRequest, tokens: int) -> Sent:
        """What would be sent without a fold."""
        keeps_loop = profile_of(asked.model).reasoning is ReasoningRule.OPEN_LOOP_STAYS
        return Sent(
            self._tail.messages,
            tokens,
            head_holds=self._head_holds(asked) and self._is_settled(),
            loop=self._open_loop() if keeps_loop and self._same_model(asked) else None,
        )

    def _same_model(self, asked: ContextRequest) -> bool:
        before = self._journal.state.shown
        return before is None or before.model == asked.model

    def _open_loop(self) -> int | None:
        """The first page of the open tool loop: replies and tool results since the last user message."""
        state = self._journal.state
        changes, known, first = self._loop
        if changes != state.changes:
            known, first = 0, None
        for page in state.pages[known:]:
            if page.counts and page.role is Role.USER and not page.results:
                first = None
            elif first is None:
                first = page.seq
        self._loop = (state.changes, len(state.pages), first)
        return first

    def _fold(self, asked: ContextRequest, reason: FoldReason, tokens: int, notes: NoteRequests) -> Folded | None:
        """A fold for these terms; None if the present context fits and a fold would not."""
        terms = asked.terms
        key = (self._journal.head, self._journal.state.changes, asked.model, asked.tools_digest, terms, reason)
        if self._planned is None or self._planned[0] != key:
            try:
                with without_garbage_collection():  # which would stop a fold for as long as the host's own values take
                    made = self._folder.fold(terms, self._folder.tasks(), reason, notes, self._sent(asked, tokens))
                self._planned = (key, made)
            except BudgetTooSmall as error:
                if reason is FoldReason.CHANGED:
                    raise
                if tokens > terms.budget_tokens:
                    self._take_in(is_whole=True)
                    tokens = terms.fixed_tokens + self._frozen_tokens + self._tail.tokens
                    raise error.with_needed(min(tokens, error.needed_tokens)) from None
                return None
        return self._planned[1]


def _token_price(cost: FoldCost | None) -> float:
    return cost.forecast.token_price if cost is not None and cost.forecast is not None else 0.0


def _named(digest: bytes, notes: Iterable[str]) -> bytes:
    """The digest of a context with more notes."""
    for note in notes:
        digest = blake2b(digest + note.encode(), digest_size=16).digest()
    return digest


def _notices(layout: Layout) -> tuple[str, ...]:
    free = layout.budget_tokens - layout.tokens
    if free >= _STARVED * max(layout.room, 1):
        return layout.notices
    return (*layout.notices, _little_room(free, layout.room))


def _little_room(free: int, room: int) -> str:
    soon = "another fold is likely soon. Raise the budget, or unpin rules"
    return f"little room: the last fold left {free:,} of {room:,} tokens free; {soon}"
