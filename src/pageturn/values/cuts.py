"""Cuts a text into passages of a few hundred characters, which a search finds and shows instead of the whole text.

To remove the words of a text, an index cuts the text again, possibly in a later version. So the rule for where to cut changes only
together with the format of the stores.
"""

from collections.abc import Iterator
from typing import NamedTuple

MOST_CUTS = 1 << 13  # passages per text; a very long text gets longer ones
_LEAST, _MOST = 150, 500  # characters
_ENDS = ("\n\n", "\n", ". ", "? ", "! ", "; ", " ")  # preferred ends of a passage, best first


class Cut(NamedTuple):
    """A passage: its first character, and the one after its last."""

    start: int
    end: int


def cuts(text: str) -> Iterator[Cut]:
    """The passages of a text in order, without gaps; none for an empty text."""
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
    """The best end of a passage between two positions."""
    for mark in _ENDS:
        at = text.rfind(mark, first, last)
        if at >= 0:
            return at + len(mark)
    for at in range(last, first, -1):
        if not (text[at - 1].isalnum() and text[at].isalnum()):
            return at  # never cut a word
    return last


def cut_at(text: str, number: int) -> Cut:
    """The passage of that number, from 0; the last one if there are fewer."""
    found = Cut(0, len(text))
    for at, found in enumerate(cuts(text)):  # noqa: B007
        if at == number:
            break
    return found
