"""Defines the interface of a renderer: it gets a text with metadata, and returns its lines with weights."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class ContentType(StrEnum):
    """What a text is."""

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
    """A text, and where it comes from: the tool, what it was asked, and the file that it shows."""

    text: str
    type: ContentType = ContentType.UNKNOWN
    tool: str = ""
    arguments: Any = None
    path: str | None = None


class Line(NamedTuple):
    """A line of an outline. Lines of more weight are kept first; a line of no weight only makes a text whole."""

    text: str
    weight: float = 1.0
    stands_for: int = 1  # lines of the text


class Renderer(Protocol):
    """Says what matters in a text. The same text must always give the same lines."""

    def __call__(self, material: Material) -> Sequence[Line]:
        """The lines of the text in order, or lines made of it, each with its weight."""
        ...


class Renderers(NamedTuple):
    """Who says what matters, by the tool that brought a text, or else by what the text is."""

    by_type: Mapping[ContentType, Renderer]
    by_tool: Mapping[str, Renderer] = {}

    def outline(self, material: Material) -> Sequence[Line]:
        """The lines of a text, by the renderer that is there for it."""
        return self.by_tool.get(material.tool, self.by_type[material.type])(material)
