"""Follows the entries of a session, and keeps what each turn showed: the level at which every page was shown, since when and why.

The journal's state knows only the present. A history is made once from all entries, and goes on with those that come later.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.overview.facts import said_at
from pageturn.journal.journal import Journal
from pageturn.stores import Broken
from pageturn.values import entries as e
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.json import from_json, to_json
from pageturn.values.layout import Why
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.usage import Usage


class Taken(NamedTuple):
    """A turn: its number, the number of its entry, its answer, and what was reported and shown."""

    number: int
    seq: int
    page: int
    usage: Usage | None
    shown: e.Shown | None  # None where no context was derived: all of the history was sent


class Move(NamedTuple):
    """From this turn on a page is shown at this level; None: it is not shown."""

    turn: int
    level: ResidencyLevel | None
    why: Why


class Event(NamedTuple):
    """Something besides the conversation: the turn that it came after, what kind of thing, about which page, in words."""

    turn: int
    seq: int
    kind: str
    page: int | None
    text: str


class _Description(NamedTuple):
    """What is said of an entry: the kind of event, its page, and a few words."""

    kind: str
    page: int | None
    text: str


class History:
    """What the entries of one session say, turn by turn."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.turns: list[Taken] = []
        self.moves: dict[int, list[Move]] = {}  # by the number of the page, in order
        self.events: list[Event] = []
        self.client: str | None = None  # the tool whose recording was imported
        self._read = 0  # the last entry that was read
        self._shown = 0  # how many of the pages were shown so far
        self._members: dict[int, list[int]] = {}  # the pages of each unit, by its first
        self._units: dict[str, int] = {}  # the unit of each call, by its id
        self._unit_of: dict[int, int] = {}  # of each page
        self._placed: dict[int, e.Placed] = {}  # units that the last fold placed, by their first page
        self._recent: list[int] = []  # pages that came since
        self._times: dict[int, int] = {}  # of pages that were imported
        self._removed: set[int] = set()  # pages that were undone or erased
        self.follow()

    def follow(self) -> None:
        """Read what was written since."""
        self.journal.catch_up()
        self.journal.notice_erased()
        for _, record in self.journal.records(self._read):
            if isinstance(record, Broken):
                self._add_event("damage", None, str(record))
                self._read = record.last
                continue
            self._read = record.seq
            try:
                entry = from_json(e.Entry, record.body)
            except ValueError as error:
                self._add_event("damage", None, f"entry {record.seq} cannot be read: {error}")
                continue
            self._take(entry)

    def turn_of(self, page: Page) -> int:
        """The turn that a page led to or ended, counted with those that were undone; one more than there are while it is open."""
        return bisect_left(self.turns, page.seq, key=attrgetter("page")) + 1

    def time_of(self, page: Page) -> int:
        """When a page was said, in microseconds."""
        if self.client is None:
            return page.at
        if page.seq not in self._times:
            self._times[page.seq] = said_at(self.journal, page)
        return self._times[page.seq]

    def level_at(self, page: int, turn: int) -> Move | None:
        """How a page was shown in a turn; None where it had not come yet."""
        past = [*takewhile(lambda move: move.turn <= turn, self.moves.get(page, ()))]
        return past[-1] if past else None

    def turn(self, number: int) -> Taken | None:
        """The turn of that number."""
        return self.turns[number - 1] if 0 < number <= len(self.turns) else None

    def _take(self, entry: e.Entry) -> None:
        match entry:
            case e.MessageAdded() | e.UsageReported() | e.Staged() | e.Committed():
                pass
            case e.TurnTaken():
                self._take_turn(entry)
            case e.Imported(tool=tool):
                self.client = tool
            case e.TurnsUndone(first=first, last=last):
                self._add_event("undo", None, "turns were undone")
                self._remove(page for page in self.journal.state.pages if page.undone and first <= page.seq <= last)
            case e.PageErased(page=seq, also=also):
                self._add_event("erase", seq, "words were erased")
                self._remove(page for each in (seq, *also) if (page := self.journal.state.page(each)) is not None)
            case _:
                described = _description(entry)
                if described is not None:
                    self._add_event(*described)

    def _take_turn(self, entry: e.TurnTaken) -> None:
        number = len(self.turns) + 1
        self.turns.append(Taken(number, self._read, entry.page, entry.usage, entry.shown))
        upto = entry.shown.upto if entry.shown is not None else entry.page - 1
        pages = self.journal.state.pages
        while self._shown < len(pages) and pages[self._shown].seq <= upto:
            self._show(pages[self._shown], number)
            self._shown += 1
        if entry.shown is None:
            return
        if entry.shown.fold is not None:
            self._fold(entry.shown.fold, number)
        for note in entry.shown.notes:
            self.events.append(Event(number, self._read, "note", None, f"the note {note.key} was shown"))

    def _show(self, page: Page, turn: int) -> None:
        """A page is shown in a context for the first time, unless it was undone or erased before."""
        if page.seq in self._removed:
            return
        unit = next((self._units[result.call] for result in page.results if result.call in self._units), page.seq)
        self._members.setdefault(unit, []).append(page.seq)
        self._unit_of[page.seq] = unit
        self._recent.append(page.seq)
        for call in page.calls:
            self._units[call.id] = unit
        self.moves[page.seq] = [Move(turn, ResidencyLevel.FULL, Why.NEW)]

    def _fold(self, fold: e.Fold, turn: int) -> None:
        """A fold records what differs from the one before; what came since and is not placed is in a line, or is not shown."""
        self._placed.update(fold.placed)
        for first in fold.gone:
            self._placed.pop(first, None)
        moved = [seq for first in (*fold.placed, *fold.gone) for seq in self._members.get(first, ())]
        for seq in dict.fromkeys((*moved, *self._recent)):
            self._move(seq, self._move_of(seq, fold, turn))
        self._recent.clear()

    def _move_of(self, seq: int, fold: e.Fold, turn: int) -> Move:
        first = self._unit_of[seq]
        placed = self._placed.get(first)
        if placed is not None:
            is_whole = 0 < placed.whole_from <= seq
            return Move(turn, ResidencyLevel.FULL if is_whole else placed.level, placed.why)
        if any(line.first <= first <= line.last for line in fold.lines):
            return Move(turn, ResidencyLevel.POINTER, Why.ROOM)
        return Move(turn, None, Why.COVERED)

    def _move(self, seq: int, move: Move) -> None:
        moves = self.moves[seq]
        if moves[-1].level is None or moves[-1][1:] == move[1:]:
            return
        if moves[-1].turn == move.turn:
            moves[-1] = move
        else:
            moves.append(move)

    def _remove(self, pages: Iterable[Page]) -> None:
        for page in pages:
            self._removed.add(page.seq)
            moves = self.moves.get(page.seq)
            if moves and moves[-1].level is not None:
                moves.append(Move(len(self.turns) + 1, None, Why.COVERED))

    def _add_event(self, kind: str, page: int | None, text: str) -> None:
        self.events.append(Event(max(1, len(self.turns)), self._read, kind, page, text))


