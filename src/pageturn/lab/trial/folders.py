"""Loads a user's own tasks. A folder has a task file, a checker, and optionally a history and files to work on.

    my-task/
      task.toml        system = "...", steps = ["...", ...], and perhaps history, files, calls_a_step
      check.py         is run after each step, in the files' folder; exit status 0 means done
      history.jsonl    messages as in OpenAI's chat format, one a line, before the first step
      files/           copied into a temporary folder for every run; the model gets tools that read and write there

The checker reads one JSON object from its standard input: `step` (from 0), `text` of the step, `answer`, and `calls` (name and arguments).
"""

import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from pageturn.formats import openai_chat
from pageturn.lab.trial.contract import Step, arguments_of
from pageturn.lab.trial.sandbox import FILE_TOOLS, Sandbox
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message, ToolCall, system

_TASK, _CHECK = "task.toml", "check.py"


class _TaskFile(msgspec.Struct, forbid_unknown_fields=True):
    steps: list[str]
    system: str = "You are a helpful assistant."
    history: str | None = None
    files: str | None = None
    calls_a_step: float = 5.0


class FolderTask(NamedTuple):
    """A user's own task."""

    id: str
    folder: Path
    opening: str
    steps: tuple[Step, ...]
    past: tuple[Message, ...]
    files: Path | None
    calls_a_step: float
    family: str = "own"

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Those that work on files, if there are any."""
        return FILE_TOOLS if self.files is not None else ()

    def history(self) -> list[Message]:
        """The opening prompt, and everything before the first step."""
        return [system(self.opening), *self.past]

    @contextmanager
    def opened(self) -> Iterator["_Folder"]:
        """A copy of the files, in a folder of its own."""
        with TemporaryDirectory(prefix="pageturn-trial-") as made:
            if self.files is not None:
                shutil.copytree(self.files, made, dirs_exist_ok=True)
            yield _Folder(self, Sandbox(Path(made)))


class _Folder:
    def __init__(self, task: FolderTask, sandbox: Sandbox) -> None:
        self._task = task
        self._sandbox = sandbox

    def run(self, call: ToolCall) -> str:
        return self._sandbox.run(call)

    def check(self, step: int, answer: str, calls: Sequence[ToolCall]) -> bool:
        given = {
            "step": step,
            "text": self._task.steps[step].text,
            "answer": answer,
            "calls": [{"name": call.name, "arguments": arguments_of(call)} for call in calls],
        }
        checker = str((self._task.folder / _CHECK).resolve())
        return self._sandbox.python(checker, stdin=msgspec.json.encode(given).decode())[0]


def read_task(folder: Path) -> FolderTask:
    """The task of a folder."""
    path = folder / _TASK
    for needed in (path, folder / _CHECK):
        if not needed.is_file():
            raise InvalidInput(str(folder), expected=f"a folder with {_TASK} and {_CHECK}", got=f"no {needed.name}")
    try:
        task = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _TaskFile)
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, not a task, a number of too many digits
        raise InvalidInput(str(path), expected="a task", got=str(error)) from error
    if not task.steps:
        raise InvalidInput(str(path), expected="at least one step", got=show(task.steps))
    files = folder / task.files if task.files is not None else None
    if files is not None and not files.is_dir():
        raise InvalidInput(str(path), expected="files: a folder beside the task", got=show(task.files))
    past = _messages(folder / task.history) if task.history is not None else ()
    steps = tuple(Step(f"step {number}", text) for number, text in enumerate(task.steps, start=1))
    return FolderTask(folder.resolve().name, folder, task.system, steps, past, files, task.calls_a_step)


def _messages(path: Path) -> tuple[Message, ...]:
    try:
        raw = [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(str(path), expected="messages, one a line", got=str(error)) from error
    return tuple(openai_chat.load_messages(raw))
