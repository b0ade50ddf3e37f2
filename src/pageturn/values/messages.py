"""Messages: what people, models, tools and harnesses said, in no vendor's form.

A message is a role and a tuple of parts. Its id and time come from the session that it is appended to, never from a
constructor, so the same text is the same value wherever it is made.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypedDict, Unpack

import msgspec

from pageturn.values.checks import require_instance, require_member
from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import DEEPEST, Open, is_too_deep
from pageturn.values.usage import Usage


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Visibility(StrEnum):
    """Who may see a message: the model always does, people and other agents only where it says `all`."""

    ALL = "all"
    INTERNAL = "internal"


class _Part(Open, tag_field="type"):
    """A part of a message."""


class Text(_Part, tag="text"):
    """Words. `synthetic` says that a harness wrote them, though a person may have written the rest of the message."""

    text: str
    synthetic: bool = False


class Image(_Part, tag="image"):
    """An image: an https: or data: URL. If the size in pixels is not given, it is read from a data: URL."""

    url: str
    mime_type: str | None = None
    width: int | None = None
    height: int | None = None


class File(_Part, tag="file"):
    """A document: a path, a URL, a data: URL, or a vendor's file id."""

    path: str
    mime_type: str | None = None


class ToolCall(_Part, tag="tool_call"):
    """A request to run a tool. `arguments` is the exact JSON text that the provider sent, valid or not."""

    id: str
    name: str
    arguments: str
    thought_signature: str | None = None

    @property
    def parsed(self) -> Any:
        """The arguments as decoded JSON; None if they are not valid JSON, or are nested too deeply."""
        try:
            value = msgspec.json.decode(self.arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        may_be_deep = self.arguments.count("[") + self.arguments.count("{") > DEEPEST
        return None if may_be_deep and is_too_deep(value) else value

    @property
    def texts(self) -> str:
        """The texts in the arguments, one per line; the raw arguments if they are not JSON."""
        parsed = self.parsed
        return "\n".join(_texts_in(parsed)) if parsed is not None else self.arguments


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


class ToolResult(_Part, tag="tool_result"):
    """The answer to one tool call."""

    tool_call_id: str
    content: str | tuple[Text | Image | File, ...]
    is_error: bool = False

    @property
    def parts(self) -> tuple[Text | Image | File, ...]:
        """The content as parts, whether it was given as text or as parts."""
        return (Text(text=self.content),) if isinstance(self.content, str) else self.content


class Thinking(_Part, tag="thinking"):
    """A model's reasoning: its text or an opaque payload, and the vendor's signature."""

    text: str
    signature: str | None = None
    redacted: str | None = None


class Native(_Part, tag="native"):
    """An item that only its vendor understands, unchanged; `text` is its meaning for everybody else."""

    vendor: str
    item: Mapping[str, Any]
    text: str = ""


Part = Text | Image | File | ToolCall | ToolResult | Thinking | Native
_PART_TYPES = frozenset((Text, Image, File, ToolCall, ToolResult, Thinking, Native))


class Message(Open, kw_only=True):
    """One message of a session.

    `synthetic` says that a harness wrote it, and not the person it speaks for; `joined`, that it was part of the message before it;
    `usage`, the tokens of the call that it answers, which the session stores with the turn.
    """

    id: str | None = None
    role: Role
    content: tuple[Part, ...]
    visibility: Visibility = Visibility.ALL
    synthetic: bool = False
    joined: bool = False
    usage: Usage | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        # msgspec does not check constructors, and a role given as plain text would lose its floor.
        if (
            type(self.role) is not Role
            or type(self.visibility) is not Visibility
            or type(self.content) is not tuple
            or not _PART_TYPES.issuperset(map(type, self.content))
        ):
            _normalise(self)

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def own_parts(self) -> tuple[Text, ...]:
        """The texts that the speaker wrote, without what a harness added."""
        texts = (part for part in self.content if isinstance(part, Text))
        return () if self.synthetic else tuple(part for part in texts if not part.synthetic)

    @property
    def own_words(self) -> str:
        """Those texts, joined by newlines."""
        return "\n".join(part.text for part in self.own_parts)

    @property
    def has_other_parts(self) -> bool:
        """Whether a person's own text shares the message with other parts: an image, a file, a harness's text."""
        own = self.own_parts if self.role is Role.USER else ()
        return 0 < len(own) < len(self.content) and any(part.text.strip() for part in own)

    @property
    def is_synthetic(self) -> bool:
        """Whether a harness wrote all of it: the message says so as a whole, or each of its text parts does."""
        if self.synthetic or not self.content:
            return self.synthetic
        return all(isinstance(part, Text) and part.synthetic for part in self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple([part for part in self.content if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results, in order."""
        return tuple([part for part in self.content if isinstance(part, ToolResult)])


_SPEAKERS: dict[type, tuple[Role, ...]] = {
    ToolCall: (Role.ASSISTANT,),
    Thinking: (Role.ASSISTANT,),
    ToolResult: (Role.TOOL, Role.USER),
}


def require_speaker(path: str, message: Message) -> None:
    """Raise `InvalidInput` for parts that only another role can have: no vendor could take such a request."""
    for index, part in enumerate(message.content):
        speakers = _SPEAKERS.get(type(part))
        if speakers is not None and message.role not in speakers:
            name, roles = type(part).__name__, " or ".join(speakers)
            raise InvalidInput(
                f"{path}.content[{index}]", expected=f"a {name} only where the role is {roles}", got=message.role
            )


class MessageFields(TypedDict, total=False):
    """The optional fields of a message, besides its role and content."""

    visibility: Visibility
    synthetic: bool
    joined: bool
    usage: Usage | None
    metadata: Mapping[str, Any] | None
    extra: Mapping[str, Any] | None


def system(*content: str | Part, **fields: Unpack[MessageFields]) -> Message:
    """A system message: the instructions that the agent works under."""
    return Message(role=Role.SYSTEM, content=_parts(content), **fields)


def developer(*content: str | Part, **fields: Unpack[MessageFields]) -> Message:
    """A developer message: instructions of the host."""
    return Message(role=Role.DEVELOPER, content=_parts(content), **fields)


def user(*content: str | Part, **fields: Unpack[MessageFields]) -> Message:
    """A user message."""
    return Message(role=Role.USER, content=_parts(content), **fields)


def assistant(*content: str | Part, **fields: Unpack[MessageFields]) -> Message:
    """An assistant message: text, thinking and tool calls."""
    return Message(role=Role.ASSISTANT, content=_parts(content), **fields)


def tool_result(
    call: ToolCall | str,
    *content: str | Text | Image | File,
    is_error: bool = False,
    **fields: Unpack[MessageFields],
) -> Message:
    """The tool message that answers a call, given as the call or its id."""
    call_id = call.id if isinstance(call, ToolCall) else call
    texts = [part for part in content if isinstance(part, str)]
    body: Any = "\n".join(texts) if len(texts) == len(content) else _parts(content)
    return Message(
        role=Role.TOOL, content=(ToolResult(tool_call_id=call_id, content=body, is_error=is_error),), **fields
    )


def _parts(content: tuple[str | Part, ...]) -> tuple[Part, ...]:
    return tuple(_part(index, part) for index, part in enumerate(content))


def _part(index: int, part: object) -> Part:
    if isinstance(part, str):
        return Text(text=part)
    if isinstance(part, Part):
        return part
    raise InvalidInput(f"$.content[{index}]", expected="text or a part", got=f"{type(part).__name__} {show(part)}")


def _normalise(message: Message) -> None:
    """Convert the fields of a message to their declared types, or raise `InvalidInput`."""
    for name, type_ in (("role", Role), ("visibility", Visibility)):
        value = getattr(message, name)
        require_member(f"$.{name}", value, type_)
        msgspec.structs.force_setattr(message, name, type_(value))
    content: Any = message.content
    if isinstance(content, str) or not isinstance(content, Iterable):
        raise InvalidInput("$.content", expected="parts", got=f"{type(content).__name__} {show(content)}")
    msgspec.structs.force_setattr(message, "content", _parts(tuple(content)))


_TEXTS: Mapping[type, tuple[str, ...]] = {
    Text: ("text",),
    Image: ("url",),
    File: ("path",),
    ToolCall: ("id", "name", "arguments"),
    ToolResult: ("tool_call_id",),
    Thinking: ("text",),
    Native: ("vendor", "text"),
}
_TEXTS_OR_NONE: Mapping[type, tuple[str, ...]] = {
    Image: ("mime_type",),
    File: ("mime_type",),
    ToolCall: ("thought_signature",),
    Thinking: ("signature", "redacted"),
}


def require_sound(message: Message, path: str = "$") -> None:
    """Raise `InvalidInput` if a field has another type than declared: constructors check nothing."""
    require_instance(path, message, Message)
    if message.extra is not None or message.metadata is not None:
        for name in ("extra", "metadata"):
            value = getattr(message, name)
            if value is not None and not isinstance(value, Mapping):
                raise InvalidInput(f"{path}.{name}", expected="an object", got=show(value))
    for index, part in enumerate(message.content):
        if type(part) is Text and type(part.text) is str and part.extra is None:
            continue  # true of most messages
        if (flaw := _flaw_of(part)) is not None:
            raise InvalidInput(f"{path}.content[{index}].{flaw.path}", expected=flaw.expected, got=show(flaw.value))


class _Flaw(NamedTuple):
    path: str
    expected: str
    value: object


def _flaw_of(part: Part) -> _Flaw | None:
    """The first field of a part that has the wrong type."""
    kind = type(part)
    for name in _TEXTS[kind]:
        if not isinstance(value := getattr(part, name), str):
            return _Flaw(name, "text", value)
    for name in _TEXTS_OR_NONE.get(kind, ()):
        if (value := getattr(part, name)) is not None and not isinstance(value, str):
            return _Flaw(name, "text", value)
    if part.extra is not None and not isinstance(part.extra, Mapping):
        return _Flaw("extra", "an object", part.extra)
    if isinstance(part, ToolResult):
        return _flaw_of_content(part.content) if not isinstance(part.content, str) else None
    if isinstance(part, Native):
        return None if isinstance(part.item, Mapping) else _Flaw("item", "an object", part.item)
    if isinstance(part, Image):
        odd = ((name, getattr(part, name)) for name in ("width", "height"))
        return next((_Flaw(name, "a whole number", size) for name, size in odd if type(size) not in _SIZES), None)
    return None


_SIZES = (int, type(None))


def _flaw_of_content(content: object) -> _Flaw | None:
    if not isinstance(content, list | tuple):
        return _Flaw("content", "text or parts", content)
    for index, inner in enumerate(content):
        if not isinstance(inner, Text | Image | File):
            return _Flaw(f"content[{index}]", "text, images or files", inner)
        if (flaw := _flaw_of(inner)) is not None:
            return flaw._replace(path=f"content[{index}].{flaw.path}")
    return None
