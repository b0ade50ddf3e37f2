"""Published shapes: what others found, and what the lab finds. `make bench-lab` prints them; alone:

python -m benchmarks.published_results [DATA] [--sessions 4]
"""

from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.replays import Selection, traces
from pageturn.apps.cli.tables import show_whole
from pageturn.lab.published_results import Shortened, ablation, policies, shortened
from pageturn.lab.traces import Trace

BUDGET = 32_000
SEEDS = range(1, 6)
GENERATED = Selection(generated=3)
SOURCES = ("claude-code.entireio-cli", "codex-cli.session-bridge")


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.published_results")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--sessions", type=int, default=None, help="of each file, the first so many long ones")
    options = parser.parse_args()
    console = Console(width=150)
    show_clawvm(console, SEEDS)
    show_shortened(console, "synthetic coding sessions", traces(GENERATED))
    for source in SOURCES:
        file = options.data / "traces" / f"{source}.jsonl.gz"
        if not file.is_file():
            console.print(f"skipped: there is no {file}")
            continue
        show_shortened(console, source, traces(Selection((file,), is_long=True, most=options.sessions)))


def show_clawvm(console: Console, seeds: Sequence[int]) -> None:
    """ClawVM's policies, and what it loses without one of its parts."""
    console.print("[bold]ClawVM's policies[/]: faults a session, and thrash")
    table = _table("", "published", "ours", "thrash, published", "ours")
    for row in policies(seeds):
        table.add_row(
            row.name, _told(row.published, 1), f"{row.ours:.1f}", _told(row.published_thrash, 3), f"{row.thrash:.3f}"
        )
    show_whole(console, table)
    console.print("\n[bold]ClawVM without one of its parts[/]: faults of four families at 180 tokens")
    table = _table("", "published", "ours")
    for without in ablation(seeds):
        table.add_row(without.part, str(without.published), f"{without.ours:.1f}")
    show_whole(console, table)
    console.print()


def show_shortened(console: Console, title: str, sessions: Iterable[Trace]) -> None:
    """Masks, summaries and rolling edits, with and without a cache; then what each evicts."""
    rows = shortened(sessions, BUDGET)
    told = (
        f"sessions: {rows[0].sessions:,}, turns: {rows[0].score.turns:,}, {BUDGET:,} tokens where a method has a budget"
    )
    console.print(f"\n[bold]{title}: published methods beside ours[/]; {told}")
    show_whole(console, _bills(rows))
    console.print(
        "costs are relative to sending everything; what was published: a, solving SWE-bench (The Complexity Trap, median of five models); "
        "b, ten tasks of it, and c, a chain of tasks in one repository (ctxpress); d, the share of tokens from the cache in c"
    )
    console.print("\nfiles that were read, taken away, and read again")
    show_whole(console, _evictions(rows))


def _bills(rows: Sequence[Shortened]) -> Table:
    table = _table(
        "",
        "priced bill",
        "bill",
        "with re-fetches",
        "cache at marks",
        "from the cache",
        "coverage",
        "verbatim",
        "bill without a cache",
        "of it, writing summaries",
        *"abcd",
    )
    for row in rows:
        table.add_row(
            row.name,
            f"{row.score.priced():.3f}",
            f"{row.score.bill:.3f}",
            f"{row.score.bill_with_refetches:.3f}",
            f"{row.marked.bill:.3f}",
            f"{row.cached:.2f}",
            f"{row.score.coverage:.3f}",
            f"{row.score.verbatim_coverage:.3f}",
            f"{row.tokens:.3f}",
            f"{row.writing:.3f}" if row.writing else "",
            *(_told(value, 2) for value in row.published),
        )
    return table


def _evictions(rows: Sequence[Shortened]) -> Table:
    table = _table(
        "",
        "evictions",
        "faults",
        "in need",
        "faults an eviction",
        "faults a request that lacks one",
    )
    for row in rows:
        found = row.evictions
        if found.unique:
            counts = (f"{count:,}" for count in (found.unique, found.faults, found.in_need))
            table.add_row(row.name, *counts, f"{found.rate:.3f}", f"{found.rate_of_requests:.3%}")
    if not table.row_count:
        table.add_row("no method removes what a file said")
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    return table


def _told(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
