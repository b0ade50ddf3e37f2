"""Connects to one SQLite file: a connection for each thread, transactions, waiting for other writers, and errors as ours."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet

from pageturn.stores import files, tables
from pageturn.values.checks import require_finite
from pageturn.values.errors import Busy, Damaged, StoreError

WAIT_SECONDS = 5.0
_LONGEST_WAIT_MS = 2**31 - 1
_BETWEEN_TRIES = 0.01  # seconds
_PATIENCE = 2.0  # seconds that closing waits for a statement of another thread
_LOOK_EVERY = 0.2  # seconds between checks that the file still has its name
FAILURES = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)  # what Python's sqlite3 raises over a damaged file


class Connection(sqlite3.Connection):
    """A connection that is closed when it is no longer referenced.

    Whoever uses it holds `busy`: SQLite crashes the process if another thread closes a connection in the middle of a statement.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.busy = threading.RLock()

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it was never opened
            self.close()


class _Transaction:
    """A transaction: everything in it is written, or nothing. A class for speed, since every append uses it."""

    __slots__ = ("_db", "_failure", "_is_inner")

    def __init__(self, db: "Connection", failure: Callable[[Exception], StoreError]) -> None:
        self._db = db
        self._failure = failure
        self._is_inner = False  # inside another one, with which it is written or not

    def __enter__(self) -> sqlite3.Connection:
        self._db.busy.acquire()
        try:
            self._is_inner = self._db.in_transaction
            self._db.execute("SAVEPOINT inner_writing" if self._is_inner else "BEGIN IMMEDIATE")
        except BaseException as error:
            self._db.busy.release()
            if isinstance(error, FAILURES):
                raise self._failure(error) from error
            raise
        return self._db

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                try:
                    self._db.execute("RELEASE inner_writing" if self._is_inner else "COMMIT")
                except BaseException as failed:
                    self._undo(failed)
                    raise
            else:
                self._undo(error)
        finally:
            self._db.busy.release()

    def _undo(self, error: BaseException) -> None:
        if self._db.in_transaction and self._is_inner:
            self._db.execute("ROLLBACK TO inner_writing")
            self._db.execute("RELEASE inner_writing")
        elif self._db.in_transaction:
            self._db.execute("ROLLBACK")
        if isinstance(error, FAILURES):
            raise self._failure(error) from error


class SqliteFile:
    """One file of our tables, upgraded when it is opened; one connection for each thread."""

    def __init__(
        self, path: str | os.PathLike[str], *, durability: str = "full", wait_seconds: float = WAIT_SECONDS
    ) -> None:
        require_finite("wait_seconds", wait_seconds, at_least=0)
        self.path = os.fspath(path)
        self.wait_seconds = wait_seconds
        self._durability = durability
        self._local = threading.local()
        self._connections: WeakSet[Connection] = WeakSet()  # each belongs to its thread, and is closed with it
        self._closed = False
        self._looked = 0.0  # the time of the last check that the file still exists
        self._file: tuple[int, int] | None = None  # the identity of the file, independent of its name
        with self._translated():
            self._prepare(self._connection)

    def close(self) -> None:
        self._closed = True
        for connection in list(self._connections):
            if connection.busy.acquire(timeout=_PATIENCE):  # else it is closed once its thread has released it
                try:
                    connection.close()
                finally:
                    connection.busy.release()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        db = self._connection
        before = db.execute("PRAGMA busy_timeout").fetchone()[0]
        db.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # the store was closed meanwhile
                db.execute(f"PRAGMA busy_timeout = {before}")

    @property
    def _connection(self) -> "Connection":
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed")
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _connect(self) -> "Connection":
        try:
            connection = self._connected(self._url())
        except sqlite3.OperationalError:
            url = files.url_of_a_closed_file(self.path)
            if url is None:
                raise
            connection = self._connected(url)
        self._file = self._file or files.identity(self.path)
        self._connections.add(connection)
        return connection

    def _url(self) -> str:
        """What SQLite opens."""
        files.make_private(self.path)
        return self.path

    def _connected(self, path: str) -> "Connection":
        connection: Connection = sqlite3.connect(
            path,
            isolation_level=None,
            timeout=0,
            check_same_thread=False,
            factory=Connection,
            uri=path.startswith(files.SCHEME),
        )
        connection.execute(f"PRAGMA busy_timeout = {min(int(self.wait_seconds * 1_000), _LONGEST_WAIT_MS)}")
        connection.text_factory = _text
        _refuse_foreign(self.path, connection)
        self._make_ready(connection)
        return connection

    def _make_ready(self, connection: sqlite3.Connection) -> None:
        _use_log(connection, self.wait_seconds)
        connection.execute(f"PRAGMA synchronous = {self._durability.upper()}")

    def _require_file(self) -> None:
        """Raise if the file was removed or replaced, since what is written would be lost. Checked only now and then, because it takes
        time.
        """
        if (now := monotonic()) < self._looked + _LOOK_EVERY:
            return
        self._looked = now
        if self._file is not None and files.identity(self.path) != self._file:
            raise StoreError(
                f"{self.path}: the file was removed or replaced while it was open, so nothing was written; open it again"
            )

    def _prepare(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > tables.FORMAT:
            raise StoreError(
                f"{self.path}: written by a newer pageturn (format {version}, this one reads up to {tables.FORMAT}): update pageturn"
            )
        if version == tables.FORMAT:
            return
        try:
            with self._writing() as writing:
                version = writing.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
                if version < tables.FORMAT:
                    tables.bring_up_to_date(writing, version)
        except StoreError as error:
            cause = error.__cause__
            if version and getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
                first = f"has to be brought to {tables.FORMAT} first, and it takes no writes"
                raise StoreError(f"{self.path}: a file of format {version}, which {first}") from error
            raise

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that is committed as a whole, or rolled back."""
        db = self._connection
        self._require_file()
        return _Transaction(db, self._failure)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._writing():
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Everything that is read within it is from one moment."""
        db = self._connection
        with db.busy:
            db.execute("BEGIN")
            try:
                yield
            finally:
                db.execute("ROLLBACK")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Convert SQLite's errors to ours, with the file that they concern."""
        try:
            with self._connection.busy:
                yield
        except FAILURES as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the module's own errors have none
        if code == sqlite3.SQLITE_BUSY:
            waited = f"waited {self.wait_seconds:g} s (wait_seconds) for another process or thread to finish writing"
            return Busy(f"{self.path}: {waited} (docs/errors.md, Busy)")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return Damaged(f"{self.path}: {error} (docs/errors.md, Damaged)")
        return StoreError(f"{self.path}: {error}")


def _text(data: bytes) -> str:
    """A text of the file. Damaged bytes become replacement characters, and not an error that hides all others."""
    return str(data, "utf-8", "replace")


def _refuse_foreign(path: str, connection: sqlite3.Connection) -> None:
    """Raise for a file that is not ours; nothing is written to it."""
    # The tables first: they are created together with our id, so a reader that sees them sees the id too.
    has_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
    if has_tables and connection.execute("PRAGMA application_id").fetchone()[0] != tables.APPLICATION_ID:
        connection.close()
        raise StoreError(f"{path}: expected a store of pageturn, got a SQLite file of another program")


def _use_log(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Switch to the write-ahead log. If another process is switching, SQLite reports busy instead of waiting, so this waits."""
    until = monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= until:
                raise
        connection.execute("BEGIN IMMEDIATE")  # waits for the other process, until the timeout
        connection.execute("ROLLBACK")
        sleep(_BETWEEN_TRIES)  # it may have been a reader, for which the line above does not wait
