"""Keeps a store in memory: SQLite without a file, and sidecars in dicts."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile

from pageturn.stores.ports import LAST, Broken, Change, Record, Sidecar, SidecarDocument, Slot
from pageturn.stores.sqlite import SqliteStore
from pageturn.stores.sqlite_file import Connection
from pageturn.values.errors import StoreError


class MemoryStore(SqliteStore):
    """A store that ends with its process. All threads share its one connection, one transaction at a time."""

    def __init__(self) -> None:
        self._shared: Connection | None = None
        super().__init__(":memory:", durability="off")

    @property
    def _connection(self) -> Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed")
        if self._shared is None:
            self._shared = self._connect()
        return self._shared

    @contextmanager
    def at_once(self) -> Iterator[None]:
        yield  # the other threads finish soon

    def backup(self) -> str:
        raise StoreError("a store in memory cannot be copied: nothing of it outlives its process")

    # A reader that goes on later, perhaps in another thread, must not keep the connection busy.

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record | Broken]:
        return iter(list(super().records(session, after, upto)))

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        return iter(list(super().blobs()))


class MemorySidecars:
    """Sidecars without a store, for use in one process without persistence."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._version = 0
        self._sidecars: dict[str, dict[str, SidecarDocument]] = {}  # the last changed is last

    def sidecar(self, name: str, after: int = 0) -> Sidecar:
        with self._lock:
            found = self._sidecars.get(name, {})
            newest_first = takewhile(lambda each: each[1].version > after, reversed(found.items()))
            documents = dict(reversed(list(newest_first)))
        return Sidecar(max((each.version for each in documents.values()), default=after), documents)

    def sidecars(self) -> list[str]:
        with self._lock:
            return sorted(name for name, documents in self._sidecars.items() if documents)

    def document(self, slot: Slot) -> bytes | None:
        with self._lock:
            found = self._sidecars.get(slot.sidecar, {}).get(slot.key)
        return None if found is None else found.body

    def sidecar_version(self) -> int:
        return self._version

    def amend(self, slots: Sequence[Slot], change: Change) -> int:
        with self._lock:
            kept = change({slot: self.document(slot) for slot in slots})
            if kept:
                self._version += 1
            for slot, body in kept.items():
                documents = self._sidecars.setdefault(slot.sidecar, {})
                documents.pop(slot.key, None)
                if body is not None:
                    documents[slot.key] = SidecarDocument(self._version, body)
            return self._version
