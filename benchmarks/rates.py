"""How often later calls quote or name what came before: fits the rates of `pageturn.policies.worth` and prints them beside its constants.

    python -m benchmarks.rates ../shared/data [--sessions 6] [--half reporting]

Long sessions of the half for tuning. A unit is quoted (named) at a turn if it is the latest to hold a line that an edit of that turn must match (a
name in its calls). The rate of a kind is the number of such turns over what age, size and supersession let expect of a unit of 1,000 tokens that
is new; the exponents are those under which the counts are most likely (Poisson), with a rate of its own for each kind and source.
"""

from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from math import log
from pathlib import Path
from typing import Literal, NamedTuple

from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.front import chosen
from pageturn.lab.demand import demand, lines_of
from pageturn.lab.our_policies import session_of
from pageturn.lab.traces import Trace, text_of
from pageturn.policies import worth
from pageturn.values.layout import About, Candidate, Frame, Growth, Levels

Use = Literal["quoted", "named"]
AGE_EXPONENTS = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
SIZE_EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_FULL = pt.ResidencyLevel.FULL
_ROOM = 100_000_000  # tokens: nothing is ever put away
# Of worth: what a unit that is new is needed at a turn, by kind; and how that grows with its size.
CONSTANTS = {"quoted": worth.QUOTED, "named": worth.NAMED}
GROWS = {"quoted": worth.QUOTED_GROWS, "named": worth.NAMED_GROWS}


class Looked(NamedTuple):
    """A unit at a turn, and whether that turn needed it."""

    source: str
    about: About
    age: int  # as `worth` counts it: a file that is edited now is young again
    tokens: int
    is_superseded: bool
    quoted: bool
    named: bool


@pt.register_policy("benchmark_looks")
class Looks(pt.DerivePolicy):
    """Keeps everything, and folds at every turn, so that all units are looked at."""

    def limit_tokens(self, window_tokens: int) -> int:  # noqa: ARG002
        return _ROOM

    def pays(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        return True

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:  # noqa: ARG002
        _FRAMES[:] = [frame]
        return {unit.first: _FULL for unit in frame.candidates if unit.sizes}


_FRAMES: list[Frame] = []  # the newest; a policy keeps nothing itself


def looked(trace: Trace) -> Iterator[Looked]:
    """Every unit at every turn with calls that need anything."""
    session = session_of(Looks())
    wanted = {each.turn: each for each in demand(trace)}
    lines = [lines_of(message) for message in trace.messages]
    texts = [text_of(message) for message in trace.messages]
    pages: list[int] = []
    for at, message in enumerate(trace.messages):
        if message.role == "assistant":
            _FRAMES.clear()
            session.derive()
            need = wanted.get(at)
            quoted = {pages[_latest(lines, at, line)] for line in need.lines} if need else set()
            named = {pages[_latest(texts, at, name)] for name in need.identifiers} if need else set()
            for frame in _FRAMES:
                yield from (_seen(trace.source, frame, unit, quoted, named) for unit in frame.candidates if unit.sizes)
        pages.append(session.append(message).seq)


def _latest(texts: Sequence[set[str]] | Sequence[str], before: int, what: str) -> int:
    return next(at for at in range(before - 1, -1, -1) if what in texts[at])


def _seen(source: str, frame: Frame, unit: Candidate, quoted: set[int], named: set[int]) -> Looked:
    age = max(0, frame.turn - unit.turn) if unit.tokens_after else 0
    return Looked(
        source,
        unit.about,
        min(age, worth.EDITED_NOW) if unit.since_edit == 0 and not unit.is_superseded else age,
        max(1, unit.sizes[_FULL]),
        unit.is_superseded,
        any(unit.first <= page <= unit.last for page in quoted),
        any(unit.first <= page <= unit.last for page in named),
    )


class Counts(NamedTuple):
    """How often units of one kind and source were needed, and how often a rate of one lets expect it."""

    needed: int
    expected: float

    @property
    def rate(self) -> float:
        return self.needed / self.expected if self.expected else 0.0


def counts(seen: Sequence[Looked], use: Use, age: float, size: float) -> tuple[dict[tuple[About, str], Counts], float]:
    """The counts of each kind and source under these exponents, and the log-likelihood with the rates that follow."""
    needed: defaultdict[tuple[About, str], int] = defaultdict(int)
    expected: defaultdict[tuple[About, str], float] = defaultdict(float)
    likelihood = 0.0
    for each in seen:
        weight = (2 / (2 + each.age)) ** age * (each.tokens / worth.SIZE) ** size
        weight *= worth.SUPERSEDED if each.is_superseded else 1.0
        key = (each.about, each.source)
        expected[key] += weight
        if each.quoted if use == "quoted" else each.named:
            needed[key] += 1
            likelihood += log(weight)
    found = {key: Counts(needed[key], expected[key]) for key in expected}
    return found, likelihood + sum(each.needed * log(each.rate) for each in found.values() if each.needed)


def table_of(seen: Sequence[Looked], use: Use) -> Table:
    """Each kind's constant, what all sources together give, and what each gives."""
    sources = sorted({each.source for each in seen})
    found, likelihood = counts(seen, use, 1.5, GROWS[use])
    tries = {pair: counts(seen, use, *pair)[1] for pair in product(AGE_EXPONENTS, SIZE_EXPONENTS)}
    best = max(tries, key=lambda pair: tries[pair])
    table = Table(
        title=f"{use}: age 1.5, size {GROWS[use]}; most likely: age {best[0]}, size {best[1]} (+{tries[best] - likelihood:.1f} in log-likelihood)"
    )
    for column in ("kind", "constant", "all", *sources):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for about, constant in CONSTANTS[use].items():
        each = [found.get((about, source), Counts(0, 0.0)) for source in sources]
        rates = [one.rate for one in each if one.expected]
        cells = [f"{one.rate:.3f} ({one.needed:,})" if one.expected else "-" for one in each]
        table.add_row(about, f"{constant:.3f}", f"{sum(rates) / max(1, len(rates)):.3f}", *cells)
    return table


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.rates")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--sessions", type=int, default=6, help="of each source, at most")
    parser.add_argument("--half", choices=("tuning", "reporting"), default="tuning")
    options = parser.parse_args()
    console = Console(width=150)
    if not (options.data / "traces").is_dir():
        console.print(f"skipped: there is no {options.data / 'traces'}; give the data folder")
        return
    traces = chosen(options.data, options.half, options.sessions, 0)
    seen = [each for trace in traces for each in looked(trace)]
    console.print(
        f"{len(seen):,} looks at a unit; rates per turn of a new unit of {worth.SIZE:,} tokens, and in brackets the turns that needed one"
    )
    for use in ("quoted", "named"):
        console.print(table_of(seen, use))


if __name__ == "__main__":
    main()
