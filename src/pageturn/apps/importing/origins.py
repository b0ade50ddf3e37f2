"""Records which tool and file a session was imported from, and so which session a file may write to.

A file names its own session, and may name any. So an import only continues a session that the same tool and file started in the
same scope. For any other name it uses a new one, which is always the same for this file.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from pageturn.journal.journal import Fresh, Journal
from pageturn.stores import SessionRow, Store
from pageturn.values.digests import digest_of
from pageturn.values.entries import Imported
from pageturn.values.errors import Conflict
from pageturn.values.ids import micros

_LONGEST = 110  # letters of a name before a suffix is added
_PAGES = 20  # of a session without a recorded origin: one of them may still have content


class Origin(NamedTuple):
    """A file to import: the tool that wrote it, and the scope of its sessions."""

    tool: str
    path: Path
    scope: str | None = None

    def session(self, store: Store, wanted: str) -> tuple[str, Journal | None]:
        """The id of the session that the file may write to, and its journal if it was imported before."""
        digest = digest_of("\0".join((self.tool, _identity(self.path), self.scope or "")).encode())[:8]
        names = (f"{wanted[:_LONGEST]}-{digest}{f'-{n}' if n > 1 else ''}" for n in count(1))
        name = wanted
        while (row := store.session(name)) is not None:
            if self._is_unbegun(row):
                return name, None
            if row.scope == self.scope and row.parent is None and self._began(journal := Journal(store, row)):
                return name, journal
            name = next(names)
        return name, None

    def begin(self, store: Store, session: str) -> None:
        """Create a session that records its origin; raises `Conflict` if the id was taken meanwhile."""
        now = micros(datetime.now(UTC))
        row = SessionRow(session, os.urandom(16), now, self.scope)
        try:
            store.create(row)
        except Conflict:
            found = store.session(session)
            if found is None or not self._is_unbegun(found):
                raise
            row = found
        Journal(store, row).append([Fresh(Imported(tool=self.tool, file=_identity(self.path)))], at=now)

    def _is_unbegun(self, row: SessionRow) -> bool:
        """Whether a session has no entry yet, as an interrupted import leaves it."""
        return row.head == 0 and row.parent is None and row.scope == self.scope

    def _began(self, journal: Journal) -> bool:
        first = next((entry for _, entry in islice(journal.entries(), 1)), None)
        if isinstance(first, Imported):
            return (first.tool, first.file) == (self.tool, _identity(self.path))
        # An earlier version did not record the origin as an entry, but in the metadata of each message.
        read = (journal.message(page) for page in journal.state.pages[:_PAGES])
        message = next((each for each in read if each is not None), None)
        source = (message.metadata or {}).get("source") if message is not None else None
        if not isinstance(source, Mapping) or not isinstance(source.get("file"), str):
            return False
        return (source.get("tool"), _identity(Path(source["file"]))) == (self.tool, _identity(self.path))


def as_text(path: Path) -> str:
    """A path as text, with invalid bytes escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _identity(path: Path) -> str:
    return as_text(path.resolve())
