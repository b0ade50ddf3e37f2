"""Counts a very long text piece by piece, so that memory is needed for one piece at a time."""

import re
from collections.abc import Callable

from pageturn.values.passages import is_one

# Where a text may be cut so that its tokens stay the same: no piece of any vocabulary goes on behind these places. Letters end
# before whatever is neither a letter nor an apostrophe, digits before whatever is no digit; that is said of ASCII alone.
PIECES_END = re.compile(
    r"\n(?=[^\s/])|[^\W\d_](?=[ ,.、。，][^\W\d_])|[A-Za-z](?=[\x00-&(-@\[-`{-\x7f])|[0-9](?=[\x00-/:-\x7f])"
)
_LENGTH = 64_000  # characters of a piece, up to twice as many where it only ends there; a multiple of most periods
_AT_A_CUT = (
    4  # tokens that are charged where a run is cut: parts were never seen to have more than 2 fewer than the whole
)


def count_in_pieces(text: str, count: Callable[[str], int]) -> int:
    """The tokens of a text: exact, but for a very long one that has a run of 64,000 characters without an end, which is cut.

    Such a run (one letter, brackets, signs without a blank) has at most a fiftieth more by this count, and never fewer.
    """
    if is_one(text):
        return count(text)
    total = start = counted = 0
    before = ""
    while len(text) - start > 2 * _LENGTH:
        found = PIECES_END.search(text, start + _LENGTH, start + 2 * _LENGTH)
        end = found.end() if found else start + _LENGTH
        piece = text[start:end]
        if piece != before:  # of what repeats itself, a piece is counted once
            before, counted = piece, count(piece)
        total += counted + (0 if found else _AT_A_CUT)
        start = end
    return total + count(text[start:])
