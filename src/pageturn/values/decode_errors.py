"""Explains decoding errors: the first place where a value does not match its type, as an `InvalidInput`.

msgspec reports that a value does not match. This module finds the place by walking the value along its type, so nothing depends on
the wording of msgspec's messages.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from pageturn.values.errors import InvalidInput, show

Convert = Callable[[Any, inspect.Type, Any], Any]

EXTRA = "$extra"  # the field of an open value that holds its unknown fields; never in the JSON

_SCALARS: dict[type[inspect.Type], type] = {
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.StrType: str,
    inspect.NoneType: NoneType,
}
_OBJECTS = (inspect.StructType, inspect.DictType)
_MANY = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_ARRAYS = (*_MANY, inspect.TupleType, inspect.NamedTupleType)
_NAMES = {  # JSON's and Python's names of types, in the order of preference if several fit
    "bool": (inspect.BoolType,),
    "int": (inspect.IntType,),
    "float": (inspect.FloatType,),
    "str": (inspect.StrType, inspect.EnumType, inspect.LiteralType),
    "object": _OBJECTS,
    "array": _ARRAYS,
    "null": (inspect.NoneType,),
}
_BOUNDS = {"ge": (">=", operator.ge), "gt": (">", operator.gt), "le": ("<=", operator.le), "lt": ("<", operator.lt)}


def explain(raw: Any, info: inspect.Type, convert: Convert) -> InvalidInput:
    """The error for `raw`, which does not match the type `info`; `convert` is how it was decoded."""
    return _Walk(convert).misfit(raw, info) or _mismatch(raw, info)


def member_for(raw: Any, info: inspect.Type) -> inspect.Type:
    """The member of a union that `raw` claims to be; any other type is returned unchanged."""
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


class Fields(NamedTuple):
    """The fields of a struct in JSON: their types including its tag, the required ones, and whether it keeps unknown fields."""

    types: Mapping[str, inspect.Type]
    required: tuple[str, ...]
    keeps_others: bool


@cache
def fields_of(type_: type[msgspec.Struct]) -> Fields:
    """The fields of a struct."""
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType)
    on_wire = [field for field in info.fields if field.encode_name != EXTRA]
    types: dict[str, inspect.Type] = {info.tag_field: inspect.AnyType()} if info.tag_field else {}
    types |= {field.encode_name: field.type for field in on_wire}
    required = tuple(field.encode_name for field in on_wire if field.required)
    return Fields(types, required, len(on_wire) < len(info.fields) or not info.forbid_unknown_fields)


class _Walk:
    """Looks for the first mismatch; makes a value only if its own constructor has to check it."""

    def __init__(self, convert: Convert) -> None:
        self._convert = convert

    def misfit(self, raw: Any, info: inspect.Type) -> InvalidInput | None:
        """The first place that does not match, as a path below `$`; None if everything matches."""
        match info:
            case inspect.UnionType():
                return self._in_union(raw, info)
            case inspect.StructType():
                return self._in_struct(raw, info) if isinstance(raw, dict) else _mismatch(raw, info)
            case inspect.DictType():
                return self._in_mapping(raw, info) if isinstance(raw, dict) else _mismatch(raw, info)
            case _ if isinstance(info, _ARRAYS):
                return self._in_array(raw, info) if isinstance(raw, list) else _mismatch(raw, info)
            case inspect.CustomType():
                return self._made(raw, info)
        if isinstance(info, inspect.EnumType | inspect.LiteralType):
            is_allowed = any(type(each) is type(raw) and each == raw for each in _allowed([info]))
            return None if is_allowed else _mismatch(raw, info)
        scalar = _SCALARS.get(type(info))
        if scalar is None:
            return None  # anything is allowed here, or only msgspec can decide
        return _out_of_bounds(raw, info) if _fits(raw, scalar) else _mismatch(raw, info)

    def _in_union(self, raw: Any, info: inspect.UnionType) -> InvalidInput | None:
        member = member_for(raw, info)
        if member is not info:
            return self.misfit(raw, member)
        tagged = [each for each in info.types if isinstance(each, inspect.StructType) and each.tag_field]
        if isinstance(raw, dict) and tagged and (tag_field := tagged[0].tag_field) is not None:
            return _of_tag(raw, tag_field, tuple(each.tag for each in tagged))
        containers = _OBJECTS if isinstance(raw, dict) else _ARRAYS if isinstance(raw, list) else ()
        if len(alike := [each for each in info.types if isinstance(each, containers)]) == 1:
            return self.misfit(raw, alike[0])
        misfits = [self.misfit(raw, each) for each in info.types]
        if any(each is None for each in misfits):
            return None
        limits = (_out_of_bounds(raw, each) for each in info.types if _fits(raw, _SCALARS.get(type(each))))
        return next(filter(None, limits), None) or _mismatch(raw, info)

    def _in_struct(self, raw: dict[str, Any], info: inspect.StructType) -> InvalidInput | None:
        if info.tag_field is not None and info.tag_field in raw and raw[info.tag_field] != info.tag:
            return _of_tag(raw, info.tag_field, (info.tag,))
        fields = fields_of(info.cls)
        for name, item in raw.items():
            if name in fields.types:
                if (inner := self.misfit(item, fields.types[name])) is not None:
                    return _below(f".{name}", inner)
            elif not fields.keeps_others:
                return InvalidInput(f"$.{name}", expected=f"only {_listed(fields.types)}", got="another field")
        for name in fields.required:
            if name not in raw:
                return InvalidInput(f"$.{name}", expected="a value", got="nothing")
        return self._made(raw, info) if hasattr(info.cls, "__post_init__") else None

    def _in_mapping(self, raw: dict[str, Any], info: inspect.DictType) -> InvalidInput | None:
        for key, item in raw.items():
            if not self._is_key(key, info.key_type):
                return InvalidInput("$", expected=f"keys that are {_described(info.key_type)}", got=show(key))
            if (inner := self.misfit(item, info.value_type)) is not None:
                return _below(f"[{key!r}]", inner)
        return None

    def _is_key(self, key: str, info: inspect.Type) -> bool:
        """Whether a key, which is always text in JSON, can be of the expected type."""
        scalar = _SCALARS.get(type(info))
        return self.misfit(key, info) is None if scalar is None else _fits({key: None}, dict[scalar, None])  # type: ignore[valid-type]

    def _in_array(self, raw: list[Any], info: inspect.Type) -> InvalidInput | None:
        match info:
            case inspect.TupleType(item_types=types):
                least = most = len(types)
            case inspect.NamedTupleType(fields=fields):
                types = tuple(field.type for field in fields)
                least, most = sum(field.required for field in fields), len(fields)
            case _:
                types = (getattr(info, "item_type", inspect.AnyType()),) * len(raw)
                least, most = 0, len(raw)
        if not least <= len(raw) <= most:
            length = f"{least}" if least == most else f"{least} to {most}"
            return InvalidInput("$", expected=f"array of length {length}", got=show(raw))
        for index, (item, type_) in enumerate(zip(raw, types, strict=False)):
            if (inner := self.misfit(item, type_)) is not None:
                return _below(f"[{index}]", inner)
        return None

    def _made(self, raw: Any, info: inspect.StructType | inspect.CustomType) -> InvalidInput | None:
        """What the value's own constructor rejects, if all of its fields match."""
        try:
            self._convert(raw, info, info.cls)
        except msgspec.ValidationError as error:
            cause = error.__cause__
            if isinstance(cause, InvalidInput):
                return InvalidInput(cause.path, expected=cause.expected, got=cause.got)
            return InvalidInput("$", expected=str(cause if cause is not None else error), got=show(raw))
        return None


