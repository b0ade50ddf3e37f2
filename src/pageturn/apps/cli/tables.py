"""Texts and tables as every command prints them."""

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segments
from rich.table import Table

from pageturn.apps.cli.terminal import has_progress

_WIDEST = 400  # columns


def plain(text: str) -> str:
    """A text from a journal on one line, with rich markup escaped and control characters removed."""
    return escape(one_line(text))


def one_line(text: str) -> str:
    """A text from a journal on one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def show_whole(console: Console, table: Table) -> None:
    """Print a table at its full width: a narrow terminal then wraps lines instead of cutting off figures."""
    console.print(Segments(console.render(table, console.options.update_width(_WIDEST))), crop=False, end="")


def bar(console: Console) -> Progress:
    """A progress bar that counts to a total, on a terminal only; it leaves nothing behind."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not has_progress(console))


def width_of(console: Console, table: Table) -> int:
    """The columns that a table takes if nothing limits it."""
    return console.measure(table, options=console.options.update_width(_WIDEST)).maximum


def many(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
