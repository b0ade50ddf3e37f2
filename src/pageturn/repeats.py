"""Repeats: results that came before, and had to be fetched again because the model no longer saw them.

The same call with the same result is a duplicate tool; another way to the same bytes is a refetch. A call whose result has
changed is neither: somebody looked again, and there was something new to see.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pageturn.faults import DuplicateTool, Refetch
from pageturn.pages import CallReference, Page
from pageturn.state import SessionState
from pageturn.units import Unit

_TRIVIAL = 50  # tokens; what is shorter is often the same by chance


class Repeat(NamedTuple):
    """A result that came again."""

    fault: DuplicateTool | Refetch
    page: Page  # where it was before
    tool: str


class Repeats:
    """Which results a session has had, by what they say."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._calls: dict[str, CallReference] = {}  # by id; some vendors use one twice, and then the newest counts
        self._by_call: dict[tuple[str, str], tuple[int, str]] = {}  # the page and the content of a call's last result
        self._by_content: dict[str, tuple[int, tuple[str, str]]] = {}  # the last page of a content, and its call
        self._taken = 0

    def found_in(self, page: Page) -> list[Repeat]:
        """What of a page's results came before; takes in every page up to it."""
        found: list[Repeat] = []
        for each in self._state.pages[self._taken : self._state.after(page.seq)]:
            found = list(self._take(each))
        self._taken = self._state.after(page.seq)
        return found

    def _take(self, page: Page) -> Iterator[Repeat]:
        self._calls |= {call.id: call for call in page.calls}
        for result in page.results:
            call = self._calls.get(result.call)
            if call is not None:
                key = (call.name, call.arguments)
                yield from self._compare(page, result.content, key)
                self._by_call[key] = (page.seq, result.content)
                self._by_content[result.content] = (page.seq, key)

    def _compare(self, page: Page, content: str, call: tuple[str, str]) -> Iterator[Repeat]:
        last, by = self._by_call.get(call), self._by_content.get(content)
        fault: DuplicateTool | Refetch | None = None
        if last is not None and last[1] == content:
            before, fault = self._state.page(last[0]), DuplicateTool()
        elif by is not None and by[1] != call and page.tokens >= _TRIVIAL:
            before, fault = self._state.page(by[0]), Refetch()
        if fault is not None and before is not None and before.counts:
            yield Repeat(fault, before, call[0])


_REPEATED_FROM = 256  # bytes; what is shorter may well come twice


def first_to_bring(units: Iterable[Unit]) -> dict[str, int]:
    """The unit that brought each result first, by its first page; short results are nobody's."""
    brought: dict[str, int] = {}
    for unit in units:
        for page in unit:
            for result in page.results if page.size >= _REPEATED_FROM else ():
                brought.setdefault(result.content, unit[0].seq)
    return brought


def is_repetition(unit: Unit, brought: Mapping[str, int]) -> bool:
    """Whether others brought all that a unit did, byte for byte, before it."""
    results = [result for page in unit for result in page.results]
    return bool(results) and all(brought.get(result.content, unit[0].seq) < unit[0].seq for result in results)
