"""Scanning: on which lines of a text a pattern stands, found in one pass over all of it."""

import re


def lines_with(pattern: re.Pattern[str], text: str) -> set[int]:
    """The numbers of the lines on which a match begins, from 0."""
    found: set[int] = set()
    line = seen = 0
    for match in pattern.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        found.add(line)
    return found
