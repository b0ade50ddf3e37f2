"""Text of pages as the inspector sends it: in pieces that a browser can hold, and without what only a model may see."""

from collections.abc import Iterator

from pageturn.values.json import Closed, to_json
from pageturn.values.masking import covered
from pageturn.values.messages import (
    File,
    Image,
    Message,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Visibility,
)

HIDDEN = "internal: only the model may see it (start the inspector with --internal)"
_LONGEST_KEY = 4_096  # characters of a key that are looked for beyond the ends of a piece
PIECE = 20_000  # characters of a part in one answer


class PartView(Closed):
    """A part of a message: what it is, its words from a character on, and how many there are."""

    type: str
    text: str
    size: int
    name: str = ""  # of a tool
    call: str = ""  # the id of the call that it makes or answers
    is_error: bool = False


def parts_of(message: Message, *, internal: bool, start: int = 0, piece: int = PIECE) -> tuple[PartView, ...]:
    """The parts of a message, a piece of each."""
    if message.visibility is Visibility.INTERNAL and not internal:
        return (PartView("internal", HIDDEN, len(HIDDEN)),)
    return tuple(view for part in message.content for view in _views(part, start, piece))


def _views(part: Part, start: int, piece: int) -> Iterator[PartView]:
    if isinstance(part, ToolResult):
        for inner in part.parts:
            for found in _views(inner, start, piece):
                yield PartView("result", found.text, found.size, found.name, part.tool_call_id, part.is_error)
        return
    type_, text = _words(part)
    name, call = (part.name, part.id) if isinstance(part, ToolCall) else ("", "")
    yield PartView(type_, _piece(text, start, start + piece), len(text), name, call)


def _piece(text: str, start: int, end: int) -> str:
    """A piece of a text; a key that is cut by its ends is covered as one that is not."""
    before = max(0, start - _LONGEST_KEY)
    return covered(text[before : end + _LONGEST_KEY])[start - before : end - before]


def _words(part: Part) -> tuple[str, str]:
    """What a part is, and what it says."""
    match part:
        case Text(text=text, synthetic=is_synthetic):
            return "text by the harness" if is_synthetic else "text", text
        case Thinking(text=text, redacted=redacted):
            hidden = f"({len(redacted):,} characters, encrypted)" if redacted else "(signed, without words)"
            return "reasoning", text or hidden
        case ToolCall(arguments=arguments):
            return "call", arguments
        case Image(url=url) | File(path=url):
            is_inline = url.startswith("data:")
            return type(part).__name__.lower(), f"({len(url):,} characters, not shown)" if is_inline else url
        case Native(vendor=vendor, item=item, text=text):
            return f"item of {vendor}", text or to_json(item).decode()
        case _:
            return "", ""
