"""Defines the interface of a renderer: it gets a text with metadata, and returns its lines with weights."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class ContentType(StrEnum):
    """The type of a text."""

    CODE = "code"
    JSON = "json"
    LOG = "log"
    DIFF = "diff"
    SEARCH = "search"
    LISTING = "listing"
    MARKUP = "markup"
    PROSE = "prose"
    UNKNOWN = "unknown"


class Material(NamedTuple):
    """A text, and where it comes from: the tool, its arguments, and the file that it shows."""

    text: str
    type: ContentType = ContentType.UNKNOWN
    tool: str = ""
    arguments: Any = None
    path: str | None = None


class Line(NamedTuple):
    """A line of an outline. Lines of more weight are kept first; a line of no weight is kept only if everything fits."""

    text: str
    weight: float = 1.0
    stands_for: int = 1  # lines of the text


class Renderer(Protocol):
    """Weighs the lines of a text. The same text must always give the same lines."""

    def __call__(self, material: Material) -> Sequence[Line]:
        """The lines of the text in order, or lines made from it, each with its weight."""
        ...


class Renderers(NamedTuple):
    """The renderers, by the tool that returned a text, or else by its content type."""

    by_type: Mapping[ContentType, Renderer]
    by_tool: Mapping[str, Renderer] = {}

    def outline(self, material: Material) -> Sequence[Line]:
        """The lines of a text, by the renderer for it."""
        return self.by_tool.get(material.tool, self.by_type[material.type])(material)
