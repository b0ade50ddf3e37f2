"""A small repository that is edited over many steps, with tests as the judge.

The user's conventions from the start (how money is stored, how errors look, where things go) are needed in every later step, and each
step builds on those before. The tests of a step are not shown; they run in the repository after the model says that it is done.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pageturn.lab.trial.contract import Step, tool
from pageturn.lab.trial.facts import dull_days
from pageturn.lab.trial.sandbox import FILE_TOOLS, Sandbox
from pageturn.values.json import to_json
from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user

_SYSTEM = "You are a coding agent in a small Python repository without dependencies. Do what is asked with the tools, then say that it is done."
_RUN = tool("run_python", "Run a Python program, given as its source, in the repository.", source="string")
_FIRST = {
    "shop/__init__.py": '"""A shop."""\n',
    "shop/errors.py": '"""Errors of the shop."""\n\n\nclass ShopError(Exception):\n    def __init__(self, code):\n        super().__init__(code)\n        self.code = code\n',
    "README.md": "# Shop\n\nA library for small shops.\n",
}


class _Work(NamedTuple):
    """One step: the request, and the program that judges; both know the numbers of the task."""

    name: str
    text: str
    test: str


_WORK = (
    _Work(
        "cart",
        "Write shop/cart.py with a function total(items): items are pairs of a price and a quantity. Keep to what I laid down about money and errors: "
        "a negative quantity is an error with the code 'quantity'.",
        "from shop.cart import total\nfrom shop.errors import ShopError\n"
        "assert total([(250, 2), (100, 1)]) == 600 and isinstance(total([]), int)\n"
        "try:\n    total([(100, -1)])\nexcept ShopError as error:\n    assert error.code == '{prefix}quantity', error.code\nelse:\n    raise AssertionError('no error')\n",
    ),
    _Work(
        "tax",
        "Add shop/tax.py with with_tax(amount), which adds our rate of tax, rounded as I laid down.",
        "from shop.tax import with_tax\n"
        "assert with_tax(1000) == 1000 + 1000 * {rate} // 100\nassert with_tax(333) == 333 + 333 * {rate} // 100\nassert isinstance(with_tax(7), int)\n",
    ),
    _Work(
        "stock",
        "Add shop/stock.py with a class Stock: put(name, count), take(name, count) and count(name). Taking more than there is is an error with the code 'stock'.",
        "from shop.stock import Stock\nfrom shop.errors import ShopError\ns = Stock()\ns.put('pen', 3)\ns.take('pen', 1)\n"
        "assert s.count('pen') == 2 and s.count('ink') == 0\n"
        "try:\n    s.take('pen', 5)\nexcept ShopError as error:\n    assert error.code == '{prefix}stock', error.code\nelse:\n    raise AssertionError('no error')\nassert s.count('pen') == 2\n",
    ),
    _Work(
        "receipt",
        "Add shop/receipt.py with receipt(items), which gives a text: the total with tax, written as I laid down for amounts that people read.",
        "from shop.receipt import receipt\nfrom shop.tax import with_tax\n"
        "amount = with_tax(600)\nassert '{currency}' + f'{{amount // 100}}.{{amount % 100:02}}' in receipt([(250, 2), (100, 1)]), receipt([(250, 2), (100, 1)])\n",
    ),
    _Work(
        "version",
        "Put the version of the library where I said that it goes. It is 1.4.",
        "import shop\nassert shop.{version} == '1.4'\n",
    ),
)


class RepositoryTask(NamedTuple):
    """One repository, with its user's conventions."""

    id: str
    days: tuple[str, ...]
    numbers: Mapping[str, Any]
    family: str = "repository"
    tools: tuple[Mapping[str, Any], ...] = (*FILE_TOOLS, _RUN)
    calls_a_step: float = 5.0

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, each building on those before."""
        return tuple(Step(work.name, work.text) for work in _WORK)

    def history(self) -> list[Message]:
        """The conventions, and then logs that have nothing to do with them."""
        laid_down = (
            "Before you begin, this is how we do things here. Money is kept in cents, as whole numbers, and fractions of a cent are dropped. "
            f"The code of every error begins with {self.numbers['prefix']!r}. Our rate of tax is {self.numbers['rate']} percent. "
            f"Amounts that people read look like {self.numbers['currency']}12.05. The version of the library goes into shop/__init__.py as {self.numbers['version']}. "
            "Please look through the logs of the build machine first."
        )
        messages = [system(_SYSTEM), user(laid_down)]
        for number, text in enumerate(self.days, start=1):
            call = ToolCall(
                id=f"call_log{number}",
                name="run_python",
                arguments=to_json({"source": f"print(open('/var/log/build/{number}.log').read())"}).decode(),
            )
            messages += [assistant(call), tool_result(call, text)]
        return [*messages, assistant("I have looked through the logs; nothing is wrong. What shall I do?")]

    @contextmanager
    def opened(self) -> Iterator["_Desk"]:
        """The repository in its initial state, in a folder of its own."""
        with TemporaryDirectory(prefix="pageturn-trial-") as folder:
            for path, text in _FIRST.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            yield _Desk(self, Sandbox(Path(folder)))


class _Desk:
    def __init__(self, task: RepositoryTask, sandbox: Sandbox) -> None:
        self._task = task
        self._sandbox = sandbox

    def run(self, call: ToolCall) -> str:
        if call.name == "run_python":
            parsed = call.parsed
            source = str(parsed.get("source", "")) if isinstance(parsed, dict) else ""
            return self._sandbox.python("-c", source)[1]
        return self._sandbox.run(call)

    def check(self, step: int, answer: str, calls: Sequence[ToolCall]) -> bool:  # noqa: ARG002
        test = _WORK[step].test.format(**self._task.numbers)
        return self._sandbox.python("-c", test)[0]


def repository_task(seed: int, *, tokens: int = 40_000) -> RepositoryTask:
    """A task of about this many tokens, the same for the same seed."""
    chance = Random(f"repository:{seed}:{tokens}")  # noqa: S311  # a lab, not a lock
    numbers = {
        "prefix": chance.choice(["shop.", "s/", "E-", "err:"]),
        "rate": chance.randint(5, 24),
        "currency": chance.choice(["EUR ", "CHF ", "SEK "]),
        "version": chance.choice(["RELEASE", "VERSION", "__version__"]),
    }
    return RepositoryTask(f"repository-{seed}-{tokens}", tuple(dull_days(chance, tokens)), numbers)
