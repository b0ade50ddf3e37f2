"""Writes the parts of messages as items of OpenAI's Responses API."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from pageturn.formats.calls import CallIds, as_object, fitting_name
from pageturn.formats.fields import (
    as_json,
    form_of,
    only_text,
    own,
    whole,
)
from pageturn.formats.media import PDF, PICTURES, in_words, inline, is_web, placeholder
from pageturn.formats.shape import Block, Shape
from pageturn.values.fillers import NO_OUTPUT
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult

VENDOR = "openai_responses"
ITEM = "item"  # ... and the fields of the message item around a text
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}  # the field with the arguments of each kind
_SAID = {"text": "output_text", "refusal": "refusal"}
_FILES = ("file_id", "file_url", "file_data")


def text_block(text: str) -> Block:
    return {"type": "input_text", "text": text}


def items_of(shape: Shape) -> Iterator[dict[str, Any]]:
    """The items of the turns: the model's items, and results, unchanged; other adjacent parts of one role are one message."""
    instructing = str(shape.opening.first.role) if shape.opening.first is not None else "system"
    for turn in (shape.opening, *shape.turns):
        if turn.role is Role.ASSISTANT:
            yield from turn.blocks
            continue
        role = "user" if turn.role is Role.USER else instructing
        for is_content, run in groupby(turn.blocks, key=_is_content):
            if is_content:
                kept = own(turn.first, VENDOR) if turn.first is not None and turn.first.role is not Role.TOOL else {}
                yield {"type": "message", "role": role, "content": [*run], **kept}
            else:
                yield from run


def _is_content(block: Block) -> bool:
    return str(block["type"]).startswith("input_")


class Dump:
    """Converts the parts of one request: to items, and to the content of messages that are not the model's."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._kinds: dict[str, str] = {}  # of the calls, by the ids that are sent
        self._sent: set[str] = set()  # the ids of items, which must be unique in a request

    def answer(self, message: Message) -> list[Block]:
        """The items of the model. Items that came after reasoning have their ids with it, and none without it; trailing reasoning is left
        out.
        """
        text = only_text(message)
        if text is not None:
            return [{"type": "message", "role": "assistant", "content": text}] if text.strip() else []
        items: list[Block] = []
        for part in message.content:
            items += self._said(part, items)
        items = self._with_own_reasoning(items)
        while items and items[-1]["type"] == "reasoning":
            items.pop()
        self._sent |= {id_ for item in items if (id_ := _id_of(item)) is not None}
        return items

    def _with_own_reasoning(self, items: list[Block]) -> list[Block]:
        """The items; reasoning that is already in the request is left out, and the item after it is sent without its id."""
        kept: list[Block] = []
        has_reasoning = False  # before this item, and not left out
        for item in items:
            id_ = _id_of(item)
            is_repeated = id_ is not None and id_ in self._sent
            if item["type"] == "reasoning":
                has_reasoning = not is_repeated
                kept += [item] if has_reasoning else []
            else:
                kept.append(item if has_reasoning and id_ is not None and not is_repeated else _without_id(item))
        return kept

    def heard(self, part: Part, _message: Message) -> Iterable[Block]:
        """The items and contents of any other role."""
        return [self._result(part)] if isinstance(part, ToolResult) else _shown(part)

    def _said(self, part: Part, items: list[Block]) -> list[Block]:
        """The items of a part, unless it is added to the last of the present ones."""
        kept = own(part, VENDOR)
        form = form_of(kept)
        match part:
            case Text(text=text) if ITEM in kept:
                item = kept.pop(ITEM)
                name = "refusal" if form == "refusal" else "text"
                content = {"type": _SAID[name], name: text, **kept}
                if not text.strip():
                    return []
                if not isinstance(item, dict) and items and isinstance(items[-1].get("content"), list):
                    items[-1]["content"].append(content)
                    return []
                return [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [content],
                        **(item if isinstance(item, dict) else {}),
                    }
                ]
            case Thinking(redacted=hidden) if VENDOR in (part.extra or {}):
                return [{"type": "reasoning", **kept} | ({"encrypted_content": hidden} if hidden else {})]
            case ToolCall():
                kind = form if form in CALLS else "function_call"
                name = fitting_name(part.name, VENDOR)
                id_ = self._ids.of_call(part.id)
                self._kinds[id_] = kind
                written = part.arguments
                if kind == "function_call" and not isinstance(part.parsed, dict):
                    written = as_json(as_object(part), "$.arguments")
                return [{"type": kind, "call_id": id_, "name": name, CALLS[kind]: written, **kept}]
            case Native(vendor=vendor, item=item) if vendor == VENDOR and isinstance(item.get("type"), str):
                return [dict(item)]
            case _:
                said = part.text if isinstance(part, Text) else placeholder(part)
                return [{"type": "message", "role": "assistant", "content": said, **kept}] if said.strip() else []

    def _result(self, result: ToolResult) -> Block:
        kept = own(result, VENDOR)
        id_ = self._ids.of_result(result.tool_call_id)
        form = form_of(kept)
        kind = f"{self._kinds[id_]}_output" if id_ in self._kinds else form or "function_call_output"
        content: Any = result.content
        if not isinstance(content, str):
            content = [shown for part in content for shown in _shown(part)]
        if not content or (isinstance(content, str) and not content.strip()):
            content = NO_OUTPUT
        return {"type": kind, "call_id": id_, "output": content, **kept}


def _id_of(item: Block) -> str | None:
    id_ = item.get("id")
    return id_ if isinstance(id_, str) else None


def _without_id(item: Block) -> Block:
    """An item without its id: by its id the vendor would miss the reasoning before it."""
    match item:
        case {"type": "function_call" | "custom_tool_call"}:
            return {name: value for name, value in item.items() if name not in ("id", "status")}
        case {"type": "message", "content": list() as content}:
            fields = {name: value for name, value in item.items() if name not in ("id", "status")}
            return fields | {"content": "\n\n".join(piece.get("text") or piece["refusal"] for piece in content)}
        case _:
            return item


def _shown(part: Part) -> list[Block]:
    """The content that the user may send, or that a result may have; the vendor's items unchanged."""
    kept = own(part, VENDOR)
    form = form_of(kept)
    match part:
        case Text() if (item := whole(kept)) is not None:
            return [item]
        case Text(text=text):
            return [{"type": "input_text", "text": text, **kept}] if text.strip() else []
        case Image(url=url) if form == "file_id" or is_web(url) or inline(url, PICTURES) is not None:
            named = "file_id" if form == "file_id" else "image_url"
            return [{"type": "input_image", named: url, "detail": "auto"} | kept]
        case File(path=path) if form in _FILES or is_web(path) or inline(path, (PDF,)) is not None:
            if form not in _FILES:
                form = "file_url" if is_web(path) else "file_data"
            named_file = {"filename": "document.pdf"} if form == "file_data" else {}
            return [{"type": "input_file", form: path, **named_file, **kept}]
        case _:
            return in_words(part, VENDOR, text_block)
