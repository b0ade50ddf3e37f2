"""The terminal: what is written to one shows text from pages, names and paths, and never acts on it.

A tool's output may hold codes that clear the screen, set the title, write to the clipboard, or turn a line around so that it reads as
another. On a terminal each of them is shown as a number. What goes into a file or a pipe is left as it is.
"""

import re
import sys
from collections.abc import Iterable

import click
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

# Controls of C0 but newline and tab, DEL, controls of C1; marks that turn text around or have no width; separators of lines.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def inert(text: str) -> str:
    """A text in which nothing is left that a terminal would act on."""
    return _ACTING.sub(lambda found: ascii(found[0])[1:-1], text)


def inert_json(data: bytes) -> bytes:
    """JSON that says the same, with nothing in it that a terminal would act on."""
    return _ACTING.sub(lambda found: _escaped(found[0]), data.decode()).encode()


def terminal(*, stderr: bool = False) -> Console:
    """A console on standard output, or on the error stream."""
    console = Console(stderr=stderr)
    if console.is_terminal:
        console.push_render_hook(_Hook())
    return console


def write_json(data: bytes) -> None:
    """One line of JSON on standard output."""
    click.echo(inert_json(data) if sys.stdout.isatty() else data)


def complain(text: str) -> None:
    """A line on the error stream."""
    click.echo(inert(text) if sys.stderr.isatty() else text, err=True)


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Inert(each) for each in renderables]


class _Inert:
    """A renderable whose words do nothing. What moves the cursor on purpose, as a progress bar does, is no word."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        segments: Iterable[Segment] = console.render(self._renderable, options)
        for text, style, control in segments:
            yield Segment(text if control else inert(text), style, control)
