"""Quotes page text inside text that we write, so that nothing in a page can pass for a handle or for one of our tags."""

import re
from collections.abc import Set as AbstractSet

from pageturn.values.handles import CHECK, NUMBER

# What looks like a handle or a tag, with the backslashes that it already has. The check is only looked at, because it may be the
# number of the next look-alike.
_HANDLE = re.compile(rf"(p(?<![A-Za-z0-9]p){NUMBER})(\\*)-(?=({CHECK})(?![A-Za-z0-9]))")
_TAG = re.compile(r"<(\\*)(?=[\s/\u200b-\u200d\u2060\ufeff]{0,4}(?:pages?|system-reminder)\b)", re.IGNORECASE)


def escaped(text: str, genuine: AbstractSet[str] = frozenset()) -> str:
    """Page text for use inside our text: anything that looks like a handle or a tag gets a backslash."""

    def marked(found: re.Match[str]) -> str:
        is_genuine = f"{found[1]}-{found[3]}" in genuine
        return found[0] if found[2] or is_genuine else rf"{found[1]}\-"

    if "-" in text:
        text = _HANDLE.sub(marked, text)
    return _TAG.sub(lambda found: found[0] if found[1] else "<\\", text) if "<" in text else text


def quoted(text: str) -> str:
    """A text from a page, escaped so that it can be restored exactly: every look-alike gets one more backslash."""
    if "-" in text:
        text = _HANDLE.sub(r"\1\\\2-", text)
    return _TAG.sub(r"<\\\1", text) if "<" in text else text


def unquoted(text: str) -> str:
    """The original of a quoted text."""
    text = _HANDLE.sub(lambda found: f"{found[1]}{found[2][1:]}-", text)
    return _TAG.sub(lambda found: f"<{found[1][1:]}", text)


def labelled(handle: str, text: str) -> str:
    """A line of ours about a page, after its handle; without the handle for a model that has no recall tool."""
    return f"{handle} {text}" if handle else text


def noted(what: str, text: str) -> str:
    """What a model asked to store, as a context shows it: fenced, escaped, and attributed to the model."""
    return fenced(f"The model noted a {what}: {escaped(text)}")


def fenced(text: str) -> str:
    """Our own text in a fence, so that it is not mistaken for a person's; its quotations are already escaped."""
    return f"<page>\n{text}\n</page>"
