"""Counts the tokens of pages with one counter."""

from collections.abc import Callable

from pageturn.tokens.counters import TokenCounter
from pageturn.values.messages import Message
from pageturn.values.pages import Page


class PageSizes:
    """The tokens of pages by one counter. Pages that were counted by another are counted again, once."""

    def __init__(self, counter: TokenCounter, message: Callable[[Page], Message | None]) -> None:
        self.counter = counter
        self._name = counter.name
        self._message = message
        self._kept: dict[int, int] = {}

    def of(self, page: Page) -> int:
        """The tokens of a page at full; 0 if it cannot be read."""
        if page.counter == self._name and not page.erased:
            return page.tokens
        if page.seq not in self._kept:
            message = self._message(page)
            self._kept[page.seq] = self.counter.message(message) if message is not None else 0
        return self._kept[page.seq]

    def forget_after(self, seq: int) -> None:
        """Drop pages that were only assumed for a trial."""
        self._kept = {page: tokens for page, tokens in self._kept.items() if page <= seq}

    def forget(self) -> None:
        """Drop all counts, because the history has changed."""
        self._kept.clear()
