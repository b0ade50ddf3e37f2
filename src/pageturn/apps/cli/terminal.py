"""Prints text from pages, names and paths with its control characters escaped.

A tool's output may contain control codes that clear the screen, set the title, write to the clipboard, or reverse the direction of a
line. On a terminal each of them is shown as its code. Output to a file or a pipe is not changed.
"""

import re
import sys
from collections.abc import Iterable

import click
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

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
    """A console on standard output, or on the error stream."""
    console = Console(stderr=stderr)
    if console.is_terminal:
        console.push_render_hook(_Hook())
    return console


def write_json(data: bytes) -> None:
    """Write one line of JSON to standard output."""
    click.echo(inert_json(data) if sys.stdout.isatty() else data)


def complain(text: str) -> None:
    """Write a line to the error stream."""
    click.echo(inert(text) if sys.stderr.isatty() else text, err=True)


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
