"""Forms: what each unit of a session looks like at each level and what it takes, made once for every unit.

A form depends on the unit and on what was said shortly before it, never on when it is made, so that a session that is opened
again gives the same texts.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple

import msgspec

from pageturn.bodies import search_text
from pageturn.derivation.pairing import Pairing
from pageturn.entries import RenditionAdmitted
from pageturn.errors import StoreError
from pageturn.identifiers import Heard, Vocabulary, names_in
from pageturn.journal import Journal
from pageturn.messages import Message, Role, ToolCall, system, user
from pageturn.pages import Page, PageKind, ResidencyLevel
from pageturn.paging import plan_on
from pageturn.relevance import RelevanceMeta, extract, merge
from pageturn.renditions import BUILT_IN, Effect, Fields, Renderers, Voiced, effects_of, pointer, render, structured
from pageturn.renditions.content import file_of
from pageturn.renditions.fencing import fenced
from pageturn.tokens import TokenCounter
from pageturn.units import Unit

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_COMPRESSED_FROM = 400  # tokens; outlines of smaller units save too little to be made
_BLOCK = 64  # pages; a form knows the names of the block before its own, and of its own up to itself


class Form(NamedTuple):
    """The messages that stand for a unit, and their tokens."""

    messages: tuple[Message, ...]
    tokens: int


class Forms:
    """What a unit offers, and what a policy may want to know about it."""

    def __init__(self, unit: Unit, full_tokens: int) -> None:
        self.unit = unit
        self.sizes: dict[ResidencyLevel, int] = {_FULL: full_tokens}
        self.below_full: dict[ResidencyLevel, tuple[Message, ...]] = {}
        self.fields: Fields | None = None  # of the structured form, where we made it
        self.told: frozenset[str] = frozenset()  # the names in it
        self.path: str | None = None  # the file that the unit is about
        self.edited: frozenset[str] = frozenset()  # the names of the files that it changed
        self.calls = frozenset([(call.name, call.arguments) for page in unit for call in page.calls])
        self.is_error = any(result.is_error for page in unit for result in page.results)
        self.effects: tuple[Effect, ...] | None = None  # what it changed, once somebody has asked
        self.relevance: RelevanceMeta | None = None  # and what it is about
        self._shorter: tuple[frozenset[str], Form] | None = None

    def offer(self, level: ResidencyLevel, form: Form) -> bool:
        """Offer a level, if it is shorter than those above."""
        is_shorter = form.tokens < min(self.sizes.values())
        if is_shorter:
            self.sizes[level] = form.tokens
            self.below_full[level] = form.messages
        return is_shorter

    def below(self, level: ResidencyLevel) -> Form:
        """The form of a level below full."""
        return Form(self.below_full[level], self.sizes[level])

    def structured_without(self, known: AbstractSet[str], count: Callable[[Message], int]) -> Form:
        """The structured form without names that stand elsewhere."""
        left_out = self.told & known
        if self.fields is None or not left_out:
            return self.below(_STRUCTURED)
        if self._shorter is None or self._shorter[0] != left_out:
            message = user(fenced(self.fields.text(left_out)), synthetic=True)
            form = Form((message,), count(message))
            self._shorter = (left_out, min(form, self.below(_STRUCTURED), key=lambda form: form.tokens))
        return self._shorter[1]


class FormMaker:
    """Makes the forms of units, and keeps those of the units that may still move."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers = BUILT_IN) -> None:
        self._journal = journal
        self._counter = counter
        self._renderers = renderers
        self._made: dict[Hashable, Forms] = {}
        self._all_names: dict[int, frozenset[str]] = {}  # by page
        self._names = _Names(journal, self.message)
        self._held: dict[int, Message] = {}  # messages that the next fold will ask for
        self.among = 0  # how many of the forms that writeback admitted count
        self._admitted_forms = _AdmittedForms()
        self.damaged: dict[int, StoreError] = {}  # pages whose words the store could not give

    def hold(self, page: Page, message: Message) -> None:
        """Keep a message at hand until the next fold."""
        self._held[page.seq] = msgspec.structs.replace(message, id=page.id, usage=None)

    def message(self, page: Page) -> Message | None:
        """The message of a page; None where it was erased or damaged."""
        held = self._held.get(page.seq)
        if held is not None or page.seq in self.damaged:
            return held
        try:
            return self._journal.message(page)
        except StoreError as error:
            self.damaged[page.seq] = error
            return None

    def let_go(self, units: Iterable[Unit], after: int) -> None:
        """Forget all forms but those of these units, and the messages up to a page."""
        keys = {self._key(unit) for unit in units}
        pages = {page.seq for unit in units for page in unit}
        self._made = {key: forms for key, forms in self._made.items() if key in keys}
        self._all_names = {page: names for page, names in self._all_names.items() if page in pages}
        self._held = {seq: message for seq, message in self._held.items() if seq > after}

    def forget(self) -> None:
        """Forget everything: the past is not what it was."""
        self._made.clear()
        self._all_names.clear()
        self._held.clear()
        self.damaged.clear()
        self._names = _Names(self._journal, self.message)

    def of(self, unit: Unit) -> Forms:
        """The forms of a unit; quickest if asked for in the order of the units' last pages."""
        key = self._key(unit)
        if key not in self._made:
            self._made[key] = self._make(unit)
        return self._made[key]

    def full(self, unit: Unit) -> Form:
        """The unit as its own messages."""
        return self._paired([(page, message, page.tokens) for page, message in self._messages(unit)])

    def at(self, forms: Forms, level: ResidencyLevel, known: set[str]) -> Form:
        """A unit at a level that it offers, without names that stand before it; those that it tells are known from then on."""
        if level is _FULL:
            known.update(*map(self._names_of, forms.unit))
            return self.full(forms.unit)
        if level is not _STRUCTURED:
            return forms.below(level)
        form = forms.structured_without(known, self._counter.message)
        known |= forms.told
        return form

    def effects(self, forms: Forms) -> tuple[Effect, ...]:
        """What a unit changed."""
        if forms.effects is None:
            voiced = [(page.seq, Voiced(page.handle, message)) for page, message in self._messages(forms.unit)]
            forms.effects = tuple(effects_of(voiced))
        return forms.effects

    def relevance(self, forms: Forms) -> RelevanceMeta:
        """What a unit is about."""
        if forms.relevance is None:
            forms.relevance = merge(map(self._relevance_of, forms.unit))
        return forms.relevance

    def _relevance_of(self, page: Page) -> RelevanceMeta:
        """What a page is about: as its journal says, or read off its words where that was not yet kept."""
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

    def _key(self, unit: Unit) -> Hashable:
        state = self._journal.state
        first = unit[0].seq
        given = [self._admitted(first, level) for level in (_COMPRESSED, _STRUCTURED)] if state.renditions else ()
        return (
            tuple([page.seq for page in unit]),
            state.path(unit),
            state.kind(unit[0]),
            state.pins.get(first),
            *given,
        )

    def _admitted(self, page: int, level: ResidencyLevel) -> RenditionAdmitted | None:
        return self._admitted_forms.newest(self._journal.state.renditions, page, level, self.among)

    def _messages(self, unit: Unit) -> list[tuple[Page, Message]]:
        return [(page, message) for page in unit if (message := self.message(page)) is not None]

    def _paired(self, messages: Iterable[tuple[Page, Message, int]]) -> Form:
        pairing = Pairing(self._counter.message)
        for page, message, tokens in messages:
            pairing.add(message, tokens, page.handle)
        return Form(pairing.messages, pairing.tokens)

    def _make(self, unit: Unit) -> Forms:
        messages = self._messages(unit)
        forms = Forms(unit, self.full(unit).tokens)
        for level in self._journal.state.path(unit)[1:]:
            given = self._given(unit[0], level) if len(unit) == 1 else None
            if given is not None:
                forms.offer(level, Form((given,), self._counter.message(given)))
            elif messages and not self._journal.state.kind(unit[0]).is_rule:
                self._render(forms, messages, level)
        calls = [call for _, message in messages for call in message.tool_calls]
        forms.path = next(filter(None, map(file_of, calls)), None)
        forms.edited = frozenset(name for call in calls for name in _edited(call))
        return forms

    def _render(self, forms: Forms, messages: Sequence[tuple[Page, Message]], level: ResidencyLevel) -> None:
        """Offer a level that a renderer makes."""
        voiced = [Voiced(page.handle, message) for page, message in messages]
        vocabulary = self._names.before(forms.unit[-1])
        if level is _COMPRESSED:
            if forms.sizes[_FULL] >= _COMPRESSED_FROM:
                shown = render(voiced, level, vocabulary, self._renderers)
                counted = zip((page for page, _ in messages), shown, map(self._counter.message, shown), strict=True)
                forms.offer(level, self._paired(counted))
            return
        fields = structured(voiced, vocabulary) if level is _STRUCTURED else None
        text = fields.text() if fields is not None else pointer(voiced)
        message = user(fenced(text), synthetic=True)
        if forms.offer(level, Form((message,), self._counter.message(message))) and fields is not None:
            forms.fields = fields
            forms.told = frozenset(fields.names)

    def _given(self, page: Page, level: ResidencyLevel) -> Message | None:
        """The words that somebody gave for a page at a level."""
        state = self._journal.state
        own, admitted = state.pins.get(page.seq), self._admitted(page.seq, level)
        if level is _STRUCTURED and own is not None:
            return _spoken(page, self._journal.text(own.digest))
        if admitted is not None:
            return _spoken(page, self._journal.text(admitted.digest))
        if level is _STRUCTURED and state.kind(page) is PageKind.PLAN and (message := self.message(page)) is not None:
            return system(plan_on(message).structured, synthetic=True)
        return None


