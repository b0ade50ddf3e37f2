"""Bounds what a request may cost, from what it says itself, so that a reservation is never less than the bill.

No token is shorter than a byte, whatever the language. Pictures count by the rules of their model, and what a request only names (a file,
an earlier answer) as a full window.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.routes.requests import RequestOutline
from pageturn.tokens.families import family_of
from pageturn.tokens.images import Size
from pageturn.tokens.windows import window_of
from pageturn.values.errors import InvalidInput, show
from pageturn.values.model_prices import ModelPrice

_MOST_OUTPUT = 128_000  # tokens of an answer, where the request does not say: no model of the price list writes more
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CHOICES = "n"
_STORED = ("previous_response_id", "prompt")  # which stand for text that the provider has
_PICTURES = frozenset(("image", "image_url", "input_image"))
_FILES = frozenset(("document", "file", "input_file", "input_audio", "video_url", "container_upload", "item_reference"))
_LARGE = Size(10_000, 10_000)
_FOR_AN_HOUR = b'"1h"'  # how long a cache is asked to last, which may cost more
_MTOK = 1_000_000


class Bounded(NamedTuple):
    """A model that may answer, its price, and its window."""

    model: str
    price: ModelPrice
    window: int | None = None


def most_dollars(outline: RequestOutline, candidates: Sequence[Bounded]) -> float:
    """The most that any of these models would cost; raises `InvalidInput` where a limit is no number."""
    output = most_output(outline)
    return max((_dollars(outline, output, each) for each in candidates), default=0.0)


def most_output(outline: RequestOutline) -> int:
    """The most tokens that all answers to a request have: by the largest limit, since vendors differ in which one counts."""
    limits = [limit for name in _LIMITS if (limit := _whole(outline, name)) is not None]
    choices = _whole(outline, _CHOICES)
    return (max(limits) if limits else _MOST_OUTPUT) * (1 if choices is None else max(1, choices))


def most_input(outline: RequestOutline, model: str, window: int | None = None) -> int:
    """The most tokens that a prompt has."""
    profile, rule = family_of(model)
    size = sum(map(len, outline.fields.values()))
    media = _media(outline)
    tokens = size - media.picture_bytes + media.pictures * max(rule(None), rule(_LARGE))
    if "tools" in outline.fields:
        tokens += profile.tools_once
    if media.has_files or any(outline.field(name) is not None for name in _STORED):
        tokens = max(tokens, window or window_of(model))
    return tokens


def _dollars(outline: RequestOutline, output: int, candidate: Bounded) -> float:
    price = candidate.price
    most_expensive = max(price.input, price.cache_write)
    if any(_FOR_AN_HOUR in bytes(field) for field in outline.fields.values()):
        most_expensive = max(most_expensive, price.cache_write_1h or 0.0)
    return (most_expensive * most_input(outline, candidate.model, candidate.window) + price.output * output) / _MTOK


def _whole(outline: RequestOutline, name: str) -> int | None:
    value = outline.field(name)
    if value is not None and (type(value) is not int or value < 0):
        raise InvalidInput(name, expected="a whole number", got=show(value))
    return value


class _Media(NamedTuple):
    """What of a request is no text."""

    pictures: int = 0
    picture_bytes: int = 0
    has_files: bool = False


def _media(outline: RequestOutline) -> _Media:
    pictures = held = 0
    has_files = False
    waiting: list[Any] = [_decoded(item) for item in outline.items]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            kind = each.get("type")
            if kind in _PICTURES and isinstance(kind, str):
                pictures += 1
                held += len(msgspec.json.encode(each))
            else:
                has_files = has_files or (isinstance(kind, str) and kind in _FILES)
                waiting += each.values()
    return _Media(pictures, held, has_files)


def _decoded(item: bytes) -> Any:
    try:
        return msgspec.json.decode(item)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput("messages", expected="JSON", got=show(error)) from error
