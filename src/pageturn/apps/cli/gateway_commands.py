"""The commands of the gateway: `serve`, and `run` with a client behind it."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pageturn.apps.cli.terminal import complain
from pageturn.values.errors import MissingExtra

_OPTIONS = (
    click.option("--mode", help="watch, which changes nothing; others are to come."),
    click.option("--store", help="The file of the sessions; none stores nothing."),
    click.option("--anthropic", metavar="URL", help="Where Anthropic is; ANTHROPIC_BASE_URL or the vendor without it."),
    click.option(
        "--openai", metavar="URL", help="Where OpenAI is, with its version, as .../v1; OPENAI_BASE_URL likewise."
    ),
    click.option("--ca-file", metavar="FILE", help="Certificates to trust beside the system's."),
    click.option("--config", "file", type=click.Path(path_type=Path), help="The file of settings."),
)


def _settings(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@_settings
@click.option("--host", help="Where to listen; this machine alone without it.")
@click.option("--port", help="8787 without it; 0 is any that is free.")
@click.option("--token", help="What clients must send as x-pageturn-token; better in PAGETURN_TOKEN.")
@click.option(
    "--print-config", is_flag=True, help="Write the settings that are in force as a file with comments, and end."
)
def serve(file: Path | None, *, print_config: bool, **flags: Any) -> None:
    """Listen as a gateway in front of the providers: clients use it as their base URL."""
    config = _imported("config").load_config(flags, file)
    if print_config:
        click.echo(_imported("config").commented(config), nl=False)
        return
    logging.basicConfig(format="pageturn: %(message)s", level=logging.WARNING)
    _imported("running").serve(config, _say)


@click.command(context_settings={"allow_interspersed_args": False})
@_settings
@click.argument("command", metavar="CLIENT [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def run(file: Path | None, command: tuple[str, ...], **flags: Any) -> None:
    """Run a client behind a gateway of its own, as in `pageturn run -- claude`. Exits as the client does."""
    config = _imported("config").load_config(flags, file)
    sys.exit(_imported("running").run_client(config, command, _say))


def _imported(name: str) -> Any:
    """A module of the gateway, whose packages not everybody has."""
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(f"pageturn.apps.gateway.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pageturn"):
            raise
        raise MissingExtra("the gateway", extra="gateway") from error


def _say(text: str) -> None:
    complain(f"pageturn: {text}")
