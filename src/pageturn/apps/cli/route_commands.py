"""Defines `pageturn route` and `pageturn outcome`: shows, replays, prunes, forgets, exports and imports routing state, and reports outcomes."""

import sys
from pathlib import Path

import click

from pageturn.apps.cli import journals, routes
from pageturn.apps.cli.answers import (
    DecisionsPruned,
    OutcomeCounted,
    OutcomesForgotten,
    RouteDecision,
    RouteReplay,
    RouteReport,
    RouteStats,
    RoutingMerged,
)
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.options import STORE
from pageturn.apps.cli.terminal import terminal
from pageturn.routing.stored_state import DEFAULT_SCOPE

_SCOPE = click.option("--scope", default=DEFAULT_SCOPE, show_default=True, help="The scope of the routing state.")


_VERDICTS = {"success": 1.0, "failure": 0.0}


def _verdict(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Success, failure, or a grade."""
    try:
        grade = _VERDICTS[value] if value in _VERDICTS else float(value)
    except ValueError:
        grade = -1.0
    if not 0.0 <= grade <= 1.0:
        raise click.BadParameter(f"expected success, failure or a grade from 0 to 1, got {value!r}", context, parameter)
    return grade


@click.group()
def route() -> None:
    """Show the routing state and the decisions based on it."""


@route.command("explain", cls=Documented, example="route explain agent.db 01a9", prints=RouteDecision)
@STORE
@click.argument("decision", required=False)
@_SCOPE
def route_explain(store: str, decision: str | None, scope: str) -> None:
    """Show a decision, by default the newest: the estimate for each candidate, and the outcome."""
    with journals.opened(store) as opened:
        routes.show_decision(terminal(), routes.beliefs_of(opened, scope), decision)


@route.command("stats", cls=Documented, example="route stats agent.db", prints=RouteStats)
@STORE
@_SCOPE
def route_stats(store: str, scope: str) -> None:
    """Show the posterior of every agent, the average outcome of each mode, and drift."""
    with journals.opened(store) as opened:
        routes.show_stats(terminal(), routes.beliefs_of(opened, scope))


@route.command("report", cls=Documented, example="route report agent.db", prints=RouteReport)
@STORE
@_SCOPE
def route_report(store: str, scope: str) -> None:
    """Show who is chosen for what, the posteriors, cost by bucket, and the regret as far as the log shows it.

    Regret is relative to the best single candidate of a bucket. "Too little support" means that the log cannot show it, since an agent
    was hardly ever chosen.
    """
    with journals.opened(store) as opened:
        routes.show_report(terminal(), routes.beliefs_of(opened, scope))


@route.command(
    "replay",
    cls=Documented,
    example="route replay agent.db --mode thompson",
    prints=RouteReplay,
    fails="the log is not consistent",
)
@STORE
@click.option("--mode", "modes", multiple=True, type=click.Choice(routes.REPLAYED), help="Only this mode; repeatable.")
@_SCOPE
def route_replay(store: str, modes: tuple[str, ...], scope: str) -> None:
    """Estimate the outcomes of other modes from the log, and check that the log is consistent."""
    with journals.opened(store) as opened:
        is_sound = routes.show_replay(terminal(), routes.beliefs_of(opened, scope), modes)
    sys.exit(0 if is_sound else 1)


@route.command("prune", cls=Documented, example="route prune agent.db --days 90", prints=DecisionsPruned, acts=True)
@STORE
@click.option("--keep", type=click.IntRange(0), help="Drop all but the newest N.")
@click.option("--days", type=click.FloatRange(0), help="Drop decisions that are at least N days old.")
@click.option("--abandoned", is_flag=True, help="With --days: also drop decisions that never had an outcome.")
@_SCOPE
def route_prune(store: str, keep: int | None, days: float | None, scope: str, *, abandoned: bool) -> None:
    """Drop old decisions from the log. The posteriors do not change.

    Only decisions with a known outcome are dropped, oldest first. `pageturn vacuum` frees their space.
    """
    with journals.opened(store) as opened:
        routes.prune_log(terminal(), routes.beliefs_of(opened, scope), keep, days, abandoned=abandoned)


@route.command("forget", cls=Documented, example="route forget agent.db old/model", prints=OutcomesForgotten, acts=True)
@STORE
@click.argument("agent")
@click.option(
    "--keep", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="The share that still counts."
)
@_SCOPE
def route_forget(store: str, agent: str, keep: float, scope: str) -> None:
    """Forget the outcomes of an agent, for example after its model was replaced.

    Declared scores and the log of decisions stay.
    """
    with journals.opened(store) as opened:
        routes.forget_agent(terminal(), routes.beliefs_of(opened, scope), agent, keep)


@route.command("export", cls=Documented, example="route export agent.db")
@STORE
@_SCOPE
def route_export(store: str, scope: str) -> None:
    """Write the routing state as one JSON object."""
    with journals.opened(store) as opened:
        routes.export_state(routes.beliefs_of(opened, scope))


@route.command("import", cls=Documented, example="route import other.db state.json", prints=RoutingMerged, acts=True)
@STORE
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_SCOPE
def route_import(store: str, path: Path, scope: str) -> None:
    """Merge an exported JSON object into the routing state."""
    with journals.opened(store) as opened:
        routes.import_state(terminal(), routes.beliefs_of(opened, scope), path)


@click.command("outcome", cls=Documented, example="outcome agent.db 01a9 success", prints=OutcomeCounted, acts=True)
@STORE
@click.argument("decision")
@click.argument("verdict", callback=_verdict)
@click.option(
    "--weak",
    is_flag=True,
    help="A weak outcome, inferred and not judged: counts a quarter, and a later one without --weak replaces it.",
)
@click.option("--correct", is_flag=True, help="Replace the outcome that was reported before.")
@click.option("--seconds", type=click.FloatRange(0), help="How long the answer took.")
@click.option("--money", type=click.FloatRange(0), help="What it cost, in the unit of the prices.")
@_SCOPE
def outcome(  # noqa: PLR0917
    store: str,
    decision: str,
    verdict: float,
    seconds: float | None,
    money: float | None,
    scope: str,
    *,
    weak: bool,
    correct: bool,
) -> None:
    """Report the outcome of a routing decision: success, failure, or a grade from 0 to 1.

    The same outcome twice counts once; an unknown decision is an error.
    """
    with journals.opened(store) as opened:
        routes.report_outcome(
            terminal(),
            opened,
            scope,
            decision,
            verdict,
            is_weak=weak,
            is_correction=correct,
            seconds=seconds,
            money=money,
        )
