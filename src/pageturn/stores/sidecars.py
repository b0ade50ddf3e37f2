"""Keeps sidecars in SQLite: documents by name and key, each with the number of its last change."""

import sqlite3
from collections.abc import Sequence

from pageturn.stores.ports import Change, Sidecar, SidecarDocument, Slot
from pageturn.values.errors import StoreError

SCHEMA = """
CREATE TABLE sidecars (
    name TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE INDEX sidecars_by_version ON sidecars (version);
CREATE INDEX sidecars_by_name ON sidecars (name, version);
"""
_LAST_DROP = ("", "")  # a row without a sidecar, which keeps the number of the last change that dropped something


def names(db: sqlite3.Connection) -> list[str]:
    """The names of all sidecars."""
    return [str(name) for (name,) in db.execute("SELECT DISTINCT name FROM sidecars WHERE name <> '' ORDER BY name")]


def changed(db: sqlite3.Connection, name: str, after: int) -> Sidecar:
    """The documents that were changed after that change, in the order of their changes."""
    rows = db.execute(
        "SELECT key, version, body FROM sidecars WHERE name = ? AND version > ? ORDER BY version, key", (name, after)
    ).fetchall()
    documents = {str(key): SidecarDocument(_number(key, number), _sound(key, body)) for key, number, body in rows}
    return Sidecar(max((each.version for each in documents.values()), default=after), documents)


def document(db: sqlite3.Connection, slot: Slot) -> bytes | None:
    """One document, or None."""
    found = db.execute("SELECT body FROM sidecars WHERE name = ? AND key = ?", slot).fetchone()
    return _sound(slot.key, found[0]) if found else None


def version(db: sqlite3.Connection) -> int:
    """The number of the last change of any sidecar."""
    return _number("", db.execute("SELECT coalesce(max(version), 0) FROM sidecars").fetchone()[0])


def amend(db: sqlite3.Connection, slots: Sequence[Slot], change: Change) -> int:
    """Keep what `change` makes of documents, within the transaction that is open; the number of this change."""
    kept = change({slot: document(db, slot) for slot in slots})
    number = version(db) + bool(kept)
    rows = [(*slot, number, body) for slot, body in kept.items() if body is not None]
    dropped = [slot for slot, body in kept.items() if body is None]
    if dropped:
        db.executemany("DELETE FROM sidecars WHERE name = ? AND key = ?", dropped)
        rows.append((*_LAST_DROP, number, b""))
    db.executemany("INSERT OR REPLACE INTO sidecars VALUES (?,?,?,?)", rows)
    return number


def _number(key: str, number: object) -> int:
    if type(number) is not int:
        raise StoreError(f"the number of a change of document {key!r} was changed by another program")
    return number


def _sound(key: str, body: object) -> bytes:
    if not isinstance(body, bytes):
        raise StoreError(f"document {key!r} was changed by another program")
    return body
