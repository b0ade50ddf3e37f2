"""What the wires share."""

import json
from typing import Any, NamedTuple


class Unit(NamedTuple):
    """A part of a request as the cache sees it: what it says, and how long it is to be kept from its end on, where that is marked."""

    content: str
    mark: str | None = None  # 5m or 1h


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def event(data: dict[str, Any], name: str | None = None) -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n"


def pieces(text: str, count: int = 3) -> list[str]:
    """A text in some pieces, as a stream has it."""
    size = max(len(text) // count, 1)
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def text_of(content: Any) -> str:
    """The text in a content of any form."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or content.get("output") or "")
    return ""


def arguments_of(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
