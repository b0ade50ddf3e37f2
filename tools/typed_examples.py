"""Checks the types of all examples, as a reader's own tools would: mypy --strict, and pyright in its basic mode.

    python -m tools.typed_examples          a part of `make check`

pyright is run as basedpyright, which brings its own Node in a wheel; the package `pyright` would download one.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tools.examples import ROOT, Example, every_example, hidden, pages

_MYPY_LINE = re.compile(r"(?P<file>[^:\n]+)\.py:(?P<line>\d+): error: (?P<message>.*)")


class Complaint(NamedTuple):
    """What a checker says of a line of a page."""

    page: str
    line: int
    checker: str
    message: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.checker}: {self.message}"


def complaints(examples: Iterable[Example]) -> list[Complaint]:
    """What both checkers say of examples, by page and line."""
    by_name = {example.name: example for example in examples}
    with TemporaryDirectory() as folder:
        written = Path(folder)
        for name, example in by_name.items():
            (written / f"{name}.py").write_text(example.code, "utf-8")
        found = [*_mypy(written), *_pyright(written)]
    places = {name: _page(example.page) for name, example in by_name.items()}
    return sorted(Complaint(places[name], line, *said) for name, line, *said in found)


def _page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def _mypy(folder: Path) -> Iterator[tuple[str, int, str, str]]:
    command = ["mypy", "--strict", "--no-error-summary", "--no-pretty", "--config-file=", f"--cache-dir={_cache()}"]
    out = _run([*command, *map(str, sorted(folder.glob("*.py")))], folder)
    if out.strip() and not _MYPY_LINE.search(out):
        raise SystemExit(f"mypy did not check the examples: {out.strip()}")
    for said in _MYPY_LINE.finditer(out):
        yield Path(said["file"]).name, int(said["line"]), "mypy", said["message"]


def _pyright(folder: Path) -> Iterator[tuple[str, int, str, str]]:
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "basic", "include": ["."]}), "utf-8")
    out = _run(["basedpyright", "--project", str(folder), "--pythonpath", sys.executable, "--outputjson"], folder)
    try:
        told = json.loads(out)
    except ValueError:
        raise SystemExit(f"pyright did not check the examples: {out.strip()}") from None
    for said in told["generalDiagnostics"]:
        if said["severity"] == "error":
            first = said["message"].splitlines()[0]
            rule = f" [{said['rule']}]" if "rule" in said else ""
            yield Path(said["file"]).stem, said["range"]["start"]["line"] + 1, "pyright", first + rule


def _run(command: list[str], folder: Path) -> str:
    program = Path(sys.executable).parent / command[0]  # beside this Python, whatever the path says
    done = subprocess.run(  # noqa: S603
        [str(program), *command[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout or done.stderr


def _cache() -> Path:
    return ROOT / ".mypy_cache" / "examples"


def main() -> None:
    unchecked = [each for source in (*pages(), *sorted((ROOT / "src").rglob("*.py"))) for each in hidden(source)]
    for example in unchecked:
        print(
            f"{_page(example.page)}:{example.line}: indented Python is not checked; use ```python, or >>> in a docstring"
        )
    if unchecked:
        sys.exit(f"{len(unchecked)} examples that no checker sees")
    examples = list(every_example())
    found = complaints(examples)
    for each in found:
        print(each)
    if found:
        sys.exit(f"{len(found)} complaints about {len(examples)} examples")
    if "--quiet" not in sys.argv:
        print(f"{len(examples)} examples pass mypy --strict and pyright")


if __name__ == "__main__":
    main()
