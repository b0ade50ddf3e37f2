"""The store for tests and for sessions that nobody needs tomorrow: SQLite without a file."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pageturn.errors import StoreError
from pageturn.stores.sqlite import SqliteStore


class MemoryStore(SqliteStore):
    """A store that ends with its process. All threads share its one connection, one transaction at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._shared: sqlite3.Connection | None = None
        super().__init__(":memory:", durability="off")

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed")
        if self._shared is None:
            self._shared = self._connect()
        return self._shared

    def scrub(self) -> None:
        with self._lock:
            super().scrub()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, super()._writing() as db:
            yield db
