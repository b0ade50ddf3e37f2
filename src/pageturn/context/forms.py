"""Makes the forms of units, and keeps them as long as a fold may still move the unit.

A form depends on the unit and on the messages shortly before it, never on when it is made, so that a reopened session gives the
same texts.
"""

from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress

import msgspec

from pageturn.context.pairing import Pairing
from pageturn.context.recent_names import RecentNames
from pageturn.context.renditions import (
    BUILT_IN,
    Effect,
    PageMessage,
    Renderers,
    effects_of,
    pointer,
    render,
    structured,
)
from pageturn.context.renditions.content import file_of
from pageturn.context.renditions.edits import files_edited
from pageturn.context.sizes import PageSizes
from pageturn.context.unit_forms import Form, Forms
from pageturn.context.written_forms import Given, GivenForms
from pageturn.journal.journal import Journal
from pageturn.journal.paging import plan_in_short
from pageturn.tokens.counters import TokenCounter
from pageturn.values.errors import StoreError
from pageturn.values.fencing import fenced
from pageturn.values.identifiers import names_in
from pageturn.values.messages import Message, Role, ToolResult, user
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.reasoning import has_reasoning, without_reasoning
from pageturn.values.relevance import RelevanceMeta, extract, merge
from pageturn.values.search_text import search_text
from pageturn.values.units import Unit

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_MOST_READ = 8  # messages
_COMPRESSED_FROM = 1_600  # bytes; outlines of smaller units save too little


