"""The examples of the documentation: Python in the pages, the docstrings and `examples/`, each as a module of its own.

A block of a page stands alone, unless its fence says that it goes on: "```python continued" begins where the block before it ended.
One that names a framework, "```python langchain", is run by the tests of that adapter, where the framework is installed.
In a module, every line is where it is in the page, and all other lines are empty, so that whoever complains names the right one.
"""

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^ {0,3}```(?P<words>[^`\n]*)$")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.) ?")


class Example(NamedTuple):
    """A piece of Python that a reader may copy."""

    page: Path
    line: int  # of its first line
    code: str  # as many lines as the page has until its last one

    @property
    def name(self) -> str:
        """A name for its module."""
        words = self.page.relative_to(ROOT).as_posix() if self.page.is_relative_to(ROOT) else self.page.name
        return re.sub(r"\W", "_", f"{words}_{self.line}").lower()


def pages() -> list[Path]:
    """The pages of the documentation."""
    return [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *(ROOT / "docs").rglob("*.md")]


def every_example() -> Iterator[Example]:
    """All examples, in the order of their files."""
    for page in sorted(pages()):
        yield from blocks(page)
    for source in sorted((ROOT / "src").rglob("*.py")):
        yield from prompts(source)
    for source in sorted((ROOT / "examples").rglob("*.py")):
        if not missing(source):  # those of a framework are checked where it is installed
            yield Example(source, 1, source.read_text("utf-8"))


def missing(source: Path) -> list[str]:
    """The packages that an example needs, and that are not installed here."""
    imports = [
        node for node in ast.parse(source.read_text("utf-8")).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = [each.name for node in imports if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom)]
    return sorted({name.partition(".")[0] for name in names if find_spec(name.partition(".")[0]) is None})


def blocks(page: Path) -> Iterator[Example]:
    """The blocks of a page that are Python."""
    told: list[str] = []  # the block that may go on, line by line of the page
    start: int | None = None
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if fence := _FENCE.match(line):
            words = fence["words"].split()
            if start is not None:
                yield Example(page, start, "\n".join(told) + "\n")
                start = None
            elif words in (["python"], ["python", "continued"]):
                start = number + 1
                told = told if "continued" in words else []
        elif start is not None:
            told += [""] * (number - 1 - len(told)) + [line]


def hidden(page: Path) -> Iterator[Example]:
    """Python in the indented blocks of a page or of a module's docstrings, which nobody would check: it belongs into a fence or behind `>>>`."""
    text = page.read_text("utf-8")
    texts = [(1, text)] if page.suffix == ".md" else list(_docstrings(text))
    for first, each in texts:
        yield from (Example(page, line, code) for line, code in _indented(each, first) if _is_python(code))


def _docstrings(text: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, each with its first line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                yield node.body[0].lineno, docstring


def _indented(text: str, first: int) -> Iterator[tuple[int, str]]:
    """The blocks of a text that are indented by four blanks, behind an empty line and outside of fences."""
    is_fenced, was_empty = False, True
    block: list[str] = []
    start = first
    for number, line in enumerate([*text.splitlines(), "end"], start=first):
        is_fenced ^= _FENCE.match(line) is not None
        if not is_fenced and ((line.startswith("    ") and (block or was_empty)) or (block and not line.strip())):
            start = start if block else number
            block.append(line)
        else:
            if block:
                yield start, dedent("\n".join(block))
            block = []
        was_empty = not line.strip()


def _is_python(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return False
    return any(
        not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Name | ast.Constant)) for each in tree.body
    )


def prompts(source: Path) -> Iterator[Example]:
    """The examples in the docstrings of a module: what stands behind `>>>`, one module for each docstring."""
    text = source.read_text("utf-8")
    if ">>>" not in text:
        return
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node) is None:
            continue
        told = node.body[0]
        numbers = [
            number
            for number in range(told.lineno, (told.end_lineno or told.lineno) + 1)
            if _PROMPT.match(lines[number - 1])
        ]
        if numbers:
            code = ["" for _ in range(numbers[-1])]
            for number in numbers:
                code[number - 1] = _PROMPT.sub("", lines[number - 1])
            yield Example(source, numbers[0], "\n".join(code) + "\n")
