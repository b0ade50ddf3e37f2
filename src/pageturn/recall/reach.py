"""Finds the sessions that a recall may search: the session itself, other named ones, and those of a scope."""

from collections.abc import Iterable
from typing import NamedTuple

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import Damage, page_of
from pageturn.stores import SessionRow
from pageturn.values.errors import StoreError
from pageturn.values.faults import BackendError, Denied
from pageturn.values.messages import Visibility


class Reach(NamedTuple):
    """The journals to search, the session's own first, and those that cannot be read."""

    journals: tuple[Journal, ...]
    unread: tuple[Damage, ...] = ()


def reach(journal: Journal, scope: str | None, sessions: Iterable[str]) -> Reach | Denied | BackendError:
    """What a session may search, or why not: its own scope and the scopes granted to it.

    An id in another scope and an unknown id are denied alike, so that recall does not reveal which ids exist.
    """
    own, grants = journal.row.scope, journal.state.grants
    if scope is not None and scope != own and scope not in grants:
        return Denied(f"scope {scope!r} is not granted")
    try:
        rows = [*(journal.store.sessions(scope=scope) if scope is not None else ())]
        for id_ in sessions:
            row = journal.store.session(id_)
            if row is None or not (row.scope == own or row.scope in grants):
                return Denied(f"session {id_!r} is in no scope that is granted")
            rows.append(row)
        return _opened(journal, rows)
    except StoreError as error:
        return BackendError.of(error)


def journal_beside(journal: Journal, handle: str, sessions: Iterable[str]) -> Journal | None:
    """The journal of the session among these that a page is of, if it may be read from this one; None where the page is its own."""
    if page_of(journal.state, handle) is not None:
        return None
    reached = reach(journal, None, sessions)
    for other in reached.journals if isinstance(reached, Reach) else ():
        page = page_of(other.state, handle)
        if page is not None and page.visibility is Visibility.ALL:
            return other
    return None


def _opened(own: Journal, rows: Iterable[SessionRow]) -> Reach:
    journals, unread = [own], []
    for row in {row.id: row for row in rows if row.id != own.row.id}.values():
        try:
            journals.append(journal := Journal(own.store, row))
        except StoreError as error:
            unread.append(Damage(row.id, None, BackendError.of(error)))
        else:
            lost = journal.state.damage
            unread += [Damage(row.id, None, BackendError(lost.what))] if lost is not None else []
    return Reach(tuple(journals), tuple(unread))
