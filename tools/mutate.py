"""Changes one module of the library in one small way at a time, and says which changes no test notices.

python -m tools.mutate src/pageturn/state.py tests/session tests/test_session_model.py --sample 120 --seed 1

A first run finds out which tests execute which statements. Each mutant then meets only the tests that execute its statement, the quickest
first, in a process that was forked when everything but the library had been imported. Needs an operating system that forks.
"""

import ast
import builtins
import os
import pickle
import random
import signal
import sys
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import hypothesis.stateful  # noqa: F401  here, so that no mutant has to import it
import msgspec  # noqa: F401
import pytest

COMPARED = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot, ast.In: ast.NotIn}
SWAPPED = COMPARED | {new: old for old, new in COMPARED.items()} | {ast.And: ast.Or, ast.Or: ast.And}
SWAPPED |= {ast.Add: ast.Sub, ast.Sub: ast.Add}
RENAMED = {"min": "max", "max": "min", "reversed": "iter", "any": "all", "all": "any"}
NO_TESTS = 5  # pytest's exit code


class Mutant(NamedTuple):
    """A changed module: the line of the statement, what was changed, and the tree."""

    statement: int
    line: int
    change: str
    tree: ast.Module


class Test(NamedTuple):
    """A test with how long it takes and the statements of the module that it executes."""

    name: str
    seconds: float
    statements: frozenset[int]


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                yield ast.Compare(
                    node.left, [*node.ops[:at], SWAPPED[type(operator)](), *node.ops[at + 1 :]], node.comparators
                )
        case ast.BoolOp():
            yield ast.BoolOp(SWAPPED[type(node.op)](), node.values)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.If():
            yield from (ast.If(ast.Constant(test), node.body, node.orelse) for test in (True, False))
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.While():
            yield ast.While(ast.Constant(False), node.body, node.orelse)
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Call(func=ast.Name(id="sorted")):
            rest = [each for each in node.keywords if each.arg != "reverse"]
            flipped = [*rest, ast.keyword("reverse", ast.Constant(True))] if rest == node.keywords else rest
            yield ast.Call(node.func, node.args, flipped)
        case ast.Call(func=ast.Name(id=name)) if name in RENAMED:
            yield ast.Call(ast.Name(RENAMED[name], ast.Load()), node.args, node.keywords)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def mutants(module: ast.Module) -> Iterator[Mutant]:
    """All changes that can be made to a module."""

    def visit(node: ast.AST, statement: int) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            for at, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if not isinstance(child, ast.AST):
                    continue
                within = child.lineno if isinstance(child, ast.stmt) else statement
                for new in changed(child):
                    put(node, field, at, new)
                    told = f"{_short(child)}  ->  {_short(new)}"
                    yield Mutant(within, getattr(child, "lineno", within), told, deepcopy(module))
                    put(node, field, at, child)
                yield from visit(child, within)

    def put(node: ast.AST, field: str, at: int | None, child: ast.AST) -> None:
        if at is None:
            setattr(node, field, child)
        else:
            getattr(node, field)[at] = child

    yield from visit(module, 0)


def _short(node: ast.AST) -> str:
    line = ast.unparse(node).strip().partition("\n")[0]
    return line if len(line) < 90 else f"{line[:87]}..."


def watched(module: ast.Module) -> ast.Module:
    """A module that says which of its statements are executed inside functions."""
    module = deepcopy(module)
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef):
            for block in ast.walk(function):
                for field in ("body", "orelse", "finalbody"):
                    if isinstance(rows := getattr(block, field, None), list):
                        setattr(block, field, [each for row in rows for each in _told(row)])
    return module


def _told(row: ast.stmt) -> list[ast.stmt]:
    is_told = isinstance(row, ast.Expr) and isinstance(row.value, ast.Call) and ast.unparse(row.value.func) == "_hit_"
    hit = ast.Expr(ast.Call(ast.Name("_hit_", ast.Load()), [ast.Constant(row.lineno)], [])) if not is_told else row
    hit.lineno = row.lineno
    return [hit] if is_told else [hit, row]


