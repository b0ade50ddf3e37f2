"""Anthropic's messages.

A user message there may hold results and instructions together; here each result is a message of its own, and so is what
stands between them, joined to what came before. Normalised: a content of one plain text is a string, the results of one
batch are in one message, developers speak as the system, empty texts are left out, null is absence.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pageturn import data_urls
from pageturn.derivation.context import Context
from pageturn.errors import InvalidInput
from pageturn.formats.calls import CallIds, as_object, fitting_name, from_object
from pageturn.formats.contexts import messages_of, tools_of
from pageturn.formats.fields import WHOLE, Fields, each_of, inside_result, only_text, own, plain
from pageturn.formats.joining import belongs, split
from pageturn.formats.lowering import lowered
from pageturn.formats.placeholders import is_inline, is_web, placeholder
from pageturn.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.recall_tool import RecallTool
from pageturn.usage import Usage

VENDOR = "anthropic"

CONTINUED = "(The conversation began earlier.)"  # a request must begin with a user message

_IN_THE_MIDDLE = "in the middle"  # in what `load` keeps: that the vendor itself had a system message there
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_IDS = r"[a-zA-Z0-9_-]{1,64}"
_LONGEST_NAME = 128
_MOST_BREAKPOINTS = 4
_MARK = "cache_control"


def load(given: Any) -> Message | list[Message]:
    """A message as one or several, or a list or a request as several; a response as one with usage."""
    match plain(given):
        case list() as messages:
            return [one for index, raw in enumerate(messages) for one in _messages(raw, f"$[{index}]")]
        case {"messages": list() as messages} as request:
            system = _system(Fields(request, "$"))
            return [*system, *(one for i, raw in enumerate(messages) for one in _messages(raw, f"$.messages[{i}]"))]
        case message:
            several = list(_messages(message, "$"))
            return several[0] if len(several) == 1 else several


def dump(context: Context | Sequence[Message], *, breakpoints: Sequence[int] | None = None) -> dict[str, Any]:
    """What the client's `messages.create` takes beside the model; up to each of these messages the prompt is cached.

    A derived context says itself where, unless it is told; marks that came with its messages give way.
    """
    ids = CallIds(_IDS)
    tools = tools_of(context, _declare)
    if tools and breakpoints is None and isinstance(context, Context) and not context.bands.base:
        tools["tools"] = _cached(
            tools["tools"]
        )  # instructions, where there are any, stand behind the tools and end both
    ends = _ends(context, breakpoints, spent=sum(map(_is_marked, tools.get("tools", ()))))
    shown: list[dict[str, Any]] = []  # every block so far
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    before: Message | None = None
    for index, message in enumerate(messages_of(context)):
        role = _ROLES[message.role]
        is_opening = role == "system" and not messages
        said = message if is_opening else lowered(message)
        blocks = _dump_blocks(said, ids, with_marks=not isinstance(context, Context))
        if is_opening:
            blocks = [block for block in blocks if block["type"] == "text"]
        shown += blocks
        if index in ends:
            _mark(shown)
        if not blocks:
            continue
        if is_opening:
            system += blocks
        elif messages and messages[-1]["role"] == role and belongs(message, before):
            messages[-1]["content"] += blocks
        else:
            kept = own(message, VENDOR)
            if role == "system" and not kept.pop(_IN_THE_MIDDLE, False):
                role = "user"  # only some models take others, and those only in some places
            if not messages and role == "assistant":
                messages.append({"role": "user", "content": [{"type": "text", "text": CONTINUED}]})
            messages.append({"role": role, "content": blocks, **kept})
        before = message
    request: dict[str, Any] = {"system": _short(system)} if system else {}
    request["messages"] = [fields | {"content": _short(fields["content"])} for fields in messages]
    return request | tools


_ROLES = {
    Role.SYSTEM: "system",
    Role.DEVELOPER: "system",
    Role.USER: "user",
    Role.TOOL: "user",
    Role.ASSISTANT: "assistant",
}


# -- in


def _system(fields: Fields) -> list[Message]:
    content = fields.rest.pop("system", None)
    if content is None:
        return []
    return [Message(role=Role.SYSTEM, content=_blocks(content, "$.system"))]


def _messages(raw: Any, path: str) -> Iterator[Message]:
    fields = Fields(raw, path)
    role = fields.text("role")
    if role not in ("user", "assistant", "system"):
        raise InvalidInput(f"{path}.role", expected="user, assistant or system", got=repr(role))
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
            id_, name, arguments = fields.text("id"), fields.text("name"), fields.take("input", dict) or {}
            return ToolCall(id=id_, name=name, arguments=from_object(arguments), extra=fields.kept(VENDOR))
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
            return f"{name} {from_object(arguments)}"
        case {"source": {"data": str() as text, "type": "text"}}:
            return text
        case {"source": {"content": inner}} | {"content": inner}:
            told = [_words(each) for each in (inner if isinstance(inner, list) else [inner]) if isinstance(each, dict)]
            return "\n".join(filter(None, told))
        case _:
            return ""


# -- out


def _declare(tool: RecallTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _dump_blocks(message: Message, ids: CallIds, *, with_marks: bool) -> list[dict[str, Any]]:
    text = only_text(message)
    if text and text.strip():
        return [{"type": "text", "text": text}]
    blocks = [block for part in message.content for block in _dump_part(part, ids)]
    return blocks if with_marks else [_unmarked(block) for block in blocks]


def _dump_part(part: Part, ids: CallIds) -> list[dict[str, Any]]:
    kept = own(part, VENDOR)
    match part:
        case Text() if WHOLE in kept:
            return [dict(kept[WHOLE])]
        case Text(text=text):
            return [{"type": "text", "text": text, **kept}] if text.strip() else []
        case Thinking(text=text, signature=signature, redacted=redacted):
            return [*_dump_thinking(text, signature, redacted, kept)] if _is_ours(part) else []
        case ToolCall():
            name = fitting_name(part.name, _LONGEST_NAME)
            return [{"type": "tool_use", "id": ids.of_call(part.id), "name": name, "input": as_object(part), **kept}]
        case ToolResult():
            return [_dump_result(part, ids) | kept]
        case Image(url=url) if (source := _source(url, kept, _IMAGES)) is not None:
            return [{"type": "image", "source": source, **kept}]
        case File(path=path) if (source := _source(path, kept, ("application/pdf",))) is not None:
            return [{"type": "document", "source": source, **kept}]
        case Native(vendor=vendor, item=item) if vendor == VENDOR:
            return [dict(item)]
        case _:
            said = placeholder(part)
            return [{"type": "text", "text": said}] if said else []


def _is_ours(part: Thinking) -> bool:
    """Whether a signature is this vendor's: `load` said so, or a host that names no vendor does."""
    return not part.extra or VENDOR in part.extra


