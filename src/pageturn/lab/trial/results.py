"""Defines the result of one task under one method, one JSON line each."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pageturn.values.errors import InvalidInput
from pageturn.values.json import Closed, from_json, to_json


class StepDone(Closed):
    """The result of one step."""

    name: str
    done: bool
    calls: int  # of the model


class Run(Closed, omit_defaults=True):
    """One task under one method, once."""

    task: str
    family: str
    method: str
    repetition: int
    model: str
    budget_tokens: int
    steps: tuple[StepDone, ...] = ()
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    recalls: int = 0
    estimated: bool = False  # the model did not report its usage
    error: str | None = None  # why it ended early; it is run again, unless it is final
    final: bool = True  # whether all steps were tried, or never could be

    @property
    def key(self) -> "RunKey":
        """What the run is for."""
        return RunKey(self.task, self.method, self.repetition, self.model, self.budget_tokens)

    @property
    def calls(self) -> int:
        """The number of calls of the model."""
        return sum(step.calls for step in self.steps)


class RunKey(NamedTuple):
    """The identity of a run: a final one is not run again."""

    task: str
    method: str
    repetition: int
    model: str
    budget_tokens: int


def read_runs(path: Path) -> Iterator[Run]:
    """The runs of a file; an incomplete last line is left out."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            return
        try:
            yield from_json(Run, line)
        except InvalidInput as error:
            raise InvalidInput(f"{path}:{number}", expected="a run of a trial", got=str(error)) from error


def append_run(path: Path, run: Run) -> None:
    """Append a run; an incomplete last line is removed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        whole = file.read()
        file.truncate(whole.rfind(b"\n") + 1)
        file.write(to_json(run) + b"\n")
