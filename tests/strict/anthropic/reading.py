"""A request as this reader's rules see it: messages and blocks with their paths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.strict.findings import Requests
from tests.strict.shapes import listed, objects, word


@dataclass(frozen=True)
class Block:
    """A block and where it stands."""

    path: str
    raw: dict[str, Any]
    role: str | None

    @property
    def type(self) -> str | None:
        return word(self.raw.get("type"))


@dataclass(frozen=True)
class Turn:
    """A message; a string as content is one text block."""

    path: str
    raw: dict[str, Any]

    @property
    def role(self) -> str | None:
        return word(self.raw.get("role"))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        content = self.raw.get("content")
        if isinstance(content, str):
            return (Block(f"{self.path}.content", {"type": "text", "text": content}, self.role),)
        return tuple(Block(path, raw, self.role) for path, raw in objects(content, f"{self.path}.content"))


@dataclass(frozen=True)
class Reading:
    """A request, the model that it is for, and the earlier requests of its conversation."""

    raw: Mapping[str, Any]
    model: str
    previous: Requests = ()
    is_whole: bool = False

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(Turn(path, raw) for path, raw in objects(self.raw.get("messages"), "$.messages"))

    @property
    def blocks(self) -> Iterator[Block]:
        for turn in self.turns:
            yield from turn.blocks

    @property
    def system(self) -> list[tuple[str, dict[str, Any]]]:
        given = self.raw.get("system")
        if isinstance(given, str):
            return [("$.system", {"type": "text", "text": given})]
        return list(objects(given, "$.system"))

    @property
    def tools(self) -> list[tuple[str, dict[str, Any]]]:
        return list(objects(self.raw.get("tools"), "$.tools"))

    @property
    def thinking(self) -> Mapping[str, Any]:
        given = self.raw.get("thinking")
        return given if isinstance(given, Mapping) else {}

    @property
    def everything(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every place where a cache breakpoint may be, in the order in which they are processed."""
        yield from self.tools
        yield from self.system
        for block in self.blocks:
            yield from objects(block.raw.get("content"), f"{block.path}.content")
            yield block.path, block.raw


def inside(block: Block) -> list[Block]:
    """The blocks inside a result, a string being one text."""
    content = block.raw.get("content")
    if isinstance(content, str):
        return [Block(f"{block.path}.content", {"type": "text", "text": content}, block.role)]
    return [Block(path, raw, block.role) for path, raw in objects(listed(content), f"{block.path}.content")]
