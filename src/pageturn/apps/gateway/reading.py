"""Reads a model call and its answer into vendor-neutral messages. It sees bytes that have already passed, and no keys."""

from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.decoding import EventReader, is_object, unpacked
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.headers import is_subscription
from pageturn.apps.gateway.identity import Identity
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message
from pageturn.values.usage import Usage

_BEGINNING = 8  # chunks that show what a body is


class Seen(NamedTuple):
    """What is kept of an exchange after it ended, until it is read: bodies, and the encodings in the headers."""

    format: ModuleType
    name: str  # of the endpoint
    identity: Identity | None  # of the session, where the client has one
    body: bytes
    encoding: str | None
    status: int
    chunks: tuple[bytes, ...]
    answer_encoding: str | None
    ending: Ending
    is_subscription: bool = False  # who asks pays by the month

    @property
    def size(self) -> int:
        """The bytes that it holds."""
        return len(self.body) + sum(map(len, self.chunks))

    @classmethod
    def of(cls, exchange: Exchange, identity: Identity | None) -> "Seen":
        """What is kept of an exchange that has an answer."""
        assert exchange.endpoint.format is not None
        assert exchange.status is not None
        assert exchange.ending is not None
        return cls(
            format=exchange.endpoint.format,
            name=exchange.endpoint.path.strip("/"),
            identity=identity,
            body=exchange.body,
            encoding=exchange.encoding,
            status=exchange.status,
            chunks=tuple(exchange.chunks),
            answer_encoding=exchange.answer_encoding,
            ending=exchange.ending,
            is_subscription=is_subscription(exchange.headers),
        )


class Answered(NamedTuple):
    """What came back: the reply if it is complete, and the usage that the provider reports."""

    reply: Message | None
    usage: Usage | None


def read_request(seen: Seen, reader: ItemReader) -> ModelRequest:
    """What the client asked for; raises `InvalidInput` if it cannot be understood."""
    return ModelRequest.read(seen.format, seen.body, seen.encoding, seen.identity, reader)


def read_answer(seen: Seen) -> Answered:
    """The model's answer. An incomplete reply counts as none, since it is unknown what the client keeps of it.

    It may be complete although the exchange is not: clients leave when they have seen the end of it.
    """
    chunks = [*unpacked(seen.chunks, seen.answer_encoding)]
    if is_object(b"".join(chunks[:_BEGINNING])):
        try:
            reply = seen.format.load_reply(_object(chunks))
        except InvalidInput:
            if seen.ending is Ending.WHOLE:
                raise
            return Answered(None, None)
        return Answered(reply, reply.usage)
    stream = seen.format.Stream()
    reader = EventReader()
    is_told = False
    for chunk in chunks:
        for data in reader.feed(chunk):
            is_told = True
            stream.feed(data)
    if not is_told and seen.ending is Ending.WHOLE:
        raise InvalidInput("body", expected="an object or events", got="neither")
    message: Message = stream.message
    is_whole = stream.is_finished and bool(message.content)
    return Answered(message if is_whole else None, message.usage)


def _object(chunks: Iterable[bytes]) -> dict[str, Any]:
    data = b"".join(chunks)
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput("body", expected="JSON", got=show(error)) from error
    if not isinstance(body, dict):
        raise InvalidInput("body", expected="an object", got=type(body).__name__)
    return body
