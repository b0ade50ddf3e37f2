"""Values and their JSON: the two kinds of value, `to_json` and `from_json`.

A closed value refuses fields that it does not know; an open value keeps them in `extra`, which is flattened beside its
own fields on the wire. Nothing is ever dropped. Both directions have a fast path that never looks at single fields;
only a value that really has unknown fields takes the slow one.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, Union, cast

import msgspec
from msgspec import inspect

from pageturn.errors import InvalidInput

__all__ = ["Closed", "Instant", "Open", "from_json", "to_json"]

T = TypeVar("T")

_EXTRA = "$extra"  # the slot of `extra` between msgspec and us; never on the wire
_EXTRA_KEY = b'"$extra":'  # quotes inside a JSON string are escaped, so this can only be a key


class Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frozen value that refuses unknown fields."""


class Open(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A frozen value that keeps the fields it does not know in `extra`."""

    extra: Mapping[str, Any] = msgspec.field(name=_EXTRA, default_factory=dict)


class Instant(datetime):
    """A moment in UTC, written with six digits of the second."""

    @classmethod
    def of(cls, moment: datetime) -> "Instant":
        if moment.tzinfo is None:
            raise InvalidInput("$", expected="a time with a time zone", got=moment.isoformat())
        utc = moment.astimezone(UTC)
        return cls(*utc.timetuple()[:6], utc.microsecond, tzinfo=UTC)

    def __str__(self) -> str:
        return self.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def to_json(value: Any) -> bytes:
    """The JSON of a value, or of a container of values."""
    try:
        data = _ENCODER.encode(value)
        if _EXTRA_KEY in data:
            data = _ENCODER.encode(_flatten(value, msgspec.to_builtins(value, enc_hook=_encode_custom)))
    except UnicodeEncodeError as error:
        lone = ascii(error.object[error.start : error.end])
        raise InvalidInput("$", expected="text that is valid Unicode", got=f"the lone surrogate {lone}") from error
    except TypeError as error:
        raise InvalidInput("$", expected="a value that JSON can hold", got=str(error)) from error
    return data


def from_json(kind: type[T], data: bytes | str) -> T:
    """The value of type `kind` that this JSON describes; raises `InvalidInput` where there is none."""
    target = _target(kind)
    try:
        return cast(T, _decoder(target).decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = _parse(data)
    info = _type_info(target)
    try:
        return cast(T, msgspec.convert(_gather(raw, info), target, dec_hook=_decode_custom))
    except msgspec.ValidationError as error:
        raise _explain(error, raw, info) from error


def _parse(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("$", expected="JSON in UTF-8", got=f"{_show(data)} ({error})") from error


def _encode_custom(value: Any) -> Any:
    if isinstance(value, Instant):
        return str(value)
    raise TypeError(f"an object of type {type(value).__name__}")


def _decode_custom(kind: type, raw: Any) -> Any:
    if kind is not Instant:
        raise TypeError(f"no JSON form for {kind.__name__}")
    try:
        return Instant.of(msgspec.convert(raw, datetime))
    except msgspec.ValidationError as error:
        raise InvalidInput("$", expected="a time as RFC 3339 writes it", got=_show(raw)) from error


_ENCODER = msgspec.json.Encoder(enc_hook=_encode_custom)


@cache
def _decoder(target: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(target, dec_hook=_decode_custom)


@cache
def _type_info(target: Any) -> inspect.Type:
    return inspect.type_info(target)


def _target(kind: Any) -> Any:
    """The union of a tagged base class's members; every other type stands for itself."""
    is_tagged = isinstance(kind, type) and issubclass(kind, Closed) and kind.__struct_config__.tag_field is not None
    return Union[members] if is_tagged and (members := tuple(kind.__subclasses__())) else kind


def _flatten(value: Any, built: Any) -> Any:
    """`built`, the builtins of `value`, with each `extra` spread beside the fields of its owner."""
    match value:
        case msgspec.Struct():
            for field in msgspec.structs.fields(type(value)):
                if field.name != "extra" and field.encode_name in built:
                    built[field.encode_name] = _flatten(getattr(value, field.name), built[field.encode_name])
            extra = built.pop(_EXTRA, {}) if isinstance(value, Open) else {}
            if clash := _known_names(type(value)) & extra.keys():
                name = min(clash)
                raise InvalidInput(f"$.extra.{name}", expected="a field that the value does not have", got=f"{name!r}")
            return {**built, **extra}
        case list() | tuple():
            return [_flatten(item, slot) for item, slot in zip(value, built, strict=True)]
        case Mapping():
            return {name: _flatten(item, built[name]) for name, item in value.items()}
    return built


@cache
def _known_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    tag_field = kind.__struct_config__.tag_field
    return frozenset(kind.__struct_encode_fields__) - {_EXTRA} | ({tag_field} if tag_field else set())


def _gather(raw: Any, info: inspect.Type) -> Any:
    """`raw` with the unknown fields of each open value moved into its `extra`."""
    match _member(raw, info):
        case inspect.StructType() as struct if isinstance(raw, dict):
            own = {field.encode_name: field.type for field in struct.fields if field.encode_name != _EXTRA}
            known = {name: _gather(item, own[name]) for name, item in raw.items() if name in own}
            if struct.tag_field in raw:
                known[struct.tag_field] = raw[struct.tag_field]
            unknown = {name: item for name, item in raw.items() if name not in known}
            if unknown and issubclass(struct.cls, Open):
                return {**known, _EXTRA: unknown}
            return {**known, **unknown}
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item) if isinstance(raw, list):
            return [_gather(each, item) for each in raw]
        case inspect.DictType(value_type=item) if isinstance(raw, dict):
            return {name: _gather(each, item) for name, each in raw.items()}
    return raw


