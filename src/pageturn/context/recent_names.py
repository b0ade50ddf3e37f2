"""Finds the names that a session used shortly before a page, by which the forms of the page choose which names to keep."""

from collections.abc import Callable

from pageturn.journal.journal import Journal
from pageturn.values.identifiers import Heard, Vocabulary
from pageturn.values.messages import Message
from pageturn.values.pages import Page

_BLOCK = 64  # pages; a form knows the names of the block before its own, and of its own up to itself
_KEPT = 4 * _BLOCK  # pages before those, whose names are kept for a unit that gets another result late


class RecentNames:
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
            self._heard = {place: heard for place, heard in self._heard.items() if place >= start - _KEPT}
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
