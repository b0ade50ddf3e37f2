"""Anthropic's messages.

A user message there may hold results and instructions together; here each result is a message of its own, and so is what
stands between them, joined to what came before. Normalised: contents are lists of blocks, neighbours of one role are one message,
results come first, developers speak as the system, empty texts are left out, null is absence.
"""

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.calls import CallIds, as_object, fitting_name, from_object
from pageturn.formats.fields import Fields, each_of, inside_result, only_text, own, refusing_depth, whole
from pageturn.formats.media import PDF, PICTURES, inline, placeholder, words_in
from pageturn.formats.prompts import (
    expects_answer,
    listed,
    model_in,
    prompt_of,
    reply_of,
    request_fields,
    settings_in,
    several_in,
    tools_in,
)
from pageturn.formats.settings import settings_for
from pageturn.formats.shape import Block, Shape, Turn, shaped
from pageturn.formats.streams.anthropic import AnthropicEvents
from pageturn.formats.tools import tools_for
from pageturn.formats.user_messages import split
from pageturn.values.errors import InvalidInput, show
from pageturn.values.fillers import NO_OUTPUT
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.prompt import Prompt
from pageturn.values.usage import Usage
from pageturn.values.vendors import MOST_BREAKPOINTS, profile_of

VENDOR = "anthropic"

_IN_THE_MIDDLE = "in the middle"  # in what `load_messages` keeps: that the vendor itself had a system message there
_IDS = r"[a-zA-Z0-9_-]{1,64}"
_MARK = "cache_control"
_MARKS = CacheMarks(VENDOR, _MARK)
_MEDIA = ("image", "document")


@refusing_depth
def load_reply(reply: object) -> Message:
    """A response as a message with its usage; the assistant message alone is taken too."""
    raw = reply_of(reply)
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
    return Prompt(
        messages=tuple(messages),
        host_tools=tools_in(fields),
        model=model_in(fields),
        marks=_MARKS.of(messages),
        settings=settings_in(fields),
        vendor=VENDOR,
    )


@refusing_depth
def load_messages(messages: Sequence[object]) -> list[Message]:
    """The messages of a request. One of the vendor's may become several: each result is a message of its own."""
    return list(_loaded(listed(messages), "$"))


@refusing_depth
def dump(prompt: Prompt | Sequence[Message]) -> dict[str, Any]:
    """What the client's `messages.create` takes: of a context everything but the model, of a request that was loaded that too.

    A context says itself up to where it is cached, unless its `marks` do; marks that came with its messages give way.
    """
    given = prompt_of(prompt)
    is_derived = given.bands is not None and given.marks is None
    takes_system = profile_of(given.model).takes_system_messages
    tools = tools_for(given, VENDOR)
    if tools and given.bands is not None and is_derived and not given.bands.base:
        tools = _cached(tools)  # instructions, where there are any, stand behind the tools and end both
    dumped = _Dump(CallIds(_IDS))
    shape = shaped(
        _MARKS.without(given.messages) if is_derived else _MARKS.kept(given),
        dumped.heard,
        dumped.answer,
        _text,
        keeps_instruction=lambda message, *between: takes_system and _stands_in_the_middle(message, *between),
        is_request=expects_answer(prompt, VENDOR),
    )
    shape.opening.pieces = [piece for piece in shape.opening.pieces if piece.block["type"] == "text"]
    _mark_ends(shape, given.breakpoints_within(MOST_BREAKPOINTS - sum(map(_MARKS.is_on, tools))))
    request = settings_for(given, VENDOR, has_tools=bool(tools))
    if shape.opening.pieces:
        request["system"] = shape.opening.blocks
    request["messages"] = [_message(turn) for turn in shape.turns]
    return request | ({"tools": tools} if tools else {})


class Stream(AnthropicEvents):
    """The message of a streamed answer: `feed` takes each event, `message` is what they come to."""

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
    usage = _usage(fields)
    is_response = fields.take("type", str) == "message"
    metadata = {"response": fields.rest} if is_response and fields.rest else None
    mark = {_IN_THE_MIDDLE: True} if role == "system" else {}
    extra = None if is_response else fields.kept(VENDOR, **mark)
    yield Message(role=Role(role), content=blocks, usage=usage, metadata=metadata, extra=extra)


