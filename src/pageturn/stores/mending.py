"""Mending a store's file: what is wrong with its own tables, a copy of it as it is, and putting right what can be put right.

It knows rows and digests. What an entry means, and what is to stand in its place, is the doctor's business.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count

from pageturn.errors import StoreError
from pageturn.stores import index, tables
from pageturn.stores.chain import SIZE, origin_of, snapshot_digest
from pageturn.stores.contract import Mending, SessionRow

_FIELDS = "id, key, created_at, scope, parent, parent_seq"


def check(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the tables, records apart."""
    return [*_check_names(db), *_check_lineage(db), *_check_snapshots(db), *_check_losses(db)]


def _check_names(db: sqlite3.Connection) -> Iterator[str]:
    names = {name: number for name, number in db.execute("SELECT name, number FROM names")}
    for number, session in db.execute("SELECT number, id FROM sessions"):
        if not isinstance(session, str) or names.pop(tables.name_of(session), None) != number:
            yield f"session {session!r} is not in the list of names, or was renamed"
    for number in names.values():
        yield f"session number {number} has no row of that name any more"


def _check_lineage(db: sqlite3.Connection) -> Iterator[str]:
    forks = "SELECT id, parent, parent_seq, parent_digest FROM sessions WHERE parent IS NOT NULL"
    for session, parent, seq, shared in db.execute(forks).fetchall():
        if tables.parent_digest(db, parent, seq) != shared:
            yield f"session {session!r}: entry {seq} of its parent {parent!r} is not the one that it was forked at"


def _check_snapshots(db: sqlite3.Connection) -> Iterator[str]:
    for number, seq in db.execute("SELECT session, seq FROM snapshots").fetchall():
        session = db.execute("SELECT id FROM sessions WHERE number = ?", (number,)).fetchone()
        if not _is_whole(db, number):
            yield f"session {session[0] if session else number!r}: the snapshot at entry {seq} is damaged"


def _is_whole(db: sqlite3.Connection, number: int) -> bool:
    """Whether the snapshot of a session is the one that was kept."""
    seq, body, kept = db.execute("SELECT seq, body, digest FROM snapshots WHERE session = ?", (number,)).fetchone()
    origin = db.execute("SELECT origin FROM sessions WHERE number = ?", (number,)).fetchone()
    at = tables.digest_at(db, number, seq)
    if origin is None or at is None or not (isinstance(origin[0], bytes) and isinstance(body, bytes)):
        return False
    return bool(snapshot_digest(origin[0], at, body) == kept)


def _check_losses(db: sqlite3.Connection) -> Iterator[str]:
    try:
        for _ in tables.losses_after(db, 0):
            pass
    except StoreError as error:
        yield str(error)


def back_up(db: sqlite3.Connection, path: str) -> str:
    """A copy of a file as it is, beside it."""
    for number in count(1):
        name = f"{path}.before-repair-{number}"
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(f"{name}: no copy could be made: {error}") from error
        with closing(sqlite3.connect(name)) as copy:
            db.backup(copy)
        return name
    raise AssertionError("numbers do not end")


def mend(db: sqlite3.Connection, found: Mending) -> None:
    """Do what a mending says, and restore what the tables themselves can say."""
    db.execute("REINDEX")
    _restore_rows(db)
    db.execute("DELETE FROM records WHERE typeof(seq) != 'integer'")  # no reading ever finds them
    numbers = {session: number for number, session in db.execute("SELECT number, id FROM sessions")}
    misplaced = [(numbers[session], seq) for session, seq in found.misplaced]
    db.executemany("DELETE FROM records WHERE session = ? AND seq = ?", misplaced)
    for session, records in found.records.items():
        rows = [(numbers[session], *record) for record in records]
        db.executemany("INSERT OR REPLACE INTO records VALUES (?,?,?,?,NULL)", rows)
    tables.rechain(db, [numbers[session] for session in found.records])
    gone = [(number,) for (number,) in db.execute("SELECT session FROM snapshots").fetchall() if not _is_whole(db, number)]
    db.executemany("DELETE FROM snapshots WHERE session = ?", gone)
    db.executemany("INSERT OR REPLACE INTO blobs VALUES (?,?)", found.blobs.items())
    named = [(digest, numbers[session], seq) for session, seq, digest in found.references]
    db.executemany("INSERT OR IGNORE INTO refs VALUES (?,?,?)", named)
    db.execute("DELETE FROM names")
    db.executemany(
        "INSERT OR IGNORE INTO names VALUES (?,?)",
        [(tables.name_of(session), number) for session, number in numbers.items() if isinstance(session, str)],
    )
    if found.losses is not None:
        tables.relink_losses(db, [(numbers[session], seq) for session, seq in found.losses])
    if found.documents is not None:
        index.rebuild(db, [(numbers[session], document) for session, document in found.documents])


def _row_fits(db: sqlite3.Connection, number: int) -> bool:
    """Whether the row of a session is the one that was written."""
    *told, shared, origin = db.execute(
        f"SELECT {_FIELDS}, parent_digest, origin FROM sessions WHERE number = ?", (number,)
    ).fetchone()
    row = SessionRow(*told)
    return isinstance(shared, bytes) and _origin(row, shared) == origin


def _restore_rows(db: sqlite3.Connection) -> None:
    """Put rows right whose altered field can be found elsewhere: only the right one gives the digest that the records began with."""
    rows = [SessionRow(*row) for row in db.execute(f"SELECT {_FIELDS} FROM sessions")]
    keys = {row.key for row in rows if isinstance(row.key, bytes)}
    scopes = {row.scope for row in rows} | {None}
    parents = {row.id for row in rows} | {None}
    for (number,) in db.execute("SELECT number FROM sessions").fetchall():
        if _row_fits(db, number):
            continue
        *told, shared, origin = db.execute(
            f"SELECT {_FIELDS}, parent_digest, origin FROM sessions WHERE number = ?", (number,)
        ).fetchone()
        row = SessionRow(*told)
        first = db.execute("SELECT seq, chain FROM records WHERE session = ? ORDER BY seq LIMIT 1", (number,)).fetchone()
        begun = first[1][:SIZE] if first is not None and isinstance(first[1], bytes) else b""
        behind = first[0] - 1 if first is not None and isinstance(first[0], int) else 0
        origins = {each for each in (origin, begun) if isinstance(each, bytes) and len(each) == SIZE}
        candidates = [
            row,
            *(row._replace(key=key) for key in keys),
            *(row._replace(scope=scope) for scope in scopes),
            *(row._replace(parent=parent) for parent in parents),
            row._replace(parent_seq=behind),
        ]
        for each in candidates:
            seq = each.parent_seq if isinstance(each.parent_seq, int) else 0
            for forked_at in (shared, tables.parent_digest(db, each.parent, seq)):
                made = _origin(each, forked_at)
                if made in origins:
                    names = "id = ?, key = ?, created_at = ?, scope = ?, parent = ?, parent_seq = ?"
                    fixed = (*each[:6], forked_at, made, number)
                    db.execute(f"UPDATE sessions SET {names}, parent_digest = ?, origin = ? WHERE number = ?", fixed)


def _origin(row: SessionRow, shared: bytes) -> bytes | None:
    """The origin that a row would have; None where it is of types that no row has."""
    try:
        return origin_of(row, shared)
    except (TypeError, ValueError, OverflowError):
        return None
