"""Checks the tables of a store's file, backs the file up, and repairs what can be repaired.

It knows rows and digests. What an entry means, and what should replace a lost one, is decided by `pageturn.journal.repair`.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from typing import Any

import msgspec

from pageturn.stores import index, losses, sidecars, tables
from pageturn.stores.chain import SIZE, Row, altered_digests, origin_of, snapshot_digest
from pageturn.stores.ports import LAST, Repairs, SessionRow
from pageturn.values.errors import Damaged, StoreError


def check(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the tables, apart from records."""
    checks = (_check_names, _check_lineage, _check_digests, _check_snapshots, _check_losses, sidecars.check)
    return [what for each in checks for what in each(db)]


def _check_names(db: sqlite3.Connection) -> Iterator[str]:
    names = {name: (number, row) for name, number, row in db.execute("SELECT name, number, row FROM names")}
    for number, *row in db.execute(f"SELECT number, {tables.ROW} FROM sessions"):
        if not isinstance(row[0], str) or names.pop(tables.name_of(row[0]), None) != (number, tables.copied(row)):
            yield f"session {row[0]!r}: its row and the copy of it differ"
    for number, _ in names.values():
        yield f"session number {number}: its row is missing, or was renamed"


def _check_lineage(db: sqlite3.Connection) -> Iterator[str]:
    forks = "SELECT id, parent, parent_seq, parent_digest FROM sessions WHERE parent IS NOT NULL"
    for session, parent, seq, shared in db.execute(forks).fetchall():
        if tables.parent_digest(db, parent, seq) != shared:
            yield f"session {session!r}: entry {seq} of its parent {parent!r} is not the one that it was forked at"


def _check_digests(db: sqlite3.Connection) -> Iterator[str]:
    """Intact records with a digest that does not match."""
    query = (
        "SELECT number, id, parent_seq, origin, chain FROM sessions LEFT JOIN records ON session = number AND seq = ?"
    )
    sessions = db.execute(query, (tables.END,)).fetchall()
    for number, session, first, origin, end in sessions:
        if not (isinstance(first, int) and isinstance(origin, bytes) and isinstance(end, bytes)):
            continue
        rows = db.execute(
            "SELECT seq, at, body, chain FROM records WHERE session = ? AND seq > ? AND seq <= ?"
            " AND typeof(at) = 'integer' AND typeof(body) = 'blob' AND typeof(chain) = 'blob'",
            (number, first, LAST),
        )
        for what in altered_digests(origin, map(Row._make, rows), end):
            yield f"session {session!r}: {what}"


def _check_snapshots(db: sqlite3.Connection) -> Iterator[str]:
    for number, seq in db.execute("SELECT session, seq FROM snapshots").fetchall():
        session = db.execute("SELECT id FROM sessions WHERE number = ?", (number,)).fetchone()
        if not _is_whole(db, number):
            yield f"session {session[0] if session else number!r}: the snapshot at entry {seq} is damaged"


def _is_whole(db: sqlite3.Connection, number: int) -> bool:
    """Whether the snapshot of a session is the one that was written."""
    found = db.execute("SELECT seq, body, digest FROM snapshots WHERE session = ?", (number,)).fetchone()
    if found is None:  # the table itself is damaged
        return False
    seq, body, kept = found
    origin = db.execute("SELECT origin FROM sessions WHERE number = ?", (number,)).fetchone()
    at = tables.digest_at(db, number, seq)
    if origin is None or at is None or not (isinstance(origin[0], bytes) and isinstance(body, bytes)):
        return False
    return bool(snapshot_digest(origin[0], at, body) == kept)


def _check_losses(db: sqlite3.Connection) -> Iterator[str]:
    try:
        for _ in losses.after(db, 0):
            pass
    except StoreError as error:
        yield str(error)


def back_up(db: sqlite3.Connection, path: str) -> str:
    """A copy of a file, made next to it."""
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


def repair(db: sqlite3.Connection, found: Repairs) -> None:
    """Apply repairs, and restore what the tables themselves can restore."""
    require_sound_pages(db)
    db.execute("REINDEX")
    _restore_rows(db)
    _drop_garbage(db)
    numbers = {session: number for number, session in db.execute("SELECT number, id FROM sessions")}
    whole = [number for (number,) in db.execute("SELECT session FROM snapshots").fetchall() if _is_whole(db, number)]
    misplaced = [(numbers[session], seq) for session, seq in found.misplaced]
    db.executemany("DELETE FROM records WHERE session = ? AND seq = ?", misplaced)
    for session, records in found.records.items():
        rows = [(numbers[session], *record) for record in records]
        db.executemany("INSERT OR REPLACE INTO records VALUES (?,?,?,?,NULL)", rows)
    tables.rechain(db, [numbers[session] for session in found.records])
    _keep_snapshots(db, whole)
    db.executemany("INSERT OR REPLACE INTO blobs VALUES (?,?)", found.blobs.items())
    named = [(digest, numbers[session], seq) for session, seq, digest in found.references]
    db.executemany("INSERT OR IGNORE INTO refs VALUES (?,?,?)", named)
    tables.keep_names(db)
    sidecars.repair(db)
    if found.losses is not None:
        losses.relink(db, [(numbers[session], seq) for session, seq in found.losses])
    if found.documents is not None:
        index.rebuild(db, [(numbers[session], document) for session, document in found.documents])


