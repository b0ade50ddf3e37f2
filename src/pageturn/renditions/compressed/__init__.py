"""Compressed: the outline of a text by what it is, and the names that the outline leaves out."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pageturn.identifiers import Vocabulary
from pageturn.messages import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from pageturn.renditions.compressed import code, diff, json, listing, log, markup, prose, search, unknown
from pageturn.renditions.content import material_of
from pageturn.renditions.contract import ContentType, Material, Renderer
from pageturn.renditions.fencing import escaped
from pageturn.renditions.names import choose_names
from pageturn.renditions.picking import pick

OUTLINES: Mapping[ContentType, Renderer] = {
    ContentType.CODE: code.outline,
    ContentType.JSON: json.outline,
    ContentType.LOG: log.outline,
    ContentType.DIFF: diff.outline,
    ContentType.SEARCH: search.outline,
    ContentType.LISTING: listing.outline,
    ContentType.MARKUP: markup.outline,
    ContentType.PROSE: prose.outline,
    ContentType.UNKNOWN: unknown.outline,
}

_LINES, _NAMES = 0.22, 0.12  # of the characters of a text
_SHORT = 400  # characters; what is shorter stays as it is


def compressed(message: Message, calls: Mapping[str, ToolCall], vocabulary: Vocabulary) -> Message:
    """The message in fewer words: texts as outlines, pictures and files as descriptions, thinking left out."""
    parts = [_part(part, calls, vocabulary) for part in message.content if not isinstance(part, Thinking)]
    return msgspec.structs.replace(message, content=tuple(parts))


def outline(material: Material, vocabulary: Vocabulary, renderers: Mapping[ContentType, Renderer] = OUTLINES) -> str:
    """The lines of a text that matter most, and the names that they leave out."""
    size = len(material.text)
    kept = pick(renderers[material.type](material), int(size * _LINES))
    names = choose_names(material.text, vocabulary, int(size * _NAMES), told=kept)
    return escaped(kept + (f"\nnames: {' '.join(names)}" if names else ""))


def _part(part: Part, calls: Mapping[str, ToolCall], vocabulary: Vocabulary) -> Part:
    match part:
        case Text(text=text):
            return Text(text=_shorter(material_of(text), vocabulary))
        case ToolResult(tool_call_id=call, is_error=is_error):
            inner: Any = tuple(_inside(each, calls.get(call), vocabulary) for each in part.parts)
            content = inner[0].text if isinstance(part.content, str) else inner
            return ToolResult(tool_call_id=call, content=content, is_error=is_error)
        case Image() | File():
            return _described(part)
        case _:
            return part


def _inside(part: Text | Image | File, call: ToolCall | None, vocabulary: Vocabulary) -> Text:
    return Text(text=_shorter(material_of(part.text, call), vocabulary)) if isinstance(part, Text) else _described(part)


def _shorter(material: Material, vocabulary: Vocabulary) -> str:
    if len(material.text) < _SHORT:
        return material.text
    told = outline(material, vocabulary)
    return told if len(told) < len(material.text) else material.text


def _described(part: Image | File) -> Text:
    match part:
        case Image(url=url, width=width, height=height):
            size = f" of {width} x {height}" if width and height else ""
            return Text(text=f"[image{size}{'' if url.startswith('data:') else f' {escaped(url[:160])}'}]")
        case File(path=path):
            return Text(text=f"[file {'' if path.startswith('data:') else escaped(path[:160])}]")
