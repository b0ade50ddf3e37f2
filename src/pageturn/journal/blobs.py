"""Packs messages into blobs, and unpacks them.

A message is stored as one blob of JSON. Texts of more than `LARGE` bytes are stored as blobs of their own, so that a file that was
read twice is stored once, and a part of it can be read without the rest.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from pageturn.values.digests import digest_of
from pageturn.values.errors import InvalidInput
from pageturn.values.json import Closed, from_builtins, from_json, to_json
from pageturn.values.messages import File, Image, Message, Native, Text, Thinking, ToolCall, ToolResult

LARGE = 4_096
_PIECE = 1_000_000  # characters encoded at a time if the bytes are not kept
_PLACE = "."  # replaces a text of a message that is handled separately; not empty, since defaults are left out
_LONG_FIELDS: Mapping[type, str] = {
    Text: "text",
    Image: "url",
    File: "path",
    ToolCall: "arguments",
    ToolResult: "content",
    Thinking: "text",
    Native: "text",
}

Place = tuple[str | int, ...]


class Outside(Closed):
    """A text stored outside of its message: its place there, and its blob."""

    path: Place
    digest: str
    size: int


class Body(Closed, omit_defaults=True):
    """A message as stored."""

    message: msgspec.Raw
    outside: tuple[Outside, ...] = ()


_BODIES = msgspec.json.Decoder(Body)
_ENCODER = msgspec.json.Encoder()


class Packed(NamedTuple):
    """A packed message: the digest of its body, its total bytes, its blobs, and the message as it will be read back."""

    digest: str
    size: int
    blobs: Mapping[str, bytes]
    message: Message


def pack(message: Message) -> Packed:
    """Pack a message into blobs. Its id and usage are not included; the journal stores them."""
    if message.id is not None or message.usage is not None:
        message = msgspec.structs.replace(message, id=None, usage=None)
    long = _long_texts(message)  # each step below would put another copy into memory
    written = to_json(_with_texts(message, dict.fromkeys(long, _PLACE)) if long else message)
    read = from_json(Message, written)  # what cannot be read back is not written
    if long:
        read = _with_texts(read, long)
    blobs: dict[str, bytes] = {}
    outside: list[Outside] = []
    size = len(written) + sum(_json_size(text) - len(_PLACE) for text in long.values())
    if size > LARGE:
        raw = msgspec.json.decode(written)
        _take_out(raw, (), long, outside, blobs)
        written = msgspec.json.encode(raw) if outside else written
    body = _ENCODER.encode(Body(msgspec.Raw(written), tuple(outside)))
    digest = digest_of(body)
    blobs[digest] = body
    return Packed(digest, size, blobs, read)


def _long_texts(message: Message) -> dict[Place, str]:
    """The texts of a message that are too long for its body, by their places."""
    long: dict[Place, str] = {}
    for part in message.content:
        value = getattr(part, _LONG_FIELDS[type(part)])
        if type(value) is not str or len(value) > LARGE:
            break
    else:
        return long  # most messages have none

    def look(place: Place, part: object) -> None:
        name = _LONG_FIELDS.get(type(part), "")
        value = getattr(part, name, None)
        if isinstance(value, str) and len(value) > LARGE:
            long[*place, name] = value if type(value) is str else str.__str__(value)
        elif isinstance(value, tuple):
            for at, inner in enumerate(value):
                look((*place, name, at), inner)

    for at, part in enumerate(message.content):
        look(("content", at), part)
    return long


def _with_texts(message: Message, texts: Mapping[Place, str]) -> Message:
    """The message with these texts in their places."""

    def changed(place: Place, part: Any) -> Any:
        name = _LONG_FIELDS.get(type(part), "")
        value = getattr(part, name, None)
        if isinstance(value, tuple):
            value = tuple([changed((*place, name, at), inner) for at, inner in enumerate(value)])
        elif (*place, name) in texts:
            value = texts[*place, name]
        else:
            return part
        return msgspec.structs.replace(part, **{name: value})

    content = tuple([changed(("content", at), part) for at, part in enumerate(message.content)])
    return msgspec.structs.replace(message, content=content)


def _json_size(text: str) -> int:
    """The bytes that a text takes in JSON, without its quotes."""
    return sum(len(to_json(text[at : at + _PIECE])) - 2 for at in range(0, len(text), _PIECE))


def unpack(data: bytes, blob: Callable[[str], bytes]) -> Message:
    """The message of a body; `blob` returns the texts stored outside of it."""
    body = _BODIES.decode(data)
    if not body.outside:
        return from_json(Message, bytes(body.message))
    raw = msgspec.json.decode(body.message)
    for taken in body.outside:
        _put_back(raw, taken, blob(taken.digest).decode())
    return from_builtins(Message, raw)


def is_body(data: bytes) -> bool:
    """Whether a blob is the body of a message, and not a text or a note about it."""
    try:
        return msgspec.json.decode(_BODIES.decode(data).message, type=dict).keys() >= {"role", "content"}
    except ValueError:
        return False


def digests(data: bytes) -> tuple[str, ...]:
    """The blobs that a body needs besides itself."""
    return tuple(taken.digest for taken in _BODIES.decode(data).outside)


def _take_out(
    raw: Any, place: Place, long: Mapping[Place, str], outside: list[Outside], blobs: dict[str, bytes]
) -> None:
    """Take long texts, and those already stored outside, out of a message in JSON."""
    items = raw.items() if isinstance(raw, dict) else enumerate(raw)
    for at, item in items:
        if isinstance(item, dict | list):
            _take_out(item, (*place, at), long, outside, blobs)
        elif isinstance(item, str):
            text = long.get((*place, at), item) if long else item
            if len(text) > LARGE // 4 and len(data := text.encode()) > LARGE:
                digest = digest_of(data)
                blobs[digest] = data
                outside.append(Outside((*place, at), digest, len(data)))
                raw[at] = ""


def _put_back(raw: Any, taken: Outside, text: str) -> None:
    *way, last = taken.path
    try:
        for step in way:
            raw = raw[step]
        raw[last] = text
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidInput(f"$.outside{list(taken.path)}", expected="a place in the message", got="none") from error