def _dump_thinking(
    text: str, signature: str | None, redacted: str | None, kept: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if redacted is not None:
        yield {"type": "redacted_thinking", "data": redacted, **kept}
    elif signature is not None:
        yield {"type": "thinking", "thinking": text, "signature": signature, **kept}


def _dump_result(result: ToolResult, ids: CallIds) -> dict[str, Any]:
    content: Any = result.content
    if not isinstance(content, str):
        content = [block for part in content for block in _dump_part(part, ids)]
    fields = {"type": "tool_result", "tool_use_id": ids.of_result(result.tool_call_id), "content": content}
    return fields | ({"is_error": True} if result.is_error else {})


def _source(url: str, kept: dict[str, Any], mime_types: Sequence[str]) -> dict[str, Any] | None:
    if kept.pop("source", None) == "file":
        return {"type": "file", "file_id": url}
    if is_web(url):
        return {"type": "url", "url": url}
    header, _, data = url.partition(",")
    data = "".join(data.split())
    content = data_urls.read(f"{header},{data}") if is_inline(url) else None
    if content is None:
        return None
    if content.mime_type.startswith("text/") and "application/pdf" in mime_types:
        return {"type": "text", "media_type": "text/plain", "data": content.data.decode("utf-8", "replace")}
    is_taken = content.mime_type in mime_types and header.endswith(";base64")
    return {"type": "base64", "media_type": content.mime_type, "data": data} if is_taken else None


def _ends(context: Context | Sequence[Message], breakpoints: Sequence[int] | None, *, spent: int) -> set[int]:
    """The messages behind which the cache ends. Of a caller's places the last count most."""
    left = max(_MOST_BREAKPOINTS - spent, 0)
    if breakpoints is None:
        return set(context.breakpoints_within(left) if isinstance(context, Context) else ())
    total = len(messages_of(context))
    return set(sorted({at % total for at in breakpoints if -total <= at < total}, reverse=True)[:left])


def _cached(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tools with an end of the cache behind the last that stands in the prompt, unless the host has put ends there."""
    standing = [at for at, tool in enumerate(tools) if not tool.get("defer_loading")]
    last = standing[-1] if standing and not any(map(_is_marked, tools)) else None
    return [{**tool, _MARK: _end()} if at == last else tool for at, tool in enumerate(tools)]


def _is_marked(block: Mapping[str, Any]) -> bool:
    return block.get(_MARK) is not None


def _end() -> dict[str, Any]:
    return {"type": "ephemeral"}


def _mark(blocks: list[dict[str, Any]]) -> None:
    """Let the cache end behind the last of these blocks that can say so; thinking cannot."""
    for block in reversed(blocks):
        if "thinking" not in block["type"]:
            block.setdefault(_MARK, _end())
            return


def _unmarked(content: Any) -> Any:
    """Blocks, and those inside them, without the ends of an earlier request's cache, which would count as well."""
    match content:
        case list():
            return [_unmarked(block) for block in content]
        case dict():
            fields = {name: value for name, value in content.items() if name != _MARK}
            return fields | {name: _unmarked(fields[name]) for name in ("content", "source") if name in fields}
        case _:
            return content


def _short(blocks: list[dict[str, Any]]) -> Any:
    """The content as a string where it is nothing but one plain text."""
    match blocks:
        case [{"type": "text", "text": text, **rest}] if not rest:
            return text
        case _:
            return blocks
