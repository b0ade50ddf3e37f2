"""Adds a server to a client's JSON file and removes it, leaving every other byte unchanged.

The file belongs to another program, and people edit it too. So its text is edited, not rewritten from its values; and before it is
written, the result is parsed and compared with the expected values.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

_SERVERS = "mcpServers"
_STEP = "  "


class CannotEdit(ValueError):
    """Why a file is not changed."""


class _Member(NamedTuple):
    name: str
    start: int
    value: int
    end: int


class _Object(NamedTuple):
    start: int  # of its brace
    members: tuple[_Member, ...]
    end: int  # of its closing brace

    def member(self, name: str) -> _Member | None:
        found = [each for each in self.members if each.name == name]
        if len(found) > 1:
            raise CannotEdit(f"{name!r} is there {len(found)} times")
        return found[0] if found else None


def server_in(text: str, name: str) -> Any:
    """The present settings of a server, or None."""
    return _values(text).get(_SERVERS, {}).get(name) if text.strip() else None


def with_server(text: str, name: str, settings: Mapping[str, Any]) -> str:
    """The text with a server in it, replacing one of the same name."""
    if not text.strip():
        return json.dumps({_SERVERS: {name: settings}}, indent=len(_STEP)) + "\n"
    wanted = _values(text)
    wanted.setdefault(_SERVERS, {})[name] = settings
    top = _object_at(text, _past_blanks(text, 0))
    servers = top.member(_SERVERS)
    if servers is None:
        edited = _inserted(text, top, _SERVERS, {name: settings})
    else:
        inside = _object_at(text, servers.value)
        own = inside.member(name)
        if own is None:
            edited = _inserted(text, inside, name, settings)
        else:
            edited = text[: own.value] + _written(text, own.start, settings) + text[own.end :]
    return _verified(edited, wanted)


def without_server(text: str, name: str) -> str:
    """The text without a server; empty if there was nothing else. An empty list of servers is removed too."""
    wanted = _values(text)
    del wanted[_SERVERS][name]
    top = _object_at(text, _past_blanks(text, 0))
    servers = top.member(_SERVERS)
    assert servers is not None
    inside = _object_at(text, servers.value)
    if len(inside.members) > 1:
        edited = _removed(text, inside, name)
    else:
        del wanted[_SERVERS]
        if not wanted:
            return ""
        edited = _removed(text, top, _SERVERS)
    return _verified(edited, wanted)


def _values(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotEdit(f"it is not JSON ({error})") from error
    if not isinstance(values, dict) or not isinstance(values.get(_SERVERS, {}), dict):
        raise CannotEdit(f"it is no JSON object with {_SERVERS!r} as an object in it")
    return values


def _object_at(text: str, at: int) -> _Object:
    """The position of the members of an object; the text is known to be JSON."""
    decoder = json.JSONDecoder()
    members = []
    start, at = at, _past_blanks(text, at + 1)
    while text[at] != "}":
        name, end = decoder.raw_decode(text, at)
        value = _past_blanks(text, _past_blanks(text, end) + 1)
        _, end = decoder.raw_decode(text, value)
        members.append(_Member(name, at, value, end))
        at = _past_blanks(text, end)
        if text[at] == ",":
            at = _past_blanks(text, at + 1)
    return _Object(start, tuple(members), at)


def _past_blanks(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _inserted(text: str, into: _Object, name: str, value: Any) -> str:
    """The text with one more member at the end of an object, formatted like the one before it."""
    if into.members:
        last = into.members[-1]
        at, blanks = last.end, _blanks_before(text, last.start)
        member = f"{json.dumps(name)}: {_written(text, last.start, value)}"
        return f"{text[:at]},{blanks}{member}{text[at:]}"
    outer = _indent_of(text, into.start)
    newline = _newline(text)
    lines = json.dumps({name: value}, indent=len(_STEP)).split("\n")
    return text[: into.start] + f"{newline}{outer}".join(lines) + text[into.end + 1 :]


def _written(text: str, at: int, value: Any) -> str:
    """A value formatted for a member at this position: on several lines if its members are."""
    if "\n" not in _blanks_before(text, at):
        return json.dumps(value)
    return f"{_newline(text)}{_indent_of(text, at)}".join(json.dumps(value, indent=len(_STEP)).split("\n"))


def _removed(text: str, from_: _Object, name: str) -> str:
    at = next(at for at, each in enumerate(from_.members) if each.name == name)
    own = from_.members[at]
    if at:
        return text[: from_.members[at - 1].end] + text[own.end :]
    if len(from_.members) > 1:
        return text[: own.start] + text[from_.members[1].start :]
    return text[: from_.start + 1] + text[from_.end :]


def _blanks_before(text: str, at: int) -> str:
    start = at
    while start and text[start - 1] in " \t\r\n":
        start -= 1
    return text[start:at]


def _indent_of(text: str, at: int) -> str:
    """The indentation of the line at a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _verified(edited: str, wanted: dict[str, Any]) -> str:
    if _values(edited) != wanted:
        raise CannotEdit("an edit would change something else in it")
    return edited
