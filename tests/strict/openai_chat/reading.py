"""A request as this reader's rules see it: messages, parts and calls with their paths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.strict.shapes import objects, word


@dataclass(frozen=True)
class Message:
    path: str
    raw: dict[str, Any]

    @property
    def role(self) -> str | None:
        return word(self.raw.get("role"))

    @property
    def parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return objects(self.raw.get("content"), f"{self.path}.content")

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return list(objects(self.raw.get("tool_calls"), f"{self.path}.tool_calls"))


@dataclass(frozen=True)
class Reading:
    raw: Mapping[str, Any]
    is_whole: bool = False
    has_strict_template: bool = False

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        return tuple(Message(path, raw) for path, raw in objects(self.raw.get("messages"), "$.messages"))

    @property
    def tools(self) -> list[tuple[str, dict[str, Any]]]:
        return list(objects(self.raw.get("tools"), "$.tools"))
