"""The embedded store: one SQLite file with journal, blobs, full-text index and sidecars. Safe with threads and processes.

Durability: with `full`, the default, an append that returned survives kill -9 and loss of power (write-ahead log, fsync
at every commit). With `normal` it survives kill -9 of the process; loss of power may take the last appends, but never
half of one.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from heapq import nlargest
from weakref import WeakSet

from pageturn.errors import Conflict, NotScrubbed, StoreError
from pageturn.stores import sidecars
from pageturn.stores.contract import (
    LAST,
    Batch,
    Change,
    Found,
    Freed,
    Loss,
    Record,
    SessionRow,
    Sidecar,
    Slot,
    Snapshot,
    Span,
)
from pageturn.stores.words import hidden_parts, terms

_APPLICATION_ID = 0x50414745  # "PAGE"
_COMMON = 500  # a term that occurs in more documents than this is dropped from a query that has rarer ones
_BUSY_MS = 30_000
_INDEX_EVERY = 64  # records of a session; the index takes many documents at once for a third of what each costs alone
_LONGEST = 2**31 - 1  # SQLite counts bytes in 32 bits

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
CREATE VIRTUAL TABLE words USING fts5(
    text, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
);
"""
_FORMATS = (  # each script brings a file from the format before to its own
    _SCHEMA,
    "CREATE TABLE unindexed (row INTEGER PRIMARY KEY, text TEXT NOT NULL);\n",
    sidecars.SCHEMA,
)
FORMAT = len(_FORMATS)
_HEAD = "coalesce((SELECT max(seq) FROM records WHERE session = number), parent_seq)"
_SESSIONS = f"SELECT id, key, created_at, scope, parent, parent_seq, {_HEAD} FROM sessions"
_OF_SESSION = "WHERE row BETWEEN ? AND ?"


class _Connection(sqlite3.Connection):
    """A connection that is closed when nobody has it any more."""

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it never came to be open
            self.close()


