"""Defines `pageturn trial`: the same tasks with a live model, its context managed by different methods."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.answers import TextTable, TrialResult
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.prices import chosen_price
from pageturn.apps.cli.tables import plain, show_whole
from pageturn.apps.cli.terminal import answered, terminal
from pageturn.lab.trial.analysis import outcome
from pageturn.lab.trial.contract import Task
from pageturn.lab.trial.endpoint import LiveModel
from pageturn.lab.trial.facts import facts_task
from pageturn.lab.trial.folders import read_task
from pageturn.lab.trial.managing import METHODS
from pageturn.lab.trial.report import LEGEND, Rows, markdown, tables
from pageturn.lab.trial.repository import repository_task
from pageturn.lab.trial.results import Run, read_runs
from pageturn.lab.trial.rules import rules_task
from pageturn.lab.trial.running import Plan, priced, run_trial
from pageturn.values.model_prices import money

_SHIPPED: dict[str, Callable[[int, int, int], Task]] = {
    "facts": lambda seed, tokens, questions: facts_task(seed, tokens=tokens, questions=questions),
    "rules": lambda seed, tokens, _: rules_task(seed, tokens=tokens),
    "repository": lambda seed, tokens, _: repository_task(seed, tokens=tokens),
}


@click.command(
    cls=Documented, example="trial --model claude-sonnet-5 --dry-run", prints=TrialResult, fails="runs are left"
)
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--url", help="Base URL of an OpenAI or Anthropic compatible API, as http://127.0.0.1:8080/v1.")
@click.option("--model", required=True, help="The model at that URL.")
@click.option(
    "--key", envvar="PAGETURN_TRIAL_KEY", show_envvar=True, help="The API key; better set in the environment."
)
@click.option(
    "--dialect", type=click.Choice(["openai", "anthropic"]), help="The API format; by default guessed from the URL."
)
@click.option(
    "--price", metavar="INPUT,OUTPUT[,READ[,WRITE]]", help="The price of the model, in dollars per million tokens."
)
@click.option(
    "--prices", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Your own table of prices."
)
@click.option(
    "--limit",
    "limit_dollars",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Stop when this many dollars are spent.",
)
@click.option(
    "--task",
    "families",
    multiple=True,
    type=click.Choice(list(_SHIPPED)),
    help="The shipped tasks to run; all of them without folders of your own.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(list(METHODS)),
    default=tuple(METHODS),
    help="How the context is managed; all methods by default. The first one is what the others are compared with.",
)
@click.option("--count", default=3, show_default=True, type=click.IntRange(1), help="How many of each shipped task.")
@click.option(
    "--questions", default=20, show_default=True, type=click.IntRange(5), help="Questions of each task of facts."
)
@click.option(
    "--tokens",
    default=40_000,
    show_default=True,
    type=click.IntRange(1_000),
    help="Approximate length of the history of each shipped task.",
)
@click.option(
    "--budget",
    default=16_000,
    show_default=True,
    type=click.IntRange(1),
    help="Token budget of a context (characters / 4).",
)
@click.option(
    "--repeat",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How often each task is run under each method.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=int,
    help="The random seed of the order of runs and of the shipped tasks.",
)
@click.option(
    "--out",
    default="trial.jsonl",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file for the runs; those already in it are not run again.",
)
@click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write the tables as a page in Markdown, too."
)
@click.option("--dry-run", is_flag=True, help="Estimate what it would cost; call nothing.")
def trial(
    folders: tuple[Path, ...],
    *,
    url: str | None,
    model: str,
    key: str | None,
    dialect: str | None,
    price: str | None,
    prices: Path | None,
    limit_dollars: float,
    families: tuple[str, ...],
    methods: tuple[str, ...],
    count: int,
    questions: int,
    tokens: int,
    budget: int,
    repeat: int,
    seed: int,
    out: Path,
    report: Path | None,
    dry_run: bool,
) -> None:
    """Run the same tasks with a live model, its context managed by different methods, and compare results and costs.

    FOLDERS are tasks of your own: a task file and a checker each. Runs are written as they end; the same command continues where it
    stopped.
    """
    billed = chosen_price(model, price, prices)
    assert billed is not None, "--model is required, so there is a price"
    wanted = families or (() if folders else tuple(_SHIPPED))
    seeds = range(seed, seed + count)
    tasks: list[Task] = [_SHIPPED[name](each, tokens, questions) for name in dict.fromkeys(wanted) for each in seeds]
    tasks += map(read_task, folders)
    names = [task.id for task in tasks]
    if len(set(names)) < len(names):
        raise click.UsageError("two folders have the same name")
    plan = Plan(tasks, tuple(dict.fromkeys(methods)), model, billed, budget, repeat, seed, limit_dollars)
    console = terminal()
    if dry_run:
        _show_price(console, plan, [run for run in read_runs(out) if run.final])
        return
    if url is None:
        raise click.UsageError("give --url, or --dry-run to see what it would cost")
    ended = run_trial(plan, LiveModel(url, model, key=key, dialect=dialect), out, lambda run: _tell(console, run))
    found = outcome((run for run in ended.runs if run.model == model and run.budget_tokens == budget), plan.methods)
    shown, spent = tables(found), sum(run.dollars for run in ended.runs)
    answered(TrialResult(_texts(shown), spent, ended.left))
    for table in shown:
        _show(console, table)
    console.print(LEGEND, soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"{money(spent)} spent of {money(limit_dollars)}, at {billed}", soft_wrap=True, highlight=False, markup=False
    )
    if report is not None:
        report.write_text(markdown(plan, found, ended.reason), encoding="utf-8")
        console.print(plain(f"{report}: written"), highlight=False, soft_wrap=True)
    if ended.left:
        raise click.ClickException(f"{ended.left:,} runs are left: {plain(ended.reason)}; the same command continues")


def _show_price(console: Console, plan: Plan, known: Sequence[Run]) -> None:
    """Print what the trial would cost."""
    rows = list(priced(plan, (run.key for run in known)))
    total = sum(row.dollars for row in rows)
    shown = tuple((row.method, f"{row.calls:,.0f}", f"{row.tokens:,.0f}", money(row.dollars)) for row in rows)
    title = f"{len(plan.tasks):,} tasks under {len(plan.methods):,} methods, {_often(plan.repetitions)} each, not run yet: about"
    table = Rows(title, ("", "calls", "input tokens", "dollars"), (*shown, ("all", "", "", money(total))))
    if answered(TrialResult(_texts([table]), total, sum(1 for _ in plan.tasks) * len(plan.methods) * plan.repetitions)):
        return
    _show(console, table)
    beyond = " and will stop the trial early: raise it with --limit" if total > plan.limit_dollars else ""
    console.print(f"at {plan.price}; the limit is {money(plan.limit_dollars)}{beyond}", soft_wrap=True, highlight=False)


def _texts(rows: Sequence[Rows]) -> tuple[TextTable, ...]:
    return tuple(TextTable(each.title, each.heads, each.rows) for each in rows)


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _show(console: Console, rows: Rows) -> None:
    table = Table(box=None, pad_edge=False)
    for head in rows.heads:
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for cells in rows.rows:
        table.add_row(*map(plain, cells))
    console.print(f"\n{rows.title}", soft_wrap=True, highlight=False)
    show_whole(console, table)


def _tell(console: Console, run: Run) -> None:
    done = sum(step.done for step in run.steps)
    ended = f", ended early: {run.error}" if run.error else ""
    line = f"{run.task}, {run.method}: {done} of {len(run.steps)} steps, {run.calls} calls, {money(run.dollars)}{ended}"
    console.print(plain(line), highlight=False, soft_wrap=True)