def _below(step: str, inner: InvalidInput) -> InvalidInput:
    return InvalidInput(f"${step}{inner.path.removeprefix('$')}", expected=inner.expected, got=inner.got)


def _of_tag(raw: dict[str, Any], tag_field: str, tags: tuple[Any, ...]) -> InvalidInput:
    if tag_field not in raw:
        return InvalidInput(f"$.{tag_field}", expected="a value", got="nothing")
    return InvalidInput(f"$.{tag_field}", expected=f"one of {_listed(tags)}", got=show(raw[tag_field]))


def _mismatch(raw: Any, info: inspect.Type) -> InvalidInput:
    return InvalidInput("$", expected=_described(info), got=show(raw))


def _described(info: inspect.Type) -> str:
    """A description of the expected type."""
    types = info.types if isinstance(info, inspect.UnionType) else (info,)
    choices = [each for each in types if isinstance(each, inspect.EnumType | inspect.LiteralType)]
    others = [each for each in types if each not in choices]
    if choices and all(isinstance(each, inspect.NoneType) for each in others):
        return f"one of {_listed(_allowed(choices))}{' or null' if others else ''}"
    names = [name for name, kinds in _NAMES.items() if any(isinstance(each, kinds) for each in types)]
    return " | ".join(names) or "something else"


def _allowed(infos: Iterable[inspect.Type]) -> list[Any]:
    allowed: list[Any] = []
    for info in infos:
        match info:
            case inspect.EnumType(cls=enum):
                allowed += [member.value for member in enum]
            case inspect.LiteralType(values=values):
                allowed += values
    return allowed


def _fits(raw: Any, type_: Any) -> bool:
    """Whether a value has a plain type, by msgspec's rules: 1 is a float, 1.0 is an int, but 1 is not a bool. None is not a type."""
    if type_ is None or type(raw) is type_:
        return type_ is not None
    try:
        msgspec.convert(raw, type_, str_keys=True)
    except msgspec.ValidationError:
        return False
    return True


def _out_of_bounds(raw: Any, info: inspect.Type) -> InvalidInput | None:
    """Why a number of the right type is out of range."""
    if not isinstance(info, inspect.IntType | inspect.FloatType):
        return None
    for name, (sign, holds) in _BOUNDS.items():
        bound = getattr(info, name)
        if bound is not None and not holds(raw, bound):
            return InvalidInput("$", expected=f"{_described(info)} {sign} {bound}", got=show(raw))
    return None


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(repr, names))
