"""Cuts a text into passages: pieces of some hundred characters, which a search finds and shows instead of the whole text.

An index takes out the words of a text by cutting it once more, perhaps by a later version: where a text is cut never changes without
a new format of the stores.
"""

from collections.abc import Iterator
from typing import NamedTuple

MOST_CUTS = 1 << 13  # passages of one text; those of a very long one are longer instead
_LEAST, _MOST = 150, 500  # characters
_ENDS = ("\n\n", "\n", ". ", "? ", "! ", "; ", " ")  # where a passage ends rather than anywhere, the best first


class Cut(NamedTuple):
    """A passage: from which character to which it goes."""

    start: int
    end: int


def cuts(text: str) -> Iterator[Cut]:
    """The passages of a text in order, without gaps; none of an empty one."""
    size = len(text)
    least = max(_LEAST, -(-size // MOST_CUTS))
    most = least * _MOST // _LEAST
    start = 0
    while size - start > most:
        end = _end(text, start + least, start + most)
        if size - end < least // 2:
            break
        yield Cut(start, end)
        start = end
    if start < size:
        yield Cut(start, size)


def _end(text: str, first: int, last: int) -> int:
    """The best place to end a passage, between two."""
    for mark in _ENDS:
        at = text.rfind(mark, first, last)
        if at >= 0:
            return at + len(mark)
    for at in range(last, first, -1):
        if not (text[at - 1].isalnum() and text[at].isalnum()):
            return at  # no word is cut
    return last


def cut_at(text: str, number: int) -> Cut:
    """The passage of that number, from 0; the last one where there are fewer."""
    found = Cut(0, len(text))
    for at, found in enumerate(cuts(text)):  # noqa: B007
        if at == number:
            break
    return found
