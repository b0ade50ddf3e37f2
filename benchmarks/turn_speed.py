"""One turn as a sum: appending a call and its result, deriving, and folding now and then; by this version and by another revision.

    python -m benchmarks.turn_speed [--against REVISION] [--data ../shared/data] [--pages 100 1000 10000 100000]

Everything is CPU time of the thread, so that other work on the machine disturbs little; both revisions take turns, in processes of
their own, and the best of the rounds counts. Recorded sessions are the long ones of each file, a few of each.
"""

import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import thread_time

import msgspec
from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.stopwatch import machine
from pageturn.lab.our_policies import session_of
from pageturn.lab.traces import read_traces
from pageturn.stores import MemoryStore
from pageturn.tokens.counters import counter_for

BUDGET = 32_000
TURNS = 300
ROUNDS = 3
RECORDED = 3  # long sessions of each file
MODEL = "claude-sonnet-4-5"
WORDS = "the request failed after one retry because worker had no lease and config was stale again today".split()


class Turns(msgspec.Struct):
    """What the turns of some sessions took, in microseconds."""

    between: float  # a derivation between folds, the median
    fold: float  # a derivation with a fold, the median
    tenth: float  # that nine in ten stay below
    worst: float  # and the worst
    folds: int
    append: float  # all appends of a turn, the mean
    sum: float  # appends, derivations and folds of a turn, the mean
    first: float = 0  # the first derivation after everything was loaded at once
    bytes: int = 0  # in memory for each page, after the last turn


