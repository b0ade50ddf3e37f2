"""Counts a very long text piece by piece, so that memory is needed for one piece at a time."""

import re
from collections.abc import Callable

from pageturn.values.text_pieces import is_one_piece

# Places where a text may be cut without changing its tokens: no piece of any vocabulary continues across them. Letters end
# before anything but a letter or an apostrophe, digits before anything but a digit; this holds for ASCII only.
PIECES_END = re.compile(
    r"\n(?=[^\s/])|[^\W\d_](?=[ ,.、。，][^\W\d_])|[A-Za-z](?=[\x00-&(-@\[-`{-\x7f])|[0-9](?=[\x00-/:-\x7f])"
)
_LENGTH = 64_000  # characters of a piece, up to twice as many if it only ends there; a multiple of most periods
_AT_A_CUT = 4  # tokens that are added where a run is cut: the parts never had more than 2 fewer than the whole


def count_in_pieces(text: str, count: Callable[[str], int]) -> int:
    """The tokens of a text: exact, except for a run of 64,000 characters in which no cut is allowed, which is cut anyway.

    Such a run (one letter, brackets, signs without a space) counts at most a fiftieth too high, and never too low.
    """
    if is_one_piece(text):
        return count(text)
    total = start = counted = 0
    before = ""
    while len(text) - start > 2 * _LENGTH:
        found = PIECES_END.search(text, start + _LENGTH, start + 2 * _LENGTH)
        end = found.end() if found else start + _LENGTH
        piece = text[start:end]
        if piece != before:  # if the text repeats itself, a piece is counted once
            before, counted = piece, count(piece)
        total += counted + (0 if found else _AT_A_CUT)
        start = end
    return total + count(text[start:])
