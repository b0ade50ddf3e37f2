"""The commands of the MCP server: run it, and add it to the settings of a client."""

import logging
from pathlib import Path

import click

from pageturn.apps.cli.answers import SettingsChanged
from pageturn.apps.cli.default_command import DefaultGroup
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.listening import listening_options
from pageturn.apps.cli.options import GATEWAYS_STORE
from pageturn.apps.cli.terminal import answered, complain, inert, say
from pageturn.apps.gateway.config import usual_store
from pageturn.apps.mcp.install import CLIENTS, Change, command_for, installed, uninstalled, write

_CLIENT = click.option("--client", type=click.Choice(CLIENTS), required=True, help="Whose settings.")
_PROJECT = click.option(
    "--project", is_flag=True, help="The settings of the project in this folder, instead of your own."
)
_YES = click.option("--yes", is_flag=True, help="Change the file without asking.")
_SCOPE = click.option("--scope", help="The scope whose sessions are reachable; by default those without one.")


@click.group(cls=DefaultGroup, default="serve")
def mcp() -> None:
    """Let an MCP client look into recorded sessions: recall, resolve, browse, faults, explain, savings; pin and plan as proposals.

    \b
    pageturn mcp install --client claude-code    # the client starts the server itself
    pageturn mcp agent.db                        # on standard input and output
    pageturn mcp agent.db --http                 # at http://127.0.0.1:8788/mcp
    """  # noqa: D301 - the character that tells click to leave the lines as they are


@mcp.command(cls=Documented, example="mcp serve agent.db --http")
@GATEWAYS_STORE
@_SCOPE
@click.option("--http", is_flag=True, help="Listen on HTTP (streamable) instead of standard input and output.")
@listening_options(
    8788, "The token that HTTP clients must send as `Authorization: Bearer`; better set in the environment."
)
def serve(store: str | None, scope: str | None, host: str, port: int, token: str | None, *, http: bool) -> None:
    """Run the server, by default on the store of the gateway. `pageturn mcp agent.db` is enough."""
    server = imported("mcp.server", "the MCP server", extra="mcp")
    place = server.Place(store if store is not None else str(usual_store()), scope)
    logging.basicConfig(format="pageturn: %(message)s", level=logging.WARNING)
    if http:
        server.serve_http(place, host, port, token, _listening)
    else:
        server.serve_stdio(place)


@mcp.command(cls=Documented, example="mcp install --client claude-code --yes", prints=SettingsChanged, acts=True)
@_CLIENT
@click.option("--store", help="The store; by default the one of the gateway.")
@_SCOPE
@_PROJECT
@_YES
def install(client: str, store: str | None, scope: str | None, *, project: bool, yes: bool) -> None:
    """Add the server to a client's settings, so that the client starts it."""
    imported("mcp.server", "the MCP server", extra="mcp")  # otherwise the client would fail when it starts the server
    command = command_for(store if store is not None else str(usual_store()), scope)
    change = installed(client, command, project=Path.cwd() if project else None)
    if change.after == change.before:
        _unchanged(change, "has it already")
        return
    instead = f" instead of `{change.old_command}`" if change.old_command is not None else ""
    _apply(change, f"adds the MCP server `pageturn`{instead}, run by `{change.new_command}`", yes=yes)


@mcp.command(cls=Documented, example="mcp uninstall --client codex --yes", prints=SettingsChanged, acts=True)
@_CLIENT
@_PROJECT
@_YES
def uninstall(client: str, *, project: bool, yes: bool) -> None:
    """Remove the server from a client's settings."""
    change = uninstalled(client, project=Path.cwd() if project else None)
    if change.after == change.before:
        _unchanged(change, "has no server `pageturn`")
        return
    gone = " and deletes the file, which has nothing else in it" if change.after is None else ""
    _apply(change, f"removes the MCP server `pageturn`, run by `{change.old_command}`{gone}", yes=yes)


def _apply(change: Change, what: str, *, yes: bool) -> None:
    say(f"{change.file}: {what}")
    if not yes:
        click.confirm(f"Change {inert(str(change.file))}?", abort=True, err=True)
    write(change)
    command = change.new_command if change.new_command is not None else change.old_command
    answered(SettingsChanged(str(change.file), command, is_changed=True))
    say("done; restart the client if it is running")


def _unchanged(change: Change, why: str) -> None:
    answered(SettingsChanged(str(change.file), change.old_command, is_changed=False))
    say(f"{change.file} {why}; nothing was changed")


def _listening(text: str) -> None:
    complain(f"pageturn: {text}")
