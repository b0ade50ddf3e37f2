"""Splits a very long text into pieces, so that memory is needed for one piece at a time."""

import re
from collections.abc import Iterator

_MOST = 500_000  # characters; a shorter text is one piece
AT_BLANKS = re.compile(r"\s")


def is_one_piece(text: str) -> bool:
    """Whether a text is one piece."""
    return len(text) <= _MOST


def pieces(text: str, ends: re.Pattern[str] = AT_BLANKS, *, most: int | None = None) -> Iterator[str]:
    """The text in pieces that end where the expression allows; if it never does, the rest is one piece."""
    most = most or _MOST
    start = 0
    while len(text) - start > most:
        found = ends.search(text, start + most)
        if found is None or found.end() == len(text):
            break
        yield text[start : found.end()]
        start = found.end()
    yield text[start:] if start else text