def policy_words(policy: ChosenPolicy) -> str:
    """A policy and its numbers, as a person says them."""
    named = msgspec.json.decode(to_json(policy))
    numbers = (f"{name} {value:,}" for name, value in named.items() if isinstance(value, int))
    return ", ".join((str(named["policy"]), *numbers))


def _description(entry: Any) -> _Description | None:
    """The description of an entry; None where there is nothing to say."""
    describe = _DESCRIPTIONS.get(type(entry))
    return describe(entry) if describe is not None else None


def _fault(entry: e.Faulted) -> _Description:
    return _Description("fault", entry.page, f"{entry.fault}: {entry.detail}" if entry.detail else str(entry.fault))


def _plan(entry: e.PlanSet) -> _Description:
    return _Description(
        "plan", entry.page or None, f"plan, version {entry.version}" if entry.page else "the plan was cleared"
    )


def _boundary(entry: e.BoundaryCrossed) -> _Description | None:
    is_cold = entry.kind is e.BoundaryKind.COLD_CACHE
    return _Description("cold", None, "the provider's cache had expired") if is_cold else None


_DESCRIPTIONS: Mapping[type, Callable[[Any], _Description | None]] = {
    e.Faulted: _fault,
    e.Pinned: lambda entry: _Description("pin", entry.page, "pinned: it is a rule from here on"),
    e.Unpinned: lambda entry: _Description("pin", entry.page, "no longer pinned"),
    e.PlanSet: _plan,
    e.Preferred: lambda entry: _Description("preference", entry.page, "a preference was stated"),
    e.NoteAdded: lambda entry: _Description("note", None, f"the note {entry.note.key} was added"),
    e.NoteRetracted: lambda entry: _Description("note", None, f"the note {entry.key} was retracted"),
    e.RenditionAdmitted: lambda entry: _Description(
        "form", entry.first, f"a written form was admitted, at {entry.level}"
    ),
    e.Waiting: lambda _: _Description("proposal", None, "a proposal waits for a person"),
    e.Rejected: lambda entry: _Description("proposal", None, f"a proposal was rejected: {entry.reason}"),
    e.SessionReset: lambda entry: _Description("reset", entry.page, "a summary replaces everything before it"),
    e.PolicyChosen: lambda entry: _Description("policy", None, f"the policy is now {policy_words(entry.policy)}"),
    e.ModelChosen: lambda entry: _Description("model", None, f"the model is now {entry.model}"),
    e.SystemReplaced: lambda entry: _Description("system", entry.page, "the system prompt was replaced"),
    e.BoundaryCrossed: _boundary,
    e.EntryLost: lambda entry: _Description("damage", None, entry.what),
}
