"""Converts messages between LangChain and a session.

What a context shows in full goes out as the object that came in, so nothing of it is lost: its ids, artifacts, and what only its
provider understands. Only what a session wrote itself is made here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from pageturn.adapters.branches import Said, id_of, mark_of, said
from pageturn.formats.calls import as_object
from pageturn.formats.shape import Block, Piece, shaped
from pageturn.formats.user_messages import is_synthetic, marked
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.usage import Usage

VENDOR = "langchain"
_REASONING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")
_CALLS = ("tool_call", "tool_call_chunk", "invalid_tool_call")
_ROLES = {"system": Role.SYSTEM, "developer": Role.DEVELOPER, "assistant": Role.ASSISTANT}  # of a ChatMessage


# -- in


def load(message: BaseMessage) -> Said:
    """A message of LangChain's as a session keeps it. A tool result goes by the id of its call."""
    match message:
        case ToolMessage():
            return said(
                _result(message, message.tool_call_id, is_error=message.status == "error"), message.tool_call_id
            )
        case FunctionMessage():
            return said(_result(message, message.name), message.name)
        case AIMessage():
            return said(Message(role=Role.ASSISTANT, content=(*_parts(message), *_calls(message))), message.id)
        case SystemMessage():
            return said(Message(role=Role.SYSTEM, content=_parts(message)), message.id)
        case ChatMessage() if message.role in _ROLES:
            return said(Message(role=_ROLES[message.role], content=_parts(message)), message.id)
    parts = _parts(message)
    is_program = is_synthetic(parts) or "lc_source" in message.additional_kwargs  # which LangChain's own middleware set
    return said(Message(role=Role.USER, content=marked(parts), synthetic=is_program), message.id)


def usage_of(message: AIMessage) -> Usage | None:
    """The tokens of a call, as its answer reports them."""
    counts = message.usage_metadata
    if counts is None:
        return None
    details = counts.get("input_token_details") or {}
    return Usage(
        input_tokens=max(counts["input_tokens"], 0),
        output_tokens=max(counts["output_tokens"], 0),
        cache_read_tokens=max(details.get("cache_read") or 0, 0),
        cache_write_tokens=max(details.get("cache_creation") or 0, 0),
    )


def _parts(message: BaseMessage) -> tuple[Part, ...]:
    if isinstance(message.content, str) and not message.additional_kwargs:
        return (Text(text=message.content),) if message.content else ()
    return tuple(part for block in message.content_blocks for part in _part(block))


def _part(block: Mapping[str, Any]) -> Iterator[Part]:
    """A block of content; calls are read from the message, which has them in one form for all providers."""
    match block:
        case {"type": "text", "text": str(text)}:
            yield Text(text=text)
        case {"type": "reasoning"}:
            signature = (block.get("extras") or {}).get("signature")
            text, hidden = block.get("reasoning") or "", block.get("encrypted_content")
            yield Thinking(text=text, signature=_text_or_none(signature), redacted=_text_or_none(hidden))
        case {"type": "non_standard", "value": {"type": "thinking", "thinking": str(text), **rest}}:
            yield Thinking(text=text, signature=_text_or_none(rest.get("signature")))
        case {"type": "non_standard", "value": {"type": "redacted_thinking", "data": str(data)}}:
            yield Thinking(text="", redacted=data)
        case {"type": "image"} if (url := _url(block)) is not None:
            yield Image(url=url, mime_type=block.get("mime_type"))
        case {"type": "file" | "audio" | "video"} if (url := _url(block)) is not None:
            yield File(path=url, mime_type=block.get("mime_type"))
        case {"type": kind} if kind in _CALLS:
            return
        case {"type": "non_standard", "value": dict(value)}:
            yield Native(vendor=VENDOR, item=_plain(value), text=_told(value))
        case _:
            yield Native(vendor=VENDOR, item=_plain(block), text=_told(block))


def _url(block: Mapping[str, Any]) -> str | None:
    """Where the content of a block is: an address, the bytes themselves, or the provider's id of a file."""
    if isinstance(block.get("base64"), str):
        return f"data:{block.get('mime_type') or 'application/octet-stream'};base64,{block['base64']}"
    return _text_or_none(block.get("url")) or _text_or_none(block.get("file_id"))


def _calls(message: AIMessage) -> Iterator[ToolCall]:
    for call in message.tool_calls:
        yield ToolCall(id=call["id"] or "", name=call["name"], arguments=_as_json(call["args"]))
    for broken in message.invalid_tool_calls:
        yield ToolCall(id=broken["id"] or "", name=broken["name"] or "", arguments=broken["args"] or "")


def _result(message: BaseMessage, call: str, *, is_error: bool = False) -> Message:
    content: Any = message.content
    if not isinstance(content, str):
        parts = (part for block in message.content_blocks for part in _part(block))
        content = tuple(part if isinstance(part, Text | Image | File) else _as_text(part) for part in parts)
    result = ToolResult(tool_call_id=call, content=content, is_error=is_error)
    return Message(role=Role.TOOL, content=(result,))


def _as_text(part: Part) -> Text:
    return Text(text=part.text or _as_json(part.item)) if isinstance(part, Native) else Text(text=_as_json(repr(part)))


def _told(block: Mapping[str, Any]) -> str:
    """The words of a block of a kind that is not known."""
    words = block.get("text")
    return words if isinstance(words, str) else ""


def _plain(value: object) -> Any:
    return json.loads(_as_json(value))


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


# -- out


