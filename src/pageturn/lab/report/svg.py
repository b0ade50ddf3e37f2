"""Builds SVG and HTML as trees, so that names and texts are escaped when written."""

import math
import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET

Node = ET.Element
Child = Node | str | None

_MARGIN = 14
_XMLNS = "http://www.w3.org/2000/svg"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no escape can write these


def node(name: str, *children: Child, **attributes: float | str | None) -> Node:
    """An element. A name ends in `_` if Python reserves the word, `_` inside stands for `-`; None values are left out."""
    made = ET.Element(name, {_written(key): shown(value) for key, value in attributes.items() if value is not None})
    for child in children:
        add(made, child)
    return made


def add(parent: Node, *children: Child) -> Node:
    """The element, with more inside."""
    for child in children:
        if isinstance(child, str):
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + _printable(child)
            else:
                parent.text = (parent.text or "") + _printable(child)
        elif child is not None:
            parent.append(child)
    return parent


def svg_group(*children: Child, tip: str | None = None, class_: str | None = None) -> Node:
    """A group of elements; `tip` is shown on hover."""
    return node("g", node("title", tip) if tip else None, *children, class_=class_)


def label(words: str, x: float, y: float, *, anchor: str | None = None, class_: str | None = None) -> Node:
    """A line of text; it begins at x, or ends there (`end`), or has its middle there (`middle`)."""
    return node("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


def rule(x1: float, y1: float, x2: float, y2: float, class_: str) -> Node:
    """A straight line."""
    return node("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[tuple[float, float]], class_: str, *, is_closed: bool = False) -> Node:
    """A line through points, or what it encloses."""
    steps = "L".join(f"{shown(x)} {shown(y)}" for x, y in points)
    return node("path", d=f"M{steps}{'Z' if is_closed else ''}", class_=class_)


def picture(width: float, height: float, description: str, *children: Child) -> Node:
    """A drawing of that size; `description` is for people who cannot see it."""
    made = node("svg", viewBox=f"0 0 {shown(width)} {shown(height)}", role="img", aria_label=description)
    return add(made, *children)


def standalone(drawing: Node, style: str) -> str:
    """A drawing as a file of its own, with a margin."""
    _, _, inner_width, inner_height = map(float, drawing.attrib["viewBox"].split())
    width, height = inner_width + 2 * _MARGIN, inner_height + 2 * _MARGIN
    box = " ".join(map(shown, (-_MARGIN, -_MARGIN, width, height)))
    size = {"width": shown(width), "height": shown(height)}
    alone = ET.Element("svg", {"xmlns": _XMLNS, **size, **drawing.attrib, "viewBox": box})
    paper = node("rect", x=-_MARGIN, y=-_MARGIN, width=width, height=height, class_="paper")
    add(alone, node("style", style), paper, *drawing)
    return ET.tostring(alone, encoding="unicode") + "\n"


def document(page: Node) -> str:
    """A page as an HTML file."""
    return "<!doctype html>\n" + ET.tostring(page, encoding="unicode", method="html") + "\n"


def shown(value: float | str) -> str:
    """A number as short as a hundredth of a pixel allows; text unchanged."""
    if isinstance(value, str):
        return _printable(value)
    assert math.isfinite(value), "a place on a drawing is a number"
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _written(name: str) -> str:
    return name if name == "viewBox" else name.rstrip("_").replace("_", "-")


def _printable(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