def _member(raw: Any, info: inspect.Type) -> inspect.Type:
    """The member of a union that `raw` claims to be."""
    if not isinstance(info, inspect.UnionType):
        return info
    for member in info.types:
        match member:
            case inspect.StructType(tag_field=None) if isinstance(raw, dict):
                return member
            case inspect.StructType() if isinstance(raw, dict) and raw.get(member.tag_field) == member.tag:
                return member
            case inspect.ListType() | inspect.VarTupleType() if isinstance(raw, list):
                return member
    return info


_WHERE = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?(?P<path>\$[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")
_MISMATCH = re.compile(r"Expected (?P<expected>.*?)(?:, got `(?P<got>[^`]*)`)?", re.DOTALL)


def _explain(error: msgspec.ValidationError, raw: Any, info: inspect.Type) -> InvalidInput:
    """Msgspec's complaint as ours: where, what was expected, what came."""
    where = _WHERE.fullmatch(str(error))
    assert where is not None
    what, path = where["what"], where["path"] or "$"
    if isinstance(cause := error.__cause__, InvalidInput):
        return InvalidInput(path + cause.path.removeprefix("$"), expected=cause.expected, got=cause.got)
    if unknown := _UNKNOWN.fullmatch(what):
        fields = _choices(_at(path, raw, info, _field_names))
        return InvalidInput(
            f"{path}.{unknown['name']}", expected=f"only {fields or 'known fields'}", got="another field"
        )
    if missing := _MISSING.fullmatch(what):
        return InvalidInput(f"{path}.{missing['name']}", expected="a value", got="nothing")
    got = _at(path, raw, info, lambda value, _: _show(value)) or "something else"
    if choices := _choices(_at(path, raw, info, _allowed)):
        return InvalidInput(path, expected=f"one of {choices}", got=got)
    mismatch = _MISMATCH.fullmatch(what)
    return InvalidInput(path, expected=mismatch["expected"].replace("`", "") if mismatch else what, got=got)


def _at(path: str, raw: Any, info: inspect.Type, read: Callable[[Any, inspect.Type], T]) -> T | None:
    """`read` of the raw value and the type at `path`, or None where the path leads out of what is known."""
    for step in _STEP.finditer(path):
        info = _member(raw, info)
        try:
            raw = raw[step["name"]] if step["name"] else raw[int(step["index"])]
        except (KeyError, IndexError, TypeError):
            return None
        match info:
            case inspect.StructType(tag_field=tag_field) if step["name"] == tag_field:
                info = inspect.LiteralType((info.tag,))
            case inspect.UnionType(types=members) if any(_tag_field(member) == step["name"] for member in members):
                info = inspect.LiteralType(tuple(member.tag for member in members if _tag_field(member)))  # type: ignore[attr-defined]
            case inspect.StructType(fields=fields):
                info = next((field.type for field in fields if field.encode_name == step["name"]), inspect.AnyType())
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                info = item
            case inspect.DictType(value_type=item):
                info = item
            case _:
                info = inspect.AnyType()
    return read(raw, _member(raw, info))


def _tag_field(member: inspect.Type) -> str | None:
    return member.tag_field if isinstance(member, inspect.StructType) else None


def _field_names(_: Any, info: inspect.Type) -> tuple[str, ...]:
    if not isinstance(info, inspect.StructType):
        return ()
    names = [field.encode_name for field in info.fields if field.encode_name != _EXTRA]
    return tuple([info.tag_field, *names] if info.tag_field else names)


def _allowed(_: Any, info: inspect.Type) -> tuple[Any, ...]:
    match info:
        case inspect.EnumType(cls=enum):
            return tuple(member.value for member in enum)
        case inspect.LiteralType(values=values):
            return values
    return ()


def _choices(names: tuple[Any, ...] | None) -> str:
    return ", ".join(map(repr, names or ()))


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
