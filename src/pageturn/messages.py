"""Messages: what people, models, tools and harnesses said, in no vendor's form.

A message is a role and a tuple of parts. Its id and its time come from the session that it is appended to, never from a
constructor, so the same text is the same value wherever it is made.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from pageturn.errors import InvalidInput
from pageturn.wire import Open


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


class Text(Open, frozen=True, tag="text", tag_field="type"):
    """Words."""

    text: str


class Image(Open, frozen=True, tag="image", tag_field="type"):
    """A picture: an https: or data: URL. The size in pixels is read from a data: URL where it is not given."""

    url: str
    mime_type: str | None = None
    width: int | None = None
    height: int | None = None


class File(Open, frozen=True, tag="file", tag_field="type"):
    """A document: a path, a URL, a data: URL, or a vendor's file id."""

    path: str
    mime_type: str | None = None


class ToolCall(Open, frozen=True, tag="tool_call", tag_field="type"):
    """A request to run a tool. `arguments` is the exact JSON text that the provider sent, valid or not."""

    id: str
    name: str
    arguments: str
    thought_signature: str | None = None


class ToolResult(Open, frozen=True, tag="tool_result", tag_field="type"):
    """The answer to one tool call."""

    tool_call_id: str
    content: str | tuple[Text | Image | File, ...]
    is_error: bool = False


class Thinking(Open, frozen=True, tag="thinking", tag_field="type"):
    """A model's reasoning: its text, or the opaque payload that stands for it, and the vendor's signature."""

    text: str
    signature: str | None = None
    redacted: str | None = None


Part = Text | Image | File | ToolCall | ToolResult | Thinking


class Message(Open, frozen=True, kw_only=True):
    """One message of a session. `synthetic` says that a harness wrote it, and not the person it speaks for."""

    id: str | None = None
    role: Role
    content: tuple[Part, ...]
    visibility: Visibility = Visibility.ALL
    synthetic: bool = False
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text parts, one below the other."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.content if isinstance(part, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results, in order."""
        return tuple(part for part in self.content if isinstance(part, ToolResult))


def system(*content: str | Part, **fields: Any) -> Message:
    """A system message: the instructions that the agent works under."""
    return _message(Role.SYSTEM, content, fields)


def developer(*content: str | Part, **fields: Any) -> Message:
    """A developer message: instructions of the program around the agent."""
    return _message(Role.DEVELOPER, content, fields)


def user(*content: str | Part, **fields: Any) -> Message:
    """A user message."""
    return _message(Role.USER, content, fields)


def assistant(*content: str | Part, **fields: Any) -> Message:
    """An assistant message: text, thinking and tool calls."""
    return _message(Role.ASSISTANT, content, fields)


def tool_result(
    call: ToolCall | str, *content: str | Text | Image | File, is_error: bool = False, **fields: Any
) -> Message:
    """The tool message that answers one call, which is given itself or by its id."""
    call_id = call.id if isinstance(call, ToolCall) else call
    if all(isinstance(part, str) for part in content):
        body: Any = "\n".join(str(part) for part in content)
    else:
        body = _parts(content)
    return _message(Role.TOOL, (ToolResult(tool_call_id=call_id, content=body, is_error=is_error),), fields)


def _message(role: Role, content: tuple[Any, ...], fields: Mapping[str, Any]) -> Message:
    return Message(role=role, content=_parts(content), **fields)


def _parts(content: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_part(index, part) for index, part in enumerate(content))


def _part(index: int, part: object) -> Part:
    if isinstance(part, str):
        return Text(text=part)
    if isinstance(part, Part):
        return part
    raise InvalidInput(f"$.content[{index}]", expected="text or a part", got=f"{type(part).__name__} {part!r:.40}")
