"""Scanning: on which lines of a text a pattern stands, found in one pass; and how much of a text is looked at at all."""

import re

_LOOKED_AT = 500_000  # characters


def without_middle(text: str) -> str:
    """A text that nobody would read to its end, without its middle; any other as it is."""
    if len(text) <= _LOOKED_AT:
        return text
    half = _LOOKED_AT // 2
    return f"{text[:half]}\n[... {len(text) - _LOOKED_AT:,} characters ...]\n{text[-half:]}"


def lines_with(pattern: re.Pattern[str], text: str) -> set[int]:
    """The numbers of the lines on which a match begins, from 0."""
    found: set[int] = set()
    line = seen = 0
    for match in pattern.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        found.add(line)
    return found