class _AdmittedForms:
    """The forms of single pages that writeback admitted, by page: most pages have none, and every fold asks of each."""

    def __init__(self) -> None:
        self._renditions: Sequence[RenditionAdmitted] = ()
        self._taken = 0
        self._by_page: dict[int, list[tuple[int, RenditionAdmitted]]] = {}

    def newest(
        self, renditions: Sequence[RenditionAdmitted], page: int, level: ResidencyLevel, among: int
    ) -> RenditionAdmitted | None:
        """The newest form of a page for a level among the first that were admitted."""
        if renditions is not self._renditions:  # some are gone with their pages
            self._renditions, self._taken, self._by_page = renditions, 0, {}
        for at in range(self._taken, len(renditions)):
            if renditions[at].first == renditions[at].last:
                self._by_page.setdefault(renditions[at].first, []).append((at, renditions[at]))
        self._taken = len(renditions)
        ours = (each for at, each in self._by_page.get(page, ()) if at < among and each.level is level)
        return max(ours, key=lambda each: each.txn, default=None)


class _Names:
    """The names that were said before a page, in its block of pages and in the block before."""

    def __init__(self, journal: Journal, message: Callable[[Page], Message | None]) -> None:
        self._journal = journal
        self._message = message
        self._vocabulary = Vocabulary()
        self._start = self._next = 0  # it has heard the pages from start to next
        self._heard: dict[int, Heard] = {}

    def before(self, page: Page) -> Vocabulary:
        """The vocabulary when a page came."""
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

    def _hear(self, place: int, page: Page) -> Heard:
        if place not in self._heard:
            message = None if page.erased else self._message(page)
            self._heard[place] = Heard.of(message) if message is not None else Heard(())
        return self._heard[place]


def _spoken(page: Page, text: str | None) -> Message | None:
    """Words that stand for a page, in its own voice if it is a rule's."""
    if text is None:
        return None
    return system(text, synthetic=True) if page.role in (Role.SYSTEM, Role.DEVELOPER) else user(text, synthetic=True)


def _edited(call: ToolCall) -> Iterator[str]:
    """The names, without folders, of the files that a call changes."""
    arguments = call.parsed
    if isinstance(arguments, dict) and not _CHANGING.isdisjoint(arguments) and (path := file_of(call)) is not None:
        yield name_of(path)
    if "*** " in call.arguments:
        yield from (name_of(found[1]) for found in _PATCHED.finditer(call.texts))


def name_of(path: str) -> str:
    """The name of a file without its folders, since calls name them in different ways."""
    return path.strip().rpartition("/")[2]


_CHANGING = frozenset(("old_string", "old_str", "oldText", "new_string", "content", "edits", "file_text"))
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
