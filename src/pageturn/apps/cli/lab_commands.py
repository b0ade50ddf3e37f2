"""Defines the replay commands: recorded sessions under other policies, and the evaluation of the results."""

from pathlib import Path

import click

from pageturn.apps.cli import replays
from pageturn.apps.cli.answers import CompactionsKept, Comparison, FilesWritten
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.prices import chosen_price, price_options
from pageturn.apps.cli.reports import write_report
from pageturn.apps.cli.terminal import terminal
from pageturn.lab.sweep import CHARACTER_COUNTER, Method, Setup
from pageturn.values.vendors import VENDORS

_PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
_RESULTS = click.argument(
    "results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
_LONG = click.option("--long", "is_long", is_flag=True, help="Only sessions of 60,000 tokens or more.")
_SESSIONS = click.option("--sessions", type=click.IntRange(1), help="Use only the first N sessions of each file.")


@click.command(
    cls=Documented, example="replay ~/.claude/projects --budget 32000 --out results.jsonl", prints=Comparison
)
@_PATHS
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("everything", "paged", "legacy", "reset", "incremental", "keep-last"),
    show_default=True,
    help="A policy to compare, with settings as in paged:miss_tokens=0; repeatable.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    type=click.IntRange(1),
    default=(16_000,),
    show_default=True,
    help="Token budget of a context; repeatable.",
)
@click.option(
    "--peers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON file with commands that run other libraries on the same sessions.",
)
@click.option("--oracle", type=click.IntRange(0), help="Compare with an oracle that looks N turns ahead.")
@click.option(
    "--vendor",
    type=click.Choice(list(VENDORS)),
    help="The vendor whose cache rules apply; by default those of --model, or else ideal-cache: any prefix is cached, forever.",
)
@price_options
@click.option(
    "--counter",
    default=CHARACTER_COUNTER,
    show_default=True,
    help="The model whose tokenizer counts; chars/4 counts four characters as one token.",
)
@click.option("--generated", type=click.IntRange(0), help="Number of synthetic sessions; 3 without paths.")
@click.option(
    "--turns",
    default=200,
    show_default=True,
    type=click.IntRange(1),
    help="Approximate length of each synthetic session.",
)
@_LONG
@_SESSIONS
@click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1), help="Number of processes.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write results here as JSON lines; results already in it are not computed again.",
)
def replay(
    paths: tuple[Path, ...],
    *,
    policies: tuple[str, ...],
    budgets: tuple[int, ...],
    peers: Path | None,
    oracle: int | None,
    vendor: str | None,
    model: str | None,
    price: str | None,
    prices: Path | None,
    counter: str,
    generated: int | None,
    turns: int,
    is_long: bool,
    sessions: int | None,
    jobs: int,
    out: Path | None,
) -> None:
    """Replay recorded sessions under several policies and compare what they cost and what they show.

    PATHS are traces, stores, logs of other tools, or folders of them; without any, synthetic sessions are replayed.
    """
    selection = replays.Selection(
        paths, (0 if paths else 3) if generated is None else generated, turns, is_long, sessions
    )
    methods = (*map(Method.parse, dict.fromkeys(policies)), *(Method.peers(peers) if peers is not None else ()))
    billed = chosen_price(model, price, prices)
    setup = Setup(methods, tuple(sorted(set(budgets))), counter, vendor, oracle, billed)
    console = terminal()
    results = replays.replay(console, selection, setup, jobs=jobs, out=out)
    replays.show_results(console, results, is_long=is_long)


@click.command(cls=Documented, example="flip results.jsonl", prints=Comparison)
@_RESULTS
def flip(results: tuple[Path, ...]) -> None:
    """Show the results that `replay --out` wrote, and the default policy that the flip rule selects."""
    replays.show_flip(terminal(), results)


@click.command(cls=Documented, example="compactions ~/.claude/projects", prints=CompactionsKept)
@_PATHS
@_SESSIONS
def compactions(paths: tuple[Path, ...], sessions: int | None) -> None:
    """Show how much of what later calls needed the recorded compactions kept."""
    if not paths:
        raise click.UsageError("give files or folders")
    replays.show_compactions(terminal(), replays.Selection(paths, most=sessions))


@click.command(cls=Documented, example="report results.jsonl --out report.html", prints=FilesWritten, acts=True)
@_RESULTS
@click.option(
    "--out",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The HTML file to write.",
)
@click.option("--svg", type=click.Path(file_okay=False, path_type=Path), help="A folder for the plots as SVG.")
@click.option(
    "--png", type=click.Path(file_okay=False, path_type=Path), help="A folder for the plots as PNG; needs an extra."
)
@click.option("--session", "-s", help="The session to draw turn by turn; by default the longest one.")
@click.option("--budget", type=int, help="The budget to draw it at; by default the middle one.")
def report(
    results: tuple[Path, ...], *, out: Path, svg: Path | None, png: Path | None, session: str | None, budget: int | None
) -> None:
    """Write an HTML report of results that `replay --out` wrote: plots and tables in one self-contained file."""
    write_report(terminal(), results, out=out, svg=svg, png=png, session=session, budget=budget)
