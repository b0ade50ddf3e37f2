"""Defines what a reader returns about a session: its row, entries, turns, and how a page was last shown."""

from datetime import datetime

from pageturn.values.context import REASONS
from pageturn.values.entries import Entry, Shown
from pageturn.values.json import Closed
from pageturn.values.layout import Why
from pageturn.values.pages import ResidencyLevel
from pageturn.values.usage import Usage


class SessionInfo(Closed):
    """A session as its store lists it."""

    id: str
    scope: str | None
    created: datetime
    parent: str | None  # the session that it was forked from
    entries: int  # including those that it shares with its parent
    damage: str = ""  # the damage to its row, if any


class JournalEntry(Closed):
    """One entry of a journal: its number, when it was written, and the fact."""

    seq: int
    at: datetime
    entry: Entry


class Turn(Closed):
    """A turn; the numbering includes turns that were undone."""

    number: int
    seq: int  # of the entry
    page: int  # the answer
    at: datetime
    usage: Usage | None
    shown: Shown | None  # the context that was answered; None if none was derived
    undone: bool


class LastShown(Closed):
    """How a page was shown in the last context that was answered. The journal has its level, not its size."""

    handle: str
    level: ResidencyLevel
    why: Why
    since_turn: int | None  # of the fold that put it there; None if it was there since it was added
    line: str | None  # the range of the index line that it was in

    def __str__(self) -> str:
        place = f"in the index line {self.line}" if self.line else f"at {self.level}"
        since = f" since the fold of turn {self.since_turn}" if self.since_turn is not None else " since it was added"
        if self.why is Why.COVERED or self.why is Why.SCOPE:
            place, since = "only by a summary" if self.why is Why.COVERED else "nowhere", ""
        return f"{self.handle} was shown {place}{since}: {REASONS[self.why]}"
