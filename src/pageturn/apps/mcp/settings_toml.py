"""Adds a server to Codex's TOML file and removes it, leaving every other byte unchanged.

As with JSON, the text is edited, and the result is parsed and compared before it is written.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from pageturn.apps.mcp.settings_json import CannotEdit

_SERVERS = "mcp_servers"
# Of a server, or in it.
_TABLE = re.compile(r"""[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*["']?([\w-]+)["']?[ \t]*[\].]""")


def server_in(text: str, name: str) -> Any:
    """The present settings of a server, or None."""
    return _values(text).get(_SERVERS, {}).get(name)


def with_server(text: str, name: str, settings: Mapping[str, Any]) -> str:
    """The text with a server at its end, replacing one of the same name."""
    wanted = _values(text)
    wanted.setdefault(_SERVERS, {})[name] = dict(settings)
    if server_in(text, name) is not None:
        text = without_server(text, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    # JSON spells strings and lists of strings as TOML does.
    lines = [f"[{_SERVERS}.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items()), ""]
    return _verified(text + (newline if text else "") + newline.join(lines), wanted)


def without_server(text: str, name: str) -> str:
    """The text without the tables of a server, and the blank line before the first."""
    wanted = _values(text)
    del wanted[_SERVERS][name]
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    at = 0
    while at < len(lines):
        table = _TABLE.match(lines[at])
        if table is None or table[1] != name:
            kept.append(lines[at])
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].lstrip(" \t").startswith("[")), len(lines))
        while _says_nothing(lines[end - 1]):  # comments above the next table are about that one
            end -= 1
        is_last = end == len(lines)
        if kept and not kept[-1].strip():
            kept.pop()
        elif kept and is_last:
            kept[-1] = kept[-1].rstrip("\r\n")
        at = end
    if not wanted[_SERVERS]:
        del wanted[_SERVERS]
    edited = "".join(kept)
    found = _values(edited)
    if not found.get(_SERVERS, True):
        del found[_SERVERS]
    return _verified(edited, wanted, found)


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _values(text: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is a ValueError of its own
        raise CannotEdit(f"it is not TOML ({error})") from error
    if not isinstance(values.get(_SERVERS, {}), dict):
        raise CannotEdit(f"{_SERVERS!r} in it is no table")
    return values


def _verified(edited: str, wanted: dict[str, Any], found: dict[str, Any] | None = None) -> str:
    try:
        is_good = (found if found is not None else _values(edited)) == wanted
    except CannotEdit:
        is_good = False
    if not is_good:
        raise CannotEdit(f"[{_SERVERS}] is written in a way that cannot be edited without changing something else")
    return edited
