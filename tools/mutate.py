"""Changes one module of the library in one small way at a time, and says which changes no test notices.

python -m tools.mutate src/pageturn/state.py tests/session tests/test_session_model.py --sample 120 --seed 1

Everything is imported and collected once. A first run finds out which tests execute which statements; each mutant then meets only
the tests that execute its statement, the fastest and the most telling, in a forked process in which the code of one function, or the value of one
constant, is exchanged. Defaults of fields are left alone. Needs an operating system that forks.
"""

import ast
import builtins
import inspect
import os
import pickle
import random
import signal
import sys
import time
import traceback
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest

from tools.mutations import Mutant, mutants


class Test(NamedTuple):
    """A test with how long it takes and the statements of the module that it executes."""

    item: int
    file: str
    seconds: float
    statements: frozenset[int]


def watch(module: ast.Module) -> None:
    """Let every statement inside a function say that it is executed."""
    blocks = [block for top in ast.walk(module) if isinstance(top, ast.FunctionDef) for block in ast.walk(top)]
    for block in {id(block): block for block in blocks}.values():
        for field in ("body", "orelse", "finalbody"):
            if isinstance(rows := getattr(block, field, None), list):
                told = [(ast.parse(f"_hit_({row.lineno})").body[0], row) for row in rows]
                setattr(block, field, [each for pair in told for each in pair])


def exchange(living: ModuleType, module: ast.Module, tops: Sequence[ast.stmt]) -> None:
    """Put the code of these statements of a module into the one that everybody has imported."""
    made = dict(vars(living))
    exec(compile(ast.fix_missing_locations(module), living.__file__ or "", "exec"), made)  # noqa: S102  our own
    for top in tops:
        if isinstance(top, ast.Assign):
            for name in [node.id for node in ast.walk(top) if isinstance(node, ast.Name) and node.id in vars(living)]:
                old = vars(living)[name]
                for each in [each for key, each in sys.modules.items() if key.startswith("pageturn")]:
                    if vars(each).get(name) is old:
                        setattr(each, name, made[name])
        elif isinstance(top, ast.FunctionDef | ast.ClassDef):
            for old, new in zip(_functions(vars(living)[top.name]), _functions(made[top.name]), strict=True):
                old.__code__, old.__defaults__ = new.__code__, new.__defaults__


def _functions(thing: Any) -> list[FunctionType]:
    """The functions of a class or of a decorated function, in order."""
    if not isinstance(thing, type):
        return [inspect.unwrap(thing)]
    own = [getattr(each, "fget", None) or getattr(each, "__func__", each) for each in vars(thing).values()]
    return [
        inspect.unwrap(each) for each in own if isinstance(each, FunctionType) and each.__module__ == thing.__module__
    ]


