"""The embedded store: one SQLite file with journal, blobs, full-text index and sidecars. Safe with threads and processes.

Durability: with `full`, the default, an append that returned survives kill -9 and loss of power (write-ahead log, fsync
at every commit). With `normal` it survives kill -9 of the process; loss of power may remove the last appends, each as a whole.

Waiting: readers never wait. A writer waits until the writer before it has finished, for at most `wait_seconds`, and then raises `Busy`.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pageturn.stores import chain, index, losses, repair, sidecars, tables, vectors
from pageturn.stores.chain import SIZE
from pageturn.stores.ports import (
    LAST,
    Batch,
    Broken,
    Change,
    Document,
    Embedded,
    Found,
    Freed,
    Loss,
    Record,
    Repairs,
    SessionRow,
    Sidecar,
    Slot,
    Snapshot,
    Span,
)
from pageturn.stores.sqlite_file import FAILURES, WAIT_SECONDS, SqliteFile
from pageturn.values.errors import Conflict, Damaged, NotScrubbed, StoreError

_LONGEST = 2**31 - 1  # SQLite counts bytes in 32 bits

_HEAD = f"coalesce((SELECT max(seq) FROM records WHERE session = number AND seq <= {LAST}), parent_seq)"
_LAST_TWO = (  # the digest of the last record, and that record
    "SELECT s.number, s.parent_seq, s.origin, r.seq, r.chain FROM sessions s LEFT JOIN records r ON r.session = s.number"
    " WHERE s.id = ? ORDER BY r.seq DESC LIMIT 2"
)
_SET_END = "UPDATE records SET chain = ? WHERE session = ? AND seq = ?"
_MOVE_END = f"{_SET_END} AND chain = ?"  # if the last record is still the known one
_MOST_ENDS = 256  # sessions whose ends are cached
_BLOB = "SELECT data FROM blobs WHERE digest = ?"
# To SQLite, an empty part is NULL.
_PART_OF_BLOB = "SELECT coalesce(substr(data, ?, ?), x'') FROM blobs WHERE digest = ?"
_SESSIONS = f"SELECT id, key, created_at, scope, parent, parent_seq, {_HEAD}, parent_digest, origin FROM sessions"


class _End(NamedTuple):
    """The end of a session: its number in the file, its origin, and the number and the digest of its last record."""

    number: int
    origin: bytes
    head: int
    digest: bytes


class SqliteStore(SqliteFile):
    """A store in one file; one connection for each thread."""

    def __init__(
        self, path: str | os.PathLike[str], *, durability: str = "full", wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._large: set[int] = set()  # rows of documents too long to be indexed by an append
        self._complete: set[str] = set()  # sessions in which every record is known to have its words
        self._ends: dict[str, _End] = {}  # of sessions written here; other writers may have appended since
        super().__init__(path, durability=durability, wait_seconds=wait_seconds)

    # -- sessions

    def create(self, row: SessionRow) -> None:
        # Plain str: a subclass of a host may break the encoder.
        row = SessionRow._make(str.__str__(field) if isinstance(field, str) else field for field in row)
        with self._writing() as db:
            shared = tables.parent_digest(db, row.parent, row.parent_seq)
            origin = chain.origin_of(row, shared)
            try:
                number = db.execute(
                    "INSERT INTO sessions(id, key, created_at, scope, parent, parent_seq, parent_digest, origin)"
                    " VALUES (?,?,?,?,?,?,?,?)",
                    (*row[:6], shared, origin),
                ).lastrowid
                db.execute("INSERT OR REPLACE INTO records VALUES (?,?,0,x'',?)", (number, tables.END, origin))
                copy = tables.copied((*row[:6], shared))
                db.execute("INSERT INTO names VALUES (?,?,?)", (tables.name_of(row.id), number, copy))
            except sqlite3.IntegrityError as error:
                raise Conflict(
                    f"session {row.id!r} exists already: choose another id, or open it with Session.open"
                ) from error

    def session(self, session: str) -> SessionRow | None:
        with self._translated():
            found = self._connection.execute(f"{_SESSIONS} WHERE id = ?", (session,)).fetchone()
            if found is not None:
                return _read_row(found)
            is_known = "SELECT 1 FROM names WHERE name = ?"
            if self._connection.execute(is_known, (tables.name_of(session),)).fetchone() is not None:
                return SessionRow(session, b"", 0, flaw="its row is missing or was altered")
        return None

    def sessions(self, *, scope: str | None = None) -> list[SessionRow]:
        with self._translated():
            rows = [_read_row(found) for found in self._connection.execute(f"{_SESSIONS} ORDER BY number DESC")]
        return [row for row in rows if scope is None or row.scope == scope or row.flaw]

    # -- records and blobs

    def append(self, session: str, after: int, batch: Batch) -> None:
        with self._writing() as db:
            self._append(db, session, after, batch)

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record | Broken]:
        with self._translated():
            db = self._connection
            own = db.execute("SELECT number, parent_seq, origin FROM sessions WHERE id = ?", (session,)).fetchone()
            if own is None:
                return
            number, first, origin = own
            if not (type(first) is int and type(origin) is bytes):
                raise Damaged(f"session {session!r}: its row was altered")
            known = tables.digest_at(db, number, after) if after > first else None
            start = chain.Place(after, known) if known is not None else chain.Place(first, origin)
            rows = _Rows(db, number, start.seq, upto)
            checker = chain.Checker(origin, start, lambda seq: self._blobs_of(number, seq))
            found = checker.checked(rows, upto, lambda: rows.end)
            yield from (each for each in found if each.seq > after)

    def _blobs_of(self, number: int, seq: int) -> tuple[str, ...]:
        """The blobs that a record needs, in no order."""
        found = self._connection.execute("SELECT digest FROM refs WHERE session = ? AND seq = ?", (number, seq))
        return tuple(digest for (digest,) in found if isinstance(digest, str))

    def snapshot(self, session: str) -> Snapshot | None:
        with self._translated():
            db = self._connection
            found = db.execute(
                "SELECT s.number, s.origin, p.seq, p.body, p.digest FROM snapshots p JOIN sessions s ON s.number = p.session"
                " WHERE s.id = ?",
                (session,),
            ).fetchone()
            if found is None:
                return None
            number, origin, seq, body, digest = found
            at = tables.digest_at(db, number, seq)
        if not (isinstance(at, bytes) and isinstance(origin, bytes) and isinstance(body, bytes)):
            return None
        return Snapshot(seq, body) if chain.snapshot_digest(origin, at, body) == digest else None

    def keep_snapshot(self, session: str, snapshot: Snapshot) -> None:
        with self._writing() as db:
            for number in self._numbers(db, session):
                origin = db.execute("SELECT origin FROM sessions WHERE number = ?", (number,)).fetchone()[0]
                at = tables.digest_at(db, number, snapshot.seq)
                if at is None:
                    raise Damaged(
                        f"session {session!r}: entry {snapshot.seq}, which a snapshot was made at, is missing"
                    )
                digest = chain.snapshot_digest(origin, at, snapshot.body)
                db.execute("INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?)", (number, *snapshot, digest))
                self._index_if_possible(db, [number])

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        is_whole = not start and length is None  # `substr` would make another copy
        part = () if is_whole else (start + 1, _LONGEST if length is None else length)
        with self._translated():
            found = self._connection.execute(_BLOB if is_whole else _PART_OF_BLOB, (*part, digest)).fetchone()
        if found and not isinstance(found[0], bytes):
            raise Damaged(f"{self.path}: blob {digest} was changed by another program")
        return found[0] if found else None

    # -- search

    def search(self, spans: Sequence[Span], query: str, limit: int, *, every: bool = False) -> list[Found]:
        with self._translated():
            db = self._connection
            searched = [
                index.Searched(span.session, number, span.upto)
                for span in spans
                for number in self._numbers(db, span.session)
            ]
            if self._index_at_once([each.number for each in searched]):
                return index.search(db, searched, query, limit, every=every)
            with self._reading():
                return index.search_with_waiting(db, searched, query, limit, every=every)

    def _index_at_once(self, numbers: Sequence[int]) -> bool:
        """Index all waiting documents of these sessions. False if that cannot be written now; it does not wait."""
        if not index.is_waiting(self._connection, numbers):
            return True
        try:
            with self.at_once(), self._writing() as db:
                altered = index.take_in(db, numbers)
        except StoreError:  # another writer, a read-only file or a full disk: the queue can be searched all the same
            return False
        if altered:
            which = ", ".join(map(str, altered))
            raise Damaged(
                f"the words of entry {which}, which were not indexed yet, were altered; the next search has them again"
            )
        return True

    def drop_words(self) -> None:
        with self.at_once(), self._writing() as db:
            repair.require_sound_pages(db)
            index.begin_anew(db)
        self._complete.clear()

    def has_other_words(self, documents: Iterable[tuple[str, Document]]) -> bool:
        with self._translated():
            db = self._connection
            numbers = {session: number for number, session in db.execute("SELECT number, id FROM sessions")}
            return index.differs(db, ((numbers[session], document) for session, document in documents))

    def lacks_words(self, session: str, records: Iterable[int] = ()) -> bool:
        with self._translated():
            numbers = self._numbers(self._connection, session)
            if any(index.is_stale(self._connection, number) for number in numbers):
                return True
        if session in self._complete:
            return False
        lacking = {*records} - self.documents(session)
        if not lacking:
            self._complete.add(session)
        return bool(lacking)

    def give_words(self, session: str, documents: Iterable[Document]) -> None:
        with self._writing() as db:
            for number in self._numbers(db, session):
                index.renew(db, number, documents)
        self._complete.add(session)

    # -- vectors

    def keep_vectors(self, session: str, embedder: str, given: Sequence[Embedded]) -> None:
        with self._writing() as db:
            for number in self._numbers(db, session):
                gone = {seq for each, seq in losses.after(db, 0) if each == number}
                vectors.keep(db, number, embedder, [each for each in given if each.seq not in gone])

    def vectors(self, session: str, embedder: str, after: int = 0) -> list[Embedded]:
        with self._translated():
            db = self._connection
            return [
                each for number in self._numbers(db, session) for each in vectors.after(db, number, embedder, after)
            ]

    # -- sidecars

    def sidecar(self, name: str, after: int = 0) -> Sidecar:
        with self._translated():
            return sidecars.changed(self._connection, name, after)

    def sidecars(self) -> list[str]:
        with self._translated():
            return sidecars.names(self._connection)

    def document(self, slot: Slot) -> bytes | None:
        with self._translated():
            return sidecars.document(self._connection, slot)

    def sidecar_version(self) -> int:
        try:  # called before every choice, so without the overhead of a context manager
            with (db := self._connection).busy:
                return sidecars.version(db)
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def amend(self, slots: Sequence[Slot], change: Change) -> int:
        with self._writing() as db:
            return sidecars.amend(db, slots, change)

    # -- erasing and upkeep

    def erase(self, session: str, after: int, record: Record, losses: Sequence[Loss]) -> Freed:
        with self._writing() as db:
            self._append(db, session, after, Batch([record]))
            for loss in losses:
                for number in self._numbers(db, loss.session):
                    self._forget(db, number, loss)
            freed = self._drop_unnamed(db, {digest for loss in losses for digest in loss.digests})
            index.wipe(db)
        return freed

    def scrub(self) -> None:
        # Free pages and the log keep deleted bytes, so the file is rewritten without them.
        db = self._connection
        try:
            with db.busy:
                db.execute("VACUUM")
                busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            raise NotScrubbed(f"erased bytes stay in the file for now: {self._failure(error)}") from error
        if busy:
            reading = f"others are still reading after {self.wait_seconds:g} s (wait_seconds)"
            raise NotScrubbed(f"{self.path}: {reading}, so erased bytes stay in the log for now")

    def erasures(self) -> int:
        try:  # called before every context, so without the overhead of a context manager
            with (db := self._connection).busy:
                return losses.end_of(db)[0]
        except FAILURES as error:
            raise self._failure(error) from error

    def erased(self, spans: Sequence[Span], after: int = 0) -> set[int]:
        with self._translated():
            db = self._connection
            upto = {number: span.upto for span in spans for number in self._numbers(db, span.session)}
            return {seq for session, seq in losses.after(db, after) if seq <= upto.get(session, -1)}

    def is_erased(self, digest: str) -> bool:
        with self._translated():
            return self._connection.execute("SELECT 1 FROM erased WHERE digest = ?", (digest,)).fetchone() is not None

    def vacuum(self, *, dry_run: bool) -> Freed:
        with self._writing() as db:
            unnamed = "FROM blobs WHERE digest NOT IN (SELECT digest FROM refs)"
            freed = Freed(*db.execute(f"SELECT count(*), coalesce(sum(length(data)), 0) {unnamed}").fetchone())
            if not dry_run:
                db.execute(f"DELETE {unnamed}")
        if not dry_run:
            self.scrub()
        return freed

    def check(self) -> list[str]:
        with self._translated():
            db = self._connection
            broken = [f"the file: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            return broken + index.check(db) + repair.check(db)

    def documents(self, session: str) -> set[int]:
        with self._translated():
            db = self._connection
            return {seq for number in self._numbers(db, session) for seq in index.documents(db, number)}

    def references(self, session: str) -> set[tuple[int, str]]:
        with self._translated():
            db = self._connection
            named = "SELECT seq, digest FROM refs WHERE session = ?"
            return {row for number in self._numbers(db, session) for row in db.execute(named, (number,))}

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        with self._translated():
            for name, data in self._connection.execute("SELECT digest, data FROM blobs"):
                yield str(name), data if isinstance(data, bytes) else str(data).encode()

    def backup(self) -> str:
        with self._translated():
            return repair.back_up(self._connection, self.path)

    def repair(self, found: Repairs) -> None:
        with self._writing() as db:
            repair.repair(db, found)

    # -- inside

    def _append(self, db: sqlite3.Connection, session: str, after: int, batch: Batch) -> None:
        end = self._ends.pop(session, None)
        linked = _linked_behind(db, end, batch.records) if end is not None and end.head == after else []
        if end is None or not linked:
            end = self._end_of(db, session)
            if end.head != after:
                missed = self.records(session, after)
                raise Conflict(
                    f"session {session!r}: expected entry {after} to be the last, and another writer has appended up to {end.head}. "
                    "Call session.refresh() and derive again. If the writer is a thread of this program, give each thread "
                    "a session of its own (docs/session.md, Who writes)",
                    missed=missed,
                )
            linked = chain.links(end.origin, end.digest, batch.records)
            if linked:
                db.execute(_SET_END, (linked[-1][SIZE:], end.number, tables.END))
        number = end.number
        db.executemany(
            "INSERT INTO records VALUES (?,?,?,?,?)",
            [(number, *record, each) for record, each in zip(batch.records, linked, strict=True)],
        )
        tables.add_blobs(db, batch.blobs)
        db.executemany("DELETE FROM erased WHERE digest = ?", [(digest,) for digest in batch.blobs])
        db.executemany("INSERT OR IGNORE INTO refs VALUES (?,?,?)", [(d, number, seq) for seq, d in batch.references])
        index.add(db, number, batch.documents, batch.inside)
        if (after + len(batch.records)) // index.EVERY > after // index.EVERY:
            self._index_if_possible(db, [number])
        if linked:
            if len(self._ends) >= _MOST_ENDS:
                self._ends.clear()
            self._ends[session] = _End(number, end.origin, batch.records[-1].seq, linked[-1][SIZE:])

    def _end_of(self, db: sqlite3.Connection, session: str) -> _End:
        """The end of a session; raises if the file does not say it for certain."""
        last = db.execute(_LAST_TWO, (session,)).fetchall()
        if not last:
            raise StoreError(f"{self.path}: no session {session!r}")
        number, first, origin, seq, before = last[0]
        head, carried = last[1][3:] if len(last) == 2 else (first, origin)
        before = before if seq == tables.END else None
        if not isinstance(before, bytes) or not isinstance(carried, bytes) or carried[-SIZE:] != before:
            raise Damaged(
                f"session {session!r}: entries after {head} are damaged or missing, so nothing can follow them; see `pageturn doctor --repair`"
            )
        return _End(number, origin, head, before)

    def _index_if_possible(self, db: sqlite3.Connection, numbers: Iterable[int]) -> None:
        """Index, unless the index is damaged: the journal continues without it, and the next search reports the damage."""
        db.execute("SAVEPOINT indexing")
        try:
            index.take_in_some(db, numbers, self._large)
        except sqlite3.Error:
            db.execute("ROLLBACK TO indexing")
        db.execute("RELEASE indexing")

    def _numbers(self, db: sqlite3.Connection, session: str) -> list[int]:
        return [row[0] for row in db.execute("SELECT number FROM sessions WHERE id = ?", (session,))]

    def _forget(self, db: sqlite3.Connection, number: int, loss: Loss) -> None:
        """Remove a record's blobs and words."""
        gone = 0
        for digest in loss.digests:
            named = "DELETE FROM refs WHERE digest = ? AND session = ? AND seq = ?"
            gone += db.execute(named, (digest, number, loss.seq)).rowcount
        # A fork or its parent may have erased it before.
        index.forget(db, number, loss.seq, loss.text if gone else None)
        vectors.forget(db, number, loss.seq)
        losses.add(db, number, loss.seq)

    def _drop_unnamed(self, db: sqlite3.Connection, digests: Iterable[str]) -> Freed:
        """Delete the blobs among these that no record needs any more, and remember that this was intended."""
        blobs = size = 0
        for digest in digests:
            found = db.execute(
                "SELECT length(data) FROM blobs WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM refs WHERE digest = ?1)",
                (digest,),
            ).fetchone()
            if found:
                db.execute("DELETE FROM blobs WHERE digest = ?", (digest,))
                db.execute("INSERT OR IGNORE INTO erased VALUES (?)", (digest,))
                blobs, size = blobs + 1, size + found[0]
        return Freed(blobs, size)


