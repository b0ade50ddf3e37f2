"""Bodies: a message as blobs, and back.

A message is kept as one blob of JSON. Texts of more than `LARGE` bytes are taken out of it and kept as blobs of their own,
so that a file that was read twice is stored once, and a part of it can be read without the rest.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from pageturn.errors import InvalidInput
from pageturn.messages import File, Image, Message, Native, Text, Thinking, ToolCall, ToolResult
from pageturn.wire import Closed, from_json, to_json

LARGE = 4_096


class Outside(Closed):
    """A text that was taken out of a message: where it stood, and where it is now."""

    path: tuple[str | int, ...]
    digest: str
    size: int


class Body(Closed, omit_defaults=True):
    """A message as it is kept."""

    message: msgspec.Raw
    outside: tuple[Outside, ...] = ()


_BODIES = msgspec.json.Decoder(Body)


class Packed(NamedTuple):
    """The digest of a body, the bytes of the whole message, the blobs that hold it, and the message as it will be read."""

    digest: str
    size: int
    blobs: Mapping[str, bytes]
    message: Message


def digest_of(data: bytes) -> str:
    """The name of a blob: what it contains."""
    return blake2b(data, digest_size=20).hexdigest()


def pack(message: Message) -> Packed:
    """The blobs of a message. Its id and its usage are the journal's business and not part of it."""
    written = to_json(msgspec.structs.replace(message, id=None, usage=None))
    read = from_json(Message, written)  # what cannot be read back is not written
    blobs: dict[str, bytes] = {}
    outside: list[Outside] = []
    size = len(written)
    if size > LARGE:
        raw = msgspec.json.decode(written)
        del written  # a text may be large, and stands in `read` and `raw` as well
        _take_out(raw, (), outside, blobs)
        written = (
            msgspec.json.encode(raw) if outside else to_json(msgspec.structs.replace(message, id=None, usage=None))
        )
    body = msgspec.json.encode(Body(msgspec.Raw(written), tuple(outside)))
    digest = digest_of(body)
    blobs[digest] = body
    return Packed(digest, size, blobs, read)


def unpack(data: bytes, blob: Callable[[str], bytes]) -> Message:
    """The message of a body; `blob` brings the texts that were taken out of it."""
    body = _BODIES.decode(data)
    if not body.outside:
        return from_json(Message, bytes(body.message))
    raw = msgspec.json.decode(body.message)
    for taken in body.outside:
        _put_back(raw, taken, blob(taken.digest).decode())
    return from_json(Message, msgspec.json.encode(raw))


def digests(data: bytes) -> tuple[str, ...]:
    """The blobs that a body needs beside itself."""
    return tuple(taken.digest for taken in _BODIES.decode(data).outside)


def search_text(message: Message) -> str:
    """The words of a message that a search can find: all but pictures and what only a vendor can read."""
    words: list[str] = []
    for part in message.content:
        match part:
            case Text(text=text) | Thinking(text=text) | Native(text=text):
                words.append(text)
            case ToolCall(name=name, arguments=arguments):
                words += [name, arguments]
            case ToolResult(parts=parts):
                words += [inner.text for inner in parts if isinstance(inner, Text)]
                words += [inner.path for inner in parts if isinstance(inner, File) and not _is_inline(inner.path)]
            case File(path=path) | Image(url=path) if not _is_inline(path):
                words.append(path)
    return "\n".join(words)


def _is_inline(url: str) -> bool:
    return url.startswith("data:")


def _take_out(raw: Any, path: tuple[str | int, ...], outside: list[Outside], blobs: dict[str, bytes]) -> None:
    items = raw.items() if isinstance(raw, dict) else enumerate(raw)
    for at, item in items:
        if isinstance(item, dict | list):
            _take_out(item, (*path, at), outside, blobs)
        elif isinstance(item, str) and len(item) > LARGE // 4 and len(data := item.encode()) > LARGE:
            digest = digest_of(data)
            blobs[digest] = data
            outside.append(Outside((*path, at), digest, len(data)))
            raw[at] = ""


def _put_back(raw: Any, taken: Outside, text: str) -> None:
    *way, last = taken.path
    try:
        for step in way:
            raw = raw[step]
        raw[last] = text
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidInput(f"$.outside{list(taken.path)}", expected="a place in the message", got="none") from error
