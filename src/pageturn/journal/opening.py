"""Opens the journal of a session, or creates it if the store has none with that id."""

from contextlib import suppress

from pageturn.journal.journal import Journal
from pageturn.stores import SessionRow, Store
from pageturn.values.errors import Conflict


def begin(store: Store, row: SessionRow, parent: Journal | None = None) -> Journal:
    """The journal of a new session; raises `Conflict` if the id is taken."""
    store.create(row)
    return Journal(store, row, parent=parent)


def open_or_begin(store: Store, row: SessionRow) -> Journal:
    """The journal of a session; if two writers create it at the same time, one of them opens the other's."""
    journal = Journal.open(store, row.id)
    if journal is None:
        with suppress(Conflict):
            return begin(store, row)
        journal = Journal.open(store, row.id)
    assert journal is not None, "sessions are never removed"
    return journal
