"""Reading: what a call of a model and its answer say, in no vendor's form. It sees bytes that have passed already, and no keys."""

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.decoding import EventReader, unpacked
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.headers import value_of
from pageturn.apps.gateway.identity import Identity
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message, Native
from pageturn.values.prompt import Prompt
from pageturn.values.usage import Usage


class Seen(NamedTuple):
    """What is kept of an exchange after it ended, until it is read: bodies, and of the headers what they are packed in."""

    format: ModuleType
    name: str  # of the endpoint
    identity: Identity | None  # of the session, where the client has one
    body: bytes
    encoding: str | None
    status: int
    chunks: tuple[bytes, ...]
    answer_encoding: str | None
    is_stream: bool
    ending: Ending

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
            encoding=value_of(exchange.headers, b"content-encoding"),
            status=exchange.status,
            chunks=tuple(exchange.chunks),
            answer_encoding=value_of(exchange.answer_headers, b"content-encoding"),
            is_stream=exchange.is_stream,
            ending=exchange.ending,
        )


class Answered(NamedTuple):
    """What came back: the reply where it is whole, and what the provider says it took."""

    reply: Message | None
    usage: Usage | None


def read_request(seen: Seen) -> Prompt:
    """What the client asked for; raises `InvalidInput` where nobody can say."""
    prompt: Prompt = seen.format.load_request(_object(unpacked((seen.body,), seen.encoding)))
    return prompt


def read_answer(seen: Seen) -> Answered:
    """What the model answered. A reply that is not whole is no reply, since nobody knows what the client keeps of it.

    It may be whole although the exchange is not: clients leave when they have seen the end of it.
    """
    chunks = unpacked(seen.chunks, seen.answer_encoding)
    if not seen.is_stream:
        try:
            reply = seen.format.load_reply(_object(chunks))
        except InvalidInput:
            if seen.ending is Ending.WHOLE:
                raise
            return Answered(None, None)
        return Answered(reply, reply.usage)
    stream = seen.format.Stream()
    reader = EventReader()
    for chunk in chunks:
        for data in reader.feed(chunk):
            stream.feed(data)
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


def is_side_call(prompt: Prompt) -> bool:
    """Whether a client asks beside its conversation, for a title and the like: without tools, or for an answer of a certain JSON."""
    return not _has_tools(prompt) or _wants_form(prompt.settings)


def follows(prompt: Prompt) -> str | None:
    """The answer that the messages come after, where they are not all of the conversation."""
    id_ = prompt.settings.get("previous_response_id")
    return id_ if isinstance(id_, str) else None


def _has_tools(prompt: Prompt) -> bool:
    """Codex has its tools among the messages."""
    items = (part.item for message in prompt.messages for part in message.content if isinstance(part, Native))
    return bool(prompt.host_tools) or any(item.get("type") == "additional_tools" for item in items)


def _wants_form(settings: Mapping[str, Any]) -> bool:
    """Whether an answer by a JSON schema is asked for, in any of the three ways to ask."""
    asked = (settings.get("output_config"), settings.get("text"), settings)
    forms = (each.get("format") or each.get("response_format") for each in asked if isinstance(each, Mapping))
    return any(isinstance(form, Mapping) and form.get("type") == "json_schema" for form in forms)
