"""Keeps which records lost words to an erasure, in a chain of digests, so that a missing or altered loss is noticed."""

import sqlite3
from collections.abc import Iterable, Iterator

from pageturn.stores.chain import NOTHING, loss_digest
from pageturn.stores.ports import ERASURES_UNKNOWN
from pageturn.values.errors import StoreError


def add(db: sqlite3.Connection, number: int, seq: int) -> None:
    """Record that a record lost words."""
    last, before = end_of(db)
    linked = loss_digest(before, last + 1, number, seq)
    db.execute("INSERT INTO losses(number, session, seq, digest) VALUES (?,?,?,?)", (last + 1, number, seq, linked))
    db.execute("UPDATE losses_end SET number = ?, digest = ?", (last + 1, linked))


def after(db: sqlite3.Connection, known: int) -> Iterator[tuple[int, int]]:
    """The records, as (session, number), of the losses after that one; raises `StoreError` if these cannot be determined."""
    last, end = end_of(db)
    begin = db.execute("SELECT digest FROM losses WHERE number = ?", (known,)).fetchone() if known else (NOTHING,)
    if begin is None:  # they were rewritten since
        known, begin = 0, (NOTHING,)
    before = begin[0]
    for number, session, seq, carried in db.execute(
        "SELECT number, session, seq, digest FROM losses WHERE number > ? ORDER BY number", (known,)
    ):
        if number != known + 1 or type(before) is not bytes or loss_digest(before, number, session, seq) != carried:
            raise StoreError(f"{ERASURES_UNKNOWN}: loss {known + 1} is damaged")
        yield session, seq
        known, before = number, carried
    if (known, before) != (last, end):
        raise StoreError(f"{ERASURES_UNKNOWN}: loss {known + 1} is missing")


def end_of(db: sqlite3.Connection) -> tuple[int, bytes]:
    """The number and the digest of the last loss."""
    found = db.execute("SELECT number, digest FROM losses_end").fetchone()
    if found is None or type(found[0]) is not int or type(found[1]) is not bytes:
        raise StoreError(f"{ERASURES_UNKNOWN}: the last number is damaged")
    return found[0], found[1]


def relink(db: sqlite3.Connection, losses: Iterable[tuple[int, int]]) -> None:
    """Rebuild the losses."""
    db.execute("DELETE FROM losses")
    db.execute("INSERT OR REPLACE INTO losses_end VALUES (1, 0, ?)", (NOTHING,))
    for session, seq in losses:
        add(db, session, seq)
