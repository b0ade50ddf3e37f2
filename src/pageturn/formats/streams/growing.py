"""Collects JSON values that arrive in pieces. Pieces are joined once, so a long answer takes linear time."""

import json
from collections.abc import Mapping
from typing import Any

_REPEATED = ("role", "type", "id", "name", "format")  # texts that a later piece repeats and does not continue


class Pieces:
    """A text that may grow."""

    __slots__ = ("texts",)

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)


class Items:
    """A list that may grow: new items at its end, and new pieces of items that have an index."""

    __slots__ = ("items", "places")

    def __init__(self, given: list[Any]) -> None:
        self.items = [growing(each) for each in given]
        self.places: dict[int, dict[str, Any]] = {}
        for item in self.items:
            self._remember(item)

    def add(self, pieces: list[Any]) -> None:
        """Add items, or pieces of present ones."""
        for piece in pieces:
            index = piece.get("index") if isinstance(piece, dict) else None
            if type(index) is int and index in self.places:
                grow(self.places[index], piece)
                continue
            self.items.append(growing(piece))
            self._remember(self.items[-1])

    def _remember(self, item: Any) -> None:
        if isinstance(item, dict) and type(index := item.get("index")) is int:
            self.places[index] = item


def growing(value: Any) -> Any:
    """A value to which pieces can be added. It shares nothing with the given value."""
    match value:
        case str():
            return Pieces(value)
        case dict():
            return {name: growing(each) for name, each in value.items()}
        case list():
            return Items(value)
        case _:
            return value


def grow(whole: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add a piece to an object: texts and lists grow, objects grow inside, any other value is replaced; null is ignored."""
    for name, value in piece.items():
        match whole.get(name), value:
            case _, None:
                pass
            case dict() as inner, dict():
                grow(inner, value)
            case Pieces() as text, str():
                if name not in _REPEATED:
                    text.texts.append(value)
                elif value:
                    whole[name] = Pieces(value)
            case Items() as items, list():
                items.add(value)
            case _:
                whole[name] = growing(value)


def joined(value: Any) -> Any:
    """A value that grew, as JSON."""
    match value:
        case Pieces():
            return "".join(value.texts)
        case Items():
            return [joined(each) for each in value.items]
        case dict():
            return {name: joined(each) for name, each in value.items()}
        case list():
            return [joined(each) for each in value]
        case _:
            return value


def as_json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in a text; None if it is not one. A prefix of an object is never an object, so a result is complete."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
