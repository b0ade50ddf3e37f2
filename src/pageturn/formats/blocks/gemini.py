"""Writes the parts of messages as Gemini's parts."""

import base64
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from pageturn.formats.calls import CallIds, as_object, fitting_name
from pageturn.formats.fields import (
    form_of,
    inside,
    only_text,
    own,
)
from pageturn.formats.media import PDF, inline, placeholder
from pageturn.formats.shape import Block, Turn
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult
from pageturn.values.vendors import may_be_same, profile_of

VENDOR = "gemini"
# The placeholder that the vendor requires with a call that another model made.
_UNSIGNED = b"skip_thought_signature_validator"
NO_ID = "no id"
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_IN_RESULTS = ("image/png", "image/jpeg", "image/webp", PDF, "text/plain")
_DOCUMENTS = (PDF, "text/", "audio/", "video/")


def text_block(text: str) -> Block:
    return {"text": text}


def content_of(turn: Turn) -> dict[str, Any]:
    role = "model" if turn.role is Role.ASSISTANT else "user"
    kept = own(turn.first, VENDOR) if turn.first is not None else {}
    return {"role": role, "parts": turn.blocks, **kept}


def sign_first_call(parts: list[Block]) -> None:
    """The first call of a content needs a signature, in every turn so that nothing changes when the next begins; the others need none."""
    call = next((part for part in parts if "function_call" in part), None)
    if call is not None:
        call.setdefault("thought_signature", _UNSIGNED)


class Dump:
    """Converts the parts of one request."""

    def __init__(self, ids: CallIds, model: str | None) -> None:
        self._ids = ids
        self._model = model
        self._names: dict[str, str] = {}  # of the called tools, by the ids that are sent
        self.checks_signatures = profile_of(model).checks_signatures

    def answer(self, message: Message) -> list[Block]:
        """The parts of the model, without trailing thoughts, and without signatures that another model made."""
        text = only_text(message)
        if text is not None:
            return [text_block(text)] if text.strip() else []
        is_signed = may_be_same(self._model, _made_by(message))
        parts = [shown for part in message.content for shown in self._said(part, is_signed=is_signed)]
        while parts and parts[-1].get("thought"):
            parts.pop()
        return parts

    def heard(self, part: Part, _message: Message) -> Iterable[Block]:
        """The parts of any other role."""
        return self._result(part) if isinstance(part, ToolResult) else _shown(part)

    def _said(self, part: Part, *, is_signed: bool) -> list[Block]:
        kept = own(part, VENDOR)
        match part:
            case Text() if not is_signed:
                return [text_block(part.text)] if part.text.strip() else []
            case Thinking(text=text, signature=signature):
                shown = {"text": text, "thought": True, "thought_signature": signature, **kept}
                return [_signed(shown)] if _is_ours(part) and is_signed and text.strip() else []
            case ToolCall():
                return [self._call(part, kept, is_signed=is_signed)]
            case ToolResult():
                return []
            case Image() | File() if not _is_ours(part):
                return [text_block(placeholder(part))]
            case _:
                return _shown(part)

    def _call(self, call: ToolCall, kept: dict[str, Any], *, is_signed: bool) -> Block:
        id_ = self._ids.of_call(call.id)
        name = self._names[id_] = fitting_name(call.name, VENDOR)
        shown: Block = {"name": name, "args": as_object(call)}
        if not kept.pop(NO_ID, False):
            shown["id"] = id_
        shown |= inside(kept, "function_call")
        signature = call.thought_signature if is_signed and _is_ours(call) else None
        return _signed({"function_call": shown, "thought_signature": signature, **kept})

    def _result(self, result: ToolResult) -> list[Block]:
        kept = own(result, VENDOR)
        words: list[Block] = []
        media: list[Block] = []
        for part in result.parts:
            for shown in _shown(part):
                (words if shown.keys() == {"text"} else media).append(shown)
        text = "\n".join(block["text"] for block in words)
        response = _object(text) if form_of(kept) else None
        if response is None:
            response = {"error" if result.is_error else "output": text}
        named = kept.pop("name", None)
        id_ = self._ids.of_result(result.tool_call_id)
        name = self._names.get(id_) or fitting_name(named if isinstance(named, str) else "unknown", VENDOR)
        shown_result: Block = {"name": name, "response": response}
        if not kept.pop(NO_ID, False):
            shown_result["id"] = id_
        inner = [part for part in media if self.checks_signatures and _is_inside(part)]
        if inner:
            shown_result["parts"] = inner
        behind = [part for part in media if part not in inner]
        return [{"function_response": shown_result | inside(kept, "function_response"), **kept}, *behind]


def _is_inside(part: Block) -> bool:
    """Whether an image or a document may be in a result; models accept them there since Gemini 3."""
    data = part.get("inline_data") or part.get("file_data") or {}
    return data.get("mime_type") in _IN_RESULTS


def _made_by(message: Message) -> str | None:
    """The model that wrote a message, if the response said so."""
    if message.usage is not None and message.usage.model:
        return message.usage.model
    response = (message.metadata or {}).get("response")
    made_by = response.get("model_version") if isinstance(response, Mapping) else None
    return made_by if isinstance(made_by, str) else None


def _is_ours(part: Part) -> bool:
    """Whether this vendor's format read a part."""
    return VENDOR in (part.extra or {})


def _object(text: str) -> dict[str, Any] | None:
    """The object that a tool answered with, unless only an excerpt of it is left."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _shown(part: Part) -> list[Block]:
    """The parts that the user may send, or that a result may have."""
    kept = own(part, VENDOR)
    match part:
        case Text(text=text):
            return [_signed({"text": text, **kept})] if text.strip() or kept.get("thought_signature") else []
        case Image() | File():
            return [_media_part(part, kept) or text_block(placeholder(part))]
        case Native(vendor=vendor, item=item) if vendor == VENDOR and item:
            return [dict(item)]
        case _:
            said = placeholder(part)
            return [text_block(said)] if said else []


def _media_part(part: Image | File, kept: dict[str, Any]) -> Block | None:
    url = part.url if isinstance(part, Image) else part.path
    content = inline(url)
    if content is not None:
        is_taken = _is_ours(part) or content.mime_type in _PICTURES or content.mime_type.startswith(_DOCUMENTS)
        data = {"mime_type": content.mime_type, "data": content.data, **inside(kept, "inline_data")}
        return {"inline_data": data, **kept} if is_taken else None
    if form_of(kept) != "file_data":
        return None
    known = {"mime_type": part.mime_type} if part.mime_type else {}
    return {"file_data": {"file_uri": url, **known, **inside(kept, "file_data")}, **kept}


def _signed(part: Block) -> Block:
    """The part with its signature as bytes, or without if it has none."""
    signature = part.pop("thought_signature", None)
    if isinstance(signature, str) and signature:
        with suppress(ValueError):  # which would not be a signature of this vendor
            part["thought_signature"] = base64.b64decode(signature, validate=True)
    return part
