"""Defines the tables of a store's file and their format number, and upgrades files of older formats."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

import msgspec

from pageturn.stores import index, sidecars, vectors
from pageturn.stores.chain import NOTHING, SIZE, links, loss_digest, origin_of
from pageturn.stores.ports import ERASURES_UNKNOWN, LAST, Record, SessionRow
from pageturn.values.errors import StoreError

APPLICATION_ID = 0x50414745  # "PAGE"
END = LAST + 1
ROW = "id, key, created_at, scope, parent, parent_seq, parent_digest"  # the fields of a session that never change

_SCHEMA = """
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key BLOB NOT NULL, created_at INTEGER NOT NULL,
    scope TEXT, parent TEXT, parent_seq INTEGER NOT NULL
);
CREATE TABLE records (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE blobs (digest TEXT NOT NULL UNIQUE, data BLOB NOT NULL);
CREATE TABLE erased (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE refs (
    digest TEXT NOT NULL, session INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (digest, session, seq)
) WITHOUT ROWID;
"""
# Every record that lost words to an erasure, by any session; the last number tells whether there was another erasure.
_LOSSES = "CREATE TABLE losses (number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL);\n"
# `chain` has the digests; after its last record a session has a row numbered END with the digest of that record,
# in the page of the file that an append writes anyway. `names` has a copy of every session's row,
# so that a lost session can be told from one that never existed; `losses_end` protects the losses in the same way.
_CHAINED = """
ALTER TABLE sessions ADD COLUMN parent_digest BLOB;
ALTER TABLE sessions ADD COLUMN origin BLOB;
ALTER TABLE records ADD COLUMN chain BLOB;
ALTER TABLE snapshots ADD COLUMN digest BLOB;
ALTER TABLE losses ADD COLUMN digest BLOB;
CREATE TABLE names (name BLOB PRIMARY KEY, number INTEGER NOT NULL, row BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE losses_end (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, digest BLOB NOT NULL);
"""
_AT_ONCE = 2_000  # records chained at a time
_VERY_LONG = 1_000_000  # bytes of a blob written in place


def _chain_all(db: sqlite3.Connection) -> None:
    """Chain the records of a file from before there were chains. Snapshots are deleted: it is unknown whether they are intact."""
    db.execute("DELETE FROM snapshots")
    rechain(db, [number for (number,) in db.execute("SELECT number FROM sessions").fetchall()])
    keep_names(db)
    relink_losses(db, db.execute("SELECT session, seq FROM losses ORDER BY number").fetchall())


# Each upgrades a file from the format before to its own: with statements, and with code for the rest.
FORMATS: tuple[tuple[str, Callable[[sqlite3.Connection], None] | None], ...] = (
    (f"{_SCHEMA}{index.WORDS};\n", None),
    (f"{index.WAITING};\n", None),
    (sidecars.SCHEMA, None),
    (_LOSSES, None),
    (_CHAINED, _chain_all),
    # Words by passage. The old index cannot list its content, so each session is indexed again.
    (f"{index.STALE}{vectors.SCHEMA}", index.drop),
    (index.STALE_AGAIN, index.drop),  # pairs of characters besides the words
    (f"{index.WAITING_SUM}{sidecars.DIGESTS}", sidecars.seal),
)
FORMAT = len(FORMATS)


def bring_up_to_date(db: sqlite3.Connection, version: int) -> None:
    """Upgrade a file of an older format to this one; 0 is a file without tables."""
    for script, work in FORMATS[version:]:
        for statement in filter(str.strip, script.split(";\n")):
            db.execute(statement)
        if work is not None:
            work(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def name_of(session: str) -> bytes:
    """The key of a session in `names`."""
    return blake2b(session.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def keep_names(db: sqlite3.Connection) -> None:
    """Rebuild the list of sessions, with a copy of each row."""
    db.execute("DELETE FROM names")
    rows = db.execute(f"SELECT number, {ROW} FROM sessions").fetchall()
    db.executemany(
        "INSERT INTO names VALUES (?,?,?)", [(name_of(row[0]), number, copied(row)) for number, *row in rows]
    )


def copied(row: Sequence[object]) -> bytes:
    """The copy of a row: all fields that never change."""
    return msgspec.msgpack.encode(row)


# -- blobs


def add_blobs(db: sqlite3.Connection, blobs: Mapping[str, bytes]) -> None:
    """Store blobs under their names, except those that are stored already."""
    if max(map(len, blobs.values()), default=0) <= _VERY_LONG:
        db.executemany("INSERT OR IGNORE INTO blobs VALUES (?,?)", blobs.items())
        return
    for name, data in blobs.items():
        added = db.execute("INSERT OR IGNORE INTO blobs VALUES (?, zeroblob(?))", (name, len(data)))
        if added.rowcount and added.lastrowid is not None:
            with db.blobopen("blobs", "data", added.lastrowid) as place:
                place.write(data)  # as a parameter of a statement it would be copied twice


# -- chains


def digest_at(db: sqlite3.Connection, number: int, seq: int) -> bytes | None:
    """The digest of a session's record of that number; the origin if its own records begin after that number."""
    found = db.execute("SELECT chain FROM records WHERE session = ? AND seq = ?", (number, seq)).fetchone()
    if found is not None:
        return found[0][SIZE:] if type(found[0]) is bytes and len(found[0]) == 2 * SIZE else None
    row = db.execute("SELECT parent_seq, origin FROM sessions WHERE number = ?", (number,)).fetchone()
    return row[1] if row is not None and row[0] == seq and type(row[1]) is bytes else None


def parent_digest(db: sqlite3.Connection, parent: str | None, seq: int) -> bytes:
    """The digest of the last record that a fork shares with its parent; the record may be an ancestor's."""
    seen: set[str] = set()
    while parent is not None and parent not in seen and type(seq) is int:
        seen.add(parent)
        row = db.execute("SELECT number, parent, parent_seq FROM sessions WHERE id = ?", (parent,)).fetchone()
        if row is None:
            break
        found = digest_at(db, row[0], seq)
        if found is not None:
            return found
        if type(row[2]) is not int or seq > row[2]:
            break
        parent = row[1]
    return NOTHING


def rechain(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Rebuild the chains of these sessions from their present records; parents come before their forks."""
    for number in sorted(numbers):
        told = "SELECT id, key, created_at, scope, parent, parent_seq FROM sessions WHERE number = ?"
        row = SessionRow(*db.execute(told, (number,)).fetchone())
        shared = parent_digest(db, row.parent, row.parent_seq)
        origin = last = origin_of(row, shared)
        for records in _batches(db, number, row.parent_seq):
            carried = links(origin, last, records)
            changed = [(each, number, record.seq) for each, record in zip(carried, records, strict=True)]
            db.executemany("UPDATE records SET chain = ? WHERE session = ? AND seq = ?", changed)
            last = carried[-1][SIZE:]
        db.execute("UPDATE sessions SET parent_digest = ?, origin = ? WHERE number = ?", (shared, origin, number))
        db.execute("INSERT OR REPLACE INTO records VALUES (?,?,0,x'',?)", (number, END, last))


def _batches(db: sqlite3.Connection, number: int, seq: int) -> Iterator[list[Record]]:
    while True:
        found = db.execute(
            "SELECT seq, at, body FROM records WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            (number, seq, LAST, _AT_ONCE),
        ).fetchall()
        if not found:
            return
        # A wrong type means that it was altered before there were chains; no digest given to it here will match.
        records = [
            Record(seq, at if isinstance(at, int) else 0, body if isinstance(body, bytes) else b"")
            for seq, at, body in found
        ]
        yield records
        seq = records[-1].seq


# -- losses


def add_loss(db: sqlite3.Connection, number: int, seq: int) -> None:
    """Record that a record lost words."""
    last, before = losses_end(db)
    linked = loss_digest(before, last + 1, number, seq)
    db.execute("INSERT INTO losses(number, session, seq, digest) VALUES (?,?,?,?)", (last + 1, number, seq, linked))
    db.execute("UPDATE losses_end SET number = ?, digest = ?", (last + 1, linked))


def losses_after(db: sqlite3.Connection, after: int) -> Iterator[tuple[int, int]]:
    """The records, as (session, number), that lost words after that loss; raises `StoreError` if that cannot be determined."""
    last, end = losses_end(db)
    begin = db.execute("SELECT digest FROM losses WHERE number = ?", (after,)).fetchone() if after else (NOTHING,)
    if begin is None:  # they were rewritten since
        after, begin = 0, (NOTHING,)
    before = begin[0]
    for number, session, seq, carried in db.execute(
        "SELECT number, session, seq, digest FROM losses WHERE number > ? ORDER BY number", (after,)
    ):
        if number != after + 1 or type(before) is not bytes or loss_digest(before, number, session, seq) != carried:
            raise StoreError(f"{ERASURES_UNKNOWN}: loss {after + 1} is damaged")
        yield session, seq
        after, before = number, carried
    if (after, before) != (last, end):
        raise StoreError(f"{ERASURES_UNKNOWN}: loss {after + 1} is missing")


def losses_end(db: sqlite3.Connection) -> tuple[int, bytes]:
    """The number and the digest of the last loss."""
    found = db.execute("SELECT number, digest FROM losses_end").fetchone()
    if found is None or type(found[0]) is not int or type(found[1]) is not bytes:
        raise StoreError(f"{ERASURES_UNKNOWN}: the last number is damaged")
    return found[0], found[1]


def relink_losses(db: sqlite3.Connection, losses: Iterable[tuple[int, int]]) -> None:
    """Rebuild the losses."""
    db.execute("DELETE FROM losses")
    db.execute("INSERT OR REPLACE INTO losses_end VALUES (1, 0, ?)", (NOTHING,))
    for session, seq in losses:
        add_loss(db, session, seq)
