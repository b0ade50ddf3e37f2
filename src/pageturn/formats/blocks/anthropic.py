"""Writes the parts of messages as Anthropic's content blocks, and sets cache marks."""

import base64
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.calls import CallIds, as_object, fitting_name
from pageturn.formats.fields import only_text, own, whole
from pageturn.formats.media import PDF, PICTURES, in_words, inline, placeholder, words_in
from pageturn.formats.shape import Block, Shape, Turn
from pageturn.values.fillers import NO_OUTPUT
from pageturn.values.messages import File, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult

VENDOR = "anthropic"
IN_THE_MIDDLE = "in the middle"  # a field kept by `load_messages`: the vendor itself had a system message there
_MARK = "cache_control"
MARKS = CacheMarks(VENDOR, _MARK)
_MEDIA = ("image", "document")


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def message_of(turn: Turn) -> dict[str, Any]:
    kept = own(turn.first, VENDOR) if turn.first is not None else {}
    kept.pop(IN_THE_MIDDLE, None)
    return {"role": str(turn.role), "content": turn.blocks, **kept}


def may_stay_inside(message: Message, behind: Role, ahead: Role | None) -> bool:
    """Whether the vendor itself had a system message here, and one is allowed: after the user's message, before the model's."""
    is_there = behind is Role.USER and ahead in (Role.ASSISTANT, None)
    return is_there and bool(own(message, VENDOR).get(IN_THE_MIDDLE))


class Dump:
    """Converts the parts of one request to blocks."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids

    def answer(self, message: Message) -> list[Block]:
        """The blocks of the model. The last of them cannot be thinking, so thinking at the end is left out."""
        text = only_text(message)
        if text is not None:
            return [text_block(text)] if text.strip() else []
        blocks = [block for part in message.content for block in self._said(part)]
        while blocks and _is_thinking(blocks[-1]):
            blocks.pop()
        return blocks

    def heard(self, part: Part, _message: Message) -> Iterable[Block]:
        """The blocks of any other role. Instructions are text only, unless the vendor itself had more in them."""
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
                return [text_block(placeholder(part))]
            case _:
                return _shown(part)

    def _result(self, result: ToolResult) -> list[Block]:
        """A result, and after it what a result may not contain: images with an error."""
        fields: Block = {"type": "tool_result", "tool_use_id": self._ids.of_result(result.tool_call_id)}
        content: Any = result.content
        behind: list[Block] = []
        if not isinstance(content, str):
            shown = [block for part in content for block in _shown(part)]
            behind = [block for block in shown if result.is_error and block["type"] in _MEDIA]
            content = [block for block in shown if block not in behind]
        if content and (not isinstance(content, str) or content.strip()):
            fields["content"] = content
        elif result.is_error:  # an error must have content; any other result may be empty
            fields["content"] = NO_OUTPUT
        return [fields | ({"is_error": True} if result.is_error else {}) | own(result, VENDOR), *behind]


def _shown(part: Part) -> list[Block]:
    """The blocks of a part in a user message or in a result."""
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
        case _:
            return in_words(part, VENDOR, text_block)


def _is_ours(part: Thinking) -> bool:
    """Whether a signature is this vendor's: the format that read it says so, or a host that names no vendor."""
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


def cached(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools with a cache mark after the last one in the prompt, unless the host has set marks."""
    standing = [at for at, tool in enumerate(tools) if not tool.get("defer_loading")]
    last = standing[-1] if standing and not any(map(MARKS.is_on, tools)) else None
    return [{**tool, _MARK: _end()} if at == last else tool for at, tool in enumerate(tools)]


def _end() -> dict[str, Any]:
    return {"type": "ephemeral"}


def mark_ends(shape: Shape, ends: Iterable[int]) -> None:
    """Set a cache mark after these messages, if they have none of their own."""
    pieces = [piece for turn in (shape.opening, *shape.turns) for piece in turn.pieces]
    for end in ends:
        if not any(MARKS.is_on(piece.block) for piece in pieces if piece.source == end):
            _mark(shape.through(end))


def _mark(blocks: list[Block]) -> None:
    """Set a cache mark on the last of these blocks that can have one; thinking cannot."""
    last = next((block for block in reversed(blocks) if not _is_thinking(block)), None)
    if last is not None:
        last.setdefault(_MARK, _end())
