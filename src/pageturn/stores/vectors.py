"""The vectors of a SQLite store: those of the passages of each record, as bytes that the embedder can read.

They are derived data: a lost or damaged one is computed again. A record has the vectors of one embedder, the last one used.
"""

import sqlite3
from collections.abc import Iterable, Iterator

from pageturn.stores.ports import LAST, Embedded

SCHEMA = """CREATE TABLE embedders (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (row INTEGER PRIMARY KEY, embedder INTEGER NOT NULL, data BLOB NOT NULL);
"""


def keep(db: sqlite3.Connection, number: int, embedder: str, given: Iterable[Embedded]) -> None:
    """Store the vectors of records of a session, replacing any older ones."""
    db.execute("INSERT OR IGNORE INTO embedders(name) VALUES (?)", (embedder,))
    (known,) = db.execute("SELECT number FROM embedders WHERE name = ?", (embedder,)).fetchone()
    rows = ((_row(number, seq), known, data) for seq, data in given)
    db.executemany("INSERT OR REPLACE INTO vectors VALUES (?,?,?)", rows)


def after(db: sqlite3.Connection, number: int, embedder: str, seq: int) -> Iterator[Embedded]:
    """The vectors of a session by that embedder, of records after a number, in order."""
    found = db.execute(
        "SELECT row, data FROM vectors JOIN embedders ON number = embedder"
        " WHERE name = ? AND row BETWEEN ? AND ? ORDER BY row",
        (embedder, _row(number, seq + 1), _row(number, LAST)),
    )
    return (Embedded(row & LAST, data) for row, data in found if isinstance(data, bytes))


def forget(db: sqlite3.Connection, number: int, seq: int) -> None:
    """Drop the vectors of a record."""
    db.execute("DELETE FROM vectors WHERE row = ?", (_row(number, seq),))


def _row(number: int, seq: int) -> int:
    return number << 40 | seq
