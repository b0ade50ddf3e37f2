"""Stores: keep journals. `ports` is the contract; memory, SQLite and PostgreSQL implement it.

The journal, routing and the rooms above use them, and a host may bring its own. They use values, and do the I/O.
"""

from pageturn.stores.memory import MemorySidecars, MemoryStore
from pageturn.stores.ports import (
    ERASURES_UNKNOWN,
    LAST,
    SIDECAR,
    Batch,
    Broken,
    Change,
    Document,
    Embedded,
    Found,
    Freed,
    FullStore,
    Loss,
    Maintained,
    Record,
    Reindexed,
    Repairs,
    SessionRow,
    Sidecar,
    SidecarDocument,
    Sidecars,
    Slot,
    Snapshot,
    Span,
    Store,
    VectorStore,
)
from pageturn.stores.sqlite import SqliteStore
from pageturn.stores.urls import is_postgres, open_store, path_of

__all__ = [
    "ERASURES_UNKNOWN",
    "LAST",
    "SIDECAR",
    "Batch",
    "Broken",
    "Change",
    "Document",
    "Embedded",
    "Found",
    "Freed",
    "FullStore",
    "Loss",
    "Maintained",
    "MemorySidecars",
    "MemoryStore",
    "Record",
    "Reindexed",
    "Repairs",
    "SessionRow",
    "Sidecar",
    "SidecarDocument",
    "Sidecars",
    "Slot",
    "Snapshot",
    "Span",
    "SqliteStore",
    "Store",
    "VectorStore",
    "is_postgres",
    "open_store",
    "path_of",
]
