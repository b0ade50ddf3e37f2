"""Every regular expression of the library with a verdict: whether any text can make it take more than linear time.

    python -m tools.expressions [--quiet]

Expressions are found in the sources: every call of `re`, and every compiled pattern that a module holds. Each is tried as it is used (one
that is only ever matched at a place need not be fast when it is searched for) on texts that are made for it: the letters of each of its
repetitions, pumped, behind what comes before them and before something that does not fit. Where that takes the square of the time, the
expression must be listed in `tools/bounded_expressions.py` with the bound on what it reads; who is listed without need is an error, too.
"""

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any, NamedTuple

import pageturn
from tools.attacks import attacks
from tools.bounded_expressions import BOUNDED, BUILT

_SOURCES = Path(pageturn.__file__).parent
_FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_AT_A_PLACE = ("match", "fullmatch")
_FIRST = [int(12 * 1.15**step) for step in range(21)]  # characters, in small steps: what is exponential must not hang
_LONGEST = 2_000
_SLOW = 2e-3  # seconds for the longest of these; what is linear takes some microseconds
_HANGS = 0.05  # seconds for any of them
_TIMES, _MOST, _LOOKS = 4, 8.0, 3


class Expression(NamedTuple):
    """A pattern, where it stands, and whether it is only ever tried at one place of a text."""

    where: str
    pattern: str
    flags: int
    is_anchored: bool


class Verdict(NamedTuple):
    """Whether an expression is linear, and the text by which it is not."""

    expression: Expression
    is_linear: bool
    attack: str = ""


def main() -> None:
    verdicts = [judge(expression) for expression in expressions()]
    if "--quiet" not in sys.argv:
        for verdict in verdicts:
            print(_row(verdict))
    complaints = list(_complaints(verdicts))
    linear = sum(verdict.is_linear for verdict in verdicts)
    print(f"{len(verdicts)} expressions: {linear} linear, {len(verdicts) - linear} bounded in what they read")
    if complaints:
        sys.exit("\n".join(complaints))


def _row(verdict: Verdict) -> str:
    used = "at a place" if verdict.expression.is_anchored else "searched"
    bound = BOUNDED.get(verdict.expression.where)
    told = "linear" if verdict.is_linear else f"bounded: {bound}" if bound else f"NOT LINEAR on {verdict.attack}"
    return f"{verdict.expression.where:48} {used:10} {told:30} {' '.join(verdict.expression.pattern.split())[:90]}"


def _complaints(verdicts: Iterable[Verdict]) -> Iterator[str]:
    needed = {verdict.expression.where for verdict in verdicts if not verdict.is_linear}
    for verdict in verdicts:
        if not verdict.is_linear and verdict.expression.where not in BOUNDED:
            yield f"{verdict.expression.where}: takes more than linear time on {verdict.attack}, and no bound is listed"
    yield from (
        f"{where}: is listed as bounded, and is linear or not there" for where in BOUNDED if where not in needed
    )


# -- where they are


def expressions() -> list[Expression]:
    """All expressions of the library, in the order of their modules."""
    found: dict[tuple[str, str, int], Expression] = {}
    for name in sorted(_modules()):
        try:
            module = importlib.import_module(name)
        except ImportError:
            if not name.startswith("pageturn.adapters."):
                raise
            continue  # of a framework that is not installed here
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        short = name.removeprefix("pageturn.")
        for where, pattern, flags, is_anchored in (*_held(module, tree), *_called(module, tree), *_built(module)):
            key = (short, pattern, flags)
            if key not in found:
                found[key] = Expression(f"{short}:{where}", pattern, flags, is_anchored)
    return list(found.values())


def _modules() -> Iterator[str]:
    yield from (
        module.name for module in pkgutil.walk_packages([str(_SOURCES)], "pageturn.") if "__main__" not in module.name
    )


