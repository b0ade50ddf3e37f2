"""The options of commands that listen for local programs: where, and with which token."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def listening_options(port: int, token_help: str) -> Callable[[Command], Command]:
    """A decorator that gives a command `--host`, `--port` and `--token`."""
    host_option = click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="The address to listen on; any but this machine's own needs a token.",
    )
    port_option = click.option(
        "--port", default=port, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 picks a free one."
    )
    token_option = click.option("--token", envvar="PAGETURN_TOKEN", show_envvar=True, help=token_help)

    def decorated(command: Command) -> Command:
        return host_option(port_option(token_option(command)))

    return decorated
