"""Reads a vendor's JSON field by field, and keeps the fields that nothing asked for."""

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import msgspec

from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import File, Image, Message, Native, Part, Text

P = ParamSpec("P")
T = TypeVar("T")

_MOST_TOKENS = 2**50  # of one field; some are summed


class Fields:
    """The fields of one JSON object. Each is taken once; `rest` has those that were not taken. Null counts as absent."""

    __slots__ = ("path", "rest")

    def __init__(self, raw: Any, path: str) -> None:
        raw = plain(raw)
        if not isinstance(raw, dict):
            raise InvalidInput(path, expected="an object", got=show(raw))
        self.path = path
        self.rest = (
            raw.copy() if None not in raw.values() else {name: raw[name] for name in raw if raw[name] is not None}
        )

    def take(self, name: str, type_: type[T]) -> T | None:
        """A field of that type, or None if there is none."""
        value = self.rest.pop(name, None)
        if value is None or (isinstance(value, type_) and (type_ is bool or not isinstance(value, bool))):
            return value  # in Python true is an int, but it is no number to a vendor
        raise InvalidInput(f"{self.path}.{name}", expected=_NAMES.get(type_, type_.__name__), got=show(value))

    def need(self, name: str, type_: type[T]) -> T:
        """A required field of that type."""
        value = self.take(name, type_)
        if value is None:
            raise InvalidInput(f"{self.path}.{name}", expected=_NAMES.get(type_, type_.__name__), got="nothing")
        return value

    def text(self, name: str) -> str:
        """A required text."""
        return self.need(name, str)

    def inner(self, name: str) -> "Fields":
        """The fields of an object inside; empty if it is absent."""
        return Fields(self.take(name, dict) or {}, f"{self.path}.{name}")

    def count(self, name: str) -> int:
        """A number of tokens, 0 if absent."""
        value = self.take(name, int) or 0
        if not 0 <= value < _MOST_TOKENS:
            raise InvalidInput(f"{self.path}.{name}", expected="a number of tokens", got=show(value))
        return value

    def kept(self, vendor: str, **more: Any) -> dict[str, Any] | None:
        """The remaining fields, as the `extra` that only this vendor's `dump` reads."""
        fields = self.rest | more
        return {vendor: fields} if fields else None


_NAMES = {str: "text", dict: "an object", list: "a list", bool: "true or false", int: "a whole number"}


def own(value: Any, vendor: str) -> dict[str, Any]:
    """The fields that this vendor's format kept of a message or a part."""
    if not value.extra:
        return {}
    fields = value.extra.get(vendor)
    return dict(fields) if isinstance(fields, dict) else {}


def each_of(content: Any, path: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
    """What is read from each part of a list, each with its path."""
    if not isinstance(content, list):
        raise InvalidInput(path, expected="text or a list of parts", got=show(content))
    return tuple(read(plain(raw), f"{path}[{index}]") for index, raw in enumerate(content))


AS = "as"  # a kept field: the form of a part, if it was not the usual one
WHOLE = "whole"  # a kept field of a text: the item that it came from


def form_of(kept: dict[str, Any]) -> str | None:
    """The original form of a part, removed from the kept fields; None for the usual one."""
    form = kept.pop(AS, None)
    return form if isinstance(form, str) else None


def whole(kept: dict[str, Any]) -> dict[str, Any] | None:
    """The item that a text came from, if there is one."""
    item = kept.get(WHOLE)
    return dict(item) if isinstance(item, dict) and isinstance(item.get("type"), str) else None


def inside_result(parts: Iterable[Part]) -> tuple[Text | Image | File, ...]:
    """Parts as a result may hold them: an item that only its vendor understands becomes its text."""
    kept: list[Text | Image | File] = []
    for part in parts:
        match part:
            case Text() | Image() | File():
                kept.append(part)
            case Native(vendor=vendor, item=item, text=text):
                kept.append(Text(text=text, extra={vendor: {WHOLE: item}}))
            case _:
                raise InvalidInput("$.content", expected="text, images or files", got=type(part).__name__)
    return tuple(kept)


def only_text(message: Message) -> str | None:
    """The text of a message that is a single text, as most are; None for any other."""
    if message.extra or len(message.content) != 1:
        return None
    part = message.content[0]
    return part.text if type(part) is Text and not part.extra else None


def as_json(value: Any, path: str) -> str:
    """A value from outside as JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        lone = ascii(error.object[error.start : error.end])
        raise InvalidInput(path, expected="text that is valid Unicode", got=f"the lone surrogate {lone}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(path, expected="a value that JSON can hold", got=str(error)) from error


def spelled(value: Any) -> str:
    """A value from outside as text, also one that cannot be written out: a number of too many digits, or a foreign object."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign class may raise anything
        return show(value)


def refusing_depth(read: Callable[P, T]) -> Callable[P, T]:
    """A decorator for functions that read or write a vendor's JSON: input nested too deeply raises our error."""

    @wraps(read)
    def bounded(*given: P.args, **named: P.kwargs) -> T:
        try:
            return read(*given, **named)
        except RecursionError:
            raise too_deep("$") from None

    return bounded


def too_deep(path: str) -> InvalidInput:
    """The error about input that is nested too deeply."""
    return InvalidInput(path, expected="objects and lists in a limited number of levels", got="more than can be read")


def inside(kept: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of an object among the kept ones, removed from there; empty if absent."""
    value = kept.pop(name, None)
    return value if isinstance(value, dict) else {}


def plain(given: Any, *, without: Collection[str] = ()) -> Any:
    """A client's object, or a list of them, as JSON; JSON is returned unchanged. `without` names fields to leave out."""
    if isinstance(given, list | tuple):
        return [plain(each) for each in given]
    if isinstance(given, dict) or not _is_object(given):
        return given
    # A client builds its objects without validation, so pydantic would warn about values that are as the vendor sent them.
    dumped = given.model_dump(mode="json", exclude_none=True, exclude_unset=True, exclude=set(without), warnings=False)
    return _without(dumped)


def _is_object(given: Any) -> bool:
    return hasattr(given, "model_dump")


def _without(value: Any) -> Any:
    """A response without what only the client added to it."""
    if isinstance(value, list):
        return [_without(each) for each in value]
    if isinstance(value, dict):
        return {name: _without(each) for name, each in value.items() if name not in _OF_THE_CLIENT}
    return value


_OF_THE_CLIENT = ("parsed", "parsed_arguments", "sdk_http_response", "automatic_function_calling_history")


# -- Gemini's names: `functionCall` on the wire, `function_call` in its Python client

_NOT_OURS = ("args", "response", "part_metadata", "partMetadata")  # their keys are the tools' and the host's
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


def snake(value: Any) -> Any:
    """A value with the client's names for the wire's, except inside tool arguments and results."""
    if isinstance(value, list | tuple):
        return [snake(each) for each in value]
    value = plain(value)
    if type(value) is not dict:
        return value
    return {
        snake_name(name): each if type(each) is str or name in _NOT_OURS else snake(each)
        for name, each in value.items()
    }


@lru_cache(maxsize=1_024)
def snake_name(name: str) -> str:
    """One name."""
    if not isinstance(name, str):
        raise InvalidInput("$", expected="fields with texts for names", got=show(name))
    return _HUMP.sub(lambda found: f"_{found[1].lower()}", name)