class SqliteStore:
    """A store in one file; one connection for each thread."""

    def __init__(self, path: str, *, durability: str = "full") -> None:
        self.path = path
        self._durability = durability
        self._local = threading.local()
        self._connections: WeakSet[_Connection] = WeakSet()  # each is its thread's, and ends with it
        self._closed = False
        with _translated(path):
            self._prepare(self._connection)

    # -- sessions

    def create(self, row: SessionRow) -> None:
        with self._writing() as db:
            try:
                db.execute(
                    "INSERT INTO sessions(id, key, created_at, scope, parent, parent_seq) VALUES (?,?,?,?,?,?)",
                    row[:-1],
                )
            except sqlite3.IntegrityError as error:
                raise Conflict(f"session {row.id!r} exists already") from error

    def session(self, session: str) -> SessionRow | None:
        with _translated(self.path):
            found = self._connection.execute(f"{_SESSIONS} WHERE id = ?", (session,)).fetchone()
        return SessionRow(*found) if found else None

    def sessions(self, *, scope: str | None = None) -> list[SessionRow]:
        with _translated(self.path):
            rows = self._connection.execute(
                f"{_SESSIONS} WHERE ?1 IS NULL OR scope = ?1 ORDER BY number DESC", (scope,)
            )
            return [SessionRow(*row) for row in rows]

    # -- records and blobs

    def append(self, session: str, after: int, batch: Batch) -> None:
        with self._writing() as db:
            self._append(db, session, after, batch)

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record]:
        with _translated(self.path):
            rows = self._connection.execute(
                "SELECT seq, at, body FROM records WHERE session = (SELECT number FROM sessions WHERE id = ?)"
                " AND seq > ? AND seq <= ? ORDER BY seq",
                (session, after, upto),
            )
            yield from map(Record._make, rows)

    def snapshot(self, session: str) -> Snapshot | None:
        with _translated(self.path):
            found = self._connection.execute(
                "SELECT p.seq, p.body FROM snapshots p JOIN sessions s ON s.number = p.session WHERE s.id = ?",
                (session,),
            ).fetchone()
        return Snapshot(*found) if found else None

    def keep_snapshot(self, session: str, snapshot: Snapshot) -> None:
        with self._writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO snapshots SELECT number, ?, ? FROM sessions WHERE id = ?", (*snapshot, session)
            )
            self._index_if_possible(db, self._numbers(db, session))

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        with _translated(self.path):
            found = self._connection.execute(
                "SELECT substr(data, ?, ?) FROM blobs WHERE digest = ?",
                (start + 1, _LONGEST if length is None else length, digest),
            ).fetchone()
        if found and not isinstance(found[0], bytes):
            raise StoreError(f"{self.path}: blob {digest} was changed by another program")
        return found[0] if found else None

    # -- search

    def search(self, spans: Sequence[Span], query: str, limit: int) -> list[Found]:
        with _translated(self.path):
            db = self._connection
            self._index_before_search(db, spans)
            phrases = self._rare(db, [_phrase(term) for term in terms(query)])
            if not phrases:
                return []
            found: list[Found] = []
            for span in spans:
                for number in self._numbers(db, span.session):
                    rows = db.execute(
                        "SELECT rowid, -bm25(words, 1, .5) AS score FROM words WHERE words MATCH ?"
                        " AND rowid BETWEEN ? AND ? ORDER BY score DESC, rowid DESC LIMIT ?",
                        (" OR ".join(phrases), _row(number, 0), _row(number, span.upto), limit),
                    )
                    found += [Found(span.session, row & LAST, score) for row, score in rows]
            return nlargest(limit, found, key=lambda each: each.score)

    def _index_before_search(self, db: sqlite3.Connection, spans: Sequence[Span]) -> None:
        """See to it that everything that is searched is in the index; most often it is, and nothing is written."""
        numbers = [number for span in spans for number in self._numbers(db, span.session)]
        waiting = f"SELECT 1 FROM unindexed {_OF_SESSION} LIMIT 1"
        if any(db.execute(waiting, _rows(number)).fetchone() for number in numbers):
            with self._writing():
                self._index(db, numbers)

    def _rare(self, db: sqlite3.Connection, phrases: list[str]) -> list[str]:
        """The phrases without those that very many documents contain, unless there are no others."""
        rare = []
        for phrase in phrases:
            counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
            if db.execute(counted, (phrase, _COMMON + 1)).fetchone()[0] <= _COMMON:
                rare.append(phrase)
        return rare or phrases

    # -- sidecars

    def sidecar(self, name: str, after: int = 0) -> Sidecar:
        with _translated(self.path):
            return sidecars.changed(self._connection, name, after)

    def sidecars(self) -> list[str]:
        with _translated(self.path):
            return sidecars.names(self._connection)

    def document(self, slot: Slot) -> bytes | None:
        with _translated(self.path):
            return sidecars.document(self._connection, slot)

    def sidecar_version(self) -> int:
        try:  # asked before every choice, so without the ceremony of a context manager
            return sidecars.version(self._connection)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

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
            # The index keeps deleted words until its segments are merged.
            db.execute("INSERT INTO words(words) VALUES ('optimize')")
        return freed

    def scrub(self) -> None:
        # Free pages and the log keep deleted bytes, so the file is written anew without them.
        try:
            self._connection.execute("VACUUM")
            busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            raise NotScrubbed(f"{self.path}: {error}, so erased bytes stay in the file for now") from error
        if busy:
            raise NotScrubbed(f"{self.path}: others are reading, so erased bytes stay in the log for now")

    def is_erased(self, digest: str) -> bool:
        with _translated(self.path):
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
        with _translated(self.path):
            db = self._connection
            broken = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            broken += self._check_index(db)
            counts = db.execute(
                "SELECT s.id, s.parent_seq, count(r.seq), coalesce(max(r.seq), s.parent_seq) FROM sessions s"
                " LEFT JOIN records r ON r.session = s.number GROUP BY s.number"
            )
            for session, parent_seq, count, last in counts:
                if count != last - parent_seq:
                    broken.append(f"session {session}: {count} records, but they go from {parent_seq + 1} to {last}")
            return broken

    def close(self) -> None:
        self._closed = True
        for connection in list(self._connections):
            connection.close()

    # -- inside

    def _append(self, db: sqlite3.Connection, session: str, after: int, batch: Batch) -> None:
        found = db.execute(f"SELECT number, {_HEAD} FROM sessions WHERE id = ?", (session,)).fetchone()
        if not found:
            raise StoreError(f"{self.path}: no session {session!r}")
        number, head = found
        if head != after:
            raise Conflict(f"session {session!r} went on to {head} after {after}", missed=self.records(session, after))
        db.executemany("INSERT INTO records VALUES (?,?,?,?)", [(number, *record) for record in batch.records])
        db.executemany("INSERT OR IGNORE INTO blobs VALUES (?,?)", batch.blobs.items())
        db.executemany("DELETE FROM erased WHERE digest = ?", [(digest,) for digest in batch.blobs])
        db.executemany("INSERT OR IGNORE INTO refs VALUES (?,?,?)", [(d, number, seq) for seq, d in batch.references])
        db.executemany(
            "INSERT INTO unindexed VALUES (?,?)", [(_row(number, seq), text) for seq, text in batch.documents]
        )
        if (head + len(batch.records)) // _INDEX_EVERY > head // _INDEX_EVERY:
            self._index_if_possible(db, [number])

    def _index_if_possible(self, db: sqlite3.Connection, numbers: Iterable[int]) -> None:
        """Index, unless the index is damaged: the journal goes on without it, and the next search says what is wrong."""
        db.execute("SAVEPOINT indexing")
        try:
            self._index(db, numbers)
        except sqlite3.Error:
            db.execute("ROLLBACK TO indexing")
        db.execute("RELEASE indexing")

    def _check_index(self, db: sqlite3.Connection) -> list[str]:
        """What is wrong with the index; it cannot be looked at in a file that takes no writes."""
        try:
            db.execute("INSERT INTO words(words) VALUES ('integrity-check')")
        except sqlite3.Error as error:
            return [] if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY else [f"the index: {error}"]
        return []

    def _index(self, db: sqlite3.Connection, numbers: Iterable[int]) -> None:
        """Bring the documents of these sessions into the index."""
        for number in numbers:
            waiting = db.execute(f"SELECT row, text FROM unindexed {_OF_SESSION}", _rows(number))
            words = [(row, text, hidden_parts(text)) for row, text in waiting]
            db.executemany("INSERT INTO words(rowid, text, parts) VALUES (?,?,?)", words)
            db.execute(f"DELETE FROM unindexed {_OF_SESSION}", _rows(number))

    def _numbers(self, db: sqlite3.Connection, session: str) -> list[int]:
        return [row[0] for row in db.execute("SELECT number FROM sessions WHERE id = ?", (session,))]

    def _forget(self, db: sqlite3.Connection, number: int, loss: Loss) -> None:
        """Take a record's blobs and words away from it."""
        gone = 0
        for digest in loss.digests:
            named = "DELETE FROM refs WHERE digest = ? AND session = ? AND seq = ?"
            gone += db.execute(named, (digest, number, loss.seq)).rowcount
        waited = db.execute("DELETE FROM unindexed WHERE row = ?", (_row(number, loss.seq),)).rowcount
        if loss.text is not None and gone and not waited:  # a fork or its parent may have erased it before
            words = (_row(number, loss.seq), loss.text, hidden_parts(loss.text))
            db.execute("INSERT INTO words(words, rowid, text, parts) VALUES ('delete', ?, ?, ?)", words)

    def _drop_unnamed(self, db: sqlite3.Connection, digests: Iterable[str]) -> Freed:
        """Destroy those of the blobs that no record needs any more, and remember that this was meant."""
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

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed")
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _connect(self) -> "_Connection":
        connection: _Connection = sqlite3.connect(
            self.path, isolation_level=None, timeout=_BUSY_MS / 1_000, check_same_thread=False, factory=_Connection
        )
        _refuse_foreign(self.path, connection)
        _use_log(connection)
        connection.execute(f"PRAGMA synchronous = {self._durability.upper()}")
        self._connections.add(connection)
        return connection

    def _prepare(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise StoreError(f"{self.path}: written by a newer pageturn (format {version}, this one reads {FORMAT})")
        if version == FORMAT:
            return
        with self._writing() as writing:
            version = writing.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
            for statement in filter(str.strip, "".join(_FORMATS[version:]).split(";\n")):
                writing.execute(statement)
            writing.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            writing.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed as a whole, or undone."""
        db = self._connection
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"{self.path}: {error}") from error
            raise


def _row(number: int, seq: int) -> int:
    """Where the words of a record are in the index: those of one session lie together, in order."""
    return number << 40 | seq


def _rows(number: int) -> tuple[int, int]:
    """The first and the last row that the words of a session may have."""
    return _row(number, 0), _row(number, LAST)


def _refuse_foreign(path: str, connection: sqlite3.Connection) -> None:
    """Leave a file alone that is not ours: reading is all that was done to it."""
    # The tables first: they come together with our id, so whoever sees them sees the id as well.
    has_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
    if has_tables and connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        connection.close()
        raise StoreError(f"{path}: a SQLite file of another program")


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. Where another is at it, SQLite says that it is busy instead of waiting: we wait."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")  # waits for the other, and gives up after the timeout
            connection.execute("ROLLBACK")


def _phrase(term: str) -> str:
    """A term as FTS5 reads it: quoted, so that nothing in it is an operator."""
    return '"' + term.replace('"', '""') + '"'


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """SQLite's errors as ours, with the file that they concern."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
