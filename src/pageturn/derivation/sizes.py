"""Sizes: the tokens of pages as one counter counts them."""

from collections.abc import Callable

from pageturn.messages import Message
from pageturn.pages import Page
from pageturn.tokens import TokenCounter


class PageSizes:
    """What pages take by one counter. What another one counted when they came is counted anew, once, and never mixed in."""

    def __init__(self, counter: TokenCounter, message: Callable[[Page], Message | None]) -> None:
        self.counter = counter
        self._name = counter.name
        self._message = message
        self._kept: dict[int, int] = {}

    def of(self, page: Page) -> int:
        """The tokens of a page at full; what cannot be read takes none."""
        if page.counter == self._name and not page.erased:
            return page.tokens
        if page.seq not in self._kept:
            message = self._message(page)
            self._kept[page.seq] = self.counter.message(message) if message is not None else 0
        return self._kept[page.seq]

    def forget_after(self, seq: int) -> None:
        """Forget pages that were only supposed."""
        self._kept = {page: tokens for page, tokens in self._kept.items() if page <= seq}

    def forget(self) -> None:
        """Forget what was counted: the past is not what it was."""
        self._kept.clear()
