"""What the model sees, on recorded sessions: what it costs, and how much of what later calls name it still shows.

    make bench-derivation DATA=../shared/data

Long sessions are replayed turn by turn, in tokens of four characters, and pooled per source. The bill reads from a prompt cache at
.1 and writes at 1.25; cost is relative to sending everything at every turn, billed the same way. A fold is a request that does not
begin with the one before it. *Summed up*: every summary that a policy wishes for is written, by a stand-in that reads first lines and
counts names.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import track
from rich.table import Table

import pageturn as pt
from benchmarks.renditions import SOURCES
from pageturn.lab.deriving import Deriving, first_lines
from pageturn.lab.replay import Recording, Score, Shows
from pageturn.lab.sketches import cut, keep_last, masking, sketch
from pageturn.lab.traces import Trace, read_traces

HALVES: dict[str, Callable[[Trace], bool]] = {
    "tuning": lambda trace: trace.is_for_tuning,
    "reporting": lambda trace: not trace.is_for_tuning,
    "all": lambda _: True,
}
COLUMNS = (
    "",
    "cost",
    "coverage",
    "verbatim coverage",
    "cost with re-fetches",
    "folds",
    "summaries",
    "largest",
    "seconds",
)


def rows(budget: int) -> dict[str, Shows]:
    return {
        "keep last": keep_last(budget),
        "masking, last 10": masking(10),
        "cut to .4": cut(budget, 0.4),
        **{f"sketch, {low}".replace("0.", "."): sketch(budget, low) for low in (0.4, 0.5, 0.6, 0.7)},
        "legacy": Deriving(pt.Legacy(), budget_tokens=budget),
        "reset": Deriving(pt.Reset(budget)),
        "reset, summed up": Deriving(pt.Reset(budget), summarise=first_lines),
        "incremental": Deriving(pt.Incremental(budget)),
        "incremental, summed up": Deriving(pt.Incremental(budget), summarise=first_lines),
        "paged": Deriving(pt.Paged(budget_tokens=budget)),
        "paged, thrift .05": Deriving(pt.Paged(budget_tokens=budget, thrift=0.05, low=0.3)),
        "paged, all spent": Deriving(pt.Paged(budget_tokens=budget, thrift=0)),
    }


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.derivation")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--budget", type=int, default=32_000)
    parser.add_argument("--half", choices=HALVES, default="reporting")
    parser.add_argument("--sessions", type=int, default=None, help="of each source, the first so many long ones")
    parser.add_argument("--only", default="", help="the rows whose names begin so")
    options = parser.parse_args()
    console = Console(width=120)
    if not (options.data / "traces").is_dir():
        console.print(
            f"skipped: there is no {options.data / 'traces'}; give the data folder: make bench-derivation DATA=..."
        )
        return
    for source in SOURCES:
        traces = read_traces(options.data / "traces" / f"{source}.jsonl.gz")
        chosen = [trace for trace in traces if trace.is_long and HALVES[options.half](trace)][: options.sessions]
        if not chosen:
            console.print(f"{source}: no long session in the half for {options.half}")
            continue
        table = Table(title_justify="left")
        table.title = f"{source}: {len(chosen)} long sessions, half: {options.half}, budget {options.budget:,}"
        for column in COLUMNS:
            table.add_column(column, justify="right" if column else "left")
        recordings = [Recording(trace) for trace in track(chosen, source, transient=True, console=console)]
        for name, shows in rows(options.budget).items():
            if not name.startswith(tuple(options.only.split(","))):
                continue
            start = perf_counter()
            score = sum((recording.score(shows) for recording in recordings), Score())
            summaries = shows.summaries if isinstance(shows, Deriving) and shows.summaries else ""
            table.add_row(name, *cells(score), str(summaries), f"{score.largest:,}", f"{perf_counter() - start:.1f}")
        console.print(table)


def cells(score: Score) -> list[str]:
    return [
        f"{score.cost:.3f}",
        f"{score.coverage:.3f}",
        f"{score.verbatim_coverage:.3f}",
        f"{score.cost_with_refetches:.3f}",
        f"{score.rewritten:,}",
    ]


if __name__ == "__main__":
    main()
