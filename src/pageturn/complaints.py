"""Complaints: what msgspec says about bad input, as an `InvalidInput` that names place, expectation and find."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from pageturn.errors import InvalidInput, show

_WHERE = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?(?P<path>\$[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]|\[\.\.\.\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")
_MISMATCH = re.compile(r"Expected (?P<expected>.*?)(?:, got `[^`]*`)?", re.DOTALL)


Convert = Callable[[Any, inspect.Type, Any], Any]


def explain(error: msgspec.ValidationError, raw: Any, info: inspect.Type, convert: Convert) -> InvalidInput:
    """The complaint about `raw`, which was to be of the type `info`; `convert` is how it was tried."""
    where = _WHERE.fullmatch(str(error))
    assert where is not None, "the pattern matches every text"
    what, path = where["what"], where["path"] or "$"
    if "[...]" in path and (inner := _in_mapping(path.split("[...]")[0], raw, info, convert)) is not None:
        return inner
    if isinstance(cause := error.__cause__, InvalidInput):
        return InvalidInput(path + cause.path.removeprefix("$"), expected=cause.expected, got=cause.got)
    if missing := _MISSING.fullmatch(what):
        return InvalidInput(f"{path}.{missing['name']}", expected="a value", got="nothing")
    place = _walk(path, raw, info)
    if unknown := _UNKNOWN.fullmatch(what):
        fields = _listed(_field_names(place.info)) if place else "known fields"
        return InvalidInput(f"{path}.{unknown['name']}", expected=f"only {fields}", got="another field")
    got = show(place.raw) if place else "something else"
    if place and (allowed := _allowed(place.info)):
        return InvalidInput(path, expected=f"one of {_listed(allowed)}", got=got)
    mismatch = _MISMATCH.fullmatch(what)
    return InvalidInput(path, expected=mismatch["expected"].replace("`", "") if mismatch else what, got=got)


def member_for(raw: Any, info: inspect.Type) -> inspect.Type:
    """The member of a union that `raw` claims to be; another type is itself."""
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


def _in_mapping(path: str, raw: Any, info: inspect.Type, convert: Convert) -> InvalidInput | None:
    """The complaint about the first bad value of a mapping, whose key msgspec does not tell."""
    place = _walk(path, raw, info)
    if place is None or not isinstance(place.info, inspect.DictType) or not isinstance(place.raw, dict):
        return None
    value_type = place.info.value_type
    if not isinstance(value_type, inspect.StructType):
        return None
    for key, item in place.raw.items():
        try:
            convert(item, value_type, value_type.cls)
        except msgspec.ValidationError as error:
            inner = explain(error, item, value_type, convert)
            return InvalidInput(f"{path}[{key!r}]{inner.path[1:]}", expected=inner.expected, got=inner.got)
    return None


class _Place(NamedTuple):
    """Where a path leads: the raw value, and the type that was expected there."""

    raw: Any
    info: inspect.Type


def _walk(path: str, raw: Any, info: inspect.Type) -> _Place | None:
    for step in _STEP.finditer(path):
        info = member_for(raw, info)
        try:
            raw = raw[step["name"]] if step["name"] else raw[int(step["index"])]
        except (KeyError, IndexError, TypeError):  # msgspec writes [...] for the key of a mapping
            return None
        info = _below(info, step["name"])
    return _Place(raw, member_for(raw, info))


def _below(info: inspect.Type, name: str | None) -> inspect.Type:
    """The type of the field or item one step down."""
    match info:
        case inspect.StructType(tag_field=tag_field) if name is not None and name == tag_field:
            return inspect.LiteralType((info.tag,))
        case inspect.StructType(fields=fields):
            return next((field.type for field in fields if field.encode_name == name), inspect.AnyType())
        case inspect.UnionType(types=members):
            tagged = [
                member for member in members if isinstance(member, inspect.StructType) and member.tag_field == name
            ]
            return inspect.LiteralType(tuple(member.tag for member in tagged)) if tagged else inspect.AnyType()
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return item
    return inspect.AnyType()


def _field_names(info: inspect.Type) -> tuple[str, ...]:
    if not isinstance(info, inspect.StructType):
        return ()
    names = (field.encode_name for field in info.fields if not field.encode_name.startswith("$"))
    return (info.tag_field, *names) if info.tag_field else tuple(names)


def _allowed(info: inspect.Type) -> tuple[Any, ...]:
    match info:
        case inspect.EnumType(cls=enum):
            return tuple(member.value for member in enum)
        case inspect.LiteralType(values=values):
            return values
    return ()


def _listed(names: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, names))
