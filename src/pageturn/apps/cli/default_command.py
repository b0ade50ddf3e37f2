"""A command group with a default command: `pageturn mcp agent.db` means `pageturn mcp serve agent.db`."""

from typing import Any

import click


class DefaultGroup(click.Group):
    """A group with a default command, used if none of its commands is named."""

    def __init__(self, *args: Any, default: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with the default command inserted before anything but a command or --help."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else [self._default, *args])
