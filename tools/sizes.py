"""The sizes of a code base: ours, and any other that lies here as a git repository, by the same count.

    python -m tools.sizes
    python -m tools.sizes REPOSITORY:PACKAGE ...      # as structlog.git:src/structlog

Lines are lines of the files of a package that end in .py, blank ones and comments with them; files without a line, and tests inside a package, are left out.
"""

import ast
import re
import subprocess
import sys
import tomllib
from math import ceil
from pathlib import Path, PurePosixPath
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = "src/pageturn"
_OLDER = re.compile(r"python_version\s*<")
HEAD = "| | files | lines | median / p90 / largest file | names in `__all__` | entries of the root | modules with a test file of their name | dependencies |\n|---|---|---|---|---|---|---|---|"


class Sizes(NamedTuple):
    """What is counted."""

    files: int
    lines: int
    median: int
    p90: int
    largest: int
    names: int
    entries: int
    modules: int
    tested: int
    dependencies: int

    def row(self, name: str) -> str:
        """A row of the table."""
        spread = f"{self.median:,} / {self.p90:,} / {self.largest:,}"
        tested = f"{self.tested} of {self.modules}"
        return f"| {name} | {self.files:,} | {self.lines:,} | {spread} | {self.names} | {self.entries} | {tested} | {self.dependencies} |"


def sizes(repository: str, package: str, *, without: tuple[str, ...] = ()) -> Sizes:
    """The sizes of a package as it was last committed to a repository; folders of it may be left out."""
    paths = _git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    inside = [
        path for path in paths if path.startswith(f"{package}/") and path.endswith(".py") and "/tests/" not in path
    ]
    inside = [path for path in inside if not path.startswith(tuple(f"{package}/{folder}/" for folder in without))]
    texts = {path: _git(repository, "show", f"HEAD:{path}") for path in inside}
    lengths = sorted(length for text in texts.values() if (length := len(text.splitlines())))
    modules = {_module(path) for path in inside if not PurePosixPath(path).name.startswith("__")}
    tests = {PurePosixPath(path).stem for path in paths if PurePosixPath(path).name.startswith("test_")}
    return Sizes(
        files=len(lengths),
        lines=sum(lengths),
        median=round(median(lengths)),
        p90=lengths[ceil(0.9 * len(lengths)) - 1],
        largest=lengths[-1],
        names=_names(texts[f"{package}/__init__.py"]),
        entries=len({path.partition("/")[0] for path in paths}),
        modules=len(modules),
        tested=sum(f"test_{module}" in tests for module in modules),
        dependencies=_dependencies(repository, paths),
    )


def _module(path: str) -> str:
    return PurePosixPath(path).stem.strip("_")


def _names(text: str) -> int:
    """How many names a package says are public; 0 where it does not say."""
    lists = [
        node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign) and _is_all(node.targets[0])
    ]
    return sum(len(each.elts) for each in lists if isinstance(each, ast.List | ast.Tuple))


def _is_all(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "__all__"


def _dependencies(repository: str, paths: list[str]) -> int:
    """The direct dependencies without extras, and without those that only an older Python needs."""
    if "pyproject.toml" not in paths:
        return 0
    project = tomllib.loads(_git(repository, "show", "HEAD:pyproject.toml")).get("project", {})
    return sum(_OLDER.search(each) is None for each in project.get("dependencies", ()))


def _git(repository: str, *arguments: str) -> str:
    command = ["git", "-C", repository, *arguments]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 (git, on what the caller named)
    return done.stdout.decode("utf-8", "replace")


def own_rows() -> list[str]:
    """The rows of this project: the whole, and what a session needs."""
    apart = ("apps", "lab", "testing")
    return [
        sizes(str(ROOT), PACKAGE).row("pageturn"),
        sizes(str(ROOT), PACKAGE, without=apart).row(f"pageturn without {', '.join(apart)}"),
    ]


def main() -> None:
    """Print the table."""
    print("\n".join((HEAD, *own_rows())))
    for named in sys.argv[1:]:
        repository, _, package = named.rpartition(":")
        print(sizes(repository, package).row(PurePosixPath(package).name))


if __name__ == "__main__":
    main()
