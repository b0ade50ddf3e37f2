"""Runs suites: a suite is a list of claims about a member of a family, each a function that raises if the claim does not hold.

A failure says what was expected, what was returned and how to reproduce it. Nothing here needs pytest; `Case` works with its
`parametrize`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, NoReturn, ParamSpec, TypeVar

from pageturn.values.errors import show

P = ParamSpec("P")
E = TypeVar("E", bound=Exception)


class Mismatch(AssertionError):
    """A claim that does not hold: what was expected, and what was returned."""

    def __init__(self, *, expected: str, got: object) -> None:
        self.expected = expected
        self.got = got if isinstance(got, str) else show(got)
        super().__init__(f"expected {self.expected}, got {self.got}")


def expect(holds: bool, *, expected: str, got: object) -> None:
    """Raise unless something holds."""
    if not holds:
        raise Mismatch(expected=expected, got=got)


def expect_equal(got: object, expected: object, what: str) -> None:
    """Raise unless two values are equal; `what` describes them, as in "the records of the session"."""
    if got != expected:
        raise Mismatch(expected=f"{what} to be {show(expected)}", got=got)


def expect_raises(error: type[E], call: Callable[[], object], what: str) -> E:
    """The error that a call raises; `what` says what was done."""
    try:
        got = call()
    except error as raised:
        return raised
    except Exception as other:
        raise Mismatch(expected=f"{error.__name__} from {what}", got=f"{type(other).__name__}: {other}") from other
    raise Mismatch(expected=f"{error.__name__} from {what}", got=f"no error, and {show(got)}")


@dataclass(frozen=True)
class Case(Generic[P]):
    """One claim. Called with the first argument of the suite's `check_...`, it raises an `AssertionError` if the claim is false."""

    suite: str
    claim: str
    check: Callable[P, None]

    def __str__(self) -> str:
        return self.claim

    def __call__(self, *subject: P.args, **options: P.kwargs) -> None:
        """Check the claim."""
        try:
            self.check(*subject, **options)
        except Mismatch as mismatch:
            self._fail(mismatch.expected, mismatch.got, mismatch)
        except Exception as error:  # noqa: BLE001 (whatever a foreign member raises is what came)
            self._fail("no error", f"{type(error).__name__}: {error}", error)

    def _fail(self, expected: str, got: str, cause: Exception) -> NoReturn:
        again = f"{self.suite}(..., only={self.claim!r})"
        raise AssertionError(
            f"{self.suite}: {self.claim}\n  expected: {expected}\n  got: {got}\n  to reproduce: {again}"
        ) from cause


class Suite(Generic[P]):
    """The claims about one family, in the order in which a new member should meet them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cases: list[Case[P]] = []

    def claim(self, check: Callable[P, None]) -> Callable[P, None]:
        """Add a claim: a decorator. The name of the function, read as a sentence, is the claim."""
        self._cases.append(Case(self._name, check.__name__.replace("_", " "), check))
        return check

    @property
    def cases(self) -> tuple[Case[P], ...]:
        """The claims, one by one."""
        return tuple(self._cases)

    def runs(self, *subject: P.args, **options: P.kwargs) -> list["Run"]:
        """Every claim about one member, ready to be checked."""
        return [Run(case, partial(case.__call__, *subject, **options)) for case in self._cases]


class Run(NamedTuple):
    """A case, bound to the member that it checks."""

    case: Case[Any]
    check: Callable[[], None]


def check_all(runs: Sequence[Run], only: str | None = None) -> None:
    """Check every claim, or the one named `only`. The first failure is reported in full, the others by name."""
    chosen = [run for run in runs if only in (None, run.case.claim)]
    if not chosen:
        claims = "".join(f"\n  {run.case.claim}" for run in runs)
        raise ValueError(f"there is no claim {only!r}; there are{claims}")
    failures: list[tuple[Run, AssertionError]] = []
    for run in chosen:
        try:
            run.check()
        except AssertionError as failure:
            failures.append((run, failure))
    if failures:
        (_, first), *others = failures
        listed = "".join(f"\n  {run.case.claim}" for run, _ in others)
        more = f"\n{len(others)} more of {len(chosen)} claims fail:{listed}" if others else ""
        raise AssertionError(f"{first}{more}") from first.__cause__
