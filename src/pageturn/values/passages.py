"""Passages: a very long text in pieces, so that what is made of each piece need not be there for all of them at once."""

import re
from collections.abc import Iterator

_MOST = 500_000  # characters; what is shorter is one passage
AT_BLANKS = re.compile(r"\s")


def is_one(text: str) -> bool:
    """Whether a text is one passage."""
    return len(text) <= _MOST


def passages(text: str, ends: re.Pattern[str] = AT_BLANKS) -> Iterator[str]:
    """The text in pieces that end where the expression says that one may; where it never may, the rest is one piece."""
    start = 0
    while len(text) - start > _MOST:
        found = ends.search(text, start + _MOST)
        if found is None or found.end() == len(text):
            break
        yield text[start : found.end()]
        start = found.end()
    yield text[start:] if start else text
