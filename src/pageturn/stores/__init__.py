"""Stores: where journals live. `ports` is the contract, the other modules are its members: memory, SQLite.

The journal, routing and the rooms above use them, and a host that brings its own. They use values, and do the I/O.
"""

from pageturn.stores.memory import MemorySidecars, MemoryStore
from pageturn.stores.ports import (
    LAST,
    Batch,
    Broken,
    Change,
    Document,
    Found,
    Freed,
    Loss,
    Mending,
    Record,
    SessionRow,
    Sidecar,
    SidecarDocument,
    Sidecars,
    Slot,
    Snapshot,
    Span,
    Store,
)
from pageturn.stores.sqlite import SqliteStore
from pageturn.stores.urls import open_store, path_of

__all__ = [
    "LAST",
    "Batch",
    "Broken",
    "Change",
    "Document",
    "Found",
    "Freed",
    "Loss",
    "MemorySidecars",
    "MemoryStore",
    "Mending",
    "Record",
    "SessionRow",
    "Sidecar",
    "SidecarDocument",
    "Sidecars",
    "Slot",
    "Snapshot",
    "Span",
    "SqliteStore",
    "Store",
    "open_store",
    "path_of",
]
