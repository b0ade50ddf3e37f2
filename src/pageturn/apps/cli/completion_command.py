"""Defines `pageturn completion`: what a shell needs to complete commands, options, files and session ids."""

import click
from click.shell_completion import get_completion_class

from pageturn.apps.cli.documented import Documented

_SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Documented, example="completion bash")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands, options, files and session ids.

    \b
    eval "$(pageturn completion bash)"                                  # in ~/.bashrc
    eval "$(pageturn completion zsh)"                                   # in ~/.zshrc
    pageturn completion fish > ~/.config/fish/completions/pageturn.fish
    """  # noqa: D301 - the character that tells click to leave the lines as they are
    script = get_completion_class(shell)
    assert script is not None, f"click completes {shell}"
    click.echo(script(context.find_root().command, {}, "pageturn", "_PAGETURN_COMPLETE").source())
