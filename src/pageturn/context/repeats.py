"""Finds results that were fetched again because the model was no longer shown them.

The same call with the same result is a duplicate tool call; another call with the same result is a refetch. A call whose result has
changed is neither.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pageturn.journal.state import SessionState
from pageturn.values.faults import DuplicateTool, Refetch
from pageturn.values.pages import CallReference, Page, ResultReference
from pageturn.values.units import Unit

_TRIVIAL = 50  # tokens; shorter results are often equal by chance


class Repeat(NamedTuple):
    """A result that was fetched again."""

    fault: DuplicateTool | Refetch  # counted if the model was no longer shown the first result
    before: int  # the place of its last occurrence
    asked: int  # the place of the call that fetched it again
    tool: str
    content: str  # the digest of its content


class Repeats:
    """The results so far, by content. A place is an increasing number: of a page, or of a recorded message."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[int, CallReference]] = {}  # by id; the newest, if an id is used twice
        self._by_call: dict[tuple[str, str], tuple[int, str]] = {}  # the place and the content of a call's last result
        self._by_content: dict[str, tuple[int, tuple[str, str]]] = {}  # the last place of a content, and its call

    def take(
        self, place: int, calls: Iterable[CallReference], results: Iterable[ResultReference], tokens: int
    ) -> list[Repeat]:
        """Add the calls and results at a place, of `tokens` tokens; returns the results that occurred before."""
        self._calls |= {call.id: (place, call) for call in calls}
        found = []
        for result in results:
            asked, call = self._calls.get(result.call, (0, None))
            if call is None:
                continue
            key = (call.name, call.arguments)
            last, same = self._by_call.get(key), self._by_content.get(result.content)
            if last is not None and last[1] == result.content:
                found.append(Repeat(DuplicateTool(), last[0], asked, call.name, result.content))
            elif same is not None and same[1] != key and tokens >= _TRIVIAL:
                found.append(Repeat(Refetch(), same[0], asked, call.name, result.content))
            self._by_call[key] = (place, result.content)
            self._by_content[result.content] = (place, key)
        return found


class RepeatedPages:
    """Finds the results of one session that were fetched again."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._repeats = Repeats()
        self._taken = 0

    def found_in(self, page: Page) -> list[tuple[Page, Repeat]]:
        """The results of a page that occurred before, with the earlier page; adds every page up to it."""
        found: list[Repeat] = []
        for each in self._state.pages[self._taken : self._state.after(page.seq)]:
            found = self._repeats.take(each.seq, each.calls, each.results, each.tokens)
        self._taken = self._state.after(page.seq)
        pages = ((self._state.page(repeat.before), repeat) for repeat in found)
        return [(before, repeat) for before, repeat in pages if before is not None and before.counts]


_REPEATED_FROM = 256  # bytes; shorter results may well repeat by chance


def first_to_bring(units: Iterable[Unit]) -> dict[str, int]:
    """The first page of the unit in which each result first occurred, by content; without short results."""
    brought: dict[str, int] = {}
    for unit in units:
        for page in unit:
            for result in page.results if page.size >= _REPEATED_FROM else ():
                brought.setdefault(result.content, unit[0].seq)
    return brought


def is_repetition(first: int, contents: Sequence[str], brought: Mapping[str, int]) -> bool:
    """Whether all results of the unit that begins with a page occurred in earlier units, byte for byte."""
    return bool(contents) and all(brought.get(content, first) < first for content in contents)