def _linked_behind(db: sqlite3.Connection, end: _End, records: Sequence[Record]) -> list[bytes]:
    """The chain digests of these records after a cached end; None if the session no longer ends there."""
    linked = chain.links(end.origin, end.digest, records)
    if not linked:
        return []
    moved = (linked[-1][SIZE:], end.number, tables.END, end.digest)
    return linked if db.execute(_MOVE_END, moved).rowcount else []


class _Rows:
    """The records of a session as stored, up to a number, and then the digest of its last one.

    One statement reads both, so that no write comes between.
    """

    def __init__(self, db: sqlite3.Connection, number: int, after: int, upto: int) -> None:
        self._found = db.execute(
            "SELECT seq, at, body, chain FROM records WHERE session = ? AND seq > ? ORDER BY seq", (number, after)
        )
        self._upto = upto
        self.end: bytes | None = None  # stays None if there are records after the last one that was asked for

    def __iter__(self) -> Iterator[chain.Row]:
        for seq, at, body, carried in self._found:
            if seq == tables.END:
                self.end = carried if isinstance(carried, bytes) else b""
                return
            if type(seq) is not int or seq > LAST:  # no chain digest can look like this
                continue
            if seq > self._upto:
                self._found.close()
                return
            yield chain.Row(seq, at, body.encode() if isinstance(body, str) else body, carried)
        self.end = b""


def _read_row(found: tuple[object, ...]) -> SessionRow:
    """The row of a session, with any damage to it."""
    *told, shared, origin = found
    row = SessionRow(*told)  # type: ignore[arg-type]
    names = (row.scope, row.parent)
    is_typed = (
        isinstance(row.id, str)
        and type(row.key) is bytes
        and all(type(each) is int for each in (row.created_at, row.parent_seq, row.head))
        and all(each is None or isinstance(each, str) for each in names)
        and type(shared) is bytes
    )
    if is_typed and isinstance(shared, bytes) and chain.origin_of(row, shared) == origin:
        return row
    whole = row if is_typed else SessionRow(str(row.id), b"", 0)
    return whole._replace(flaw="its row was altered")
