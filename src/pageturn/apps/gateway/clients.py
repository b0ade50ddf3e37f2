"""Makes each known client use the gateway, without changing anyone's files.

It sets variables if the client reads them, else a flag, or a configuration in a variable or a temporary folder. An unknown client
gets the variables that most SDKs read.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pageturn.apps.gateway.endpoints import ANTHROPIC, GEMINI, OPENAI

_RUNNERS = ("npx", "bunx", "pnpx", "uvx", "node", "bun", "env")  # programs that run the command in their arguments
_LOCAL = ("127.0.0.1", "localhost")


class Launch(NamedTuple):
    """A command with the environment that it gets."""

    command: tuple[str, ...]
    environ: dict[str, str]


class _Changes(NamedTuple):
    """What makes a client use the gateway: variables, and arguments before its own."""

    variables: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()


class _Start(NamedTuple):
    """What is known when a client is started."""

    url: str  # of the gateway
    environ: Mapping[str, str]
    arguments: Sequence[str]
    folder: Path  # for settings that must be a file; deleted after the client ends


def _claude(start: _Start) -> _Changes:
    return _Changes({"ANTHROPIC_BASE_URL": start.url})


def _codex(start: _Start) -> _Changes:
    return _Changes(arguments=("-c", f"openai_base_url={json.dumps(f'{start.url}/v1')}"))


def _opencode(start: _Start) -> _Changes:
    """OpenCode merges a configuration in a variable over all its files."""
    given: dict[str, Any] = {}
    with suppress(ValueError):
        given = json.loads(start.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    config = given if isinstance(given, dict) else {}
    for vendor in (ANTHROPIC, OPENAI):
        _inner(config, "provider", vendor, "options")["baseURL"] = f"{start.url}/v1"
    return _Changes({"OPENCODE_CONFIG_CONTENT": json.dumps(config)})


def _gemini(start: _Start) -> _Changes:
    return _Changes({"GOOGLE_GEMINI_BASE_URL": start.url})


def _qwen(start: _Start) -> _Changes:
    """Qwen Code reads the variable only if it is set to use an OpenAI key, and not a login of its own."""
    wants_key = bool(start.environ.get("OPENAI_API_KEY"))
    is_said = any(each.split("=")[0] == "--auth-type" for each in start.arguments)
    return _Changes(
        {"OPENAI_BASE_URL": f"{start.url}/v1"}, ("--auth-type", "openai") if wants_key and not is_said else ()
    )


def _pi(start: _Start) -> _Changes:
    """Pi reads addresses only from a file of its folder: so it gets a folder of links to everything in there but that file."""
    home = Path(start.environ.get("PI_CODING_AGENT_DIR") or Path.home() / ".pi" / "agent")
    models: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        models = json.loads((home / "models.json").read_text())
    models = models if isinstance(models, dict) else {}
    _inner(models, "providers", ANTHROPIC)["baseUrl"] = start.url
    _inner(models, "providers", OPENAI)["baseUrl"] = f"{start.url}/v1"
    home.mkdir(parents=True, exist_ok=True)
    for name in {"auth.json", "settings.json", "sessions", *(each.name for each in home.iterdir())} - {"models.json"}:
        (start.folder / name).symlink_to(home / name)  # also for targets that do not exist yet
    (home / "sessions").mkdir(exist_ok=True)
    (start.folder / "models.json").write_text(json.dumps(models))
    return _Changes({"PI_CODING_AGENT_DIR": str(start.folder)})


def _generic(start: _Start) -> _Changes:
    return _Changes(
        {
            "ANTHROPIC_BASE_URL": start.url,
            "OPENAI_BASE_URL": f"{start.url}/v1",
            "OPENAI_API_BASE": f"{start.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": start.url,
        }
    )


# How each client is set up, and the vendor of its paths that show none.
_CLIENTS: dict[str, tuple[Callable[[_Start], _Changes], str]] = {
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
    """The client that a command runs; None if unknown."""
    at = _index_of_name(command)
    name = Path(command[at]).name.lower()
    name = name.rsplit("@", 1)[0] if "@" in name[1:] else name  # a version
    stem = name.removesuffix(".exe").removesuffix(".cmd").removesuffix(".js")
    stem = _PACKAGES.get(stem, stem)
    return stem if stem in _CLIENTS else None


def vendor_of(command: Sequence[str]) -> str:
    """The vendor of those paths of a client that show none."""
    client = client_of(command)
    return _CLIENTS[client][1] if client is not None else OPENAI


def launch(command: Sequence[str], url: str, folder: Path, environ: Mapping[str, str] = os.environ) -> Launch:
    """The command of a client with the gateway's address. `folder` is empty, and lives as long as the client."""
    at = _index_of_name(command) + 1
    client = client_of(command)
    set_up = _CLIENTS[client][0] if client is not None else _generic
    changes = set_up(_Start(url, environ, command[at:], folder))
    direct = {name: _with_local(environ.get(name, "")) for name in ("NO_PROXY", "no_proxy")}
    changed = (*command[:at], *changes.arguments, *command[at:])
    return Launch(changed, {**environ, **direct, **changes.variables})


def _index_of_name(command: Sequence[str]) -> int:
    """The index of the client's name in a command: first, or after a program that runs it."""
    if Path(command[0]).stem in _RUNNERS:
        named = (at for at, each in enumerate(command) if at and not each.startswith("-") and "=" not in each)
        return next(named, 0)
    return 0


def _with_local(hosts: str) -> str:
    """The hosts that are reached without a proxy, with this machine added."""
    given = [each.strip() for each in hosts.split(",") if each.strip()]
    return ",".join(dict.fromkeys((*given, *_LOCAL)))


def _inner(outer: dict[str, Any], *names: str) -> dict[str, Any]:
    """The nested object, created if missing."""
    for name in names:
        inner = outer.get(name)
        if not isinstance(inner, dict):
            inner = outer[name] = {}
        outer = inner
    return outer
