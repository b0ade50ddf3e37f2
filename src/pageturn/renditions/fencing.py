"""Fencing: words from a page inside words of ours. Nothing in a page can pass for a handle or for one of our tags."""

import re
from collections.abc import Set as AbstractSet

_HANDLE = re.compile(r"(p(?<![A-Za-z0-9]p)[1-9][0-9]{0,14})-([a-z2-7]{4})(?![A-Za-z0-9])")
_TAG = re.compile(r"<(/?)(page|pages)\b", re.IGNORECASE)


def escaped(text: str, genuine: AbstractSet[str] = frozenset()) -> str:
    """A text from a page as it may stand in a text of ours: look-alikes of handles and tags are marked by a backslash."""
    if "-" in text:
        text = _HANDLE.sub(lambda found: found[0] if found[0] in genuine else rf"{found[1]}\-{found[2]}", text)
    return _TAG.sub(r"<\\\1\2", text) if "<" in text else text


def labelled(handle: str, text: str) -> str:
    """A line of ours about a page, behind its handle; a model without the recall tool gets none."""
    return f"{handle} {text}" if handle else text


def noted(what: str, text: str) -> str:
    """What a model wished to have written down, as it stands in a context: fenced, escaped, and named as its own."""
    return fenced(f"The model noted a {what}: {escaped(text)}")


def fenced(text: str) -> str:
    """A text of ours, so that nobody takes it for something that a person said; its quotations are escaped already."""
    return f"<page>\n{text}\n</page>"