class FormMaker:
    """Makes the forms of units, and caches those of units whose level may still change."""

    def __init__(
        self, journal: Journal, counter: TokenCounter, renderers: Renderers = BUILT_IN, *, shows_handles: bool = True
    ) -> None:
        self._journal = journal
        self._counter = counter
        self._renderers = renderers
        self._shows_handles = shows_handles  # only a model with the recall tool can use them
        self.sizes = PageSizes(counter, self.message)
        self._made: dict[Hashable, Forms] = {}
        self._current: dict[int, Forms] = {}  # by the first page of the unit, as long as what they rest on is the same
        self._basis: Hashable = None
        self._names = RecentNames(journal, self.message)
        self._held: dict[int, Message] = {}  # messages that the next fold will need
        self._read: dict[
            int, Message
        ] = {}  # those read last: the forms of one unit and the names before the next need them
        self.given = GivenForms(journal)
        self.damaged: dict[int, StoreError] = {}  # pages that could not be read

    def hold(self, page: Page, message: Message) -> None:
        """Cache a message until the next fold."""
        self._held[page.seq] = msgspec.structs.replace(message, id=page.id, usage=None)

    def handle(self, page: Page) -> str:
        """The handle by which a model may fetch a page; empty if it cannot."""
        return page.handle if self._shows_handles and not page.erased else ""

    def message(self, page: Page) -> Message | None:
        """The message of a page; None if it was erased or damaged. A tool result is replaced by a stub instead."""
        if page.erased:
            return _stub(page, "[this result was erased]")
        held = self._held.get(page.seq) or self._read.get(page.seq)
        if held is not None:
            return held
        if page.seq not in self.damaged:
            try:
                message = self._journal.message(page, asks_again=False)
            except StoreError as error:
                self.damaged[page.seq] = error
            else:
                if message is None:
                    return _stub(page, "[this result was erased]")
                if len(self._read) >= _MOST_READ:
                    del self._read[next(iter(self._read))]
                self._read[page.seq] = message
                return message
        return _stub(page, "[this result cannot be read: the store is damaged]")

    def release(self, units: Iterable[Unit], after: int, whole: AbstractSet[int]) -> None:
        """Drop all forms except those of these units, the messages up to a page, and of what is not shown `whole` the words."""
        kept = {unit[0].seq: unit for unit in units}
        self._made = {key: forms for key, forms in self._made.items() if kept.get(forms.first) == forms.unit}
        self._current = {first: forms for first, forms in self._current.items() if kept.get(first) == forms.unit}
        self._held = {seq: message for seq, message in self._held.items() if seq > after}
        for forms in self._made.values():
            if forms.last <= after and forms.first not in whole:
                forms.full = forms.all_names = None

    def forget_after(self, seq: int) -> None:
        """Drop pages that were only assumed for a trial."""
        self._made = {key: forms for key, forms in self._made.items() if forms.last <= seq}
        self._current.clear()
        self._held = {page: message for page, message in self._held.items() if page <= seq}
        self._read.clear()
        self.sizes.forget_after(seq)
        self._names.forget_after(seq)

    def forget(self) -> None:
        """Drop everything cached, because the history has changed."""
        self._made.clear()
        self._current.clear()
        self._held.clear()
        self._read.clear()
        self.sizes.forget()
        self.damaged.clear()
        self._names = RecentNames(self._journal, self.message)

    def of(self, unit: Unit, whole_from: int = 0) -> Forms:
        """The forms of a unit; quickest if asked for in the order of the units' last pages.

        Of a unit that the model has seen in part, pages from `whole_from` on are new, and are shown in full even if the others are compressed.
        """
        key = self._key(unit, whole_from)
        if key not in self._made:
            self._made[key] = self._make(unit, whole_from)
        return self._made[key]

    def of_each(self, units: Iterable[Unit]) -> dict[int, Forms]:
        """The forms that units offer to a fold made now, by their first pages; quickest in the order of their last ones."""
        state = self._journal.state
        self.given.among = len(state.renditions)
        basis = (state.promises, state.plan, (*state.unreasoned,), len(state.renditions), state.changes)
        if basis != self._basis:
            self._basis = basis
            self._current.clear()
        current, seen = self._current, state.seen
        found: dict[int, Forms] = {}
        for unit in units:
            first = unit[0].seq
            whole_from = _new_part(unit, seen) if unit[-1].seq > seen else 0
            forms = current.get(first)
            if forms is None or forms.whole_from != whole_from or (forms.unit is not unit and forms.unit != unit):
                forms = current[first] = self.of(unit, whole_from)
            found[first] = forms
        return found

    def full(self, forms: Forms) -> Form:
        """A unit as its own messages; a repeated rule gives none."""
        if forms.full is None:
            forms.full = self._whole(forms.unit, self._messages(forms.unit))
        return forms.full

    def _whole(self, unit: Unit, messages: Sequence[tuple[Page, Message]]) -> Form:
        if self._journal.state.repeats_rule(unit[0]):
            return Form((), 0)
        return self._reasoned(unit, self._paired([(page, message, self.sizes.of(page)) for page, message in messages]))

    def without_reasoning(self, form: Form) -> Form:
        """A form without its reasoning, for use when the messages before it have changed."""
        if not any(map(has_reasoning, form.messages)):
            return form
        return self.formed([left for left in map(without_reasoning, form.messages) if left is not None])

    def at(self, forms: Forms, level: ResidencyLevel, known: set[str]) -> Form:
        """A unit at a level that it offers, without names in `known`; adds the names it shows to them."""
        if level is _FULL:
            if forms.all_names is None:
                forms.all_names = frozenset().union(*map(self._names_of, forms.unit))
            known |= forms.all_names
            return self.full(forms)
        if level is _POINTER and not self._shows_handles:
            return Form((), 0)  # it is only counted as a missing step
        if level is not _STRUCTURED:
            return forms.below(level)
        form = forms.structured_without(known, self._counter.message)
        known |= forms.names
        return form

    def effects(self, forms: Forms) -> tuple[Effect, ...]:
        """What a unit changed."""
        if forms.effects is None:
            pages = [
                (page.seq, PageMessage(self.handle(page), message)) for page, message in self._messages(forms.unit)
            ]
            forms.effects = tuple(effects_of(pages))
        return forms.effects

    def relevance(self, forms: Forms) -> RelevanceMeta:
        """What a unit is about."""
        if forms.relevance is None:
            forms.relevance = merge(map(self._relevance_of, forms.unit))
        return forms.relevance

    def _relevance_of(self, page: Page) -> RelevanceMeta:
        """What a page is about: as recorded in the journal, or extracted from the message if not recorded."""
        if page.relevance is not None:
            with suppress(StoreError):
                return self._journal.relevance(page) or RelevanceMeta()
        message = self.message(page)
        return extract(message) if message is not None else RelevanceMeta()

    def _names_of(self, page: Page) -> Iterable[str]:
        """All names of a page."""
        message = self.message(page)
        return names_in(search_text(message)) if message is not None else ()

    def _key(self, unit: Unit, whole_from: int) -> Hashable:
        state = self._journal.state
        return (
            tuple([page.seq for page in unit]),
            whole_from,
            state.path(unit),
            state.kind(unit[0]),
            state.repeats_rule(unit[0]),
            bool(state.unreasoned) and state.is_unreasoned(unit[0]),
            self.given.key(unit) if state.pins or state.renditions else None,
        )

    def _messages(self, unit: Unit) -> list[tuple[Page, Message]]:
        return [(page, message) for page in unit if (message := self.message(page)) is not None]

    def _paired(self, messages: Iterable[tuple[Page, Message, int]]) -> Form:
        pairing = Pairing(self._counter.message)
        for page, message, tokens in messages:
            pairing.add(message, tokens, self.handle(page))
        return Form(pairing.messages, pairing.tokens)

    def _make(self, unit: Unit, whole_from: int) -> Forms:
        messages = self._messages(unit)
        page_tokens = sum([self.sizes.of(page) for page in unit])
        whole = self._whole(unit, messages)
        forms = Forms(unit, whole.tokens, page_tokens, whole_from)
        if unit[-1].seq in self._held:  # its words are in memory anyway
            forms.full = whole
        if unit[0].is_human and messages and messages[0][1].has_other_parts:
            forms.own_tokens = self._counter.message(user(messages[0][1].own_words))
        for level in self._journal.state.path(unit)[1:] if not self._journal.state.repeats_rule(unit[0]) else ():
            given = self._given(unit, messages, level)
            if level is _COMPRESSED and whole_from:
                self._offer_in_part(forms, messages)
            elif given is not None:
                forms.offer(level, given)
                forms.written.add(level)
            elif messages and not self._has_rule(unit):
                self._render(forms, messages, level)
        forms.has_reasoning = any(has_reasoning(message) for _, message in messages)
        calls = [call for _, message in messages for call in message.tool_calls]
        forms.about([*filter(None, map(file_of, calls))])
        forms.edited = frozenset(name_of(path) for call in calls for path in files_edited(call))
        return forms

    def _render(self, forms: Forms, messages: Sequence[tuple[Page, Message]], level: ResidencyLevel) -> None:
        """Offer the form that a renderer makes for a level."""
        pages = [PageMessage(self.handle(page), message) for page, message in messages]
        vocabulary = self._names.before(forms.unit[-1])
        if level is _COMPRESSED:
            if forms.own_tokens is not None or sum(page.size for page, _ in messages) >= _COMPRESSED_FROM:
                shown = render(pages, level, vocabulary, self._renderers)
                counted = zip((page for page, _ in messages), shown, map(self._counter.message, shown), strict=True)
                forms.offer(level, self._reasoned(forms.unit, self._paired(counted)))
            return
        fields = structured(pages, vocabulary) if level is _STRUCTURED else None
        text = fields.text() if fields is not None else pointer(pages)
        message = user(fenced(text), synthetic=True)
        forms.offer(level, Form((message,), self._counter.message(message)))
        if fields is not None:
            forms.fields = fields
            forms.names = frozenset(fields.names)

    def _offer_in_part(self, forms: Forms, messages: Sequence[tuple[Page, Message]]) -> None:
        """Offer the compressed form of the pages already seen, with the new pages in full."""
        pages = [PageMessage(self.handle(page), message) for page, message in messages]
        shown = render(pages, _COMPRESSED, self._names.before(forms.unit[-1]), self._renderers)
        mixed = [
            (page, message, self.sizes.of(page))
            if page.seq >= forms.whole_from
            else (page, short, self._counter.message(short))
            for (page, message), short in zip(messages, shown, strict=True)
        ]
        forms.offer(_COMPRESSED, self._reasoned(forms.unit, self._paired(mixed)))

    def _has_rule(self, unit: Unit) -> bool:
        return any(self._journal.state.kind(page).is_rule for page in unit)

    def _given(self, unit: Unit, messages: Sequence[tuple[Page, Message]], level: ResidencyLevel) -> Form | None:
        """The unit with the text written for some of its pages, and the others rendered."""
        words = {page.seq: given for page in unit if (given := self.given.of(page, level)) is not None}
        if not words:
            return self._plan(unit[0]) if level is _STRUCTURED else None
        if any(self._journal.state.kind(page).is_rule and page.seq not in words for page in unit):
            return None
        if len(unit) == 1:
            return self.formed([words[unit[0].seq].message(unit[0], self.handle(unit[0]))])
        vocabulary = self._names.before(unit[-1])
        pages = [PageMessage(self.handle(page), message) for page, message in messages]
        if level is _COMPRESSED:
            shown = render(pages, level, vocabulary, self._renderers)
            placed = zip((page for page, _ in messages), shown, strict=True)
            shown = tuple(_with_given(message, words.get(page.seq), self.handle(page)) for page, message in placed)
            counted = zip((page for page, _ in messages), shown, map(self._counter.message, shown), strict=True)
            return self._reasoned(unit, self._paired(counted))
        lines = [
            words[page.seq].quoted(each.handle) if page.seq in words else structured([each], vocabulary).text()
            for (page, _), each in zip(messages, pages, strict=True)
        ]
        return self.formed([user(fenced("\n".join(filter(None, lines))), synthetic=True)])

    def _plan(self, page: Page) -> Form | None:
        """The short form of a plan, which is extracted."""
        message = self.message(page) if self._journal.state.kind(page) is PageKind.PLAN else None
        return self.formed([plan_in_short(message)]) if message is not None else None

    def formed(self, messages: Sequence[Message]) -> Form:
        """Messages with their tokens."""
        return Form(tuple(messages), sum(map(self._counter.message, messages)))

    def _reasoned(self, unit: Unit, form: Form) -> Form:
        """The form of a unit, without its reasoning if a fold removed that."""
        return self.without_reasoning(form) if self._journal.state.is_unreasoned(unit[0]) else form


