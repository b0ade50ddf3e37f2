"""Cuts a text to a number of tokens where a reader would."""

from collections.abc import Callable

_NEAR = 0.8  # of the available room


def cut(text: str, most_tokens: int, count: Callable[[str], int]) -> str:
    """A text cut to this many tokens: at the end of a line, a sentence or a word if there is one near enough."""
    text = text.strip()
    size = len(text)
    while size and (tokens := count(text[:size])) > most_tokens:
        size = min(size - 1, int(size * most_tokens / tokens))
    if size == len(text):
        return text
    for ends in (("\n", ". ", "。"), (" ",)):
        last = max(text.rfind(end, 0, size) for end in ends)
        if last > _NEAR * size:
            return text[: last + 1].strip()
    return text[:size].strip()
