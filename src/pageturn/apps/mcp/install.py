"""Adds the server to the settings of a client, and removes it.

    claude-code     ~/.claude.json, or .mcp.json of a project
    codex           ~/.codex/config.toml, or .codex/config.toml of a project

Only our own entry is written or removed. A file that cannot be parsed, or cannot be edited without changing something else, is left
alone with an error.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pageturn.apps.mcp import settings_json, settings_toml
from pageturn.apps.mcp.settings_json import CannotEdit
from pageturn.values.errors import InvalidInput

NAME = "pageturn"


class _Client(NamedTuple):
    format: ModuleType
    own_file: Callable[[Mapping[str, str]], Path]
    project_file: str
    kind: Mapping[str, str]  # the fields of an entry besides the command


def _of_claude_code(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home()) / ".claude.json"


def _of_codex(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"


_CLIENTS = {
    "claude-code": _Client(settings_json, _of_claude_code, ".mcp.json", {"type": "stdio"}),
    "codex": _Client(settings_toml, _of_codex, ".codex/config.toml", {}),
}
CLIENTS = tuple(_CLIENTS)


class Change(NamedTuple):
    """What would be written: the file, its bytes before and after (None: no file), and the command of our entry before and after."""

    file: Path
    before: bytes | None
    after: bytes | None
    old_command: str | None
    new_command: str | None


def command_for(store: str, scope: str | None) -> list[str]:
    """The command with which a client starts the server: by the path of this Python, since clients have search paths of their own."""
    absolute = store if store.startswith("sqlite:") else str(Path(store).expanduser().absolute())
    return [sys.executable, "-m", "pageturn", "mcp", absolute, *(["--scope", scope] if scope is not None else [])]


def installed(
    client: str, command: list[str], *, project: Path | None, environ: Mapping[str, str] = os.environ
) -> Change:
    """The change that lets a client start the server."""
    known = _CLIENTS[client]
    found = _read(known, project, environ)
    settings = {**known.kind, "command": command[0], "args": command[1:]}
    return _change(known, found, lambda: known.format.with_server(found.text, NAME, settings), " ".join(command))


def uninstalled(client: str, *, project: Path | None, environ: Mapping[str, str] = os.environ) -> Change:
    """The change that removes the server; it changes nothing if there is no such entry."""
    known = _CLIENTS[client]
    found = _read(known, project, environ)

    def edited() -> str:
        is_there = known.format.server_in(found.text, NAME) is not None
        return str(known.format.without_server(found.text, NAME)) if is_there else found.text

    return _change(known, found, edited, None)


def write(change: Change) -> None:
    """Write the file in one step, unless it was changed meanwhile. A file that becomes empty is removed."""
    file = change.file.resolve()  # a link stays a link
    if (file.read_bytes() if file.exists() else None) != change.before:
        raise InvalidInput(
            str(change.file), expected="a file that nobody else writes now", got="one that has just changed"
        )
    if change.after is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(change.after)
        Path(name).chmod(mode)
        Path(name).replace(file)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise


class _Found(NamedTuple):
    file: Path
    data: bytes | None
    text: str


def _read(client: _Client, project: Path | None, environ: Mapping[str, str]) -> _Found:
    file = project / client.project_file if project is not None else client.own_file(environ)
    data = file.read_bytes() if file.exists() else None
    try:
        return _Found(file, data, (data or b"").decode())
    except UnicodeDecodeError as error:
        raise _refused(file, "it is not UTF-8") from error


def _change(client: _Client, found: _Found, edit: Callable[[], str], command: str | None) -> Change:
    try:
        old = client.format.server_in(found.text, NAME)
        after = edit()
    except CannotEdit as error:
        raise _refused(found.file, str(error)) from error
    kept = found.data if after == found.text else after.encode() or None
    return Change(found.file, found.data, kept, _command_of(old), command)


def _command_of(settings: Any) -> str | None:
    if settings is None:
        return None
    values = settings if isinstance(settings, dict) else {}
    arguments = values.get("args")
    words = [values.get("command") or values.get("url"), *(arguments if isinstance(arguments, list) else [])]
    return " ".join(str(word) for word in words if word is not None) or "something else"


def _refused(file: Path, why: str) -> InvalidInput:
    return InvalidInput(str(file), expected="a file that can be edited (nothing was changed)", got=f"another: {why}")
