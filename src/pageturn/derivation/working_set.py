"""The working set: what stands in the context now. A frozen beginning, and everything that came since at full.

It is kept up to date with every message, so that a context between folds costs no more than a look. It can always be made again
from the journal alone, and is then the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from pageturn.derivation.context import Bands, Context, View, Wish, range_of
from pageturn.derivation.folding import Folded, FoldMaker, Sent, Standing, Terms
from pageturn.derivation.forms import LevelGone
from pageturn.derivation.pairing import Pairing
from pageturn.derivation.sealing import has_place
from pageturn.derivation.weaving import Weave, Weaver, add, base_of, put_into
from pageturn.entries import FoldReason, Shown, TextReference
from pageturn.errors import BudgetTooSmall, RuleUnreadable
from pageturn.faults import AnyFault, BackendError, PinnedInvariantMiss, PostCompactionBootstrap
from pageturn.injection import ContextMessageTarget
from pageturn.journal import Fresh, Journal
from pageturn.layout import Growth, IndexLine, Layout, Placement, Why
from pageturn.messages import Message, Role
from pageturn.pages import Page, PageKind, ResidencyLevel
from pageturn.reasoning import ReasoningRule, has_reasoning, reasoning_rule, without_reasoning
from pageturn.recall_tool import RecallTool
from pageturn.renditions import Renderers
from pageturn.tokens import TokenCounter

_LARGE_RULE = 400  # tokens
_LARGE_RUN = 4_000  # bytes
_STARVED = 0.1  # of the room that a fold should leave free


class ContextRequest(NamedTuple):
    """What a context is asked for."""

    terms: Terms
    model: str
    tools: tuple[Mapping[str, Any] | RecallTool, ...]
    tools_digest: str


class Derived(NamedTuple):
    """A context, and what has to be written when it is acknowledged."""

    context: Context
    shown: Shown
    folded: Folded | None
    turn: int  # how many there had been
    pins: Mapping[int, TextReference | None]  # of the pages in it

    @property
    def blobs(self) -> Mapping[str, bytes]:
        """The words that come with it."""
        return self.folded.blobs if self.folded is not None else {}


class WorkingSet:
    """The present context of one journal."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers, *, shows_handles: bool) -> None:
        self._journal = journal
        self._count = counter.message
        self._folder = FoldMaker(journal, counter, renderers, shows_handles=shows_handles)
        self._weaver = Weaver(journal.spans[0].session, counter.message)
        self._made_of: tuple[int, int] | None = None  # the folds and the changes of the journal
        self._is_broken = False  # what stood cannot be shown any more: its words are gone
        self._planned: tuple[object, Folded] | None = None
        self._begin_after(Standing())

    def _begin_after(self, standing: Standing) -> None:
        """Take nothing but what a fold left standing; what came since is taken page by page."""
        state = self._journal.state
        self._standing = standing
        self._tail = Pairing(self._count)
        self._closed = 0  # how many contexts that were overtaken stand here
        self._taken = state.after(state.folded)  # and how many pages of the journal
        self._opening, self._is_opening = standing.opening, not state.folded  # how many messages are the base prompt
        notes, is_settled = state.noteboard.standing, self._is_settled()
        behind = [each for each in notes if each.after <= state.folded] if state.folded and is_settled else []
        made = [self._weaver.message(each.note, each.digest) for each in behind]
        # What is not settled is folded before anybody sees it, and that puts the notes in their place.
        self._stood = len(behind) if is_settled else len(notes)  # how many of the notes that were sent stand here
        self._front = len(behind)  # and how many of them behind the base prompt
        self._has_reasoning = any(map(has_reasoning, standing.messages))
        self._frozen = put_into(standing.messages, standing.opening, [message for message, _ in made])
        self._frozen_tokens = standing.tokens + sum(tokens for _, tokens in made)
        self._digest = _named(bytes.fromhex(standing.digest), [each.digest for each in behind])

    def add(self, page: Page, message: Message) -> None:
        """Keep a message at hand that was just written."""
        self._folder.forms.hold(page, message)

    def derive(self, asked: ContextRequest) -> Derived:
        """The context for the next call. Writes nothing."""
        self._take_in()
        terms, state = asked.terms, self._journal.state
        tokens = terms.fixed_tokens + self._frozen_tokens + self._tail.tokens
        weave = self._weaver.weave(state)
        reason = self._reason_to_fold(asked, tokens + weave.tokens)
        folded = self._fold(asked, reason, tokens, weave) if reason is not None else None
        self._require_rules()
        upto = state.pages[-1].seq if state.pages else 0
        if folded is not None:
            standing, woven, front = folded.standing, folded.woven, 0
            tokens, messages, digest = folded.layout.tokens, standing.messages, bytes.fromhex(standing.digest)
            opening, frozen = standing.opening, len(standing.messages) + len(woven.front)
        else:
            standing, front = self._standing, self._front
            woven = add(weave, terms.budget_tokens - tokens, state.noteboard.left_out)
            tokens, messages, digest = tokens + woven.tokens, self._frozen + self._tail.messages, self._digest
            opening, frozen = self._opening, len(self._frozen)
        messages, digest = woven.into(messages, opening), _named(digest, woven.digests)
        fold = folded.fold if folded is not None else None
        shown = Shown(
            upto,
            asked.model,
            tokens,
            terms.budget_tokens,
            asked.tools_digest,
            digest.hex(),
            fold,
            woven.shown(base_of(state), upto),
        )
        view = View(
            self._journal,
            self._folder.forms,
            standing,
            folded=upto if fold is not None else state.folded,
            upto=upto,
            needed_tokens=folded.layout.needed_tokens if folded is not None else 0,
        )
        context = Context(
            messages=messages,
            tools=asked.tools,
            tokens=tokens,
            budget_tokens=terms.budget_tokens,
            model=asked.model,
            fold=fold,
            faults=tuple(fault for _, fault in self.faults()),
            wanted=tuple(self._wishes(terms, standing.placements)) if folded is not None else (),
            notices=(*standing.notices, *(_notices(folded.layout) if folded is not None else ()), *woven.notices),
            frozen=frozen,
            notes=weave.outcomes(woven, is_folded=folded is not None),
            bands=Bands(opening, opening + front + len(woven.front), len(messages) - len(woven.suffix)),
            view=view,
        )
        return Derived(context, shown, folded, state.turn, dict(state.pins) if folded is not None else {})

    def _wishes(self, terms: Terms, placements: Iterable[Placement]) -> Iterator[Wish]:
        """The forms that would have made room, or told more: of large rules, which only their author or writeback may put into other
        words, and of runs that only their counts stand for.
        """
        summed_up = {(each.first, each.last) for each in self._journal.state.renditions}
        for placement in placements:
            if placement.line is not None:
                if terms.policy.wishes_summaries and (placement.first, placement.last) not in summed_up:
                    yield from self._wish_for(placement.line)
                continue
            page = self._journal.state.page(placement.first)
            is_large = placement.why is Why.RULE and placement.tokens >= _LARGE_RULE
            if is_large and page is not None and placement.level is ResidencyLevel.FULL:
                yield Wish(
                    page.handle, ResidencyLevel.STRUCTURED, f"a rule of {placement.tokens:,} tokens has no shorter form"
                )

    def _wish_for(self, line: IndexLine) -> Iterator[Wish]:
        """A summary of a large run that no reset covers."""
        state = self._journal.state
        size = state.size_between(line.first, line.last)
        if size >= _LARGE_RUN and line.last > max(state.resets, default=0):
            reason = f"a run of {size:,} bytes stands as its counts alone"
            yield Wish(range_of(state, line), ResidencyLevel.STRUCTURED, reason)

    def acknowledge(self, derived: Derived) -> None:
        """The context was answered, and that was written down: its fold, if it has one, holds from now on."""
        if derived.folded is None:
            return
        state = self._journal.state
        self._folder.adopt(derived.folded)
        self._made_of = (len(state.folds), state.changes)
        self._is_broken = False
        self._begin_after(derived.folded.standing)

    def _take_in(self) -> None:
        """Make up for whatever was written since, by this session or by others."""
        state = self._journal.state
        now = (len(state.folds), state.changes)
        if self._made_of != now:
            if self._made_of is None or self._made_of[1] != now[1]:
                self._folder.forget()
            self._made_of = now
            self._begin_after(self._stood_last())
        notes = state.noteboard.standing
        if self._stood < len(notes) and self._taken and notes[self._stood].after < state.pages[self._taken - 1].seq:
            self._begin_after(self._standing)  # they were sent before something that was taken already
        for page in state.pages[self._taken :]:
            self._take_notes(page)
            if self._closed < len(state.overtaken) and state.overtaken[self._closed] < page.seq:
                self._tail.close()
                self._closed += 1
            self._take(page)
        self._taken = len(state.pages)

    def _stood_last(self) -> Standing:
        """What the last fold left; nothing where that holds no longer, and the next context folds anew."""
        self._is_broken = False
        if not self._journal.state.folded or not self._is_settled():
            return Standing()
        try:
            return self._folder.standing()
        except LevelGone:
            self._is_broken = True
            return Standing()

    def _take_notes(self, page: Page) -> None:
        """The notes that were sent before a page that comes now."""
        notes = self._journal.state.noteboard.standing
        while self._stood < len(notes) and notes[self._stood].after < page.seq:
            each = notes[self._stood]
            self._tail.add_note(*self._weaver.message(each.note, each.digest))
            self._digest = _named(self._digest, [each.digest])
            self._front += each.band is not ContextMessageTarget.CONVERSATION
            self._stood += 1

    def _take(self, page: Page) -> None:
        state, forms = self._journal.state, self._folder.forms
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
        self._tail.add(message, tokens, forms.handle(page))
        self._digest = blake2b(self._digest + page.digest.encode(), digest_size=16).digest()

    def needed_with(self, rule: Sequence[Fresh], terms: Terms) -> int:
        """The tokens that a context would take at least with one more rule: floors, the task where it may stand verbatim, and notes."""
        self._take_in()
        tasks, weave = self._folder.tasks(), self._weaver.weave(self._journal.state)
        notes = sum(wanted.tokens for wanted in (*weave.lasting, *weave.passing))
        head = self._journal.head
        try:
            with self._journal.supposing(rule):
                return self._folder.needed(terms, tasks) + notes
        finally:
            self._folder.forms.forget_after(head)

    def _require_rules(self) -> None:
        """Refuse to go on without a rule that the store cannot give: a model that does not see it may well break it."""
        state = self._journal.state
        for seq, fault in self.faults():
            if isinstance(fault, PinnedInvariantMiss | PostCompactionBootstrap):
                page = state.page(seq)
                handle = page.handle if page is not None else f"page {seq}"
                self._made_of = None  # the store may have been mended when somebody tries again
                raise RuleUnreadable(
                    f"{handle} is a rule, and the store cannot give its words: {fault}", page=seq, fault=fault
                )

    def _is_settled(self) -> bool:
        return self._journal.state.changes == self._journal.state.changes_folded

    def faults(self) -> Iterator[tuple[int, AnyFault]]:
        """What the store could not give. A rule that is missing is a fault of its own."""
        state = self._journal.state
        for seq, what in state.restored.items():
            yield seq, BackendError(what)
        for seq, error in self._folder.damaged.items():
            page = state.page(seq)
            kind = state.kind(page) if page is not None else None
            if kind is PageKind.CONSTRAINT:
                yield seq, PinnedInvariantMiss()
            elif kind is PageKind.BOOTSTRAP:
                yield seq, PostCompactionBootstrap() if state.folds else PinnedInvariantMiss()
            else:
                yield seq, BackendError.of(error)

    def _reason_to_fold(self, asked: ContextRequest, tokens: int) -> FoldReason | None:
        state, terms = self._journal.state, asked.terms
        speaks_otherwise = bool(state.folded) and state.has_handles is not terms.can_point
        if not self._is_settled() or self._is_broken or speaks_otherwise:
            return FoldReason.CHANGED
        if tokens > terms.budget_tokens:
            return FoldReason.FULL
        switched = not self._head_holds(asked)
        if switched and self._has_reasoning:
            return FoldReason.CHANGED  # reasoning is only sent to whom it came from, behind what it was made on
        turns = state.turn - (state.folds[-1] if state.folds else 0)
        growth = Growth(tokens, self._frozen_tokens, self._tail.tokens, turns, is_cold=state.is_cold or switched)
        if terms.policy.is_full(growth, terms.budget_tokens):
            return FoldReason.FULL
        if not terms.policy.pays(growth, terms.budget_tokens):
            return None
        return FoldReason.COLD if growth.is_cold else FoldReason.PAYS

    def _head_holds(self, asked: ContextRequest) -> bool:
        """Whether the call has the model and the tools of the one before."""
        before = self._journal.state.shown
        return before is None or (before.model, before.tools) == (asked.model, asked.tools_digest)

    def _sent(self, asked: ContextRequest) -> Sent:
        """What would be sent if nothing were folded."""
        keeps_loop = reasoning_rule(asked.model) is ReasoningRule.OPEN_LOOP_STAYS
        return Sent(
            self._frozen + self._tail.messages,
            head_holds=self._head_holds(asked) and self._is_settled(),
            loop=self._open_loop() if keeps_loop and self._same_model(asked) else None,
        )

    def _same_model(self, asked: ContextRequest) -> bool:
        before = self._journal.state.shown
        return before is None or before.model == asked.model

    def _open_loop(self) -> int | None:
        """The first page of the tool loop that the model is in: what it said, and heard from tools, since the user last spoke."""
        first: int | None = None
        for page in reversed(self._journal.state.pages):
            if page.counts and page.role is Role.USER and not page.results:
                break
            first = page.seq
        return first

    def _fold(self, asked: ContextRequest, reason: FoldReason, tokens: int, notes: Weave) -> Folded | None:
        """A fold for these terms; None where what stands fits as it is and could only grow."""
        terms = asked.terms
        key = (self._journal.head, self._journal.state.changes, asked.model, asked.tools_digest, terms, reason)
        if self._planned is None or self._planned[0] != key:
            try:
                made = self._folder.fold(terms, self._folder.tasks(), reason, notes, self._sent(asked))
                self._planned = (key, made)
            except BudgetTooSmall as error:
                if reason is FoldReason.CHANGED:
                    raise
                if tokens > terms.budget_tokens:
                    raise error.with_needed(min(tokens, error.needed_tokens)) from None
                return None
        return self._planned[1]


def _named(digest: bytes, notes: Iterable[str]) -> bytes:
    """A name for what stands where, with more notes."""
    for note in notes:
        digest = blake2b(digest + note.encode(), digest_size=16).digest()
    return digest


def _notices(layout: Layout) -> tuple[str, ...]:
    free = layout.budget_tokens - layout.tokens
    if free >= _STARVED * max(layout.room, 1):
        return layout.notices
    return (*layout.notices, f"starved: a fold left {free:,} of {layout.room:,} tokens free")