def _usage(fields: Fields) -> Usage | None:
    if "usage" not in fields.rest:
        return None
    usage = fields.inner("usage")
    read, written = usage.count("cache_read_input_tokens"), usage.count("cache_creation_input_tokens")
    return Usage(
        input_tokens=usage.count("input_tokens") + read + written,
        output_tokens=usage.count("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        model=fields.take("model", str),
        extra=usage.kept(VENDOR),
    )


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
    """A picture or a document, where its source is one that we know."""
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
    """What a block of the vendor's own tools says in words, for searching and for other vendors."""
    match raw:
        case {"text": str() as text} | {"content": str() as text} | {"stdout": str() as text}:
            return text
        case {"name": str() as name, "input": dict() as arguments}:
            return f"{name} {from_object(arguments, '$.input')}"
        case {"source": {"data": str() as text, "type": "text"}}:
            return text
        case {"source": {"content": inner}} | {"content": inner}:
            told = [_words(each) for each in (inner if isinstance(inner, list) else [inner]) if isinstance(each, dict)]
            return "\n".join(filter(None, told))
        case _:
            return ""


# -- out


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _message(turn: Turn) -> dict[str, Any]:
    kept = own(turn.first, VENDOR) if turn.first is not None else {}
    kept.pop(_IN_THE_MIDDLE, None)
    return {"role": str(turn.role), "content": turn.blocks, **kept}


def _stands_in_the_middle(message: Message, behind: Role, ahead: Role | None) -> bool:
    """Whether the vendor itself had a system message, and one may stand here: behind the user's words, before the model's."""
    is_there = behind is Role.USER and ahead in (Role.ASSISTANT, None)
    return is_there and bool(own(message, VENDOR).get(_IN_THE_MIDDLE))


class _Dump:
    """What the parts of one request come to in blocks."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids

    def answer(self, message: Message) -> list[Block]:
        """The blocks of the model. The last of them cannot be thinking, so what nothing follows is left out."""
        text = only_text(message)
        if text is not None:
            return [_text(text)] if text.strip() else []
        blocks = [block for part in message.content for block in self._said(part)]
        while blocks and _is_thinking(blocks[-1]):
            blocks.pop()
        return blocks

    def heard(self, part: Part, _message: Message) -> Iterable[Block]:
        """The blocks of anybody else. Instructions are words alone, unless the vendor itself had more in them."""
        return self._result(part) if isinstance(part, ToolResult) else _shown(part)

    def _said(self, part: Part) -> list[Block]:
        kept = own(part, VENDOR)
        match part:
            case Thinking(text=text, signature=signature, redacted=redacted):
                return [*_thinking(text, signature, redacted, kept)] if _is_ours(part) else []
            case ToolCall():
                name = fitting_name(part.name, VENDOR)
                id_ = self._ids.of_call(part.id)
                return [{"type": "tool_use", "id": id_, "name": name, "input": as_object(part), **kept}]
            case ToolResult():
                return []
            case Image() | File():
                return [_text(placeholder(part))]
            case _:
                return _shown(part)

    def _result(self, result: ToolResult) -> list[Block]:
        """A result, and behind it what it may not hold: pictures of an error."""
        fields: Block = {"type": "tool_result", "tool_use_id": self._ids.of_result(result.tool_call_id)}
        content: Any = result.content
        behind: list[Block] = []
        if not isinstance(content, str):
            shown = [block for part in content for block in _shown(part)]
            behind = [block for block in shown if result.is_error and block["type"] in _MEDIA]
            content = [block for block in shown if block not in behind]
        if content and (not isinstance(content, str) or content.strip()):
            fields["content"] = content
        elif result.is_error:  # which must say what went wrong; any other result may be without content
            fields["content"] = NO_OUTPUT
        return [fields | ({"is_error": True} if result.is_error else {}) | own(result, VENDOR), *behind]


def _shown(part: Part) -> list[Block]:
    """The blocks of what may stand in a message of the user or in a result."""
    kept = own(part, VENDOR)
    match part:
        case Text() if (item := whole(kept)) is not None:
            return [item]
        case Text(text=text):
            return [{"type": "text", "text": text, **kept}] if text.strip() else []
        case Image(url=url) if (source := _source(url, kept, PICTURES)) is not None:
            return [{"type": "image", "source": source, **kept}]
        case File(path=path) if (source := _source(path, kept, (PDF,))) is not None:
            return [{"type": "document", "source": source, **kept}]
        case Native(vendor=vendor, item=item) if vendor == VENDOR and isinstance(item.get("type"), str):
            return [dict(item)]
        case _:
            said = placeholder(part)
            return [_text(said)] if said else []


def _is_ours(part: Thinking) -> bool:
    """Whether a signature is this vendor's: the format that read it said so, or a host that names no vendor does."""
    return not part.extra or VENDOR in part.extra


def _thinking(text: str, signature: str | None, redacted: str | None, kept: dict[str, Any]) -> Iterator[Block]:
    if redacted:
        yield {"type": "redacted_thinking", "data": redacted, **kept}
    elif signature:
        yield {"type": "thinking", "thinking": text, "signature": signature, **kept}


def _is_thinking(block: Block) -> bool:
    return block["type"] in ("thinking", "redacted_thinking")


def _source(url: str, kept: dict[str, Any], mime_types: Collection[str]) -> Block | None:
    if kept.pop("source", None) == "file":
        return {"type": "file", "file_id": url}
    if url.startswith("https://"):
        return {"type": "url", "url": url}
    content = inline(url, mime_types)
    if content is not None:
        return {"type": "base64", "media_type": content.mime_type, "data": base64.b64encode(content.data).decode()}
    text = words_in(url) if PDF in mime_types else None
    return {"type": "text", "media_type": "text/plain", "data": text} if text is not None else None


def _cached(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools with an end of the cache behind the last that stands in the prompt, unless the host has put ends there."""
    standing = [at for at, tool in enumerate(tools) if not tool.get("defer_loading")]
    last = standing[-1] if standing and not any(map(_MARKS.is_on, tools)) else None
    return [{**tool, _MARK: _end()} if at == last else tool for at, tool in enumerate(tools)]


def _end() -> dict[str, Any]:
    return {"type": "ephemeral"}


def _mark_ends(shape: Shape, ends: Iterable[int]) -> None:
    """Let the cache end behind these messages, where they have no marks of their own."""
    pieces = [piece for turn in (shape.opening, *shape.turns) for piece in turn.pieces]
    for end in ends:
        if not any(_MARKS.is_on(piece.block) for piece in pieces if piece.source == end):
            _mark(shape.through(end))


def _mark(blocks: list[Block]) -> None:
    """Let the cache end behind the last of these blocks that can say so; thinking cannot."""
    last = next((block for block in reversed(blocks) if not _is_thinking(block)), None)
    if last is not None:
        last.setdefault(_MARK, _end())
