"""Origins: which tool and file a session was begun by, and which session a file may therefore write to.

A file says itself which session it tells of, and whoever wrote it may say anything. So an import goes on only with a session that
the same tool and file began in the same scope. For any other name it takes one that is always the same for this file.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from pageturn.bodies import digest_of
from pageturn.entries import Imported
from pageturn.errors import Conflict
from pageturn.ids import micros
from pageturn.journal import Fresh, Journal
from pageturn.stores import SessionRow, Store

_LONGEST = 110  # letters of a name that something is put behind
_PAGES = 20  # of a session that does not say where it comes from: one of them may still have words


class Origin(NamedTuple):
    """A file that is imported: the tool that wrote it, and the scope that its sessions belong to."""

    tool: str
    path: Path
    scope: str | None = None

    def session(self, store: Store, wanted: str) -> tuple[str, Journal | None]:
        """The name of the session that the file may write to, and its journal where it began that before."""
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
        """Begin a session that says where it comes from; raises `Conflict` where another took the id meanwhile."""
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
        """Whether a session has no entry yet: an import that was interrupted left it so."""
        return row.head == 0 and row.parent is None and row.scope == self.scope

    def _began(self, journal: Journal) -> bool:
        first = next((entry for _, entry in islice(journal.entries(), 1)), None)
        if isinstance(first, Imported):
            return (first.tool, first.file) == (self.tool, _identity(self.path))
        # An earlier version began sessions without saying so, and told the source with each message.
        read = (journal.message(page) for page in journal.state.pages[:_PAGES])
        message = next((each for each in read if each is not None), None)
        source = (message.metadata or {}).get("source") if message is not None else None
        if not isinstance(source, Mapping) or not isinstance(source.get("file"), str):
            return False
        return (source.get("tool"), _identity(Path(source["file"]))) == (self.tool, _identity(self.path))


def as_text(path: Path) -> str:
    """A path as text; one that is no valid text has a number for each byte that is not."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _identity(path: Path) -> str:
    return as_text(path.resolve())