def require_sound_pages(db: sqlite3.Connection) -> None:
    """Raise if the pages of the file are inconsistent: writing could destroy what is still intact."""
    for (problem,) in db.execute("PRAGMA quick_check"):
        is_about_a_value = " value in " in problem  # a wrong type in a column, which we can repair ourselves
        if problem != "ok" and not is_about_a_value:
            what = problem.rpartition("\n")[2]
            advice = "SQLite's own `.recover` may get more out of a copy"
            raise Damaged(
                f"the pages of the file do not fit together ({what}), so nothing is written into it; {advice}"
            )


def _restore_rows(db: sqlite3.Connection) -> None:
    """Restore a row from its copy, or the copy from the row, whichever has the digest that the records began with."""
    copies = dict(db.execute("SELECT number, row FROM names WHERE typeof(row) = 'blob'"))
    for number in copies.keys() - {number for (number,) in db.execute("SELECT number FROM sessions")}:
        if (row := _read_copy(copies[number])) is not None:
            db.execute(
                "INSERT OR IGNORE INTO sessions(number, id, key, created_at, parent_seq) VALUES (?,?,x'',0,0)",
                (number, row[0]),
            )
    for number, *row, origin in db.execute(f"SELECT number, {tables.ROW}, origin FROM sessions").fetchall():
        copy = _read_copy(copies.get(number, b""))
        records = (
            f"SELECT chain FROM records WHERE session = ? AND typeof(chain) = 'blob' AND seq <= {LAST} ORDER BY seq"
        )
        first = db.execute(f"{records} LIMIT 1", (number,)).fetchone()
        begun = first[0][:SIZE] if first is not None else None
        if begun != origin and (made := _origin(row)) is not None and made == origin:
            continue  # the first record is damaged, not the row
        for named in (row, copy):
            made = _origin(named) if named is not None else None
            if (
                named is not None
                and made is not None
                and (made in (origin, begun) or (first is None and named is copy))
            ):
                fields = ", ".join(f"{name} = ?" for name in tables.ROW.split(", "))
                db.execute(f"UPDATE sessions SET {fields}, origin = ? WHERE number = ?", (*named, made, number))
                break


def _read_copy(copy: bytes) -> list[Any] | None:
    try:
        row = msgspec.msgpack.decode(copy)
    except ValueError:
        return None
    return row if isinstance(row, list) and len(row) == 7 and isinstance(row[0], str) else None


def _origin(row: Sequence[Any]) -> bytes | None:
    """The origin of a row; None if the row has impossible types."""
    try:
        return origin_of(SessionRow(*row[:6]), row[6])
    except (TypeError, ValueError, OverflowError):
        return None


def _drop_garbage(db: sqlite3.Connection) -> None:
    """Delete rows that are empty, or that no read ever reaches."""
    db.execute("DELETE FROM records WHERE typeof(seq) != 'integer' OR at IS NULL AND body IS NULL")
    db.execute("DELETE FROM records WHERE seq <= (SELECT parent_seq FROM sessions WHERE number = session)")
    db.execute("DELETE FROM refs WHERE typeof(digest) != 'text' OR typeof(seq) != 'integer'")


def _keep_snapshots(db: sqlite3.Connection, whole: Sequence[int]) -> None:
    """Keep the snapshots that were intact, whatever happened to their records: they may be the only copy of what those said."""
    for (number,) in db.execute("SELECT session FROM snapshots").fetchall():
        seq, body = db.execute("SELECT seq, body FROM snapshots WHERE session = ?", (number,)).fetchone()
        at = tables.digest_at(db, number, seq) if number in whole else None
        if at is None:
            db.execute("DELETE FROM snapshots WHERE session = ?", (number,))
        else:
            origin = db.execute("SELECT origin FROM sessions WHERE number = ?", (number,)).fetchone()[0]
            digest = snapshot_digest(origin, at, body)
            db.execute("UPDATE snapshots SET digest = ? WHERE session = ?", (digest, number))
