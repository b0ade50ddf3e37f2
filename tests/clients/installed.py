"""The clients, from their own packages, in a folder of the repository that is in no commit: `python -m tests.clients.installed`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".clients"
NODE = "node@24"  # with an older one, npm silently installs older clients
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "opencode": "opencode-ai",
    "qwen": "@qwen-code/qwen-code",
    "pi": "@mariozechner/pi-coding-agent",
    "inspector": "@modelcontextprotocol/inspector",
}
PATH = f"{FOLDER / 'node_modules' / '.bin'}{os.pathsep}{os.environ.get('PATH', '')}"


FRAMEWORKS = FOLDER.parent / ".venv-frameworks" / "bin" / "python"  # LangChain and Pydantic AI
_FRAMEWORKS = (
    "langchain==1.4.7",
    "langchain-core==1.7.2",
    "langchain-openai",
    "langchain-anthropic",
    "pydantic-ai-slim[openai,anthropic]==2.62.0",
)


def version(client: str) -> str | None:
    """The version that is installed, if one is."""
    file = FOLDER / "node_modules" / PACKAGES[client] / "package.json"
    return str(json.loads(file.read_text())["version"]) if file.exists() else None


def install() -> None:
    """Install what is missing: Node first, since npm takes the clients that fit the Node which runs it."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("the clients come from npm, which is not here")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "package.json").write_text('{"private": true}\n')
    missing = [package for client, package in PACKAGES.items() if version(client) is None]
    quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier"]
    for packages in ([NODE] if missing else [], missing):
        if packages:
            sys.stdout.write(f"installing {' '.join(packages)} into {FOLDER.name} ...\n")
            sys.stdout.flush()
            subprocess.run(
                [npm, "install", *quiet, *packages], cwd=FOLDER, check=True, env={**os.environ, "PATH": PATH}
            )


def install_frameworks() -> None:
    """Make the environment of the other frameworks, where it is not there."""
    if not FRAMEWORKS.exists():
        subprocess.run([sys.executable, "-m", "venv", FRAMEWORKS.parents[1]], check=True)
        subprocess.run([FRAMEWORKS, "-m", "pip", "install", "--quiet", *_FRAMEWORKS], check=True)


if __name__ == "__main__":
    install()
    install_frameworks()
    for name in PACKAGES:
        sys.stdout.write(f"{name} {version(name)}\n")
