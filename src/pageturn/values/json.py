"""Converts values to and from JSON, and defines the two kinds of value, open and closed.

A closed value refuses unknown fields; an open value keeps them in `extra`, which is written beside its own fields. Unknown
fields are never dropped. Both directions have a fast path that does not look at single fields; only a value with unknown fields takes the slow one.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, dataclass_transform, get_args, get_origin

import msgspec
from msgspec import inspect

from pageturn.values.decode_errors import EXTRA, explain, fields_of, member_for
from pageturn.values.errors import InvalidInput, show

__all__ = ["Closed", "Instant", "Open", "from_json", "to_json"]

T = TypeVar("T")

_EXTRA_BYTES = EXTRA.encode()
DEEPEST = 100  # levels of nesting that are written; checking all input for them would take as long as reading it
_EXTRA_KEY = b'"$extra":'  # quotes inside a JSON string are escaped, so this can only be a key


# gc=False: values are frozen trees, so the collector would scan a hundred thousand pages and never find a cycle.


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Closed(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A frozen value that refuses unknown fields."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Open(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A frozen value that keeps the fields it does not know in `extra`."""

    extra: Mapping[str, Any] | None = msgspec.field(name=EXTRA, default=None)


class Instant(datetime):
    """A moment, written in UTC with six digits of the second."""

    @classmethod
    def of(cls, moment: datetime) -> "Instant":
        """The same moment as an instant."""
        if not isinstance(moment, datetime):
            raise InvalidInput("$", expected="a time", got=show(moment))
        if moment.tzinfo is None:
            raise InvalidInput("$", expected="a time with a time zone", got=moment.isoformat())
        utc = moment.astimezone(UTC)
        return cls(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, tzinfo=UTC)

    def __str__(self) -> str:
        return Instant.of(self).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def to_json(value: Any) -> bytes:
    """The JSON of a value, or of a container of values."""
    try:
        data = _ENCODER.encode(value)
        if _EXTRA_KEY in data:
            data = _ENCODER.encode(_flatten(value, msgspec.to_builtins(value, enc_hook=_encode_custom)))
        if b"null" in data:  # which is also how msgspec encodes numbers that JSON does not have
            _refuse_not_finite(value)
        if data.count(b"[") + data.count(b"{") > DEEPEST and is_too_deep(value):
            raise InvalidInput("$", expected=f"at most {DEEPEST} levels of objects and lists", got="more")
    except UnicodeEncodeError as error:
        lone = ascii(error.object[error.start : error.end])
        raise InvalidInput("$", expected="text that is valid Unicode", got=f"the lone surrogate {lone}") from error
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("$", expected="a value that JSON can hold", got=_message_of(error)) from error
    return data


def _message_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (raised by a foreign object on the way into JSON)
        return type(error).__name__


