"""Writes the parts of messages as OpenAI's chat messages."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pageturn.formats.cache_marks import CacheMarks
from pageturn.formats.calls import CallIds, as_object, fitting_name
from pageturn.formats.fields import (
    as_json,
    form_of,
    inside,
    only_text,
    own,
    whole,
)
from pageturn.formats.media import PDF, PICTURES, in_words, inline, is_inline, is_web, placeholder
from pageturn.formats.shape import Block, Piece, Shape, Turn
from pageturn.values.fillers import HEARD, NO_OUTPUT
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.vendors import ModelProfile

VENDOR = "openai_chat"
REASONING = ("reasoning_content", "reasoning")  # texts in fields of their own
_REFUSALS = ("refusal", "refusal part")
_MEDIA = ("image_url", "file", "input_audio")
FUNCTION = "function"
# OpenAI's, and that of others for Anthropic's models.
MARKS = CacheMarks(VENDOR, "prompt_cache_breakpoint", "cache_control")
WRITTEN = {"custom": "input"}  # the field with the arguments of this kind of call; the others have "arguments"


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


class Dump:
    """Converts the parts of one request to blocks: content parts, whole tool messages, and for an answer its other fields."""

    def __init__(self, ids: CallIds, profile: ModelProfile, contents: "Contents") -> None:
        self._ids = ids
        self._contents = contents
        self._is_openai = profile.is_openai

    def answer(self, message: Message) -> list[Block]:
        """The blocks of the model; none for an empty message, since reasoning alone is rejected."""
        text = only_text(message)
        if text is not None:
            return [text_block(text)] if text.strip() else []
        blocks = [block for part in message.content for block in self._said(part)]
        return blocks if any(block.keys().isdisjoint(REASONING) for block in blocks) else []

    def heard(self, part: Part, message: Message) -> Iterable[Block]:
        """The blocks of any other role: of a result the tool message, and after it the images that it may not contain."""
        if not isinstance(part, ToolResult):
            return _shown(part)
        shown = [block for inner in part.parts for block in _shown(inner)]
        media = [block for block in shown if block["type"] in _MEDIA]
        words = [block for block in shown if block["type"] not in _MEDIA]
        return [self._result(part, words, own(message, VENDOR), has_media=bool(media)), *media]

    def _said(self, part: Part) -> list[Block]:
        kept = own(part, VENDOR)
        form = form_of(kept)
        match part:
            case ToolCall():
                return [self._call(part)]
            case Thinking(text=text):
                is_taken = form in REASONING and not self._is_openai  # which has no such field
                return [{str(form): text}] if is_taken and text.strip() else []
            case Text(text=text) if form in _REFUSALS:
                is_part = self._is_openai and text.strip()
                return [{"type": "refusal", "refusal": text, **kept}] if is_part else _shown(Text(text=text))
            case Native(vendor=vendor, item={"audio": dict() as audio}) if vendor == VENDOR and self._is_openai:
                return [{"audio": audio}]
            case Image() | File():
                return [text_block(placeholder(part))]
            case Native() | ToolResult():
                said = placeholder(part)
                return [text_block(said)] if said else []
            case _:
                return _shown(part)

    def _call(self, call: ToolCall) -> Block:
        kept = own(call, VENDOR)
        kind = form_of(kept) or FUNCTION
        written = call.arguments
        if kind == FUNCTION and not isinstance(call.parsed, dict):  # which chat templates parse
            written = as_json(as_object(call), "$.arguments")
        body = {"name": fitting_name(call.name, VENDOR), WRITTEN.get(kind, "arguments"): written}
        if kind == "function_call":
            return {kind: body}
        body |= inside(kept, kind)
        return {"tool_call": {"id": self._ids.of_call(call.id), "type": kind, kind: body, **kept}}

    def _result(self, result: ToolResult, words: list[Block], kept: dict[str, Any], *, has_media: bool) -> Block:
        empty = "[image below]" if has_media else NO_OUTPUT
        content = self._contents.of(words) if words else empty
        if form_of(kept) == FUNCTION:
            return {"role": FUNCTION, "name": result.tool_call_id, "content": content, **kept}
        return {"role": "tool", "tool_call_id": self._ids.of_result(result.tool_call_id), "content": content, **kept}


class Contents(NamedTuple):
    """How the contents of every role but the user are written."""

    are_texts: bool  # as one string if they are only texts, since the model may accept nothing else
    keep_marks: bool  # ... unless its host marked them for a cache: then it takes parts

    def of(self, blocks: list[Block]) -> Any:
        is_text = self.are_texts and all(block["type"] == "text" for block in blocks)
        if is_text and not (self.keep_marks and any(map(MARKS.is_on, blocks))):
            return "\n\n".join(block["text"] for block in blocks)
        return _as_content(blocks)


def messages_of(
    shape: Shape, given: Sequence[Message], profile: ModelProfile, contents: Contents
) -> Iterator[dict[str, Any]]:
    """The messages of the turns: the results of a turn become one message each, before the user's text."""
    instructing = "system"
    if shape.opening.first is not None:
        if profile.is_openai:  # which has two names for it, and accepts only one of them in a request
            instructing = str(shape.opening.first.role)
        content = contents.of(shape.opening.blocks)
        yield {"role": instructing, "content": content, **own(shape.opening.first, VENDOR)}
    for turn in shape.turns:
        if turn.role is Role.ASSISTANT:
            yield {"role": "assistant", **_answer(turn, contents), **_kept(turn.pieces[0], given)}
            continue
        results = [piece.block for piece in turn.pieces if piece.rank is not None]
        yield from results
        rest = turn.pieces[len(results) :]
        if rest and results and not profile.is_openai:
            yield {"role": "assistant", "content": HEARD}
        if rest:
            role = "user" if turn.role is Role.USER else instructing
            yield {"role": role, "content": _as_content([piece.block for piece in rest]), **_kept(rest[0], given)}