def _held(module: ModuleType, tree: ast.AST) -> Iterator[tuple[str, str, int, bool]]:
    """The patterns that a module holds, alone or in tables."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", module.__name__) != module.__name__ and not isinstance(value, re.Pattern):
            continue
        for pattern in _inside(value):
            if isinstance(value, re.Pattern) and _is_imported(name, tree):
                continue
            uses = _uses(name, tree) if isinstance(value, re.Pattern) else set()
            yield name, pattern.pattern, pattern.flags, bool(uses) and uses <= set(_AT_A_PLACE)


def _inside(value: Any, depth: int = 3) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list) and depth:
        for inner in value:
            yield from _inside(inner, depth - 1)
    elif isinstance(value, dict) and depth:
        for inner in value.values():
            yield from _inside(inner, depth - 1)


def _is_imported(name: str, tree: ast.AST) -> bool:
    return any(
        name in {alias.asname or alias.name for alias in node.names}
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    )


def _uses(name: str, tree: ast.AST) -> set[str]:
    """How a module uses a pattern: the methods that it asks for; whatever else it does with it counts as a search."""
    methods = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            methods.add(node.attr)
        elif isinstance(node, ast.Call | ast.Tuple | ast.IfExp | ast.BoolOp):
            passed = [*ast.iter_child_nodes(node)]
            methods |= {"search" for inner in passed if isinstance(inner, ast.Name) and inner.id == name}
    return methods


def _called(module: ModuleType, tree: ast.AST) -> Iterator[tuple[str, str, int, bool]]:
    """The patterns that are given to functions of `re` and are constant, or made of what the module holds."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "regex"), attr=function), args=[first, *_]):
                if function not in _FUNCTIONS:
                    continue
                where = f"line {node.lineno}"
                try:
                    pattern = eval(compile(ast.Expression(first), "", "eval"), dict(vars(module)))  # noqa: S307
                except NameError:
                    if module.__name__ not in BUILT:
                        sys.exit(f"{module.__name__}:{node.lineno}: say in BUILT which patterns this may get")
                    continue
                if isinstance(pattern, str) and function != "compile":
                    yield where, pattern, _flags(node, module), function in _AT_A_PLACE


def _flags(node: ast.Call, module: ModuleType) -> int:
    given = [
        inner for inner in (*node.args[1:], *(each.value for each in node.keywords)) if isinstance(inner, ast.Attribute)
    ]
    flags = [eval(compile(ast.Expression(each), "", "eval"), dict(vars(module))) for each in given]  # noqa: S307
    return sum(flag for flag in flags if isinstance(flag, re.RegexFlag))


def _built(module: ModuleType) -> Iterator[tuple[str, str, int, bool]]:
    """The patterns that are made when they are needed, of tables or of what somebody asks for."""
    for name, patterns in (BUILT.get(module.__name__, {})).items():
        yield from ((name, pattern, 0, False) for pattern in patterns(module))


# -- what they take


def judge(expression: Expression) -> Verdict:
    """Whether an expression is linear on every text that is made for it."""
    pattern = _compiled(expression)
    run = pattern.match if expression.is_anchored else lambda text: all(False for _ in pattern.finditer(text))
    for before, pumped, after in attacks(expression.pattern, expression.flags):
        if _grows_too_fast(run, before, pumped, after):
            return Verdict(expression, False, f"{before!r} {pumped!r}*n {after!r}")
    return Verdict(expression, True)


def _compiled(expression: Expression) -> Any:
    try:
        return re.compile(expression.pattern, expression.flags)
    except re.error:  # with classes that only the other engine has
        import regex  # noqa: PLC0415

        return regex.compile(expression.pattern)


def _grows_too_fast(run: Any, before: str, pumped: str, after: str) -> bool:
    def seconds(size: int) -> float:
        text = before + pumped * max(1, size // len(pumped)) + after
        start = process_time()
        run(text)
        return process_time() - start

    if any(seconds(size) > _HANGS and seconds(size) > _HANGS for size in _FIRST):
        return True
    if seconds(_LONGEST) < _SLOW:
        return False
    for _ in range(_LOOKS):
        small = min(seconds(_LONGEST) for _ in range(3))
        if seconds(_TIMES * _LONGEST) < _MOST * small:
            return False
    return True


if __name__ == "__main__":
    main()
