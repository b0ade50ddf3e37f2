"""Renders the compressed form: an outline of a text by its content type, and the names that the outline omits."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from pageturn.context.renditions.compressed import code, diff, json, listing, log, markup, prose, search, unknown
from pageturn.context.renditions.content import material_of
from pageturn.context.renditions.contract import ContentType, Material, Renderers
from pageturn.context.renditions.names import choose_names
from pageturn.context.renditions.selection import pick
from pageturn.values.fencing import escaped
from pageturn.values.identifiers import Vocabulary, names_in
from pageturn.values.messages import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult

BUILT_IN = Renderers(
    {
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
)

_SHARE = 0.38  # of the characters of a text
_NAMES = 0.45  # of the room, at most; the rest is for lines
_MOST = 60_000  # characters of an outline
_SHORT = 400  # characters; what is shorter stays as it is


class Compressor(NamedTuple):
    """Compresses messages with the given renderers and the vocabulary of the session so far."""

    vocabulary: Vocabulary
    renderers: Renderers = BUILT_IN

    def message(self, message: Message, calls: Mapping[str, ToolCall], handle: str) -> Message:
        """The message in its place: texts as outlines, pictures and files as descriptions, thinking left out.

        A person's own words stay unchanged if the message also has pictures, files or text of a harness, which are described. Before
        calls, thinking stays: a vendor that signs it requires it with them.
        """
        has_calls = bool(message.tool_calls)
        kept = [part for part in message.content if has_calls or not isinstance(part, Thinking)]
        if message.has_other_parts:
            parts = [
                _stub(part, handle) if isinstance(part, Text) else self._part(part, calls, handle) for part in kept
            ]
        else:
            parts = [self._part(part, calls, handle) for part in kept]
        return msgspec.structs.replace(message, content=tuple(parts)) if parts else message

    def outline(self, material: Material, room: int | None = None) -> str:
        """The most important lines of a text, and the names that they omit, in a number of characters."""
        room = room if room is not None else min(int(len(material.text) * _SHARE), _MOST)
        for_names = min(_room_of_names(material.text), int(room * _NAMES))
        kept = pick(self.renderers.outline(material), room - for_names)
        names = choose_names(material.text, self.vocabulary, max(for_names, room - len(kept)), shown=kept)
        return escaped(kept + (f"\nnames: {' '.join(names)}" if names else ""))

    def _part(self, part: Part, calls: Mapping[str, ToolCall], handle: str) -> Part:
        match part:
            case Text(text=text, synthetic=synthetic):
                return Text(text=self._shorter(text, handle), synthetic=synthetic)
            case ToolResult(tool_call_id=call, is_error=is_error):
                inner = tuple(self._inside(each, handle, calls.get(call)) for each in part.parts)
                content = inner[0].text if isinstance(part.content, str) else inner
                return ToolResult(tool_call_id=call, content=content, is_error=is_error)
            case Image() | File():
                return _described(part)
            case _:
                return part

    def _inside(self, part: Text | Image | File, handle: str, call: ToolCall | None) -> Text:
        return Text(text=self._shorter(part.text, handle, call)) if isinstance(part, Text) else _described(part)

    def _shorter(self, text: str, handle: str, call: ToolCall | None = None) -> str:
        if len(text) < _SHORT:
            return text
        whole = f"; {handle} is the whole" if handle else ""
        outlined = f"{self.outline(material_of(text, call))}\n[in short{whole}]"
        return outlined if len(outlined) < len(text) else text


def _stub(part: Text, handle: str) -> Text:
    """A harness's text as its length; anybody else's unchanged."""
    if not part.synthetic or len(part.text) < _SHORT:
        return part
    whole = f"; {handle} is the whole" if handle else ""
    return Text(text=f"[{len(part.text):,} characters by the program around the agent{whole}]", synthetic=True)


def _room_of_names(text: str) -> int:
    """The approximate room for the names that no kept line has: two thirds of all."""
    return 2 * (len(" ".join(names_in(text))) + 1) // 3


def _described(part: Image | File) -> Text:
    match part:
        case Image(url=url, width=width, height=height):
            size = f" of {width} x {height}" if width and height else ""
            return Text(text=f"[image{size}{'' if url.startswith('data:') else f' {escaped(url[:160])}'}]")
        case File(path=path):
            return Text(text=f"[file {'inline' if path.startswith('data:') else escaped(path[:160])}]")
