"""Cuts a text into passages of a few hundred characters, which a search finds and shows instead of the whole text.

To remove the words of a text, an index cuts the text again, possibly in a later version. So the rule for where to cut changes only
together with the format of the stores.
"""

from collections.abc import Iterator
from typing import NamedTuple

MOST_PASSAGES = 1 << 13  # passages per text; a very long text gets longer ones
_LEAST, _MOST = 150, 500  # characters
_ENDS = ("\n\n", "\n", ". ", "? ", "! ", "; ", " ")  # preferred ends of a passage, best first


class Passage(NamedTuple):
    """A passage: its first character, and the one after its last."""

    start: int
    end: int


def passages_of(text: str) -> Iterator[Passage]:
    """The passages of a text in order, without gaps; none for an empty text."""
    size = len(text)
    least = max(_LEAST, -(-size // MOST_PASSAGES))
    most = least * _MOST // _LEAST
    start = 0
    while size - start > most:
        end = _end(text, start + least, start + most)
        if size - end < least // 2:
            break
        yield Passage(start, end)
        start = end
    if start < size:
        yield Passage(start, size)


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


def passage_at(text: str, number: int) -> Passage:
    """The passage of that number, from 0; the last one if there are fewer."""
    found = Passage(0, len(text))
    for at, found in enumerate(passages_of(text)):  # noqa: B007
        if at == number:
            break
    return found