def forked(task: Callable[[], int], seconds: float) -> int | None:
    """The exit code of a task in a process of its own; None where it takes longer than that."""
    child = os.fork()
    if not child:
        os.setsid()
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        code = 3
        try:
            code = task()
        except BaseException:  # noqa: BLE001  it is told, and the process ends
            traceback.print_exc()
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Mutation:
    """The plugin that runs the tests again and again."""

    def __init__(self, asked: Namespace) -> None:
        self._asked = asked
        self._module = ast.parse(asked.module.read_text())

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In the place of the usual loop."""
        asked, path = self._asked, self._asked.module.resolve()
        self._living = next(
            each for each in sys.modules.values() if Path(getattr(each, "__file__", None) or "/") == path
        )
        tests = self._watched(session)
        if forked(lambda: self._fails(session, [test.item for test in affected(tests, 0, 3_600)]), 3_600) != 0:
            pytest.exit("the tests must pass in another order, too", 1)
        count = sum(1 for _ in mutants(self._module))
        size = min(count, asked.sample or count)
        chosen = set(random.Random(asked.seed).sample(range(count), size))  # noqa: S311  not a secret
        print(f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} s; {size} of {count} mutants", flush=True)
        survived = 0
        for at, mutant in enumerate(mutants(self._module)):
            if at in chosen and not self._is_killed(session, mutant, affected(tests, mutant.statement, asked.seconds)):
                survived += 1
                print(f"survived  {path.name}:{mutant.line}  {mutant.change}", flush=True)
        print(f"{path.name}: {size - survived} of {size} killed ({1 - survived / max(1, size):.0%})")
        return True

    def _watched(self, session: pytest.Session) -> list[Test]:
        """All tests, as they are."""
        with NamedTemporaryFile() as kept:

            def run() -> int:
                hits: set[int] = set()
                builtins._hit_ = hits.add  # type: ignore[attr-defined]
                module = ast.parse(self._asked.module.read_text())
                tops = [top for top in module.body if isinstance(top, ast.FunctionDef | ast.ClassDef)]
                watch(module)
                exchange(self._living, module, tops)
                tests: list[Test] = []
                for at in range(len(session.items)):
                    hits.clear()
                    start = time.monotonic()
                    if failed := self._fails(session, [at]):
                        print("fails as it is:", session.items[at].nodeid, file=sys.stderr)
                        return failed
                    file = session.items[at].nodeid.partition("::")[0]
                    tests.append(Test(at, file, time.monotonic() - start, frozenset(hits)))
                Path(kept.name).write_bytes(pickle.dumps(tests))
                return 0

            if forked(run, 3_600) != 0:
                pytest.exit("the tests must pass before the module is changed", 1)
            return pickle.loads(Path(kept.name).read_bytes())  # type: ignore[no-any-return]  # noqa: S301  our own

    def _is_killed(self, session: pytest.Session, mutant: Mutant, tests: Sequence[Test]) -> bool:
        def run() -> int:
            exchange(self._living, self._module, [mutant.top])
            return self._fails(session, [test.item for test in tests])

        return forked(run, self._asked.timeout) != 0

    def _fails(self, session: pytest.Session, places: Sequence[int]) -> int:
        for at, after in zip_longest(places, places[1:]):
            item, follows = session.items[at], session.items[after] if after is not None else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=follows)
            if session.testsfailed:
                return 1
        return 0


def affected(tests: Sequence[Test], statement: int, seconds: float) -> list[Test]:
    """The tests that execute a statement: the faster half of them, and of the others as many as so many seconds hold.

    Of every file in turn, and first those that execute much quickly.
    """
    concerned = [test for test in tests if statement in test.statements] or tests  # what runs at import concerns all
    fast, slow = _halves(concerned)
    ranks: Counter[str] = Counter()
    in_turn: list[tuple[int, Test]] = []
    for test in sorted(slow, key=lambda test: test.seconds / (1 + len(test.statements)) ** 2):
        in_turn.append((ranks[test.file], test))
        ranks[test.file] += 1
    chosen = [*fast]
    seconds -= sum(test.seconds for test in fast)
    for _, test in sorted(in_turn, key=lambda pair: pair[0]):
        seconds -= test.seconds
        if chosen and seconds < 0:
            break
        chosen.append(test)
    return chosen


def _halves(tests: Sequence[Test]) -> tuple[list[Test], list[Test]]:
    """The tests that take no longer than most, the fastest first, and the rest."""
    by_seconds = sorted(tests, key=lambda test: test.seconds)
    half = len(by_seconds) // 2
    return by_seconds[:half], by_seconds[half:]


def main() -> None:
    """The command."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--sample", type=int, help="try so many mutants, chosen by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10, help="of tests for each mutant")
    parser.add_argument("--timeout", type=float, default=60, help="seconds after which a mutant is taken for killed")
    asked = parser.parse_args()
    options = ["-x", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "--tb=no"]
    sys.exit(pytest.main([*options, *asked.tests], plugins=[Mutation(asked)]))


if __name__ == "__main__":
    main()
