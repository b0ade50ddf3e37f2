"""Reads the errors with which providers reject a prompt that is too long, and says how much less to send."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from pageturn.values.json import Closed

# What the error says, in any vendor's words: in lower case, all on one line.
_TOO_LONG = (
    ("prompt is too long",),
    ("prompt too long",),
    ("input is too long",),
    ("context_length_exceeded",),
    ("context length", "exceed"),
    ("context length", "resulted in"),
    ("context length", "greater than"),
    ("context length", "longer than"),
    ("maximum context",),
    ("maximum prompt length",),
    ("maximum model length",),
    ("context_window_exceeded",),
    ("context window", "exceed"),
    ("exceed context limit",),
    ("exceeded model token limit",),
    ("reduce the length of the messages",),
    ("available context size",),
    ("prompt token count", "exceeds"),
    ("input tokens exceed",),
    ("exceeds the maximum number of tokens",),
    ("input token count", "exceeds"),
    ("request_too_large",),
)
_OTHERS = ("rate limit", "rate_limit", "per minute", "per day", "quota", "unknown parameter")
# A number has at most 12 characters, and two of them are close together, so that any text is read in one pass.
_NUMBER = r"(?<![0-9,_])([0-9][0-9,_]{2,11})(?![0-9,_])"
_GAP = r".{0,300}?"
_SIZES = (  # what was sent, and what is allowed
    re.compile(rf"{_NUMBER} tokens? > {_NUMBER}"),
    re.compile(rf"prompt token count of {_NUMBER} exceeds the limit of {_NUMBER}"),
    re.compile(rf"input token count \(?{_NUMBER}\)? exceeds the maximum number of tokens allowed \(?{_NUMBER}"),
    re.compile(rf"requested tokens \({_NUMBER}\) exceed context window of {_NUMBER}"),
    re.compile(rf"input \({_NUMBER} tokens\) is longer than the model's context length \({_NUMBER}"),
    re.compile(rf"prompt contains {_NUMBER} tokens{_GAP} too large for model with {_NUMBER}"),
)
_SIZES_TURNED = (  # what is allowed, and what was sent
    re.compile(rf"maximum (?:context length|prompt length) is {_NUMBER}{_GAP}{_NUMBER}"),
    re.compile(rf"limit of {_NUMBER} tokens{_GAP}{_NUMBER}"),
    re.compile(rf"model token limit: {_NUMBER} \(requested: {_NUMBER}"),
)
_MOST_CHARS = 8_000  # characters that are read at the beginning of a text, and at its end
_MOST_ERRORS = 16
_MARGIN = 0.95
_BLIND = 0.75  # of what was rejected, if the error does not say by how much it was too long
_NEARLY = 0.8  # of the most that we send; an accepted prompt that large shows that more may be accepted
_LIFTS = 20  # then a twentieth more
_TRIED = 4  # if less cannot be sent: a quarter of the way from there to what was rejected


class Overflow(NamedTuple):
    """A rejection: what was sent and what is allowed, in the provider's tokens, if it says so."""

    sent: int | None = None
    most: int | None = None

    def most_tokens(self, counted: int) -> int:
        """How much may be sent instead of a prompt of this count; always less."""
        share = _BLIND
        if self.sent and self.most and self.most < self.sent:
            share = _MARGIN * self.most / self.sent
        return max(0, min(int(counted * share), counted - 1))


class Bound(Closed):
    """What a model that rejected a prompt seems to accept, by our count: how much to send at most, and what is too much."""

    most: int
    refused: int | None = None  # the shortest prompt that it is known to reject

    def room_for(self, needed: int) -> int | None:
        """What may be sent if no less than this is possible; None if that much was rejected already."""
        if self.refused is None or needed <= self.most:
            return max(needed, self.most)
        return needed + (self.refused - needed) // _TRIED if needed < self.refused else None

    def accepting(self, tokens: int) -> "Bound":
        """The bound after an accepted prompt: it may grow a little, and what was accepted is not too much."""
        if tokens <= _NEARLY * self.most:
            return self
        most = max(self.most, tokens)
        most += most // _LIFTS
        return Bound(most, self.refused if self.refused is not None and self.refused > most else None)


def read_overflow(error: object) -> Overflow | None:
    """What an error says about the length of the prompt; None if it is about something else.

    An error caused by others (`raise ... from`, an exception group) is read with them.
    """
    found = (_read(_words(each)) for each in islice(_with_causes(error), _MOST_ERRORS))
    return next((overflow for overflow in found if overflow is not None), None)


def _read(words: str) -> Overflow | None:
    if any(other in words for other in _OTHERS) or not any(all(part in words for part in parts) for parts in _TOO_LONG):
        return None
    for pattern in _SIZES:
        if (found := pattern.search(words)) is not None:
            return Overflow(_number(found[1]), _number(found[2]))
    for pattern in _SIZES_TURNED:
        if (found := pattern.search(words)) is not None:
            return Overflow(_number(found[2]), _number(found[1]))
    return Overflow()


def _number(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))


def _with_causes(error: object) -> Iterator[object]:
    """The error and its causes, nearest first."""
    waiting, seen = [error], {id(error)}
    for each in waiting:
        yield each
        causes = [getattr(each, "__cause__", None)] if isinstance(each, BaseException) else []
        causes += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        for cause in causes:
            if cause is not None and id(cause) not in seen:
                seen.add(id(cause))
                waiting.append(cause)


def _words(error: object) -> str:
    """The text of an error, in lower case and on one line."""
    texts = (_text_of(error, "code"), _text_of(error, "body"), _text_of(error))
    return " ".join(" ".join(texts).lower().split())


def _text_of(error: object, field: str = "") -> str:
    """An error, or one of its fields, as text: its beginning and its end. A foreign class may raise anything here."""
    try:
        value = getattr(error, field, "") if field else error
        text = bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)
    except Exception:  # noqa: BLE001
        return ""
    return text if len(text) <= 2 * _MOST_CHARS else f"{text[:_MOST_CHARS]} {text[-_MOST_CHARS:]}"
