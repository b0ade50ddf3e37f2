"""The command of the inspector."""

import webbrowser
from typing import Any

import click

from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.terminal import complain
from pageturn.stores import shown


@click.command()
@click.argument("store", required=False)
@click.option("--scope", help="Only the sessions of this scope; by default those of all scopes.")
@click.option("--internal", is_flag=True, help="Show content that only the model may see.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; any but this machine's own needs a token.",
)
@click.option(
    "--port", default=8789, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 picks a free one."
)
@click.option(
    "--token",
    envvar="PAGETURN_TOKEN",
    show_envvar=True,
    help="The token that a browser must send: open /?token=TOKEN once; better set in the environment.",
)
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
