"""Reads and writes Anthropic's Messages API.

One user message there may hold tool results and instructions together. Here each result is a message of its own, and so is the text
between results, marked as joined to the message before it. `dump` normalises: content is a list of blocks, adjacent messages of one
role are merged, results come first, developer messages become system text, empty texts and nulls are left out.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pageturn.formats.blocks.anthropic import (
    IN_THE_MIDDLE,
    MARKS,
    VENDOR,
    Dump,
    cached,
    mark_ends,
    may_stay_inside,
    message_of,
    text_block,
)
from pageturn.formats.calls import CallIds, from_object
from pageturn.formats.fields import Fields, each_of, inside_result, refusing_depth
from pageturn.formats.prompts import (
    expects_answer,
    listed,
    loaded_prompt,
    prompt_of,
    reply_of,
    request_fields,
    several_in,
)
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import shaped
from pageturn.formats.streams.anthropic import AnthropicEvents
from pageturn.formats.tools import tools_for
from pageturn.formats.usage import Counts, usage_with_cache_apart
from pageturn.formats.user_messages import split
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.vendors import MOST_BREAKPOINTS, profile_of

_IDS = r"[a-zA-Z0-9_-]{1,64}"
_COUNTS = Counts(
    input="input_tokens",
    output="output_tokens",
    cache_read="cache_read_input_tokens",
    cache_write="cache_creation_input_tokens",
)


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; the assistant message alone is accepted too."""
    raw = reply_of(reply, VENDOR)
    role = Fields(raw, "$").text("role")
    if role != "assistant":
        raise InvalidInput("$.role", expected="assistant, as a reply has it", got=show(role))
    (message,) = _messages(raw, "$")
    return message


@refusing_depth
def load_request(body: object) -> Prompt:
    """A whole request: its messages with the system prompt before them, tools, cache marks, model, and the rest in `settings`."""
    fields = request_fields(body)
    given = several_in(fields, "messages")
    messages = [*_system(fields), *_loaded(given, "$.messages")]
    return loaded_prompt(fields, messages, MARKS.of(messages), VENDOR)


@refusing_depth
def load_messages(messages: Sequence[object]) -> list[Message]:
    """The messages of a request. One of the vendor's may become several: each result is a message of its own."""
    return list(_loaded(listed(messages), "$"))


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """The arguments of the client's `messages.create`: for a context all but the model, for a loaded request the model too.

    A context is cached up to its breakpoints, or up to its `marks` if it has any; cache marks kept in its messages are ignored.
    """
    given = prompt_of(prompt)
    is_derived = given.bands is not None and given.marks is None
    takes_system = profile_of(given.model).takes_system_messages
    tools = tools_for(given, VENDOR)
    if tools and given.bands is not None and is_derived and not given.bands.base:
        tools = cached(tools)  # instructions, if there are any, come after the tools, and one mark covers both
    dumped = Dump(CallIds(_IDS))
    shape = shaped(
        MARKS.without(given.messages) if is_derived else MARKS.kept(given),
        dumped.heard,
        dumped.answer,
        text_block,
        keeps_instruction=lambda message, *between: takes_system and may_stay_inside(message, *between),
        is_request=expects_answer(prompt, VENDOR),
    )
    shape.opening.pieces = [piece for piece in shape.opening.pieces if piece.block["type"] == "text"]
    mark_ends(shape, given.breakpoints_within(MOST_BREAKPOINTS - sum(map(MARKS.is_on, tools))))
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    if shape.opening.pieces:
        request["system"] = shape.opening.blocks
    request["messages"] = [message_of(turn) for turn in shape.turns]
    return request | ({"tools": tools} if tools else {})


class Stream(AnthropicEvents):
    """The message of a streamed answer: `feed` takes each event, and `message` is the result so far."""

    def _load(self, response: dict[str, Any]) -> Message:
        (message,) = _messages(response, "$")
        return message


# -- in


def _system(fields: Fields) -> list[Message]:
    content = fields.rest.pop("system", None)
    if content is None:
        return []
    return [Message(role=Role.SYSTEM, content=_blocks(content, "$.system"))]


