"""Clients: how each is told to use the gateway, without a change in anybody's files.

By variables where the client reads them, by a flag or by a configuration in a variable or a temporary folder where it does not. A
client that nobody knows gets the variables that most SDKs read.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pageturn.apps.gateway.endpoints import ANTHROPIC, GEMINI, OPENAI

_RUNNERS = ("npx", "bunx", "pnpx", "uvx", "node", "bun", "env")  # which run what they are given
_LOCAL = ("127.0.0.1", "localhost")


class Launch(NamedTuple):
    """A command with the environment that it gets."""

    command: tuple[str, ...]
    environ: dict[str, str]


class _Told(NamedTuple):
    """What a client is told: variables, and arguments that stand before its own."""

    variables: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()


class _Place(NamedTuple):
    """What there is to tell a client with."""

    url: str  # of the gateway
    environ: Mapping[str, str]
    arguments: Sequence[str]
    folder: Path  # for what must be a file, gone when the client is


def _claude(place: _Place) -> _Told:
    return _Told({"ANTHROPIC_BASE_URL": place.url})


def _codex(place: _Place) -> _Told:
    return _Told(arguments=("-c", f"openai_base_url={json.dumps(f'{place.url}/v1')}"))


def _opencode(place: _Place) -> _Told:
    """OpenCode merges a configuration in a variable over all its files."""
    given: dict[str, Any] = {}
    with suppress(ValueError):
        given = json.loads(place.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    config = given if isinstance(given, dict) else {}
    for vendor in (ANTHROPIC, OPENAI):
        _inner(config, "provider", vendor, "options")["baseURL"] = f"{place.url}/v1"
    return _Told({"OPENCODE_CONFIG_CONTENT": json.dumps(config)})


def _gemini(place: _Place) -> _Told:
    return _Told({"GOOGLE_GEMINI_BASE_URL": place.url})


def _qwen(place: _Place) -> _Told:
    """Qwen Code reads the variable only when it is to use a key of OpenAI's kind, which a login of its own would not be."""
    wants_key = bool(place.environ.get("OPENAI_API_KEY"))
    is_said = any(each.split("=")[0] == "--auth-type" for each in place.arguments)
    return _Told({"OPENAI_BASE_URL": f"{place.url}/v1"}, ("--auth-type", "openai") if wants_key and not is_said else ())


def _pi(place: _Place) -> _Told:
    """Pi reads addresses from a file of its folder only: a folder of links to everything in there but that file."""
    home = Path(place.environ.get("PI_CODING_AGENT_DIR") or Path.home() / ".pi" / "agent")
    models: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        models = json.loads((home / "models.json").read_text())
    models = models if isinstance(models, dict) else {}
    _inner(models, "providers", ANTHROPIC)["baseUrl"] = place.url
    _inner(models, "providers", OPENAI)["baseUrl"] = f"{place.url}/v1"
    home.mkdir(parents=True, exist_ok=True)
    for name in {"auth.json", "settings.json", "sessions", *(each.name for each in home.iterdir())} - {"models.json"}:
        (place.folder / name).symlink_to(home / name)  # also to what is not there yet, so that it comes to be there
    (home / "sessions").mkdir(exist_ok=True)
    (place.folder / "models.json").write_text(json.dumps(models))
    return _Told({"PI_CODING_AGENT_DIR": str(place.folder)})


def _generic(place: _Place) -> _Told:
    return _Told(
        {
            "ANTHROPIC_BASE_URL": place.url,
            "OPENAI_BASE_URL": f"{place.url}/v1",
            "OPENAI_API_BASE": f"{place.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": place.url,
        }
    )


_CLIENTS: dict[str, tuple[Callable[[_Place], _Told], str]] = {  # how each is told, and whose its other paths are
    "claude": (_claude, ANTHROPIC),
    "codex": (_codex, OPENAI),
    "opencode": (_opencode, OPENAI),
    "gemini": (_gemini, GEMINI),
    "qwen": (_qwen, OPENAI),
    "pi": (_pi, OPENAI),
}
_PACKAGES = {  # of npm
    "claude-code": "claude",
    "opencode-ai": "opencode",
    "gemini-cli": "gemini",
    "qwen-code": "qwen",
    "pi-coding-agent": "pi",
}


def client_of(command: Sequence[str]) -> str | None:
    """Which client a command runs, None where nobody knows it."""
    at = _place_of_name(command)
    name = Path(command[at]).name.lower()
    name = name.rsplit("@", 1)[0] if "@" in name[1:] else name  # a version
    stem = name.removesuffix(".exe").removesuffix(".cmd").removesuffix(".js")
    stem = _PACKAGES.get(stem, stem)
    return stem if stem in _CLIENTS else None


def vendor_of(command: Sequence[str]) -> str:
    """Whose the paths of a client are that show no vendor."""
    client = client_of(command)
    return _CLIENTS[client][1] if client is not None else OPENAI


def launch(command: Sequence[str], url: str, folder: Path, environ: Mapping[str, str] = os.environ) -> Launch:
    """The command of a client, told to use the gateway at that address. `folder` is empty, and lives as long as the client."""
    at = _place_of_name(command) + 1
    client = client_of(command)
    tell = _CLIENTS[client][0] if client is not None else _generic
    told = tell(_Place(url, environ, command[at:], folder))
    direct = {name: _with_local(environ.get(name, "")) for name in ("NO_PROXY", "no_proxy")}
    changed = (*command[:at], *told.arguments, *command[at:])
    return Launch(changed, {**environ, **direct, **told.variables})


def _place_of_name(command: Sequence[str]) -> int:
    """Where in a command the client's name stands: first, or behind a program that runs it."""
    if Path(command[0]).stem in _RUNNERS:
        named = (at for at, each in enumerate(command) if at and not each.startswith("-") and "=" not in each)
        return next(named, 0)
    return 0


def _with_local(hosts: str) -> str:
    """The hosts that are reached without a proxy, and this machine."""
    given = [each.strip() for each in hosts.split(",") if each.strip()]
    return ",".join(dict.fromkeys((*given, *_LOCAL)))


def _inner(outer: dict[str, Any], *names: str) -> dict[str, Any]:
    """The object inside others, which is made where there is none."""
    for name in names:
        inner = outer.get(name)
        if not isinstance(inner, dict):
            inner = outer[name] = {}
        outer = inner
    return outer
