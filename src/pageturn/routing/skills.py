"""Names the skills that agents are compared at, and divides a skill by custom axes.

A skill is a name of the catalogue, `model_call`; divided by axes, `model_call@domain=sql,tool=bash`. The axes are part of the name, so
that keys and JSON keep their format.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pageturn.values.errors import InvalidInput, show
from pageturn.values.relevance import Bucket, Dependency, Difficulty, ToolUse

MODEL_CALL = "model_call"
COMPACTION = "rlm_compact"
DISPATCH = "swarm_dispatch"
HANDOFF = "ralph_handoff"
PERSONA = "autochat_persona"
CATALOGUE = frozenset({MODEL_CALL, COMPACTION, DISPATCH, HANDOFF, PERSONA})

# For work that the axes of CADMAS-CTX do not describe.
ANY_BUCKET = Bucket(Difficulty.EASY, Dependency.ISOLATED, ToolUse.NO)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_SEPARATORS = frozenset("|@,=")
_QUOTED = {ord(mark): f"%{ord(mark):02X}" for mark in (*_SEPARATORS, "%")}
_AXES = {"difficulty": Difficulty, "dependency": Dependency, "tool_use": ToolUse}


class Setting(NamedTuple):
    """The skill, divided or not, and the bucket in which agents are compared."""

    skill: str
    bucket: Bucket

    @property
    def base(self) -> str:
        """The skill without its division: cells of one base learn from each other."""
        return self.skill.partition("@")[0]


def setting(
    skill: str, bucket: Bucket | Mapping[str, str] | str | None, catalogue: frozenset[str] = CATALOGUE
) -> Setting:
    """The skill and bucket of a task: a bucket of CADMAS-CTX, or axes of your own by name, which become part of the skill."""
    base, divided, rest = skill.partition("@") if isinstance(skill, str) else ("", "", "")
    if base not in catalogue:
        known = ", ".join(sorted(catalogue))
        raise InvalidInput("skill", expected=f"one of {known}, alone or as in model_call@domain=sql", got=show(skill))
    named = [_read(part, skill) for part in rest.split(",")] if divided else []
    if isinstance(bucket, Bucket):
        return Setting(_written(base, _each_once(named)), bucket)
    given = {"bucket": bucket} if isinstance(bucket, str) else {} if bucket is None else bucket
    if not isinstance(given, Mapping):
        raise InvalidInput("bucket", expected="a Bucket, axes by name, or a text", got=show(bucket))
    for axis, value in given.items():
        if value is not None and value != "":
            named.append((_checked_axis(axis), _checked(f"bucket.{axis}", _quoted(value))))
    axes = _each_once(named)
    seeds = {axis: kind(axes.pop(axis)) for axis, kind in _AXES.items() if axes.get(axis) in list(kind)}
    return Setting(_written(base, axes), Bucket(**{axis: seeds.get(axis, getattr(ANY_BUCKET, axis)) for axis in _AXES}))


def require_name(path: str, name: object) -> None:
    """Raise `InvalidInput` for names of agents that would break a key."""
    if not isinstance(name, str) or not name.strip() or "|" in name or not name.isprintable():
        raise InvalidInput(path, expected="a name without '|'", got=show(name))


def require_skill_name(name: object) -> None:
    """Raise `InvalidInput` for names that a catalogue cannot have."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput("skills", expected="names in snake_case", got=show(name))


def _read(part: str, skill: str) -> tuple[str, str]:
    axis, equals, value = part.partition("=")
    if not equals:
        raise InvalidInput("skill", expected="axes as in model_call@domain=sql,tool=bash", got=show(skill))
    return _checked_axis(axis), _checked(f"skill.{axis}", value)


def _each_once(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    axes: dict[str, str] = {}
    for axis, value in named:
        if axes.setdefault(axis, value) != value:
            raise InvalidInput(f"bucket.{axis}", expected=f"{axes[axis]!r}, as was said before", got=show(value))
    return axes


def _checked_axis(axis: object) -> str:
    if not isinstance(axis, str) or not _NAME.fullmatch(axis):
        raise InvalidInput("axis", expected="a name in snake_case", got=show(axis))
    return axis


def _checked(path: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or _SEPARATORS & set(value) or not value.isprintable():
        raise InvalidInput(path, expected="a text without '|', '@', ',' and '='", got=show(value))
    return value


def _quoted(value: object) -> object:
    """A text with its separators escaped as in a URL, so that any value can be part of a name."""
    return value.translate(_QUOTED) if isinstance(value, str) else value


def _written(base: str, axes: Mapping[str, str]) -> str:
    return f"{base}@{','.join(f'{axis}={axes[axis]}' for axis in sorted(axes))}" if axes else base
