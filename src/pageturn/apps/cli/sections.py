"""The sections of `pageturn --help`, each command with a description that is not cut off."""

from collections.abc import Sequence
from typing import NamedTuple

import click


class Section(NamedTuple):
    """A section of commands, each with a short description."""

    title: str
    commands: Sequence[tuple[str, str]]


SECTIONS = (
    Section(
        "Recorded sessions",
        (
            ("demo", "A session of 120 turns, or your newest: what it cost."),
            ("import", "Import sessions that other tools recorded."),
            ("replay", "What recorded sessions would have cost, by method."),
            ("report", "The results of replay as a page with pictures."),
            ("flip", "Compare replay results and pick the default policy."),
            ("compactions", "How much recorded summaries kept of what later calls needed."),
        ),
    ),
    Section(
        "Live agents",
        (
            ("run", "A client behind a gateway: pageturn run -- claude."),
            ("serve", "A gateway for every client on this machine."),
            ("keys", "Keys that the gateway issues: create, list, revoke."),
            ("savings", "What a gateway's sessions cost, or would have cost."),
            ("mcp", "Recorded sessions as tools of an MCP client."),
            ("trial", "The same tasks with a live model, by method."),
        ),
    ),
    Section(
        "Inside a store",
        (
            ("inspect", "What a model saw, turn by turn, in a browser."),
            ("sessions", "The sessions of a store, newest first."),
            ("show", "The pages of a session."),
            ("page", "One page at each of its levels."),
            ("recall", "Search a session."),
            ("context", "What the next call would get, and why."),
            ("why", "Why a page is shown as it is."),
            ("diff", "What a turn changed in the context."),
            ("proposals", "What models proposed and a person must decide."),
            ("route", "The routing state, and its decisions."),
            ("outcome", "Report the outcome of a routing decision."),
        ),
    ),
    Section(
        "Maintain a store",
        (
            ("export", "The messages of a session as JSON lines."),
            ("summarize", "Write summaries of old steps, with or without a model."),
            ("doctor", "Check a store, and repair it."),
            ("vacuum", "Free space that nothing refers to."),
            ("retain", "Erase sessions that have not been used for long."),
            ("pack", "Write a session as one file."),
            ("unpack", "Read such a file into a store."),
            ("backup", "Copy a store while it is in use."),
            ("restore", "Replace a store by a backup."),
        ),
    ),
    Section("This command", (("completion", "Completion for bash, zsh or fish."),)),
)


class SectionedGroup(click.Group):
    """A group whose help lists its commands by section; commands without a section come last."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        named = {name for section in SECTIONS for name, _ in section.commands}
        others = [(name, self.commands[name].get_short_help_str()) for name in self.list_commands(ctx)]
        rest = [row for row in others if row[0] not in named]
        width = max(map(len, self.commands))
        for title, rows in (*SECTIONS, *([Section("Others", rest)] if rest else [])):
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), told) for name, told in rows])
