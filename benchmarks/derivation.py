"""What the model sees, on recorded sessions: what it costs, and how much of what later calls name it still shows.

    make bench-derivation DATA=../shared/data [ARGS="--half tuning --budget 24000 --counter own --ablation"]

Long sessions are replayed turn by turn, in tokens of four characters or of our own counter, and pooled per source. The bill reads
from a prompt cache at .1 and writes at 1.25, by the content blocks that two requests begin with; cost is relative to sending everything at
every turn, billed the same way, and the priced bill adds one more call for each turn that names or quotes something that is not visible. Differences
carry the interval that holds 95 % of resampled sets of sessions. A fold is a request that does not begin with the one before it.
*Summed up*: every summary that a policy wishes for is written, by a stand-in that reads first lines and counts names.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import pageturn as pt
from benchmarks.renditions import SOURCES
from pageturn.lab.baselines import cut, keep_last, masking, prototype
from pageturn.lab.bootstrap import paired
from pageturn.lab.columns import (
    MISSES_PRICED,
    TIMES_THE_LOWER_BOUND,
    WITH_REFETCHES,
    leading_cells,
    leading_heads,
    reference_dollars,
)
from pageturn.lab.our_policies import CharacterCounter, Deriving, first_lines
from pageturn.lab.replay import Recording, Score, Shows
from pageturn.lab.traces import Trace, read_traces
from pageturn.policies.packing import room_in
from pageturn.tokens.counters import TokenCounter, counter_for
from pageturn.values.layout import Candidate, Frame, Growth, Levels
from pageturn.values.pages import ResidencyLevel

HALVES: dict[str, Callable[[Trace], bool]] = {
    "tuning": lambda trace: trace.is_for_tuning,
    "reporting": lambda trace: not trace.is_for_tuning,
    "all": lambda _: True,
}
MODELS = {"claude-code": "claude-sonnet-4-5", "codex-cli": "gpt-5"}  # whose counter is our own for a source
OTHERS = (*MISSES_PRICED, WITH_REFETCHES, TIMES_THE_LOWER_BOUND)
COLUMNS = (
    "",
    *leading_heads(),
    *(column.head for column in OTHERS),
    "summaries",
    "largest",
    "seconds",
)
MEASURES: dict[str, Callable[[Score], float]] = {
    "priced bill": lambda score: score.priced(),
    "bill": lambda score: score.bill,
    "coverage": lambda score: score.coverage,
    "verbatim": lambda score: score.verbatim_coverage,
}


class Compared(NamedTuple):
    """A table: the methods, and which of them are compared."""

    rows: Mapping[str, Shows]
    pairs: Sequence[tuple[str, str]]


def against_others(budget: int, counter: TokenCounter) -> Compared:
    """Paged and what others do. The prototype counts in tokens of four characters only."""
    rows = {"keep last": keep_last(budget, counter.message)}
    pairs = [("paged", "keep last")]
    if isinstance(counter, CharacterCounter):
        lows = {f"prototype, {low}".replace("0.", "."): prototype(budget, low) for low in (0.4, 0.5, 0.6, 0.7)}
        rows |= {"masking, last 10": masking(10), "cut to .4": cut(budget, 0.4), **lows}
        pairs += [("paged", name) for name in lows] + [
            ("thrifty", "prototype, .7"),
            ("thrifty", "paged"),
            ("faithful", "paged"),
        ]
    rows |= {
        "legacy": Deriving(pt.Legacy(), counter, budget_tokens=budget),
        "reset": Deriving(pt.Reset(budget), counter),
        "reset, summed up": Deriving(pt.Reset(budget), counter, summarise=first_lines),
        "incremental": Deriving(pt.Incremental(budget), counter),
        "incremental, summed up": Deriving(pt.Incremental(budget), counter, summarise=first_lines),
        "thrifty": Deriving(pt.Paged.thrifty(budget), counter),
        "paged": Deriving(pt.Paged(budget_tokens=budget), counter),
        "faithful": Deriving(pt.Paged.faithful(budget), counter),
    }
    return Compared(rows, pairs)


def ablation(budget: int, counter: TokenCounter) -> Compared:
    """Paged, each time without one of its parts."""
    rows = {
        "paged": Deriving(pt.Paged(budget_tokens=budget), counter),
        "no outlines": Deriving(WithoutOutlines(budget_tokens=budget), counter),
        "no names": Deriving(WithoutNames(budget_tokens=budget), counter),
        "newest first": Deriving(NewestFirst(budget_tokens=budget), counter),
        "no early folds": Deriving(WithoutEarlyFolds(budget_tokens=budget), counter),
        "no frozen prefix": Deriving(Restless(budget_tokens=budget), counter),
        "no pointers": Deriving(pt.Paged(budget_tokens=budget), counter, recall=None),
    }
    return Compared(rows, [(name, "paged") for name in rows if name != "paged"])


class WithoutOutlines(pt.Paged):
    """No compressed forms."""

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        return super().plan(_without(frame, least, ResidencyLevel.COMPRESSED), least, tokens)


class WithoutNames(pt.Paged):
    """No structured forms either: whole or a pointer, as the laws leave it."""

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        return super().plan(_without(frame, least, ResidencyLevel.COMPRESSED, ResidencyLevel.STRUCTURED), least, tokens)


class NewestFirst(pt.Paged):
    """The newest units whole, as many as fit."""

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        room = room_in(frame, tokens, 0.6)
        wanted: dict[int, ResidencyLevel] = {}
        for unit in reversed(list(frame.candidates)):
            if unit.sizes and least.get(unit.first) is not ResidencyLevel.FULL:
                room -= unit.sizes[ResidencyLevel.FULL]
                if room < 0:
                    break
                wanted[unit.first] = ResidencyLevel.FULL
        return wanted


class WithoutEarlyFolds(pt.Paged):
    """A fold comes only when the budget is full."""

    def pays(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        return False


class Restless(pt.Paged):
    """A fold at every turn."""

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        return True


def _without(frame: Frame, least: Levels, *levels: ResidencyLevel) -> Frame:
    """The units without some levels, except where they must have one, or have nothing less."""

    def left(unit: Candidate) -> Candidate:
        needed = (unit.cheapest, least.get(unit.first)) if unit.sizes else ()
        kept = {level: size for level, size in unit.sizes.items() if level not in levels or level in needed}
        return unit._replace(sizes=kept)

    return frame._replace(items=[left(item) if isinstance(item, Candidate) else item for item in frame.items])


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.derivation")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--budget", type=int, default=32_000)
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--counter", choices=("chars/4", "own"), default="chars/4")
    parser.add_argument("--ablation", action="store_true", help="Paged without each of its parts, not beside others")
    parser.add_argument("--source", action="append", choices=SOURCES, help="only these")
    parser.add_argument("--sessions", type=int, default=None, help="of each source, the first so many long ones")
    options = parser.parse_args()
    console = Console(width=170)
    if not (options.data / "traces").is_dir():
        console.print(
            f"skipped: there is no {options.data / 'traces'}; give the data folder: make bench-derivation DATA=..."
        )
        return
    for source in options.source or SOURCES:
        traces = read_traces(options.data / "traces" / f"{source}.jsonl.gz")
        chosen = [trace for trace in traces if trace.is_long and HALVES[options.half](trace)][: options.sessions]
        if not chosen:
            console.print(f"{source}: no long session in the half for {options.half}")
            continue
        counter = (
            CharacterCounter()
            if options.counter == "chars/4"
            else counter_for(MODELS.get(source.split(".")[0], "gpt-5"))
        )
        console.print(
            f"\n{source}: {len(chosen)} long sessions, half: {options.half}, budget {options.budget:,}, "
            f"tokens of the {counter.name} counter"
        )
        compared = (ablation if options.ablation else against_others)(options.budget, counter)
        show(console, compared, [Recording(trace, tokens=counter.message) for trace in chosen])


def show(console: Console, compared: Compared, recordings: Sequence[Recording]) -> None:
    """Two tables: the results of each method, and how certain the differences are."""
    table = Table()
    for column in COLUMNS:
        table.add_column(column, justify="right" if column else "left")
    scores: dict[str, list[Score]] = {}
    for name, shows in compared.rows.items():
        start = perf_counter()
        scores[name] = [
            recording.score(shows) for recording in track(recordings, name, transient=True, console=console)
        ]
        summaries = str(shows.summaries) if isinstance(shows, Deriving) and shows.summaries else ""
        pooled = sum(scores[name], Score())
        table.add_row(name, *cells(pooled), summaries, f"{pooled.largest:,}", f"{perf_counter() - start:.1f}")
    console.print(table)
    if len(recordings) > 1:
        console.print(differences(scores, compared.pairs))


def differences(scores: Mapping[str, Sequence[Score]], pairs: Sequence[tuple[str, str]]) -> Table:
    table = Table()
    table.add_column("difference")
    for name in MEASURES:
        table.add_column(name, justify="right")
    for ours, theirs in pairs:
        table.add_row(f"{ours} - {theirs}", *_intervals(scores[ours], scores[theirs]))
    return table


def _intervals(ours: Sequence[Score], theirs: Sequence[Score]) -> Iterator[str]:
    for measure in MEASURES.values():
        yield str(paired(ours, theirs, lambda sample, of=measure: of(sum(sample, Score()))))  # type: ignore[misc]


def cells(score: Score) -> list[str]:
    return [*leading_cells(score, reference_dollars(score)), *(column.cell(score) for column in OTHERS)]


if __name__ == "__main__":
    main()