def run(path: Path, tree: ast.Module, arguments: Sequence[str], plugin: object) -> int:
    """pytest's exit code with that tree in the place of a module; only in a forked process."""
    code = compile(ast.fix_missing_locations(tree), str(path), "exec")
    real: Callable[..., Any] = SourceFileLoader.get_code
    SourceFileLoader.get_code = lambda self, name: code if Path(self.path) == path else real(self, name)  # type: ignore[method-assign]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "--tb=line"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # since hypothesis is imported already
    return pytest.main([*options, *arguments], plugins=[plugin])


def forked(task: Callable[[], int], seconds: float, output: str = os.devnull) -> int | None:
    """The exit code of a task in a process of its own; None where it takes longer than that."""
    child = os.fork()
    if not child:
        os.setsid()
        with Path(output).open("wb") as sink:
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
        code = 3
        try:
            code = int(task())
        except BaseException:  # noqa: BLE001  it is told, and the process ends
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Watch:
    """Keeps what each test executes."""

    def __init__(self, kept: Path) -> None:
        self.hits: set[int] = set()
        self._kept, self._tests = kept, list[Test]()
        builtins._hit_ = self.hits.add  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """One test."""
        self.hits.clear()
        start = time.monotonic()
        result = yield
        self._tests.append(Test(item.nodeid, time.monotonic() - start, frozenset(self.hits)))
        return result

    def pytest_sessionfinish(self) -> None:
        """All of them."""
        self._kept.write_bytes(pickle.dumps(self._tests))


class Chosen:
    """Runs some tests, in their order."""

    def __init__(self, tests: Sequence[Test]) -> None:
        self._order = {test.name: at for at, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all others."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )


def affected(tests: Sequence[Test], statement: int, seconds: float) -> list[Test]:
    """The tests that execute a statement, the quickest first, as many as so many seconds hold. What runs at import concerns all."""
    is_imported = not any(statement in test.statements for test in tests)
    chosen: list[Test] = []
    for test in sorted(tests, key=lambda test: test.seconds):
        if is_imported or statement in test.statements:
            seconds -= test.seconds
            if chosen and seconds < 0:
                break
            chosen.append(test)
    return chosen


def main() -> None:
    """The command."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--sample", type=int, help="try so many mutants, chosen by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", help="only those of the statements in these lines, such as 20-40")
    parser.add_argument("--seconds", type=float, default=10, help="of tests for each mutant")
    parser.add_argument("--timeout", type=float, default=60)
    asked = parser.parse_args()
    path = asked.module.resolve()
    sys.dont_write_bytecode = False
    module = ast.parse(path.read_text())
    with NamedTemporaryFile() as kept, NamedTemporaryFile() as output:
        found = forked(lambda: run(path, watched(module), asked.tests, Watch(Path(kept.name))), 3_600, output.name)
        if found != 0:
            sys.exit(f"the tests do not pass as they are:\n{Path(output.name).read_text()[-2_000:]}")
        tests: list[Test] = pickle.loads(Path(kept.name).read_bytes())  # noqa: S301  our own
    found = [*mutants(module)]
    if asked.lines:
        first, last = map(int, asked.lines.split("-"))
        found = [each for each in found if first <= each.line <= last]
    if asked.sample and asked.sample < len(found):
        chosen = sorted(random.Random(asked.seed).sample(range(len(found)), asked.sample))  # noqa: S311
        found = [found[at] for at in chosen]
    print(f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} s; {len(found)} mutants", flush=True)
    survived = 0
    for mutant in found:
        met = affected(tests, mutant.statement, asked.seconds)
        files = [*dict.fromkeys(test.name.partition("::")[0] for test in met)]
        code = forked(lambda tree=mutant.tree, met=met, files=files: run(path, tree, files, Chosen(met)), asked.timeout)
        if code == 0:
            survived += 1
            print(f"survived  {path.name}:{mutant.line}  {mutant.change}  ({len(met)} tests)", flush=True)
    print(f"{path.name}: {len(found) - survived} of {len(found)} killed ({1 - survived / max(1, len(found)):.0%})")


if __name__ == "__main__":
    main()
