"""A group of commands of which one needs no name: `pageturn mcp agent.db` is `pageturn mcp serve agent.db`."""

from typing import Any

import click


class DefaultGroup(click.Group):
    """A group with a command for everything that names none of its commands."""

    def __init__(self, *args: Any, default: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As a group does, with the name of the default command put before anything but a name or a wish for help."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else [self._default, *args])
