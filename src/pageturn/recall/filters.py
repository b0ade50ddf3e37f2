"""Decides which pages a search may return: those that may be shown at all, and of those the ones that match its filter."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from pageturn.journal.journal import Journal
from pageturn.values.errors import InvalidInput, StoreError, show
from pageturn.values.ids import micros
from pageturn.values.json import Closed, from_json, to_json
from pageturn.values.messages import Role, Visibility
from pageturn.values.pages import Page, PageKind


class Where(Closed):
    """The filter of a search; None matches anything."""

    role: Role | None = None
    kind: PageKind | None = None
    tool: str | None = None  # that a page calls, or whose result it holds
    turns: tuple[int | None, int | None] | None = None  # the first and the last; None is no limit
    path: str | None = None  # the whole path or a part of it, as a call names it: the call and its result are found
    # The earliest and the latest; without a zone they are UTC.
    times: tuple[datetime | None, datetime | None] | None = None


def where_of(given: Where | Mapping[str, object] | None) -> Where:
    """The filter of a search, from a value or from its fields by name."""
    if given is None or isinstance(given, Where):
        return given or Where()
    if not isinstance(given, Mapping):
        raise InvalidInput("where", expected="a Where, or its fields by name", got=show(given))
    return from_json(Where, to_json(dict(given)))


class SearchFilter(NamedTuple):
    """What a search may return: a filter, which sessions may show internal pages, and the name of the recall tool."""

    where: Where
    see_internal: Callable[[Journal], bool]
    recall_tool: str | None = None  # its calls and answers only repeat other pages

    def may_show(self, journal: Journal, page: Page) -> bool:
        """Whether a page may be shown at all: it counts, is not hidden, and holds more than calls or answers of the recall tool."""
        if not page.counts or (page.visibility == Visibility.INTERNAL and not self.see_internal(journal)):
            return False
        tools = journal.state.tools_of(page) if self.recall_tool is not None else ()
        return not tools or any(tool != self.recall_tool for tool in tools)

    def wants(self, journal: Journal, page: Page) -> bool:
        """Whether a page matches the filter."""
        role, kind, tool, turns = self.where.role, self.where.kind, self.where.tool, self.where.turns
        state = journal.state
        if role not in (None, page.role) or (kind is not None and kind is not state.kind(page)):
            return False
        if tool is not None and tool not in state.tools_of(page):
            return False
        first, last = turns if turns is not None else (None, None)
        turn = state.turn_of(page)
        is_in_turns = (first is None or first <= turn) and (last is None or turn <= last)
        return is_in_turns and self._is_in_time(page) and self._is_about_path(journal, page)

    def _is_in_time(self, page: Page) -> bool:
        first, last = (None if each is None else micros(_zoned(each)) for each in self.where.times or (None, None))
        return (first is None or first <= page.at) and (last is None or page.at <= last)

    def _is_about_path(self, journal: Journal, page: Page) -> bool:
        """Whether a call of the page, or the call whose result it is, names the path."""
        if self.where.path is None:
            return True
        caller = journal.state.caller(page) if page.results else page if page.calls else None
        wanted = {result.call for result in page.results}
        try:
            message = journal.message(caller) if caller is not None else None
        except StoreError:
            return False
        calls = message.tool_calls if message is not None else ()
        return any(self.where.path in call.texts for call in calls if not wanted or call.id in wanted)


def _zoned(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