def _loaded(messages: Sequence[Any], path: str) -> Iterator[Message]:
    return (one for index, raw in enumerate(messages) for one in _messages(raw, f"{path}[{index}]"))


def _messages(raw: Any, path: str) -> Iterator[Message]:
    fields = Fields(raw, path)
    role = fields.text("role")
    if role not in ("user", "assistant", "system"):
        raise InvalidInput(f"{path}.role", expected="user, assistant or system", got=show(role))
    blocks = _blocks(fields.rest.pop("content", ""), f"{path}.content")
    if role == "user":
        yield from split(blocks, fields.kept(VENDOR))
        return
    usage = usage_with_cache_apart(fields, _COUNTS, VENDOR)
    is_response = fields.take("type", str) == "message"
    metadata = {"response": fields.rest} if is_response and fields.rest else None
    mark = {IN_THE_MIDDLE: True} if role == "system" else {}
    extra = None if is_response else fields.kept(VENDOR, **mark)
    yield Message(role=Role(role), content=blocks, usage=usage, metadata=metadata, extra=extra)


def _blocks(content: Any, path: str) -> tuple[Part, ...]:
    return (Text(text=content),) if isinstance(content, str) else each_of(content, path, _block)


def _block(raw: Any, path: str) -> Part:
    fields = Fields(raw, path)
    match fields.text("type"):
        case "text":
            return Text(text=fields.text("text"), extra=fields.kept(VENDOR))
        case "thinking":
            text, signature = fields.text("thinking"), fields.take("signature", str)
            return Thinking(text=text, signature=signature, extra={VENDOR: fields.rest})
        case "redacted_thinking":
            return Thinking(text="", redacted=fields.text("data"), extra={VENDOR: fields.rest})
        case "tool_use":
            id_, name = fields.text("id"), fields.text("name")
            written = from_object(fields.take("input", dict) or {}, f"{path}.input")
            return ToolCall(id=id_, name=name, arguments=written, extra=fields.kept(VENDOR))
        case "tool_result":
            return _result(fields)
        case "image" | "document" as kind if isinstance(source := fields.rest.get("source"), dict):
            return _sourced(kind, source, fields) or Native(vendor=VENDOR, item=raw, text=_words(raw))
        case _:
            return Native(vendor=VENDOR, item=raw, text=_words(raw))


def _result(fields: Fields) -> ToolResult:
    content = fields.rest.pop("content", "")
    return ToolResult(
        tool_call_id=fields.text("tool_use_id"),
        content=content if isinstance(content, str) else inside_result(_blocks(content, f"{fields.path}.content")),
        is_error=fields.take("is_error", bool) or False,
        extra=fields.kept(VENDOR),
    )


def _sourced(kind: str, source: dict[str, Any], fields: Fields) -> Image | File | None:
    """An image or a document, if its source is of a known type."""
    match source:
        case {"type": "base64", "media_type": str() as mime_type, "data": str() as data}:
            url = f"data:{mime_type};base64,{data}"
        case {"type": "url", "url": str() as url} | {"type": "file", "file_id": str() as url}:
            pass
        case _:
            return None
    del fields.rest["source"]
    extra = fields.kept(VENDOR, **{"source": "file"} if source["type"] == "file" else {})
    return Image(url=url, extra=extra) if kind == "image" else File(path=url, extra=extra)


def _words(raw: dict[str, Any]) -> str:
    """A block of the vendor's own tools as text, for searching and for other vendors."""
    match raw:
        case {"text": str() as text} | {"content": str() as text} | {"stdout": str() as text}:
            return text
        case {"name": str() as name, "input": dict() as arguments}:
            return f"{name} {from_object(arguments, '$.input')}"
        case {"source": {"data": str() as text, "type": "text"}}:
            return text
        case {"source": {"content": inner}} | {"content": inner}:
            words = [_words(each) for each in (inner if isinstance(inner, list) else [inner]) if isinstance(each, dict)]
            return "\n".join(filter(None, words))
        case _:
            return ""
