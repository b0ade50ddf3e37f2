"""Defines what a server can reach: the sessions of one scope. A session in another scope looks like one that does not exist."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.stores import SessionRow, Store, is_postgres, open_store
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Visibility
from pageturn.values.pages import Page


class Sessions:
    """The sessions of one scope of an open store, or of none."""

    def __init__(self, store: Store, scope: str | None) -> None:
        self.store = store
        self._scope = scope

    def rows(self) -> list[SessionRow]:
        """All of them, newest first."""
        return [row for row in self.store.sessions() if row.scope == self._scope]

    def row(self, id_: str | None) -> SessionRow:
        """One of them, by default the newest."""
        if id_ is None:
            newest = next(iter(self.rows()), None)
            if newest is None:
                raise InvalidInput("session", expected="a store with a session", got="one without")
            return newest
        row = self.store.session(id_)
        if row is None or row.scope != self._scope:
            raise InvalidInput("session", expected="the id of a session; browse lists them", got=show(id_))
        return row

    def journal(self, id_: str | None) -> Journal:
        """The journal of one of them, by default of the newest."""
        return Journal(self.store, self.row(id_))


@contextmanager
def opened(url: str, scope: str | None) -> Iterator[Sessions]:
    """The sessions of a store; another process may create, replace or remove its file while the server runs."""
    file = Path(url.removeprefix("sqlite:").removeprefix("//").partition("?")[0])
    if not is_postgres(url) and not file.is_file():
        raise InvalidInput("store", expected="a file with sessions", got=f"{file}, which does not exist yet")
    with closing(open_store(url, create=False)) as store:
        yield Sessions(store, scope)


def shown_pages(journal: Journal) -> list[Page]:
    """The pages that count and that may be shown to others than the session's own model."""
    return [page for page in journal.state.live_pages() if page.visibility is not Visibility.INTERNAL]


def shown_page(journal: Journal, handle: str) -> Page | None:
    """The page of a handle; None if there is none, or only the session's own model may see it."""
    page = page_of(journal.state, handle)
    return page if page is not None and page.visibility is not Visibility.INTERNAL else None
