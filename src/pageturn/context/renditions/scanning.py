"""Finds the lines of a text that contain given words, quickly, and cuts very long texts."""

from collections.abc import Iterable, Iterator

_LOOKED_AT = 500_000  # characters


def without_middle(text: str) -> str:
    """A very long text without its middle; any other unchanged."""
    if len(text) <= _LOOKED_AT:
        return text
    half = _LOOKED_AT // 2
    return f"{text[:half]}\n[... {len(text) - _LOOKED_AT:,} characters ...]\n{text[-half:]}"


def lines_with(words: Iterable[str], text: str) -> list[int]:
    """The numbers of the lines that contain one of these words, from 0, in order."""
    found: list[int] = []
    line = seen = 0
    for place in sorted(place for word in words if word in text for place in _places(word, text)):
        line += text.count("\n", seen, place)
        seen = place
        if not found or found[-1] != line:
            found.append(line)
    return found


def _places(word: str, text: str) -> Iterator[int]:
    """Where a word begins: once per line, after the line end that it may begin with."""
    place = text.find(word)
    while place >= 0:
        yield place + (word[0] == "\n")
        end = text.find("\n", place + 1)
        place = text.find(word, end) if end >= 0 else -1
