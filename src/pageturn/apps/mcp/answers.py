"""Writes answers: bounded, with a position to continue from, and with all text from pages fenced and escaped.

The text of a page is data. It is in a fence of its own under a heading that we write, as in the answers of the recall tool, and can
neither end its fence nor pass for a heading.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pageturn.values.errors import PageturnError
from pageturn.values.faults import AnyFault, NoMatch
from pageturn.values.fencing import fenced, quoted

MOST_BYTES = 12_000  # of page text in one answer; headings and backslashes are extra
_MOST_ROWS = 50


class Answer(NamedTuple):
    """What a tool answers, and whether it is an error."""

    text: str
    is_error: bool = False


def quotation(heading: str, text: str) -> str:
    """Text from a page, under a heading of ours."""
    return fenced(f"{heading}\n{quoted(text)}")


def failed(error: PageturnError | AnyFault | str) -> Answer:
    """An error; whatever it quotes from the arguments is escaped."""
    return Answer(quoted(str(error)), is_error=True)


def listed(rows: Iterable[str], start: int, total: int) -> Answer:
    """As many rows as there is room for, from number `start` on, and where to continue."""
    if start and start >= total:
        return failed(NoMatch(f"nothing from {start:,} on, there are {total:,}"))
    shown: list[str] = []
    room = MOST_BYTES
    for at, row in enumerate(rows, start):
        room -= len(row.encode()) + 1
        if shown and (room < 0 or len(shown) == _MOST_ROWS):
            shown.append(f"[{total - at:,} more; go on with start {at}]")
            break
        shown.append(row)
    return Answer("\n".join(shown))