class Originals:
    """The objects of a history, by what they say: a message of a context that says the same goes out as the object."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.said = [load(message) for message in messages]
        self._objects: dict[tuple[str | None, str], BaseMessage] = {}
        for object_, (message, mark) in zip(messages, self.said, strict=True):
            self._add(object_, message, mark)
            if any(isinstance(part, Thinking) for part in message.content):
                bare = without_reasoning(object_)
                self._add(bare, message, load(bare).mark)

    def _add(self, object_: BaseMessage, message: Message, mark: str) -> None:
        self._objects[id_of(message), mark] = object_
        self._objects.setdefault((None, mark), object_)

    def of(self, message: Message) -> BaseMessage | None:
        """The object that says exactly this; of several, the one with its id."""
        mark = mark_of(message)
        return self._objects.get((id_of(message), mark)) or self._objects.get((None, mark))


def without_reasoning(message: BaseMessage) -> BaseMessage:
    """The same message without the reasoning, which is valid only behind the prompt that it was made on."""
    content = message.content
    if not isinstance(content, str):
        content = [each for each in content if not (isinstance(each, dict) and each.get("type") in _REASONING)]
    kept = {name: value for name, value in message.additional_kwargs.items() if name not in _REASONING}
    return message.model_copy(update={"content": content, "additional_kwargs": kept})


class Request(NamedTuple):
    """The messages of a model request, in LangChain's form."""

    system: SystemMessage | None
    messages: list[Any]  # LangChain's own type is a union of its classes


def dump(messages: Sequence[Message], originals: Originals, system: SystemMessage | None) -> Request:
    """The messages of a context. All instructions at the beginning are one system message; later ones become user text in tags."""
    shape = shaped(messages, _heard, _answered, _text_block, is_request=True)
    dumped = [message for turn in shape.turns for message in _turn(turn.role, turn.pieces, messages, originals)]
    return Request(_opening([str(block["text"]) for block in shape.opening.blocks], system), dumped)


def _opening(texts: list[str], system: SystemMessage | None) -> SystemMessage | None:
    """The system message: the host's own object if it opens the context, with what follows it added."""
    if system is None or not texts or texts[0] != system.text:
        return SystemMessage(content="\n\n".join(texts)) if texts else None
    if len(texts) == 1:
        return system
    if isinstance(system.content, str):
        return system.model_copy(update={"content": "\n\n".join(texts)})
    return system.model_copy(update={"content": [*system.content, *map(_text_block, texts[1:])]})


def _turn(
    role: Role, pieces: Sequence[Piece], messages: Sequence[Message], originals: Originals
) -> Iterator[BaseMessage]:
    """The messages of a turn: one for each that the session has, and each result by itself.

    Where the session wrote beside a person, both are one message: many models refuse two of one role in a row.
    """
    is_ours = False
    dumped: list[BaseMessage] = []
    for (source, is_result), group in groupby(pieces, key=lambda piece: (piece.source, piece.rank is not None)):
        blocks = [piece.block for piece in group]
        message = messages[source] if source >= 0 else None
        is_instruction = message is not None and message.role in (Role.SYSTEM, Role.DEVELOPER)
        original = originals.of(message) if message is not None and not is_instruction else None
        if original is not None:
            dumped.append(original)
        elif role is Role.ASSISTANT and message is not None:
            dumped.append(AIMessage(content=_content(blocks), tool_calls=_made_calls(message)))
        elif is_result:
            dumped += [ToolMessage(**block) for block in blocks]
        else:
            is_ours = True
            dumped.append(HumanMessage(content=_content(blocks)))
    heard = [message for message in dumped if not isinstance(message, ToolMessage)]
    if role is Role.ASSISTANT or not is_ours or len(heard) < 2:
        yield from dumped
    else:
        yield from (message for message in dumped if isinstance(message, ToolMessage))
        yield _joined(heard)


def _joined(heard: Sequence[BaseMessage]) -> BaseMessage:
    """Several messages of the user as one, with the id and name of the first."""
    contents = [message.content for message in heard]
    if all(isinstance(content, str) for content in contents):
        return heard[0].model_copy(update={"content": "\n\n".join(map(str, contents))})
    blocks = [block for content in contents for block in ([content] if isinstance(content, str) else content)]
    return heard[0].model_copy(
        update={"content": [_text_block(block) if isinstance(block, str) else block for block in blocks]}
    )


def _content(blocks: list[Block]) -> Any:
    """Content as a string where it is plain text, as most providers like it best."""
    shown = [block for block in blocks if block.get("type") != "call"]
    if all(block.get("type") == "text" for block in shown):
        return "\n".join(str(block["text"]) for block in shown)
    return shown


def _made_calls(message: Message) -> list[Any]:
    return [{"name": call.name, "args": as_object(call), "id": call.id} for call in message.tool_calls]


def _answered(message: Message) -> list[Block]:
    blocks = [block for part in message.content for block in _blocks(part)]
    return blocks + [{"type": "call"} for _ in message.tool_calls[:1]]


def _heard(part: Part, _message: Message) -> Iterable[Block]:
    if not isinstance(part, ToolResult):
        return _blocks(part)
    content = [block for inner in part.parts for block in _blocks(inner)]
    status = "error" if part.is_error else "success"
    return [{"content": _content(content), "tool_call_id": part.tool_call_id, "status": status}]


def _blocks(part: Part) -> list[Block]:
    match part:
        case Text(text=text):
            return [_text_block(text)] if text.strip() else []
        case Image(url=url):
            return [{"type": "image_url", "image_url": {"url": url}}]
        case File(path=path, mime_type=kind) if path.startswith("data:"):
            return [{"type": "file", "base64": path.partition(",")[2], "mime_type": kind}]
        case File(path=path):
            return [{"type": "file", "url" if "://" in path else "file_id": path}]
        case Native(vendor=vendor, item=item) if vendor == VENDOR:
            return [dict(item)]
        case _:
            return []


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}
