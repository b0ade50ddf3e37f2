"""`pageturn route`: what is believed of agents, and the decisions that rest on it."""

import sys
from pathlib import Path

import click

from pageturn.cli import journals, routes
from pageturn.cli.terminal import terminal
from pageturn.delegation.beliefs import DEFAULT_SCOPE

_STORE = click.argument("store")
_SCOPE = click.option("--scope", default=DEFAULT_SCOPE, show_default=True, help="Whose beliefs.")


@click.group()
def route() -> None:
    """Look at what is believed of agents, and at the decisions that rest on it."""


@route.command("explain")
@_STORE
@click.argument("decision", required=False)
@_SCOPE
def route_explain(store: str, decision: str | None, scope: str) -> None:
    """Show a decision, the newest without an id: what was expected of each candidate, and what came of it."""
    with journals.opened(store) as opened:
        routes.show_decision(terminal(), routes.beliefs_of(opened, scope), decision)


@route.command("stats")
@_STORE
@_SCOPE
def route_stats(store: str, scope: str) -> None:
    """Show the record of every agent, how modes did, and who drifted."""
    with journals.opened(store) as opened:
        routes.show_stats(terminal(), routes.beliefs_of(opened, scope))


@route.command("replay")
@_STORE
@click.option("--mode", "modes", multiple=True, type=click.Choice(routes.REPLAYED), help="Only this one; repeatable.")
@_SCOPE
def route_replay(store: str, modes: tuple[str, ...], scope: str) -> None:
    """Say what other modes would have come to, and whether the log is as its own outcomes make it.

    Exits with 1 where it is not.
    """
    with journals.opened(store) as opened:
        is_sound = routes.show_replay(terminal(), routes.beliefs_of(opened, scope), modes)
    sys.exit(0 if is_sound else 1)


@route.command("prune")
@_STORE
@click.option("--keep", type=click.IntRange(0), help="All but the newest so many.")
@click.option("--days", type=click.FloatRange(0), help="Those that were made so many days ago, or earlier.")
@click.option("--abandoned", is_flag=True, help="With --days: those too whose outcome never came.")
@_SCOPE
def route_prune(store: str, keep: int | None, days: float | None, scope: str, *, abandoned: bool) -> None:
    """Drop old decisions from the log. What is believed stays as it is.

    Only those go whose outcome is known, the oldest first. `pageturn vacuum` gives their room back.
    """
    with journals.opened(store) as opened:
        routes.prune_log(terminal(), routes.beliefs_of(opened, scope), keep, days, abandoned=abandoned)


@route.command("export")
@_STORE
@_SCOPE
def route_export(store: str, scope: str) -> None:
    """Write everything that is believed as one JSON object."""
    with journals.opened(store) as opened:
        routes.export_state(routes.beliefs_of(opened, scope))


@route.command("import")
@_STORE
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_SCOPE
def route_import(store: str, path: Path, scope: str) -> None:
    """Add what such a JSON object knows to what is believed already."""
    with journals.opened(store) as opened:
        routes.import_state(terminal(), routes.beliefs_of(opened, scope), path)
