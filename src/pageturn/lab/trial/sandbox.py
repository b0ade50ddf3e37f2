"""A sandbox: a folder of its own for a task, the tools that work in it, and programs that run there.

It confines a model's tools to one temporary folder and its programs to a few seconds. It is not a security boundary: what a model
writes runs with your rights, so run trials that run code in a container.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pageturn.lab.trial.contract import arguments_of, tool
from pageturn.values.messages import ToolCall

FILE_TOOLS: tuple[Mapping[str, Any], ...] = (
    tool("list_files", "List the files of the repository."),
    tool("read_file", "Read a file.", path="string"),
    tool("write_file", "Write a file, whole.", path="string", content="string"),
    tool("replace_text", "Replace a text that stands once in a file.", path="string", old="string", new="string"),
)
_SECONDS = 20
_MOST_CHARS = 20_000  # of the result of a call
_MOST_BYTES = 2_000_000  # of a written file
_NOT_SHOWN = ("__pycache__", ".git")


class Sandbox:
    """A folder, and the tools that work in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def run(self, call: ToolCall) -> str:
        """The result of a call; an invalid call returns the reason, never an exception."""
        try:
            return self._run(call.name, arguments_of(call))[:_MOST_CHARS]
        except (OSError, UnicodeError, ValueError) as error:
            return f"error: {error}"

    def _run(self, name: str, given: Mapping[str, Any]) -> str:
        match name:
            case "list_files":
                files = (path.relative_to(self.folder) for path in sorted(self.folder.rglob("*")) if path.is_file())
                return "\n".join(str(path) for path in files if not set(path.parts) & set(_NOT_SHOWN))
            case "read_file":
                return self._path(given).read_text(encoding="utf-8")
            case "write_file":
                return self._write(self._path(given), str(given.get("content", "")))
            case "replace_text":
                path, old = self._path(given), str(given.get("old", ""))
                text = path.read_text(encoding="utf-8")
                if not old or text.count(old) != 1:
                    return f"error: the text stands {text.count(old) if old else 0} times in the file, not once"
                return self._write(path, text.replace(old, str(given.get("new", ""))))
            case _:
                return f"error: there is no tool {name!r}"

    def _write(self, path: Path, text: str) -> str:
        if len(text.encode()) > _MOST_BYTES:
            return f"error: more than {_MOST_BYTES:,} bytes"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return f"wrote {path.relative_to(self.folder)}, {len(text.splitlines())} lines"

    def _path(self, given: Mapping[str, Any]) -> Path:
        """The path in a call, inside the folder, with links resolved."""
        path = (self.folder / str(given.get("path", ""))).resolve()
        if self.folder not in path.parents:
            raise ValueError(f"{given.get('path')!r} is outside of the repository")
        return path

    def python(self, *arguments: str, stdin: str = "") -> tuple[bool, str]:
        """Run Python in the folder, without the user's environment; returns whether it succeeded, and its output."""
        environment = {"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.folder)}
        try:
            done = subprocess.run(  # noqa: S603  that is what it is for
                [sys.executable, *arguments],
                cwd=self.folder,
                env=environment,
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False, f"error: not done in {_SECONDS} seconds"
        return done.returncode == 0, (done.stdout + done.stderr)[-_MOST_CHARS:]
