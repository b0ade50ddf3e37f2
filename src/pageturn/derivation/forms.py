"""Forms: what each unit of a session looks like at each level and what it takes, made once for every unit.

A form depends on the unit and on what was said shortly before it, never on when it is made, so that a session that is opened
again gives the same texts.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
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
from pageturn.renditions import BUILT_IN, Fields, Renderers, Voiced, render, structured
from pageturn.renditions.content import material_of
from pageturn.renditions.fencing import fenced
from pageturn.tokens import TokenCounter
from pageturn.units import Unit

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_BLOCK = 64  # pages; a form knows the names of the block before its own, and of its own up to itself


class Form(NamedTuple):
    """The messages that stand for a unit, and their tokens."""

    messages: tuple[Message, ...]
    tokens: int


class Forms(NamedTuple):
    """What a unit offers, and what a policy may want to know about it."""

    sizes: Mapping[ResidencyLevel, int]
    below_full: Mapping[ResidencyLevel, tuple[Message, ...]]
    fields: Fields | None = None  # of the structured form, where we made it
    path: str | None = None  # the file that it is about
    edited: frozenset[str] = frozenset()  # the names of the files that it changed


class FormMaker:
    """Makes the forms of units, and keeps those of the units that may still move."""

    def __init__(self, journal: Journal, counter: TokenCounter, renderers: Renderers = BUILT_IN) -> None:
        self._journal = journal
        self._counter = counter
        self._renderers = renderers
        self._made: dict[Hashable, Forms] = {}
        self._all_names: dict[Hashable, frozenset[str]] = {}
        self._shortened: dict[tuple[Hashable, frozenset[str]], Form] = {}
        self._names = _Names(journal, self.message)
        self._held: dict[int, Message] = {}  # messages that the next fold will ask for
        self.among = 0  # how many of the forms that writeback admitted count
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
        self._made = {key: forms for key, forms in self._made.items() if key in keys}
        self._all_names = {key: names for key, names in self._all_names.items() if key in keys}
        self._shortened = {key: form for key, form in self._shortened.items() if key[0] in keys}
        self._held = {seq: message for seq, message in self._held.items() if seq > after}

    def forget(self) -> None:
        """Forget everything: the past is not what it was."""
        self._made.clear()
        self._all_names.clear()
        self._shortened.clear()
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

    def at(self, unit: Unit, level: ResidencyLevel, known: set[str]) -> Form:
        """The unit at a level that it offers, without names that stand before it; those that it tells are known from then on."""
        if level is _FULL:
            known |= self._names_of(unit)
            return self.full(unit)
        forms = self.of(unit)
        form = Form(forms.below_full[level], forms.sizes[level])
        if level is _STRUCTURED and forms.fields is not None:
            form = self._without(unit, forms, known)
            known.update(forms.fields.names)
        return form

    def _without(self, unit: Unit, forms: Forms, known: AbstractSet[str]) -> Form:
        """The structured form without names that are known."""
        assert forms.fields is not None
        left_out = frozenset(name for name in forms.fields.names if name in known)
        key = (self._key(unit), left_out)
        if not left_out:
            return Form(forms.below_full[_STRUCTURED], forms.sizes[_STRUCTURED])
        if key not in self._shortened:
            message = user(fenced(forms.fields.text(left_out)), synthetic=True)
            self._shortened[key] = Form((message,), min(self._counter.message(message), forms.sizes[_STRUCTURED]))
        return self._shortened[key]

    def _names_of(self, unit: Unit) -> frozenset[str]:
        """All names of a unit."""
        key = self._key(unit)
        if key not in self._all_names:
            messages = (message for _, message in self._messages(unit))
            self._all_names[key] = frozenset(name for message in messages for name in names_in(search_text(message)))
        return self._all_names[key]

    def _key(self, unit: Unit) -> Hashable:
        state = self._journal.state
        first = unit[0].seq
        given = [self._admitted(first, level) for level in (_COMPRESSED, _STRUCTURED)] if state.renditions else ()
        return (tuple(page.seq for page in unit), state.path(unit), state.kind(unit[0]), state.pins.get(first), *given)

    def _admitted(self, page: int, level: ResidencyLevel) -> RenditionAdmitted | None:
        return self._journal.state.admitted(page, level, self.among)

    def _messages(self, unit: Unit) -> list[tuple[Page, Message]]:
        return [(page, message) for page in unit if (message := self.message(page)) is not None]

    def _paired(self, messages: Iterable[tuple[Page, Message, int]]) -> Form:
        pairing = Pairing(self._counter.message)
        for page, message, tokens in messages:
            pairing.add(message, tokens, page.handle)
        return Form(pairing.messages, pairing.tokens)

    def _make(self, unit: Unit) -> Forms:
        sizes = {_FULL: self.full(unit).tokens}
        below: dict[ResidencyLevel, tuple[Message, ...]] = {}
        for level in self._journal.state.path(unit)[1:]:
            form = self._below(unit, level)
            if form is not None and form.tokens < min(sizes.values()):
                sizes[level] = form.tokens
                below[level] = form.messages
        calls = [call for _, message in self._messages(unit) for call in message.tool_calls]
        fields = self._fields(unit) if _STRUCTURED in below else None
        path = next(filter(None, map(_file_of, calls)), None)
        return Forms(sizes, below, fields, path, frozenset(name for call in calls for name in _edited(call)))

    def _fields(self, unit: Unit) -> Fields | None:
        """The fields of the structured form, where it is ours."""
        if len(unit) == 1 and self._given(unit[0], _STRUCTURED) is not None:
            return None
        voiced = [Voiced(page.handle, message) for page, message in self._messages(unit)]
        return structured(voiced, self._names.before(unit[-1]))

    def _below(self, unit: Unit, level: ResidencyLevel) -> Form | None:
        """A form that is not the unit itself: given by its author, admitted by writeback, or made by a renderer."""
        if len(unit) == 1 and (given := self._given(unit[0], level)) is not None:
            return Form((given,), self._counter.message(given))
        messages = self._messages(unit)
        if self._journal.state.kind(unit[0]).is_rule or not messages:
            return None
        voiced = [Voiced(page.handle, message) for page, message in messages]
        shown = render(voiced, level, self._names.before(unit[-1]), self._renderers)
        if level is _COMPRESSED:
            pages = (page for page, _ in messages)
            return self._paired(zip(pages, shown, map(self._counter.message, shown), strict=True))
        return Form(shown, sum(map(self._counter.message, shown)))

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


def _file_of(call: ToolCall) -> str | None:
    return material_of("", call).path


def _edited(call: ToolCall) -> Iterator[str]:
    """The names, without folders, of the files that a call changes."""
    arguments = call.parsed
    if isinstance(arguments, dict) and not _CHANGING.isdisjoint(arguments) and (path := _file_of(call)) is not None:
        yield name_of(path)
    if "*** " in call.arguments:
        yield from (name_of(found[1]) for found in _PATCHED.finditer(call.texts))


def name_of(path: str) -> str:
    """The name of a file without its folders, since calls name them in different ways."""
    return path.strip().rpartition("/")[2]


_CHANGING = frozenset(("old_string", "old_str", "oldText", "new_string", "content", "edits", "file_text"))
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
