"""The pure rooms by what they import and call: no clock, randomness, environment, file, network or thread, from any module.

    python -m tools.purity          a part of `make check`

The import contract of pyproject.toml names modules that are forbidden; here it is those that are allowed, so that what nobody thought of
is refused, too. A few of them also have something impure (`datetime.now`), and so do the builtins (`open`).
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ROOMS = ("values", "formats", "policies", "context")
_ALLOWED = frozenset(  # `gc` among them: when memory is collected changes no result
    "abc base64 binascii bisect codecs collections collections.abc contextlib dataclasses datetime enum functools gc hashlib heapq"
    " imagesize itertools json math msgspec operator pageturn pathlib re regex tomllib types typing urllib.parse".split()
)
_ONLY = {"pathlib": {"PurePosixPath"}, "codecs": {"BOM_UTF8"}}  # the rest of these reads files
_BUILTINS = frozenset(("open", "input", "print", "exec", "eval", "breakpoint", "__import__"))
_CLOCK = frozenset(("now", "utcnow", "today"))  # of `datetime` and `date`


class Impurity(NamedTuple):
    """Something in a pure room that is not."""

    file: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}, in a room that is pure (docs/how-it-works.md)"


def impurities(file: Path) -> Iterator[Impurity]:
    """What is impure in a module."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        for what in _impure(node):
            yield Impurity(file, getattr(node, "lineno", 1), what)


def _impure(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"import {each.name}" for each in names if not _is_allowed(each.name) or each.name in _ONLY)
        case ast.ImportFrom(module=str(module), names=names):
            only = _ONLY.get(module)
            if not _is_allowed(module):
                yield f"from {module} import"
            elif only is not None:
                yield from (f"from {module} import {each.name}" for each in names if each.name not in only)
        case ast.Name(id=name, ctx=ast.Load()) if name in _BUILTINS:
            yield f"the builtin {name}"
        case ast.Attribute(attr=name, value=ast.Name(id="datetime" | "date")) if name in _CLOCK:
            yield f"the clock, datetime.{name}"
        case ast.Attribute(attr=name, value=ast.Attribute(attr="datetime" | "date")) if name in _CLOCK:
            yield f"the clock, datetime.{name}"


def _is_allowed(module: str) -> bool:
    return module in _ALLOWED or module.startswith("pageturn.")


def main() -> None:
    """Print what is impure, and fail if something is."""
    files = [file for room in ROOMS for file in sorted((ROOT / "src" / "pageturn" / room).rglob("*.py"))]
    found = [each for file in files for each in impurities(file)]
    for each in found:
        print(each)
    if found or not files:
        sys.exit(f"{len(found)} impurities in {len(files)} modules")
    if "--quiet" not in sys.argv:
        print(f"{len(files)} modules are pure")


if __name__ == "__main__":
    main()
