"""Prints text from pages, names and paths with its control characters escaped.

A tool's output may contain control codes that clear the screen, set the title, write to the clipboard, or reverse the direction of a
line. On a terminal each of them is shown as its code. Output to a file or a pipe is not changed.

What `--json` and `--quiet` leave out is left out here, so that no command has to ask.
"""

import os
import re
import sys
from collections.abc import Iterable
from typing import Any, Final

import click
import msgspec
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from pageturn.values.json import to_json

JSON: Final = "pageturn.json"  # the switches of the running command, in click's context
QUIET: Final = "pageturn.quiet"
ACTS: Final = "pageturn.acts"

# C0 controls except newline and tab, DEL, C1 controls; bidirectional and zero-width marks; line separators.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def inert(text: str) -> str:
    """The text with everything escaped that a terminal would interpret."""
    return _ACTING.sub(lambda found: ascii(found[0])[1:-1], text)


def inert_json(data: bytes) -> bytes:
    """Equal JSON with everything escaped that a terminal would interpret."""
    return _ACTING.sub(lambda found: _escaped(found[0]), data.decode()).encode()


def terminal(*, stderr: bool = False) -> Console:
    """A console on standard output, or on the error stream; silent with --json, and with --quiet of a command that acts."""
    is_silent = is_set(JSON) or (is_set(QUIET) and is_set(ACTS))
    # Without a colour system rich writes no style at all: NO_COLOR switches off bold and dim text, too.
    plain: dict[str, Any] = {"color_system": None} if os.environ.get("NO_COLOR") else {}
    console = Console(stderr=stderr, quiet=is_silent and not stderr, **plain)
    if console.is_terminal:
        console.push_render_hook(_Hook())
    return console


def has_progress(console: Console) -> bool:
    """Whether a progress bar is shown: on a terminal, if nobody asked for quiet."""
    return console.is_terminal and not is_set(JSON) and not is_set(QUIET)


def hint(console: Console, text: str) -> None:
    """Write what only helps a person, as the next command to run; --quiet leaves it out."""
    if not is_set(QUIET):
        console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)


def answered(result: msgspec.Struct) -> bool:
    """Write a result as JSON, if that was asked for; returns whether it was."""
    if wants_json():
        write_json(to_json(result))
    return wants_json()


def wants_json() -> bool:
    """Whether the running command was given --json."""
    return is_set(JSON)


def is_set(name: str) -> bool:
    """Whether the running command has a switch."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(name))


def write_json(data: bytes) -> None:
    """Write one line of JSON to standard output."""
    click.echo(inert_json(data) if sys.stdout.isatty() else data)


def complain(text: str) -> None:
    """Write a line to the error stream."""
    click.echo(inert(text) if sys.stderr.isatty() else text, err=True)


def say(text: str) -> None:
    """Write what was done to the error stream; --quiet leaves it out, and --json, since the result has it."""
    if not is_set(JSON) and not is_set(QUIET):
        complain(f"pageturn: {text}")


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Inert(each) for each in renderables]


class _Inert:
    """A renderable with its text escaped; its own control codes, as of a progress bar, are kept."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        segments: Iterable[Segment] = console.render(self._renderable, options)
        for text, style, control in segments:
            yield Segment(text if control else inert(text), style, control)
