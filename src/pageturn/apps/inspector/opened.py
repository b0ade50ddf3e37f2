"""What the inspector can reach: the sessions of a store that is opened for reading only."""

from collections import OrderedDict
from typing import NamedTuple, Self

from pageturn.apps.inspector.history import History, Taken
from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.journal.reader import SessionReader
from pageturn.stores import SessionRow, files, open_store
from pageturn.values.errors import InvalidInput, show
from pageturn.values.ids import require_session_id
from pageturn.values.pages import Page

_MOST_HELD = 4  # sessions whose histories are held


class Place(NamedTuple):
    """Where the sessions are, and what of them is shown."""

    store: str
    scope: str | None = None  # None: the sessions of every scope
    internal: bool = False  # whether content that only a model may see is shown


class Opened:
    """The sessions of one store. It belongs to one thread at a time."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.store = open_store(place.store, read_only=True)
        self._file = files.identity(self.store.path)
        self._held: OrderedDict[str, ViewedSession] = OrderedDict()

    @property
    def is_current(self) -> bool:
        """Whether the file still is the one that was opened: others may remove or replace it."""
        return files.identity(self.store.path) == self._file

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rows(self) -> list[SessionRow]:
        """The sessions, the newest first."""
        scope = self.place.scope
        return [row for row in self.store.sessions() if scope is None or row.scope == scope]

    def row(self, id_: str) -> SessionRow:
        """The row of a session."""
        require_session_id(id_)
        row = self.store.session(id_)
        if row is None or self.place.scope not in (None, row.scope):
            raise InvalidInput("session", expected="the id of a session of this store", got=show(id_))
        return row

    def session(self, id_: str) -> "ViewedSession":
        """A session, up to date."""
        row = self.row(id_)
        held = self._held.pop(id_, None)
        if held is None or held.journal.row.key != row.key:
            held = ViewedSession(Journal(self.store, row), is_internal_shown=self.place.internal)
        else:
            held.history.follow()
        self._held[id_] = held
        while len(self._held) > _MOST_HELD:
            self._held.popitem(last=False)
        return held


class ViewedSession:
    """A session that is viewed: its journal, its reader, and its history."""

    def __init__(self, journal: Journal, *, is_internal_shown: bool) -> None:
        self.journal = journal
        self.reader = SessionReader(journal)
        self.history = History(journal)
        self.is_internal_shown = is_internal_shown

    def turn(self, number: int) -> Taken:
        """The turn of that number."""
        found = self.history.turn(number)
        if found is None:
            last = len(self.history.turns)
            raise InvalidInput("turn", expected=f"1 to {last}" if last else "a session with turns", got=str(number))
        return found

    def page(self, handle: str) -> Page:
        """The page of a handle."""
        page = page_of(self.journal.state, handle)
        if page is None:
            raise InvalidInput("page", expected="the handle of a page of this session", got=show(handle))
        return page