def offers(journal: Journal, unit: Unit, counter: TokenCounter) -> dict[ResidencyLevel, Form]:
    """The forms of a unit that a fold could show, highest level first; each is shorter than those above it."""
    journal.erased()  # ask once what others erased
    maker = FormMaker(journal, counter)
    maker.given.among = len(journal.state.renditions)
    forms = maker.of(unit)
    return {level: maker.at(forms, level, set()) for level in forms.sizes}


def _new_part(unit: Unit, seen: int) -> int:
    """The first new page of a unit whose results were seen in part; 0 for any other unit."""
    return seen + 1 if any(page.results and page.seq <= seen for page in unit) else 0


def _stub(page: Page, text: str) -> Message | None:
    """A stub for results whose content is gone, so that their calls do not count as open; None for other pages."""
    if not page.results:
        return None
    results = tuple(ToolResult(tool_call_id=each.call, content=text, is_error=True) for each in page.results)
    return Message(id=page.id, role=Role.TOOL, content=results, synthetic=True)


def _with_given(message: Message, given: Given | None, handle: str) -> Message:
    """A message of a unit with the text written for it in place of its result."""
    if given is None or len(message.tool_results) != 1:
        return message
    result = msgspec.structs.replace(message.tool_results[0], content=given.in_place(handle))
    return msgspec.structs.replace(message, content=(result,))


def name_of(path: str) -> str:
    """The name of a file without its folders, since calls spell paths differently."""
    return path.strip().rpartition("/")[2]
