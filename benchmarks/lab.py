"""The lab's headline: what each policy costs and still shows, how far it is from the oracle, and which should be the default.

    make bench-lab [DATA=../shared/data] [ARGS="--sessions 4 --jobs 2 --out results.jsonl"]

Synthetic sessions come first, since they need no data: ClawVM's comparison and what looking ahead is worth in the simulation, then coding
sessions of 200 turns, under our policies and in methods that were published. Where DATA has recorded sessions, its long ones follow, pooled
per file.
"""

from argparse import ArgumentParser
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from benchmarks import published_results
from pageturn.apps.cli.replays import Selection, replay, show_compactions, show_results, traces
from pageturn.lab.simulated_oracle import OracleChooser
from pageturn.lab.simulated_paged import PagedChooser
from pageturn.lab.simulation import simulate
from pageturn.lab.sweep import Method, Setup
from pageturn.lab.synthetic_workloads import BUDGETS, families
from pageturn.values.vendors import VENDORS

SEEDS = 5
METHODS = tuple(map(Method.parse, ("paged", "legacy", "reset", "incremental", "keep-last", "masking")))
SOURCES = ("claude-code.entireio-cli", "codex-cli.session-bridge")


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.lab")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--sessions", type=int, default=None, help="of each file, the first so many long ones")
    parser.add_argument("--generated", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    console = Console(width=150)
    published_results.show_clawvm(console, range(1, SEEDS + 1))
    simulated(console)
    console.print("\n[bold]synthetic coding sessions of 200 turns[/]")
    setup = Setup(METHODS, (8_000, 16_000, 32_000), lookahead=1)
    made_up = Selection(generated=options.generated)
    show_results(console, replay(console, made_up, setup, jobs=options.jobs, out=options.out))
    vendors(console, made_up, options.jobs)
    published_results.show_shortened(console, "synthetic coding sessions", traces(made_up))
    folder = options.data / "traces"
    if not folder.is_dir():
        console.print(f"skipped: there is no {folder}; give the data folder: make bench-lab DATA=...")
        return
    for source in SOURCES:
        recorded = Selection((folder / f"{source}.jsonl.gz",), is_long=True, most=options.sessions)
        console.print(f"\n[bold]{source}, long sessions[/]")
        show_results(console, replay(console, recorded, setup, jobs=options.jobs, out=options.out))
        console.print(f"\n[bold]{source}, recorded compactions[/]")
        show_compactions(console, recorded)
        published_results.show_shortened(console, f"{source}, long sessions", traces(recorded))


def simulated(console: Console) -> None:
    """Faults, and hits that the store had to answer, by how far the oracle looks."""
    sessions = [workload for seed in range(1, SEEDS + 1) for workload in families(seed)]
    console.print(f"[bold]simulated families, {SEEDS} seeds[/]: faults, and recalls a session by budget in tokens")
    table = Table(box=None, pad_edge=False)
    for column in ("", "faults", *map(str, BUDGETS)):
        table.add_column(column, justify="right" if column else "left")
    rows = {"paged": PagedChooser()} | {f"oracle, {ahead} ahead": OracleChooser(ahead) for ahead in (0, 1, 2, 3)}
    for name, chooser in rows.items():
        tallies = [[simulate(session, budget, chooser) for session in sessions] for budget in BUDGETS]
        faults = sum(len(tally.faults) for row in tallies for tally in row)
        table.add_row(name, str(faults), *(f"{fmean(tally.recalls for tally in row):.1f}" for row in tallies))
    console.print(table)


def vendors(console: Console, selection: Selection, jobs: int) -> None:
    """What the same requests cost elsewhere, with a cache that forgets."""
    console.print("\n[bold]the bill at 16,000 tokens[/], relative to sending everything to the same vendor")
    table = Table(box=None, pad_edge=False)
    names = [method.label for method in METHODS]
    for column in ("", *names):
        table.add_column(column, justify="right" if column else "left")
    for vendor in VENDORS:
        results = replay(console, selection, Setup(METHODS, (16_000,), vendor=vendor), jobs=jobs, out=None)
        scores = {name: [result.score for result in results if result.policy == name] for name in names}
        table.add_row(
            vendor,
            *(f"{sum(s.billed for s in scores[name]) / sum(s.whole for s in scores[name]):.3f}" for name in names),
        )
    console.print(table)


if __name__ == "__main__":
    main()
