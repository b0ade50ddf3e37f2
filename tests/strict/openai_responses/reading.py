"""A request as this reader's rules see it: items with their types and paths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.strict.findings import Requests
from tests.strict.shapes import objects, word


@dataclass(frozen=True)
class Item:
    path: str
    raw: dict[str, Any]

    @property
    def type(self) -> str | None:
        """An item without a type that has a role is a message, one that has only an id refers to a stored item."""
        if self.raw.get("type") is not None:
            return word(self.raw["type"])
        if "role" in self.raw:
            return "message"
        return "item_reference" if "id" in self.raw else None

    @property
    def role(self) -> str | None:
        return word(self.raw.get("role"))

    @property
    def parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return objects(self.raw.get("content"), f"{self.path}.content")


@dataclass(frozen=True)
class Reading:
    raw: Mapping[str, Any]
    model: str
    previous: Requests = ()
    is_whole: bool = False

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(Item(path, raw) for path, raw in objects(self.raw.get("input"), "$.input"))

    @property
    def tools(self) -> list[tuple[str, dict[str, Any]]]:
        """Those of the request and those that items add later."""
        added = [
            tool
            for item in self.items
            if item.type == "additional_tools"
            for tool in objects(item.raw.get("tools"), f"{item.path}.tools")
        ]
        return [*objects(self.raw.get("tools"), "$.tools"), *added]

    @property
    def is_continued(self) -> bool:
        """Whether the vendor has items that are not in this request."""
        return bool(self.raw.get("previous_response_id") or self.raw.get("conversation"))
