"""The commands of the lab: recorded sessions once more under other policies, and what came of it."""

from pathlib import Path

import click

from pageturn.cli import replays
from pageturn.cli.reports import write_report
from pageturn.cli.terminal import terminal
from pageturn.lab.billing import VENDORS
from pageturn.lab.sweep import STUDY_COUNTER, Setup, Way

_PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
_RESULTS = click.argument(
    "results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
_LONG = click.option("--long", "is_long", is_flag=True, help="Only sessions of 60,000 tokens or more.")
_SESSIONS = click.option("--sessions", type=click.IntRange(1), help="The first so many of each file.")


@click.command()
@_PATHS
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("paged", "legacy", "reset", "incremental", "keep-last"),
    show_default=True,
    help="A row, with settings as in paged:thrift=0.05,low=0.3; repeatable.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    type=click.IntRange(1),
    default=(16_000,),
    show_default=True,
    help="Repeatable.",
)
@click.option(
    "--peers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Other libraries, by the commands of their runners in a file of JSON.",
)
@click.option("--oracle", type=click.IntRange(0), help="Compare with an oracle that looks so many turns ahead.")
@click.option(
    "--vendor", type=click.Choice(list(VENDORS)), default="study", show_default=True, help="Who sends the bill."
)
@click.option(
    "--counter",
    default=STUDY_COUNTER,
    show_default=True,
    help="The model whose tokens are meant; study is four characters.",
)
@click.option("--generated", type=click.IntRange(0), help="So many made-up sessions; 3 without paths.")
@click.option("--turns", default=200, show_default=True, type=click.IntRange(1), help="Of each made-up session, about.")
@_LONG
@_SESSIONS
@click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1), help="Processes.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="JSON lines; what is there is not done again."
)
def replay(
    paths: tuple[Path, ...],
    *,
    policies: tuple[str, ...],
    budgets: tuple[int, ...],
    peers: Path | None,
    oracle: int | None,
    vendor: str,
    counter: str,
    generated: int | None,
    turns: int,
    is_long: bool,
    sessions: int | None,
    jobs: int,
    out: Path | None,
) -> None:
    """Replay recorded sessions under several policies: what each costs, what it still shows, and which one should be the default.

    PATHS are traces, stores, logs of other tools, or folders of them; without any, made-up sessions are replayed.
    """
    selection = replays.Selection(
        paths, (0 if paths else 3) if generated is None else generated, turns, is_long, sessions
    )
    ways = (*map(Way.parse, dict.fromkeys(policies)), *(Way.peers(peers) if peers is not None else ()))
    setup = Setup(ways, tuple(sorted(set(budgets))), counter, vendor, oracle)
    console = terminal()
    replays.show_results(console, replays.replay(console, selection, setup, jobs=jobs, out=out))


@click.command()
@_RESULTS
def flip(results: tuple[Path, ...]) -> None:
    """Show the tables of results that `replay --out` has written, and the default that the flip rule elects."""
    replays.show_flip(terminal(), results)


@click.command()
@_PATHS
@_SESSIONS
def compactions(paths: tuple[Path, ...], sessions: int | None) -> None:
    """Show what the compactions in recorded sessions kept of what was asked for later."""
    if not paths:
        raise click.UsageError("give files or folders")
    replays.show_compactions(terminal(), replays.Selection(paths, most=sessions))


@click.command()
@_RESULTS
@click.option(
    "--out", default="report.html", show_default=True, type=click.Path(dir_okay=False, path_type=Path), help="The page."
)
@click.option("--svg", type=click.Path(file_okay=False, path_type=Path), help="A folder for its pictures, as SVG.")
@click.option("--png", type=click.Path(file_okay=False, path_type=Path), help="The same, as PNG; needs an extra.")
@click.option("--session", "-s", help="The session to draw turn by turn; the longest one without it.")
@click.option("--budget", type=int, help="The budget to draw it at; the one in the middle without it.")
def report(
    results: tuple[Path, ...], *, out: Path, svg: Path | None, png: Path | None, session: str | None, budget: int | None
) -> None:
    """Draw what `replay --out` has written: plots and tables on one page, in one file that needs nothing else."""
    write_report(terminal(), results, out=out, svg=svg, png=png, session=session, budget=budget)
