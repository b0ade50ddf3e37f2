"""Draws a session in a terminal: pages over turns, each cell as dark as its pages stood in full."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.apps.inspector.history import History
from pageturn.values.pages import Page, ResidencyLevel

_HEIGHT = 14  # rows of pages
_SHARES = {
    ResidencyLevel.FULL: 4,
    ResidencyLevel.COMPRESSED: 3,
    ResidencyLevel.STRUCTURED: 2,
    ResidencyLevel.POINTER: 1,
}
NAMES = ("nowhere", "pointer", "structured", "compressed", "full")  # by their number in `_SHARES`


class Line(NamedTuple):
    """A row: what stands before it, and its cells, each a number of `NAMES` or -1 where no page had come yet."""

    label: str
    cells: tuple[int, ...]


class Picture(NamedTuple):
    """The rows from the oldest pages to the newest, and the columns in which something was folded."""

    lines: tuple[Line, ...]
    folds: frozenset[int]
    turns_a_column: int


def picture(history: History, columns: int) -> Picture:
    """A session in at most this many columns."""
    turns = len(history.turns)
    step = max(1, -(-turns // columns))
    shown = [min(start + step, turns) for start in range(0, turns, step)]  # the last turn of each column
    folds = (number for number, taken in enumerate(history.turns) if taken.shown is not None and taken.shown.fold)
    return Picture(tuple(_lines(history, shown)), frozenset(number // step for number in folds), step)


def _lines(history: History, shown: Sequence[int]) -> Iterator[Line]:
    pages = [page for page in history.journal.state.pages if page.seq in history.moves]
    step = max(1, -(-len(pages) // _HEIGHT))
    for start in range(0, len(pages), step):
        run = pages[start : start + step]
        label = f"{start + 1}-{start + len(run)}" if len(run) > 1 else f"{start + 1}"
        yield Line(label, tuple(_cell(history, run, turn) for turn in shown))


def _cell(history: History, run: Sequence[Page], turn: int) -> int:
    """How these pages stood in a turn, on average over their tokens."""
    moves = [(page, move) for page in run if (move := history.level_at(page.seq, turn)) is not None]
    tokens = sum(max(page.tokens, 1) for page, _ in moves)
    if not tokens:
        return -1
    shares = sum(max(page.tokens, 1) * (_SHARES[move.level] if move.level is not None else 0) for page, move in moves)
    return round(shares / tokens)
