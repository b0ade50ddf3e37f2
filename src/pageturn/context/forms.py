"""Makes the forms of each unit: its messages and their tokens at each level, made once.

A form depends on the unit and on the messages shortly before it, never on when it is made, so that a reopened session gives the
same texts.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple

import msgspec

from pageturn.context.pairing import Pairing
from pageturn.context.renditions import (
    BUILT_IN,
    Effect,
    Fields,
    Renderers,
    Voiced,
    effects_of,
    pointer,
    render,
    structured,
)
from pageturn.context.renditions.content import file_of
from pageturn.context.renditions.edits import files_edited
from pageturn.context.sizes import PageSizes
from pageturn.context.written_forms import Given, GivenForms
from pageturn.journal.journal import Journal
from pageturn.journal.paging import plan_in_short
from pageturn.tokens.counters import TokenCounter
from pageturn.values.errors import StoreError
from pageturn.values.fencing import fenced
from pageturn.values.identifiers import Heard, Vocabulary, names_in
from pageturn.values.messages import Message, Role, ToolResult, user
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.reasoning import has_reasoning, without_reasoning
from pageturn.values.relevance import RelevanceMeta, extract, merge
from pageturn.values.search_text import search_text
from pageturn.values.units import Unit

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_COMPRESSED_FROM = 1_600  # bytes; outlines of smaller units save too little
_BLOCK = 64  # pages; a form knows the names of the block before its own, and of its own up to itself


class Form(NamedTuple):
    """The messages that represent a unit, and their tokens."""

    messages: tuple[Message, ...]
    tokens: int


class LevelGone(LookupError):
    """A unit was shown at a level that cannot be made any more: its content was erased or cannot be read."""


class Forms:
    """The forms that a unit offers, and facts about it for a policy.

    The texts do not depend on the token counter, so they are the same for every model; which of them are offered does.
    """

    def __init__(self, unit: Unit, full_tokens: int, whole_from: int = 0) -> None:
        self.unit = unit
        self.whole_from = whole_from  # when compressed, pages from this one on are shown in full
        self.sizes: dict[ResidencyLevel, int] = {_FULL: full_tokens}  # of the levels that are offered
        self._made: dict[ResidencyLevel, Form] = {}
        self.fields: Fields | None = None  # of the structured form, if it was made here
        self.names: frozenset[str] = frozenset()  # in the structured form
        self.path: str | None = None  # the file that the unit is about
        self.edited: frozenset[str] = frozenset()  # the names of the files that it changed
        self.calls = frozenset([(call.name, call.arguments) for page in unit for call in page.calls])
        self.own_tokens: int | None = None  # of a person's own words, if the message has other parts
        self.is_error = any(result.is_error for page in unit for result in page.results)
        self.effects: tuple[Effect, ...] | None = None  # what it changed, once asked for
        self.relevance: RelevanceMeta | None = None  # what it is about, once asked for
        self._shorter: tuple[frozenset[str], Form] | None = None

    def offer(self, level: ResidencyLevel, form: Form) -> None:
        """Keep the form of a level, and offer it if it is shorter than those above."""
        self._made[level] = form
        if form.tokens < min(self.sizes.values()):
            self.sizes[level] = form.tokens

    def has(self, level: ResidencyLevel) -> bool:
        """Whether there is a form of a level below full, offered or not."""
        return level in self._made

    def below(self, level: ResidencyLevel) -> Form:
        """The form of a level below full."""
        if level not in self._made:
            raise LevelGone(f"{self.unit[0].handle} has no {level} form")
        return self._made[level]

    def structured_without(self, known: AbstractSet[str], count: Callable[[Message], int]) -> Form:
        """The structured form without names that are shown elsewhere."""
        left_out = self.names & known
        if self.fields is None or not left_out:
            return self.below(_STRUCTURED)
        if self._shorter is None or self._shorter[0] != left_out:
            message = user(fenced(self.fields.text(left_out)), synthetic=True)
            self._shorter = (left_out, Form((message,), count(message)))
        return self._shorter[1]


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
        self._all_names: dict[int, frozenset[str]] = {}  # by page
        self._names = _Names(journal, self.message)
        self._held: dict[int, Message] = {}  # messages that the next fold will need
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
        held = self._held.get(page.seq)
        if held is not None:
            return held
        if page.seq not in self.damaged:
            try:
                message = self._journal.message(page)
            except StoreError as error:
                self.damaged[page.seq] = error
            else:
                return message if message is not None else _stub(page, "[this result was erased]")
        return _stub(page, "[this result cannot be read: the store is damaged]")

    def release(self, units: Iterable[Unit], after: int) -> None:
        """Drop all forms except those of these units, and the messages up to a page."""
        pages = {page.seq for unit in units for page in unit}
        kept = {unit[0].seq: unit for unit in units}
        self._made = {key: forms for key, forms in self._made.items() if kept.get(forms.unit[0].seq) == forms.unit}
        self._all_names = {page: names for page, names in self._all_names.items() if page in pages}
        self._held = {seq: message for seq, message in self._held.items() if seq > after}

    def forget_after(self, seq: int) -> None:
        """Drop pages that were only assumed for a trial."""
        self._made = {key: forms for key, forms in self._made.items() if forms.unit[-1].seq <= seq}
        self._held = {page: message for page, message in self._held.items() if page <= seq}
        self._all_names = {page: names for page, names in self._all_names.items() if page <= seq}
        self.sizes.forget_after(seq)
        self._names.forget_after(seq)

    def forget(self) -> None:
        """Drop everything cached, because the history has changed."""
        self._made.clear()
        self._all_names.clear()
        self._held.clear()
        self.sizes.forget()
        self.damaged.clear()
        self._names = _Names(self._journal, self.message)

    def of(self, unit: Unit, whole_from: int = 0) -> Forms:
        """The forms of a unit; quickest if asked for in the order of the units' last pages.

        Of a unit that the model has seen in part, pages from `whole_from` on are new, and are shown in full even if the others are compressed.
        """
        key = self._key(unit, whole_from)
        if key not in self._made:
            self._made[key] = self._make(unit, whole_from)
        return self._made[key]

    def full(self, unit: Unit) -> Form:
        """The unit as its own messages; a repeated rule gives none."""
        if self._journal.state.repeats_rule(unit[0]):
            return Form((), 0)
        form = self._paired([(page, message, self.sizes.of(page)) for page, message in self._messages(unit)])
        return self._reasoned(unit, form)

    def without_reasoning(self, form: Form) -> Form:
        """A form without its reasoning, for use when the messages before it have changed."""
        if not any(map(has_reasoning, form.messages)):
            return form
        return self.formed([left for left in map(without_reasoning, form.messages) if left is not None])

    def at(self, forms: Forms, level: ResidencyLevel, known: set[str]) -> Form:
        """A unit at a level that it offers, without names in `known`; adds the names it shows to them."""
        if level is _FULL:
            known.update(*map(self._names_of, forms.unit))
            return self.full(forms.unit)
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
            voiced = [(page.seq, Voiced(self.handle(page), message)) for page, message in self._messages(forms.unit)]
            forms.effects = tuple(effects_of(voiced))
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

    def _names_of(self, page: Page) -> frozenset[str]:
        """All names of a page."""
        if page.seq not in self._all_names:
            message = self.message(page)
            self._all_names[page.seq] = (
                frozenset(names_in(search_text(message))) if message is not None else frozenset()
            )
        return self._all_names[page.seq]

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
        forms = Forms(unit, self.full(unit).tokens, whole_from)
        if unit[0].is_human and messages and messages[0][1].has_other_parts:
            forms.own_tokens = self._counter.message(user(messages[0][1].own_words))
        for level in self._journal.state.path(unit)[1:] if not self._journal.state.repeats_rule(unit[0]) else ():
            given = self._given(unit, messages, level)
            if level is _COMPRESSED and whole_from:
                self._offer_in_part(forms, messages)
            elif given is not None:
                forms.offer(level, given)
            elif messages and not self._has_rule(unit):
                self._render(forms, messages, level)
        calls = [call for _, message in messages for call in message.tool_calls]
        forms.path = next(filter(None, map(file_of, calls)), None)
        forms.edited = frozenset(name_of(path) for call in calls for path in files_edited(call))
        return forms

    def _render(self, forms: Forms, messages: Sequence[tuple[Page, Message]], level: ResidencyLevel) -> None:
        """Offer the form that a renderer makes for a level."""
        voiced = [Voiced(self.handle(page), message) for page, message in messages]
        vocabulary = self._names.before(forms.unit[-1])
        if level is _COMPRESSED:
            if forms.own_tokens is not None or sum(page.size for page, _ in messages) >= _COMPRESSED_FROM:
                shown = render(voiced, level, vocabulary, self._renderers)
                counted = zip((page for page, _ in messages), shown, map(self._counter.message, shown), strict=True)
                forms.offer(level, self._reasoned(forms.unit, self._paired(counted)))
            return
        fields = structured(voiced, vocabulary) if level is _STRUCTURED else None
        text = fields.text() if fields is not None else pointer(voiced)
        message = user(fenced(text), synthetic=True)
        forms.offer(level, Form((message,), self._counter.message(message)))
        if fields is not None:
            forms.fields = fields
            forms.names = frozenset(fields.names)

    def _offer_in_part(self, forms: Forms, messages: Sequence[tuple[Page, Message]]) -> None:
        """Offer the compressed form of the pages already seen, with the new pages in full."""
        voiced = [Voiced(self.handle(page), message) for page, message in messages]
        shown = render(voiced, _COMPRESSED, self._names.before(forms.unit[-1]), self._renderers)
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
        voiced = [Voiced(self.handle(page), message) for page, message in messages]
        if level is _COMPRESSED:
            shown = render(voiced, level, vocabulary, self._renderers)
            placed = zip((page for page, _ in messages), shown, strict=True)
            shown = tuple(_with_given(message, words.get(page.seq), self.handle(page)) for page, message in placed)
            counted = zip((page for page, _ in messages), shown, map(self._counter.message, shown), strict=True)
            return self._reasoned(unit, self._paired(counted))
        told = [
            words[page.seq].quoted(each.handle) if page.seq in words else structured([each], vocabulary).text()
            for (page, _), each in zip(messages, voiced, strict=True)
        ]
        return self.formed([user(fenced("\n".join(filter(None, told))), synthetic=True)])

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
    maker = FormMaker(journal, counter)
    maker.given.among = len(journal.state.renditions)
    forms = maker.of(unit)
    return {level: maker.at(forms, level, set()) for level in forms.sizes}


class _Names:
    """The names used before a page, in its block of pages and in the block before."""

    def __init__(self, journal: Journal, message: Callable[[Page], Message | None]) -> None:
        self._journal = journal
        self._message = message
        self._vocabulary = Vocabulary()
        self._start = self._next = 0  # the vocabulary covers the pages from start to next
        self._heard: dict[int, Heard] = {}

    def before(self, page: Page) -> Vocabulary:
        """The vocabulary just before a page."""
        pages = self._journal.state.pages
        at = self._journal.state.after(page.seq) - 1
        start = max(0, at // _BLOCK - 1) * _BLOCK
        if start != self._start or at < self._next:
            self._vocabulary = Vocabulary()
            self._heard = {place: heard for place, heard in self._heard.items() if place >= start}
            self._start = self._next = start
        while self._next < at:
            self._vocabulary.take(self._hear(self._next, pages[self._next]))
            self._next += 1
        return self._vocabulary

    def forget_after(self, seq: int) -> None:
        """Drop pages that were only assumed for a trial."""
        place = self._journal.state.after(seq)
        self._heard = {at: heard for at, heard in self._heard.items() if at < place}
        if self._next > place:
            self._vocabulary = Vocabulary()
            self._next = self._start

    def _hear(self, place: int, page: Page) -> Heard:
        if place not in self._heard:
            message = None if page.erased else self._message(page)
            self._heard[place] = Heard.of(message) if message is not None else Heard(())
        return self._heard[place]


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
