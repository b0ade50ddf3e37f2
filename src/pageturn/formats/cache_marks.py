"""Reads and writes cache marks: how far a request asks its vendor to cache the prompt.

A mark is a field of a block and is kept with its part. `Prompt.marks` decides which messages have marks: the mark of a message that is
not listed there is left out.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from pageturn.formats.fields import WHOLE, own
from pageturn.values.messages import Message, Native, Part, ToolResult
from pageturn.values.prompt import Prompt

_INSIDE = ("content", "source", WHOLE)  # fields of a block that may contain further blocks


class CacheMarks:
    """The marks of one vendor, by the names of their fields."""

    def __init__(self, vendor: str, *fields: str) -> None:
        self._vendor = vendor
        self._fields = fields

    def of(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The messages that have marks."""
        return tuple(at for at, message in enumerate(messages) if any(map(self._has_mark, message.content)))

    def kept(self, prompt: Prompt) -> Sequence[Message]:
        """The messages of a prompt, with marks only on the listed ones; unchanged if the prompt has no list."""
        return prompt.messages if prompt.marks is None else self.without(prompt.messages, besides=prompt.marks)

    def without(self, messages: Sequence[Message], *, besides: Collection[int] = ()) -> Sequence[Message]:
        """The messages without their marks, except those at these places."""
        return [
            message if at in besides or not any(map(self._has_mark, message.content)) else self._unmarked(message)
            for at, message in enumerate(messages)
        ]

    def is_on(self, block: Any) -> bool:
        """Whether a block, or one inside it, is marked."""
        if isinstance(block, list):
            return any(map(self.is_on, block))
        if not isinstance(block, Mapping):
            return False
        if any(block.get(field) is not None for field in self._fields):
            return True
        return any(self.is_on(block[name]) for name in _INSIDE if name in block)

    def _has_mark(self, part: Part) -> bool:
        if isinstance(part, Native):
            return part.vendor == self._vendor and self.is_on(part.item)
        if part.extra and self.is_on(own(part, self._vendor)):
            return True
        return (
            isinstance(part, ToolResult)
            and not isinstance(part.content, str)
            and any(map(self._has_mark, part.content))
        )

    def _unmarked(self, message: Message) -> Message:
        return msgspec.structs.replace(message, content=tuple(map(self._unmarked_part, message.content)))

    def _unmarked_part(self, part: Part) -> Part:
        if not self._has_mark(part):
            return part
        if isinstance(part, Native):
            return msgspec.structs.replace(part, item=self._unmarked_block(part.item))
        if isinstance(part, ToolResult) and not isinstance(part.content, str):
            part = msgspec.structs.replace(part, content=tuple(map(self._unmarked_part, part.content)))
        kept = own(part, self._vendor)
        return (
            msgspec.structs.replace(part, extra={**(part.extra or {}), self._vendor: self._unmarked_block(kept)})
            if kept
            else part
        )

    def _unmarked_block(self, block: Any) -> Any:
        if isinstance(block, list):
            return [self._unmarked_block(each) for each in block]
        if not isinstance(block, Mapping):
            return block
        fields = {name: value for name, value in block.items() if name not in self._fields}
        return fields | {name: self._unmarked_block(fields[name]) for name in _INSIDE if name in fields}