def _kept(piece: Piece, given: Sequence[Message]) -> dict[str, Any]:
    """The fields of the original message; a result's own are on the result."""
    message = given[piece.source] if piece.source >= 0 else None
    return own(message, VENDOR) if message is not None and message.role is not Role.TOOL else {}


def _answer(turn: Turn, contents: Contents) -> dict[str, Any]:
    """The fields of an assistant message: content, calls, and texts beside them."""
    fields: dict[str, Any] = {}
    content: list[Block] = []
    source = None
    for piece in turn.pieces:
        block = piece.block
        if "type" not in block:
            for name, value in block.items():
                if name == "tool_call":
                    fields.setdefault("tool_calls", []).append(value)
                else:
                    fields[name] = f"{fields[name]}\n\n{value}" if name in REASONING and name in fields else value
            continue
        if source not in (None, piece.source) and _is_bare(block) and content and _is_bare(content[-1]):
            content[-1] = text_block(f"{content[-1]['text']}\n\n{block['text']}")
        else:
            content.append(block)
        source = piece.source
    return ({"content": contents.of(content)} if content else {}) | fields


def _as_content(blocks: list[Block]) -> Any:
    """A content as a string if it is a single text, otherwise as parts."""
    return blocks[0]["text"] if len(blocks) == 1 and _is_bare(blocks[0]) else blocks


def _is_bare(block: Block) -> bool:
    return block["type"] == "text" and len(block) == 2


def _shown(part: Part) -> list[Block]:
    """The content parts that the user may send, or that a result may have."""
    kept = own(part, VENDOR)
    form = form_of(kept)
    match part:
        case Text() if (item := whole(kept)) is not None:
            return [item]
        case Text(text=text):
            return [{"type": "text", "text": text, **kept}] if text.strip() else []
        case Image(url=url) if (
            is_web(url) or inline(url, PICTURES) or (VENDOR in (part.extra or {}) and not is_inline(url))
        ):
            return [{"type": "image_url", "image_url": {"url": url, **inside(kept, "image_url")}, **kept}]
        case File(path=path) if form == "file_id" or inline(path, (PDF,)) is not None:
            file = inside(kept, "file")
            if form != "file_id":
                file = {"filename": "document.pdf"} | file
            return [{"type": "file", "file": {"file_id" if form == "file_id" else "file_data": path, **file}, **kept}]
        case _:
            return in_words(part, VENDOR, text_block)
