"""Stores: keep journals. `ports` is the contract; memory and SQLite implement it.

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
    Transactional,
    VectorStore,
)
from pageturn.stores.sqlite import SqliteStore
from pageturn.stores.urls import open_store, path_of

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
    "Transactional",
    "VectorStore",
    "open_store",
    "path_of",
]