def is_too_deep(value: Any) -> bool:
    """Whether the JSON is nested so deeply that a decoder called from deep in a stack might fail."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    match value:
        case msgspec.Struct():
            return (getattr(value, name) for name in value.__struct_fields__)
        case Mapping():
            return value.values()
        case list() | tuple() | set() | frozenset():
            return value
        case _:
            return ()


def from_json(type_: type[T], data: bytes | str) -> T:
    """The value of this type that the JSON describes; raises `InvalidInput` if there is none."""
    if not isinstance(data, bytes | str):
        raise InvalidInput("$", expected="JSON as bytes or text", got=f"{type(data).__name__} {show(data)}")
    data = str.__str__(data) if isinstance(data, str) else data  # a subclass of str is decoded as plain text
    try:
        target = _target(cast(Hashable, type_))
        decoder = _decoder(target)
    except Exception as error:
        raise InvalidInput("type", expected="a type of values that JSON can hold", got=show(type_)) from error
    if not _names_the_slot(data):
        try:
            return cast(T, decoder.decode(data))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # the slow way says what is wrong, and where
    return cast(T, _converted(_parse(data), target))


def from_builtins(type_: type[T], raw: Any) -> T:
    """The value that decoded JSON describes, reusing its texts; raises `InvalidInput` if there is none."""
    target = _target(cast(Hashable, type_))
    try:
        return cast(T, msgspec.convert(raw, target, dec_hook=_decode_custom, str_keys=True))
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return cast(T, _converted(raw, target))  # raises with what is wrong, and where


def _converted(raw: Any, target: Any) -> Any:
    info = _type_info(target)
    try:
        return _convert(raw, info, target)
    except msgspec.ValidationError as error:
        raise explain(raw, info, _convert) from error


def _names_the_slot(data: bytes | str) -> bool:
    """Whether the input has a field with the name of the slot, which is then an unknown field like any other."""
    if isinstance(data, str):
        return EXTRA in data or "\\u00" in data
    return _EXTRA_BYTES in data or b"\\u00" in data


def _convert(raw: Any, info: inspect.Type, target: Any) -> Any:
    return msgspec.convert(_gather(raw, info), target, dec_hook=_decode_custom, str_keys=True)


def _parse(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput("$", expected="JSON in UTF-8", got=f"{show(data)} ({error})") from error


def _encode_custom(value: Any) -> Any:
    if isinstance(value, Instant):
        return str(value)
    raise TypeError(f"an object of type {type(value).__name__}")


def _decode_custom(type_: type, raw: Any) -> Any:
    if (read := getattr(type_, "from_builtins", None)) is not None:  # a value that reads itself
        return read(raw)
    if type_ is not Instant:
        raise TypeError(f"no JSON form for {type_.__name__}")
    try:
        return Instant.of(msgspec.convert(raw, datetime))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput("$", expected="a time as RFC 3339 writes it", got=show(raw)) from error


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_custom)


@cache
def _decoder(target: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(target, dec_hook=_decode_custom)


@cache
def _type_info(target: Any) -> inspect.Type:
    return inspect.type_info(target)


@cache
def _target(type_: Any) -> Any:
    """The type with every tagged base class of ours replaced by the union of its members."""
    if arguments := get_args(type_):
        origin = Union if isinstance(type_, UnionType) else get_origin(type_)
        return origin[tuple(_target(argument) for argument in arguments)]
    if not (isinstance(type_, type) and issubclass(type_, Closed | Open) and type_.__struct_config__.tag_field):
        return type_
    members = tuple(member for member in type_.__subclasses__() if member.__module__.startswith("pageturn."))
    return Union[members] if members else type_


def _refuse_not_finite(value: Any, path: str = "$") -> None:
    match value:
        case float() if not math.isfinite(value):
            raise InvalidInput(path, expected="a finite number", got=str(value))
        case msgspec.Struct():
            for name in value.__struct_fields__:
                _refuse_not_finite(getattr(value, name), f"{path}.{name}")
        case Mapping():
            for name, item in value.items():
                _refuse_not_finite(item, f"{path}.{name}")
        case list() | tuple():
            for index, item in enumerate(value):
                _refuse_not_finite(item, f"{path}[{index}]")


@cache
def _fields(type_: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The fields of a struct with their names in JSON."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(type_))


def _flatten(value: Any, built: Any) -> Any:
    """`built`, the builtins of `value`, with each `extra` spread beside the fields of its owner."""
    match value:
        case msgspec.Struct():
            for name, shown in _fields(type(value)):
                if shown != EXTRA and shown in built:
                    built[shown] = _flatten(getattr(value, name), built[shown])
            extra = _flatten(value.extra, built.pop(EXTRA)) if isinstance(value, Open) and value.extra else {}
            if not isinstance(extra, dict):
                raise InvalidInput("$.extra", expected="fields by name", got=show(extra))
            built.pop(EXTRA, None)
            if clash := fields_of(type(value)).types.keys() & extra.keys():
                name = min(clash)
                raise InvalidInput(f"$.extra.{name}", expected="a field that the value does not have", got=show(name))
            return {**built, **extra}
        case list() | tuple():
            return [_flatten(item, slot) for item, slot in zip(value, built, strict=True)]
        case Mapping():
            return {
                name: _flatten(item, slot) for item, (name, slot) in zip(value.values(), built.items(), strict=True)
            }
    return built


def _gather(raw: Any, info: inspect.Type) -> Any:
    """`raw` with the unknown fields of each open value moved into its `extra`."""
    match member_for(raw, info):
        case inspect.StructType(cls=type_) if isinstance(raw, dict):
            fields = fields_of(type_)
            known: dict[str, Any] = {}
            unknown: dict[str, Any] = {}
            for name, item in raw.items():
                if name in fields.types:
                    known[name] = _gather(item, fields.types[name]) if isinstance(item, dict | list) else item
                else:
                    unknown[name] = item
            if unknown and issubclass(type_, Open):
                return {**known, EXTRA: unknown}
            return {**known, **unknown}
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item) if isinstance(raw, list):
            return [_gather(each, item) for each in raw]
        case inspect.DictType(value_type=item) if isinstance(raw, dict):
            return {name: _gather(each, item) for name, each in raw.items()}
    return raw
