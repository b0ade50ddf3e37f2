"""Analyses the results of a trial by method, with intervals and a paired test on the same steps."""

from collections.abc import Iterable, Sequence
from math import comb, sqrt
from typing import NamedTuple

from pageturn.lab.bootstrap import Difference, paired
from pageturn.lab.trial.results import Run

_Z = 1.959964  # of 95 %


class Share(NamedTuple):
    """A share, with Wilson's interval of 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, right: int, of: int) -> "Share":
        """A share of successes; without trials it is unknown."""
        if not of:
            return cls(0.0, 0.0, 1.0)
        share, squared = right / of, _Z * _Z / of
        middle = (share + squared / 2) / (1 + squared)
        half = _Z / (1 + squared) * sqrt(share * (1 - share) / of + squared / (4 * of))
        return cls(share, max(0.0, middle - half), min(1.0, middle + half))

    def __str__(self) -> str:
        return f"{self.value:.1%} [{self.low:.1%}, {self.high:.1%}]"


class Paired(NamedTuple):
    """Two methods on the same steps: how many only one of them did (McNemar's exact test)."""

    only_ours: int
    only_theirs: int

    @property
    def p(self) -> float:
        """The probability of a split at least this uneven, in either direction, if both methods are equally good."""
        both, less = self.only_ours + self.only_theirs, min(self.only_ours, self.only_theirs)
        return min(1.0, 2 * sum(comb(both, count) for count in range(less + 1)) / 2**both) if both else 1.0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> "Paired":
        """The comparison of two methods, step by step."""
        all_pairs = list(pairs)
        return cls(
            sum(ours and not theirs for ours, theirs in all_pairs),
            sum(theirs and not ours for ours, theirs in all_pairs),
        )


class MethodOutcome(NamedTuple):
    """One method, over the runs that every method has."""

    method: str
    done: Share
    steps: int
    dollars: float
    input_tokens: int
    cached: float  # share of the input that came from the cache
    calls: float  # of the model, a step
    recalls: float  # a step
    against: Paired | None  # compared with the first method; None for that one
    dollars_against: Difference | None  # how much more a run costs than with the first method


class Outcome(NamedTuple):
    """The results of a trial; the rows are the methods in order, over the runs that all of them have."""

    methods: tuple[MethodOutcome, ...]
    kinds: dict[tuple[str, str], Share]  # by method, and by family and step
    runs: int  # of each method
    left_out: int  # final runs that not every method has


def outcome(runs: Iterable[Run], methods: Sequence[str], *, beside: str | None = None) -> Outcome:
    """The results of the final runs, each method compared with one of them, by default the first."""
    by_method: dict[str, dict[tuple[str, int], Run]] = {method: {} for method in methods}
    for run in runs:
        if run.final and run.method in by_method:
            by_method[run.method][run.task, run.repetition] = run
    common = sorted(set.intersection(*(set(found) for found in by_method.values()))) if by_method else []
    first = beside or next(iter(methods), "")
    rows = []
    kinds: dict[tuple[str, str], list[bool]] = {}
    for method in methods:
        mine = [by_method[method][key] for key in common]
        theirs = [by_method[first][key] for key in common]
        steps = [step for run in mine for step in run.steps]
        for run in mine:
            for step in run.steps:
                kinds.setdefault((method, f"{run.family}: {step.name}"), []).append(step.done)
        others = [step for run in theirs for step in run.steps]
        is_compared = method != first and bool(common)
        tokens = sum(run.input_tokens for run in mine)
        rows.append(
            MethodOutcome(
                method,
                Share.of(sum(step.done for step in steps), len(steps)),
                len(steps),
                sum(run.dollars for run in mine),
                tokens,
                sum(run.cache_read_tokens for run in mine) / tokens if tokens else 0.0,
                sum(step.calls for step in steps) / len(steps) if steps else 0.0,
                sum(run.recalls for run in mine) / len(steps) if steps else 0.0,
                Paired.of(zip((step.done for step in steps), (step.done for step in others), strict=True))
                if is_compared
                else None,
                paired([run.dollars for run in mine], [run.dollars for run in theirs], _mean) if is_compared else None,
            )
        )
    left_out = sum(len(found) for found in by_method.values()) - len(common) * len(by_method)
    shares = {key: Share.of(sum(done), len(done)) for key, done in kinds.items()}
    return Outcome(tuple(rows), shares, len(common), left_out)


def _mean(amounts: Sequence[float]) -> float:
    return sum(amounts) / len(amounts) if amounts else 0.0
