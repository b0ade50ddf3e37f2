"""The command of the inspector."""

import webbrowser
from typing import Any

import click

from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.listening import listening_options
from pageturn.apps.cli.options import GATEWAYS_STORE
from pageturn.apps.cli.terminal import complain
from pageturn.stores import shown


@click.command(cls=Documented, example="inspect agent.db --open")
@GATEWAYS_STORE
@click.option("--scope", help="Only the sessions of this scope; by default those of all scopes.")
@click.option("--internal", is_flag=True, help="Show content that only the model may see.")
@listening_options(8789, "The token that a browser must send: open /?token=TOKEN once; better set in the environment.")
@click.option("--open", "opens", is_flag=True, help="Open a browser at its address.")
def inspect(
    store: str | None, scope: str | None, host: str, port: int, token: str | None, *, internal: bool, opens: bool
) -> None:
    """Show the sessions of a store in a browser: what a model saw in each turn, why, and what it cost.

    \b
    pageturn inspect agent.db        # http://127.0.0.1:8789
    pageturn inspect                 # the store of the gateway, also while it runs

    It cannot write to the store, and contacts no other server. Ctrl-C ends it.
    """  # noqa: D301 - the character that tells click to leave the lines as they are
    server, config = _imported("inspector.server"), _imported("gateway.config")
    place = _imported("inspector.opened").Place(
        store if store is not None else str(config.usual_store()), scope, internal
    )

    def say(url: str) -> None:
        complain(f"pageturn: the inspector of {shown(place.store)} is at {url}")
        if opens:
            webbrowser.open(f"{url}?token={token}" if token else url)

    server.serve(place, host, port, token, say)


def _imported(name: str) -> Any:
    return imported(name, "the inspector", extra="inspector")
