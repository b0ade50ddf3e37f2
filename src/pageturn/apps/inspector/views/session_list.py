"""The sessions of a store: what each is about, who ran it, how long it is, what it took and cost."""

from collections.abc import Callable
from typing import NamedTuple

from pageturn.apps.inspector.opened import Opened
from pageturn.apps.overview.sessions import Inside, inside_of
from pageturn.journal.journal import Journal
from pageturn.stores import SessionRow
from pageturn.values.errors import PageturnError
from pageturn.values.json import Closed


class SessionRowView(Closed):
    """A session in the list; what only its journal says is None until that was read."""

    id: str
    scope: str | None
    parent: str | None  # the session that it was forked from; what it shares with it is not counted here
    created: int  # milliseconds
    entries: int
    flaw: str = ""
    inside: Inside | None = None


class SessionsView(Closed):
    """The list; it is `complete` once the journals of all sessions were read."""

    store: str
    complete: bool
    sessions: tuple[SessionRowView, ...]


class _Known(NamedTuple):
    head: int
    inside: Inside | None
    flaw: str


class SessionList:
    """The list of a store; each session is looked into once, and again where it has grown."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def view(self, opened: Opened, has_time: Callable[[], bool]) -> SessionsView:
        """The list as it is, with a look into as many sessions as there is time for."""
        rows, complete = [], True
        for row in opened.rows():
            known = self._known.get(row.id)
            if known is None or known.head != row.head:
                if has_time():
                    known = self._known[row.id] = _look(opened, row)
                else:
                    complete = False
            rows.append(_row(row, known))
        return SessionsView(opened.place.store, complete, tuple(rows))


def _row(row: SessionRow, known: _Known | None) -> SessionRowView:
    return SessionRowView(
        id=row.id,
        scope=row.scope,
        parent=row.parent,
        created=row.created_at // 1_000,
        entries=row.head,
        flaw=row.flaw or (known.flaw if known is not None else ""),
        inside=known.inside if known is not None else None,
    )


def _look(opened: Opened, row: SessionRow) -> _Known:
    try:
        return _Known(row.head, inside_of(Journal(opened.store, row), internal=opened.place.internal), "")
    except PageturnError as error:
        return _Known(row.head, None, str(error))
