"""A store that cannot be written: SQLite itself opens the file read-only."""

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

from pageturn.stores import tables
from pageturn.stores.sqlite import SqliteStore
from pageturn.values.errors import StoreError


class ReadOnlyStore(SqliteStore):
    """An existing file, which another program may be writing to. Nothing is made, migrated, indexed or repaired."""

    def _url(self) -> str:
        return f"{Path(self.path).absolute().as_uri()}?mode=ro"

    def _make_ready(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA query_only = ON")

    def _prepare(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != tables.FORMAT:
            what = "update pageturn" if version > tables.FORMAT else "`pageturn sessions` brings it up to date"
            raise StoreError(
                f"{self.path}: a store of format {version}, and only {tables.FORMAT} can be read without writing: {what}"
            )

    def give_words(self, session: str, documents: object) -> NoReturn:  # noqa: ARG002
        first = "has to be indexed before it can be searched, which writes"
        raise StoreError(f"{self.path}: session {session!r} {first}; `pageturn recall` does it")

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        raise StoreError(f"{self.path}: opened for reading only")
