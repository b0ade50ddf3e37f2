"""Outlines source code: lines with less indentation weigh more, so declarations and imports come first."""

import re

from pageturn.context.renditions.contract import Line, Material

_NUMBER = re.compile(r"[ \t]*+\d++[→\t|:]")
_SAYS_NOTHING = 2  # characters; brackets and the ends of comments have no more
_DEPTHS = [1.0 / (1 + depth / 4) for depth in range(200)]


def outline(material: Material) -> list[Line]:
    """The lines of a file, as far as they were shown."""
    return [Line(shown, _weight(_without_number(shown))) for shown in material.text.split("\n")]


def _without_number(line: str) -> str:
    number = _NUMBER.match(line) if line.lstrip(" \t")[:1].isdecimal() else None
    return line[number.end() :] if number is not None else line


def _weight(line: str) -> float:
    """By the indentation of a line; brackets and blank lines have no weight."""
    words = line.lstrip()
    depth = len(line) - len(words)
    if line[:1] == "\t":
        depth *= 4
    return _DEPTHS[min(depth, 199)] if len(words) > _SAYS_NOTHING else 0.0
