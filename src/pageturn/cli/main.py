"""The command line. Each command is a few lines and calls one function."""

import sys

import click

from pageturn.cli.demo import show_demo
from pageturn.errors import PageturnError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pageturn")
def cli() -> None:
    """Pageturn decides what an LLM agent sees on each turn."""


@cli.command()
def demo() -> None:
    """Show a short session as pages, with the tokens of each at every level."""
    show_demo()


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    try:
        cli()
    except PageturnError as error:
        click.echo(f"pageturn: {error}", err=True)
        sys.exit(1)
