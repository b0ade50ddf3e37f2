"""The forms of one unit: its messages and their tokens at each level, and facts about it that no fold changes."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from pageturn.context.renditions import Effect, Fields, folder_of
from pageturn.values.fencing import fenced
from pageturn.values.messages import Message, user
from pageturn.values.pages import PageKind, ResidencyLevel
from pageturn.values.relevance import RelevanceMeta
from pageturn.values.units import Unit, unanswered

_FULL, _, _STRUCTURED, _ = ResidencyLevel
_MOST_SHORTENED = 4  # structured forms of a unit without names that others show; a fold asks for two or three of them


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

    def __init__(self, unit: Unit, full_tokens: int, page_tokens: int, whole_from: int = 0) -> None:
        self.unit = unit
        self.first, self.last = unit[0].seq, unit[-1].seq
        self.whole_from = whole_from  # when compressed, pages from this one on are shown in full
        self.page_tokens = page_tokens  # of its pages, each by itself
        self.full: Form | None = None  # while it is cached
        self.sizes: dict[ResidencyLevel, int] = {_FULL: full_tokens}  # of the levels that are offered
        self._made: dict[ResidencyLevel, Form] = {}
        self._shortened: dict[frozenset[str], Form] = {}  # by the names that are left out
        self.fields: Fields | None = None  # of the structured form, if it was made here
        self.names: frozenset[str] = frozenset()  # in the structured form
        self.all_names: frozenset[str] | None = None  # in its messages, once asked for
        self.paths: frozenset[str] = frozenset()  # the files that the unit is about
        self.folder: str | None = None  # and that of the first, as index lines show it
        self.has_reasoning = False  # in its messages
        self.edited: frozenset[str] = frozenset()  # the names of the files that it changed
        self.own_tokens: int | None = None  # of a person's own words, if the message has other parts
        self.written: set[ResidencyLevel] = set()  # levels whose form somebody wrote, offered or not
        self.effects: tuple[Effect, ...] | None = None  # what it changed, once asked for
        self.relevance: RelevanceMeta | None = None  # what it is about, once asked for
        self.calls = frozenset([(call.name, call.arguments) for page in unit for call in page.calls])
        self.contents = tuple([result.content for page in unit for result in page.results])  # digests of its results
        self.is_error = any(result.is_error for page in unit for result in page.results)
        self.is_waiting = bool(self.calls) and bool(unanswered(unit))  # for a result
        self.is_opening = any(page.kind is PageKind.BOOTSTRAP for page in unit)  # a rule, whatever is pinned
        self.handles = tuple([page.handle for page in unit])

    def about(self, paths: Sequence[str]) -> None:
        """Note the files that the unit is about."""
        self.paths, self.folder = frozenset(paths), folder_of(paths[0] if paths else None)

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
        if self.fields is None or self.names.isdisjoint(known):
            return self.below(_STRUCTURED)
        left_out = self.names & known
        form = self._shortened.get(left_out)
        if form is None:
            message = user(fenced(self.fields.text(left_out)), synthetic=True)
            form = Form((message,), count(message))
            if len(self._shortened) >= _MOST_SHORTENED:
                del self._shortened[next(iter(self._shortened))]
            self._shortened[left_out] = form
        return form