class Watch:
    """The times of turns, one after the other."""

    def __init__(self) -> None:
        self.appends: list[float] = []
        self.betweens: list[float] = []
        self.folds: list[float] = []

    def append(self, session: pt.Session, messages: Iterable[pt.Message]) -> None:
        start = thread_time()
        for message in messages:
            session.append(message)
        self.appends.append(thread_time() - start)

    def derive(self, session: pt.Session) -> None:
        start = thread_time()
        context = session.derive()
        (self.betweens if context.fold is None else self.folds).append(thread_time() - start)

    def told(self) -> Turns:
        turns = len(self.betweens) + len(self.folds)
        return Turns(
            between=1e6 * median(self.betweens),
            fold=1e6 * median(self.folds),
            tenth=1e6 * sorted(self.folds)[len(self.folds) * 9 // 10],
            worst=1e6 * max(self.folds),
            folds=len(self.folds),
            append=1e6 * sum(self.appends) / turns,
            sum=1e6 * (sum(self.appends) + sum(self.betweens) + sum(self.folds)) / turns,
        )


def pair(number: int, chance: random.Random, name: str) -> list[pt.Message]:
    """A call and a kilobyte of what a tool might print."""
    lines = (f"{' '.join(chance.choices(WORDS, k=10))} job_{number}_{line % 7}" for line in range(14))
    call = pt.ToolCall(id=f"{name}{number}", name="logs", arguments=f'{{"job": {number}}}')
    return [pt.assistant("next", call), pt.tool_result(call, "\n".join(lines)[:1_000])]


def grown(pages: int) -> Turns:
    """The turns of a session that was loaded at once with so many pages, from its second fold on."""
    chance, watch = random.Random(1), Watch()
    session = pt.Session.open(MemoryStore(), id="bench", policy=pt.Paged(budget_tokens=BUDGET), model=MODEL)
    session.extend([pt.system("You are careful."), pt.user("Find out why the nightly job fails, and fix it.")])
    for start in range(0, pages // 2, 1_000):
        numbers = range(start, min(start + 1_000, pages // 2))
        session.extend([message for number in numbers for message in pair(number, chance, "b")])
    start = thread_time()
    session.derive()
    first = thread_time() - start
    session.append(pt.assistant("on we go"))
    settled = 0
    for number in range(10 * TURNS):
        if settled < 2 and pages > 1_000:  # what the first fold left is put away by the second
            settled += session.derive().fold is not None
            session.extend(pair(number, chance, "s"))
            continue
        watch.derive(session)
        watch.append(session, pair(number, chance, "t"))
        if len(watch.appends) == TURNS:
            break
    told = watch.told()
    told.first, told.bytes = 1e6 * first, memory(session.id, pages)
    return told


def memory(name: str, pages: int) -> int:
    """Bytes of a session for each page, with all that is kept for the next fold, once it has taken some turns."""
    store, chance = MemoryStore(), random.Random(3)
    before = pt.Session.open(store, id=name, policy=pt.Paged(budget_tokens=BUDGET), model=MODEL)
    before.extend([message for number in range(pages // 2) for message in pair(number, chance, "m")])
    tracemalloc.start()
    session = pt.Session.open(store, id=name)
    for number in range(60):
        session.derive()
        session.extend(pair(number, chance, "n"))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used // pages


def recorded(data: str) -> Turns:
    """The turns of recorded sessions."""
    watch = Watch()
    for file in sorted(Path(data, "traces").glob("*.jsonl.gz")):
        long = (trace for trace in read_traces(file) if trace.is_long)
        for trace, _ in zip(long, range(RECORDED), strict=False):
            session = session_of(pt.Paged(budget_tokens=BUDGET), counter_for(MODEL), recall=pt.RecallTool())
            turns = [*trace.turns, len(trace.messages)]
            watch.append(session, trace.messages[: turns[0]])
            for turn, after in pairwise(turns):
                watch.derive(session)
                watch.append(session, trace.messages[turn:after])
    return watch.told()


def played(source: Path, what: str) -> Turns:
    """The best of some rounds of a source, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.turn_speed", "--play", what]
    environment = os.environ | {"PYTHONPATH": str(source)}
    told = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment).stdout
    return msgspec.json.decode(told, type=Turns)


def best(rounds: list[Turns]) -> Turns:
    return Turns(**{name: min(getattr(each, name) for each in rounds) for name in Turns.__struct_fields__})


def rows(sources: dict[str, Path], given: Namespace) -> Iterator[tuple[str, str, Turns]]:
    """Every measurement by every source."""
    whats = [str(pages) for pages in given.pages] + ([given.data] if given.data else [])
    for what in whats:
        rounds: dict[str, list[Turns]] = {name: [] for name in sources}
        for _ in range(given.rounds):
            for name, source in sources.items():
                rounds[name].append(played(source, what))
        for name in sources:
            yield f"{int(what):,} pages" if what.isdigit() else "recorded", name, best(rounds[name])


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--against", default="")
    parser.add_argument("--data", default="")
    parser.add_argument("--pages", type=int, nargs="*", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--play", default="", help="measure here: so many pages, or a folder of recorded sessions")
    given = parser.parse_args()
    if given.play:
        told = grown(int(given.play)) if given.play.isdigit() else recorded(given.play)
        print(msgspec.json.encode(told).decode())
        return
    with tempfile.TemporaryDirectory() as folder:
        sources = {"this": Path("src").absolute()}
        if given.against:
            archive = subprocess.run(["git", "archive", given.against, "src"], capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
            sources = {given.against: Path(folder, "src"), **sources}
        table = Table(title=f"A turn, budget {BUDGET:,}; CPU time, best of {given.rounds} rounds", title_justify="left")
        columns = (
            "",
            "",
            "between folds",
            "a fold",
            "90 %",
            "worst",
            "folds",
            "append",
            "sum a turn",
            "first derive",
            "memory",
        )
        for column in columns:
            table.add_column(column, justify="right" if column else "left")
        for what, name, told in rows(sources, given):
            table.add_row(
                what,
                name,
                f"{told.between:.0f} us",
                f"{told.fold / 1e3:.1f} ms",
                f"{told.tenth / 1e3:.1f} ms",
                f"{told.worst / 1e3:.1f} ms",
                str(told.folds),
                f"{told.append:.0f} us",
                f"{told.sum:.0f} us",
                f"{told.first / 1e6:.2f} s" if told.first else "",
                f"{told.bytes:,} B a page" if told.bytes else "",
            )
    console = Console(width=140)
    console.print(f"[dim]{machine()}[/]")
    console.print(table)


if __name__ == "__main__":
    main()
