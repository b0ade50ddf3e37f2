"""Repeats: results that came before, and had to be fetched again because the model no longer saw them.

The same call with the same result is a duplicate tool; another way to the same bytes is a refetch. A call whose result has
changed is neither: somebody looked again, and there was something new to see.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pageturn.faults import DuplicateTool, Refetch
from pageturn.pages import CallReference, Page
from pageturn.state import SessionState

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
        self._results: dict[str, tuple[int, CallReference]] = {}  # by the digest of the content
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
            if call is None:
                continue
            before = self._results.get(result.content)
            earlier = self._state.page(before[0]) if before is not None else None
            if before is not None and earlier is not None and not earlier.undone and not earlier.erased:
                is_same = (call.name, call.arguments) == (before[1].name, before[1].arguments)
                if is_same or page.tokens >= _TRIVIAL:
                    yield Repeat(DuplicateTool() if is_same else Refetch(), earlier, call.name)
            self._results[result.content] = (page.seq, call)
