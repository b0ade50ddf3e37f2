"""Keeps sidecars in SQLite: documents by name and key, each with the number of its last change and a digest.

The sum of the digests of each sidecar is stored too, so that a read of the whole sidecar detects removed documents.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from pageturn.stores.ports import SIDECAR, Change, Sidecar, Slot
from pageturn.stores.seals import LAST_DROP, NOTHING, Row, document_of, is_sound, sealed, summed
from pageturn.values.errors import Damaged

SCHEMA = """
CREATE TABLE sidecars (
    name TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE INDEX sidecars_by_version ON sidecars (version);
CREATE INDEX sidecars_by_name ON sidecars (name, version);
"""
# The digest covers the name, key, number and body of its row; `total` is the sum of all digests of a sidecar.
DIGESTS = """
ALTER TABLE sidecars ADD COLUMN digest BLOB;
CREATE TABLE sidecar_digests (name TEXT PRIMARY KEY, total BLOB NOT NULL) WITHOUT ROWID;
"""
# One statement, so that no write comes between: the last number, and whether documents are missing although there is none.
_VERSION = (
    "SELECT number, number = 0 AND EXISTS (SELECT 1 FROM sidecar_digests WHERE total <> ?)"
    " FROM (SELECT coalesce(max(version), 0) AS number FROM sidecars)"
)


def names(db: sqlite3.Connection) -> list[str]:
    """The names of all sidecars."""
    return [str(name) for (name,) in db.execute("SELECT DISTINCT name FROM sidecars WHERE name <> '' ORDER BY name")]


def changed(db: sqlite3.Connection, name: str, after: int) -> Sidecar:
    """The documents that changed after that change, in the order of their changes."""
    # Rows and their sum in one statement, so that no write comes between.
    found = db.execute(
        "SELECT name, key, version, body, digest FROM sidecars WHERE name = ?1 AND version > ?2"
        " UNION ALL SELECT name, NULL, NULL, NULL, total FROM sidecar_digests WHERE name = ?1 ORDER BY 3, 2",
        (name, after),
    ).fetchall()
    rows = [row for row in found if row[1] is not None]
    total = next((row[4] for row in found if row[1] is None), NOTHING)
    documents = {str(row[1]): document_of(row) for row in rows}
    if not after and summed(row[4] for row in rows) != total:
        raise Damaged(f"{SIDECAR}{name!r}: documents are missing, or were added by another program")
    return Sidecar(max((each.version for each in documents.values()), default=after), documents)


def document(db: sqlite3.Connection, slot: Slot) -> bytes | None:
    """One document, or None."""
    found = _row_of(db, slot)
    return document_of(found).body if found else None


def version(db: sqlite3.Connection) -> int:
    """The number of the last change of any sidecar."""
    number, is_lost = db.execute(_VERSION, (NOTHING,)).fetchone()
    if type(number) is not int or is_lost:
        raise Damaged("the number of the last change of a sidecar was altered, or all documents are missing")
    return number


def amend(db: sqlite3.Connection, slots: Sequence[Slot], change: Change) -> int:
    """Store what `change` returns for documents, within the open transaction; returns the number of this change."""
    kept = change({slot: document(db, slot) for slot in slots})
    number = version(db) + bool(kept)
    rows = [sealed(*slot, number, body) for slot, body in kept.items() if body is not None]
    if len(rows) < len(kept):
        rows.append(sealed(*LAST_DROP, number, b""))
    for name in {slot.sidecar for slot in kept}:
        gone = [found[4] for slot in kept if slot.sidecar == name and (found := _row_of(db, slot)) is not None]
        come = [row[4] for row in rows if row[0] == name]
        total = summed([_total(db, name), *come], less=gone)
        db.execute("INSERT OR REPLACE INTO sidecar_digests VALUES (?,?)", (name, total))
    db.executemany(
        "DELETE FROM sidecars WHERE name = ? AND key = ?", [slot for slot, body in kept.items() if body is None]
    )
    db.executemany("INSERT OR REPLACE INTO sidecars VALUES (?,?,?,?,?)", rows)
    return number


def seal(db: sqlite3.Connection) -> None:
    """Accept the present documents as correct."""
    rows = db.execute("SELECT name, key, version, body FROM sidecars").fetchall()
    fresh = [sealed(*row) for row in rows]
    db.executemany("INSERT OR REPLACE INTO sidecars VALUES (?,?,?,?,?)", fresh)
    db.execute("DELETE FROM sidecar_digests")
    for name in {row[0] for row in fresh if row[0]}:
        total = summed(row[4] for row in fresh if row[0] == name)
        db.execute("INSERT INTO sidecar_digests VALUES (?,?)", (name, total))


def check(db: sqlite3.Connection) -> Iterator[str]:
    """What differs from what was written."""
    rows = db.execute("SELECT name, key, version, body, digest FROM sidecars").fetchall()
    yield from (f"{SIDECAR}{row[0]!r}: document {row[1]!r} was altered" for row in rows if not is_sound(row))
    kept = {name for (name,) in db.execute("SELECT name FROM sidecar_digests")}
    for name in sorted({row[0] for row in rows if row[0]} | kept, key=str):
        if summed(row[4] for row in rows if row[0] == name) != _total(db, name):
            yield f"{SIDECAR}{name!r}: documents are missing, or were added by another program"


def repair(db: sqlite3.Connection) -> None:
    """Delete altered documents, and accept the rest."""
    rows = db.execute("SELECT name, key, version, body, digest FROM sidecars").fetchall()
    altered = [row[:2] for row in rows if not is_sound(row)]
    last = max((row[2] for row in rows if type(row[2]) is int), default=0)
    if altered or [*check(db)]:
        db.executemany("DELETE FROM sidecars WHERE name IS ? AND key IS ?", altered)
        db.execute("INSERT OR REPLACE INTO sidecars VALUES (?,?,?,?,?)", sealed(*LAST_DROP, last + 1, b""))
        seal(db)


def _row_of(db: sqlite3.Connection, slot: Slot) -> Row | None:
    found: Row | None = db.execute(
        "SELECT name, key, version, body, digest FROM sidecars WHERE name = ? AND key = ?", slot
    ).fetchone()
    return found


def _total(db: sqlite3.Connection, name: str) -> object:
    found = db.execute("SELECT total FROM sidecar_digests WHERE name = ?", (name,)).fetchone()
    return found[0] if found else NOTHING
