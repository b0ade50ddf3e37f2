"""Running a client headless: in a repository of its own, with a home of its own, with telemetry and updates off, at an address of ours."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.installed import PATH

LONGEST = 600  # seconds that a client may run
KEY = "canary-key"


class Place(NamedTuple):
    """Where a client runs: its home, and the repository that it works in."""

    home: Path
    work: Path

    @classmethod
    def at(cls, folder: Path) -> "Place":
        place = cls(folder / "home", folder / "work")
        place.home.mkdir(parents=True)
        place.work.mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main", place.work], check=True)
        return place

    def write(self, name: str, text: str) -> None:
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


class Client(NamedTuple):
    """How one client is run."""

    name: str
    wire: str
    prepare: Callable[[Place, int | None], Mapping[str, str]]  # its files, and its variables
    command: Callable[[str, bool], Sequence[str]]  # for a prompt; whether it goes on with the last conversation
    direct: Callable[[Place, str], tuple[Sequence[str], Mapping[str, str]]]  # to an address without a gateway between
    forgiven: tuple[str, ...] = ()  # what its own provider takes and the vendor of its format refuses


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


def run(
    client: Client,
    place: Place,
    url: str,
    prompt: str,
    *,
    mode: str | None = None,
    store: Path | None = None,
    again: bool = False,
    compact_at: int | None = None,
    flags: Sequence[str] = (),
) -> Ended:
    """Run a client to its end: directly, or through a gateway in some mode."""
    environ = _environment(place) | dict(client.prepare(place, compact_at))
    command = list(client.command(prompt, again))
    if mode is None:
        arguments, variables = client.direct(place, url)
        command[1:1] = arguments
        environ |= variables
    else:
        environ |= {"PAGETURN_ANTHROPIC_URL": url, "PAGETURN_OPENAI_URL": f"{url}/v1"}
        ours = [sys.executable, "-m", "pageturn", "run", "--mode", mode, "--store", str(store), *flags, "--"]
        command = [*ours, *command]
    done = subprocess.run(
        command,
        cwd=place.work,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _environment(place: Place) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "TERM", "TMPDIR", "PYTHONPATH") if name in os.environ}
    return {**kept, "PATH": PATH, "HOME": str(place.home), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "CI": "1"}


def _claude(place: Place, compact_at: int | None) -> Mapping[str, str]:
    return {
        "ANTHROPIC_API_KEY": KEY,
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        **({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(compact_at)} if compact_at else {}),
    }


def _codex(place: Place, compact_at: int | None) -> Mapping[str, str]:
    limit = f"model_auto_compact_token_limit = {compact_at}\n" if compact_at else ""
    place.write(
        ".codex/config.toml",
        f"check_for_update_on_startup = false\n{limit}[analytics]\nenabled = false\n[features]\nplugins = false\n",
    )
    place.write(".codex/auth.json", json.dumps({"OPENAI_API_KEY": KEY}))
    return {"CODEX_HOME": str(place.home / ".codex")}


def _opencode_config(compact_at: int | None) -> dict[str, Any]:
    limit = {"limit": {"context": compact_at, "output": 8_000}} if compact_at else {}
    return {
        "provider": {
            "anthropic": {"options": {"apiKey": KEY}, "models": {"claude-opus-5-5": {"reasoning": True, **limit}}}
        },
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,  # a copy of the repository at each turn, which takes most of its time
    }


def _opencode(place: Place, compact_at: int | None) -> Mapping[str, str]:
    place.write(".config/opencode/opencode.json", json.dumps(_opencode_config(compact_at)))
    return {
        "ANTHROPIC_API_KEY": KEY,
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


def _qwen(place: Place, compact_at: int | None) -> Mapping[str, str]:
    settings: dict[str, Any] = {
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    }
    if compact_at:
        settings["model"] = {
            "chatCompression": {"contextPercentageThreshold": 0.5},
            "generationConfig": {"contextWindowSize": compact_at},
        }
    place.write(".qwen/settings.json", json.dumps(settings))
    return {"OPENAI_API_KEY": KEY, "OPENAI_MODEL": "qwen3-coder-plus", "QWEN_TELEMETRY_ENABLED": "0"}


def _pi(place: Place, compact_at: int | None) -> Mapping[str, str]:
    return {"ANTHROPIC_API_KEY": KEY, "PI_SKIP_VERSION_CHECK": "1", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def _pi_direct(place: Place, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    place.write(".pi/agent/models.json", json.dumps({"providers": {"anthropic": {"baseUrl": url}}}))
    return (), {}


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude",
            "anthropic",
            _claude,
            lambda prompt, again: [
                "claude", "-p", prompt, "--model", "claude-opus-5-5", "--dangerously-skip-permissions",
                *(["--continue"] if again else []),
            ],
            lambda _, url: ((), {"ANTHROPIC_BASE_URL": url}),
        ),
        Client(
            "codex",
            "responses",
            _codex,
            lambda prompt, again: [
                "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                *(["resume", "--last", prompt] if again else [prompt]),
            ],
            lambda _, url: (("-c", f'openai_base_url="{url}/v1"'), {}),
            ("roles_repeat",),
        ),
        Client(
            "opencode",
            "anthropic",
            _opencode,
            lambda prompt, again: [
                "opencode", "run", "-m", "anthropic/claude-opus-5-5", *(["--continue"] if again else []), prompt
            ],
            lambda _, url: ((), {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}})}),
        ),
        Client(
            "qwen",
            "chat",
            _qwen,
            lambda prompt, again: ["qwen", "-p", prompt, "--yolo", *(["--continue"] if again else [])],
            lambda _, url: (("--auth-type", "openai"), {"OPENAI_BASE_URL": f"{url}/v1"}),
            ("tool_description_length", "request_extra_field $.chat_template_kwargs"),
        ),
        Client(
            "pi",
            "anthropic",
            _pi,
            lambda prompt, again: [
                "pi", "-p", "--provider", "anthropic", "--model", "claude-opus-4-5", *(["--continue"] if again else []), prompt
            ],
            _pi_direct,
        ),
    )
}  # fmt: skip
