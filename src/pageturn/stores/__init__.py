"""Stores: where journals live. One contract, interchangeable members."""

from pageturn.stores.contract import (
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
from pageturn.stores.memory import MemorySidecars, MemoryStore
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
