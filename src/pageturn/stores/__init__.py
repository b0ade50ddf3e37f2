"""Stores: where journals live. One contract, interchangeable members."""

from pageturn.stores.contract import (
    LAST,
    Batch,
    Document,
    Found,
    Freed,
    Loss,
    Record,
    SessionRow,
    Snapshot,
    Span,
    Store,
)
from pageturn.stores.memory import MemoryStore
from pageturn.stores.sqlite import SqliteStore
from pageturn.stores.urls import open_store

__all__ = [
    "LAST",
    "Batch",
    "Document",
    "Found",
    "Freed",
    "Loss",
    "MemoryStore",
    "Record",
    "SessionRow",
    "Snapshot",
    "Span",
    "SqliteStore",
    "Store",
    "open_store",
]
