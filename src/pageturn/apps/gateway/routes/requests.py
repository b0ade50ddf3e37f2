"""Reads from a request what a choice needs, and rewrites it for the candidate that was chosen: its model, and its upstream's key."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.body_fields import FIELDS, ITEMS, joined
from pageturn.apps.gateway.decoding import unpacked
from pageturn.apps.gateway.endpoints import ANTHROPIC
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import Headers, with_changes
from pageturn.apps.gateway.identity import identity_in, identity_of
from pageturn.apps.gateway.items import ItemReader, load_items
from pageturn.apps.gateway.routes.settings import Server
from pageturn.formats import anthropic, openai_responses
from pageturn.values.digests import digest_of
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message

_CHARS_A_TOKEN = 4  # of JSON; a choice needs no more than about how long a prompt is
_BEGINNING = 8  # items among which the first message is, by which a conversation without a name is known
_NEWEST = 4  # messages that say what kind of work it is
_CREDENTIALS = (  # of the client, for the vendor that it meant
    b"authorization",
    b"x-api-key",
    b"x-goog-api-key",
    b"cookie",
    b"chatgpt-account-id",
    b"openai-organization",
    b"openai-project",
)


class RequestOutline(NamedTuple):
    """A request, as far as a choice looks at it."""

    fields: dict[str, msgspec.Raw]
    model: str
    items: tuple[bytes, ...]
    session: str  # a name for the conversation
    is_stream: bool
    format: Any

    @property
    def body(self) -> bytes:
        """The request without compression."""
        return joined(self.fields)

    @property
    def tokens(self) -> int:
        """About how long the prompt is."""
        return sum(map(len, self.fields.values())) // _CHARS_A_TOKEN

    @property
    def history_tokens(self) -> int:
        """About how much of that is the conversation."""
        return sum(map(len, self.items)) // _CHARS_A_TOKEN

    def newest(self) -> list[Message]:
        """The last messages; none if they cannot be read, which is for the provider to report."""
        return self._loaded(self.items[-_NEWEST:])[-_NEWEST:]

    def since(self, count: int) -> list[Message]:
        """The messages of the items after so many; none if they cannot be read."""
        return self._loaded(self.items[count:])

    def field(self, name: str) -> Any:
        """A field, None where it is absent; raises `InvalidInput` where it is no text of JSON."""
        return _decoded(msgspec.json.Decoder(), self.fields[name], name) if name in self.fields else None

    def _loaded(self, items: Sequence[bytes]) -> list[Message]:
        try:
            return load_items(self.format, items)
        except InvalidInput:
            return []


def read_outline(exchange: Exchange, reader: ItemReader) -> RequestOutline:
    """The outline of a request; raises `InvalidInput` if it cannot be read."""
    format_ = exchange.endpoint.format
    assert format_ is not None
    body = b"".join(unpacked((exchange.body,), exchange.encoding)) if exchange.encoding else exchange.body
    fields = _decoded(FIELDS, body, "body")
    model = _decoded(msgspec.json.Decoder(), fields.get("model", b"null"), "model")
    if not isinstance(model, str):
        raise InvalidInput("model", expected="a name", got=show(model))
    raw = bytes(fields.get("input" if format_ is openai_responses else "messages", b"[]"))
    items = tuple(bytes(each) for each in _decoded(ITEMS, raw, "messages")) if raw.lstrip()[:1] == b"[" else (raw,)
    is_stream = bytes(fields.get("stream", b"false")).strip() == b"true"
    return RequestOutline(fields, model, items, _session(exchange, fields, items, reader), is_stream, format_)


def with_model(body: bytes, model: str) -> bytes:
    """A request for another model; everything else stays as it is, byte for byte."""
    fields = FIELDS.decode(body)
    fields["model"] = msgspec.Raw(msgspec.json.encode(model))
    return joined(fields)


def with_key(headers: Headers, server: Server) -> Headers:
    """The headers for an upstream: with its key in the place of the client's, where it has one."""
    if server.key is None:
        return headers
    key = server.key.read().encode()
    name, value = (b"x-api-key", key) if server.format == ANTHROPIC else (b"authorization", b"Bearer " + key)
    return with_changes(headers, [*((each, None) for each in _CREDENTIALS), (name, value)])


def _session(exchange: Exchange, fields: dict[str, msgspec.Raw], items: Sequence[bytes], reader: ItemReader) -> str:
    """The client's own name for a conversation, or one that is made of how it begins."""
    format_ = exchange.endpoint.format
    assert format_ is not None
    identity = identity_of(exchange.headers)
    if identity is None and format_ is anthropic and "metadata" in fields:
        with suppress(InvalidInput):
            identity = identity_in(_decoded(msgspec.json.Decoder(), fields["metadata"], "metadata"))
    if identity is not None:
        return f"name {digest_of(identity.name.encode())}"
    try:
        opening = reader.read(format_, items[:_BEGINNING])
    except InvalidInput:  # the error is the same each time
        return f"bytes {digest_of(items[0])}"
    end = next((at + 1 for at, item in enumerate(opening) if not item.opens), len(opening))  # with the first message
    began = [mark for item in opening[:end] for mark in item.fingerprints]
    return f"history {digest_of(' '.join(began).encode())}"


def _decoded(decoder: msgspec.json.Decoder[Any], data: Any, what: str) -> Any:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput(what, expected="JSON of the endpoint's form", got=show(error)) from error
