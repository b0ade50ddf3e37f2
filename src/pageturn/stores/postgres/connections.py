"""The connections to one database: round trips, transactions, time limits, and PostgreSQL's errors as ours.

Nothing is set for a whole connection, and no statement is prepared, so that pgbouncer may give each transaction another server.
Time limits are part of the transaction that they limit, and travel with it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from pageturn.stores.postgres.address import Address
from pageturn.values.errors import Busy, Damaged, StoreError

T = TypeVar("T")
Row = tuple[Any, ...]
Database = psycopg.Connection[Row]

FAILURES = (psycopg.Error, PoolTimeout, PoolClosed, UnicodeError, OverflowError)
_LIMITS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"
# Held by whoever writes; by erasures and repairs alone, so that no writer needs a blob that they are deleting.
_WRITERS = 0x50414745_00000001
_SHARED = f"{_LIMITS}, pg_advisory_xact_lock_shared({_WRITERS})"
_ALONE = f"{_LIMITS}, pg_advisory_xact_lock({_WRITERS})"
_IDLE_SECONDS = 60.0  # after which a connection is given back to the server
_BETWEEN_TRIES = 0.02  # seconds
_AT_LEAST = 0.001  # seconds: with less, the pool gives no connection even if one is free
_CONNECTING = 1.0  # seconds that a new connection may take in any case; that is not waiting for another writer

_WORDS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.QueryCanceled, "a statement took longer than {statement:g} s (statement_seconds)"),
    (errors.ReadOnlySqlTransaction, "the server takes no writes (is it a standby?)"),
    (errors.InsufficientPrivilege, "the user of the URL lacks a right: {told}"),
    (errors.DiskFull, "the server's disk is full"),
)


class Statement(NamedTuple):
    """A statement with its values."""

    sql: str
    values: Sequence[Any] | Mapping[str, Any] = ()


class Interrupted(StoreError):
    """The connection was lost, or the server ended the transaction: it may have been done or not, and may be tried again."""


class Connections:
    """A pool of connections, used by all threads of a store."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._local = threading.local()
        self._pool: ConnectionPool[Database] = ConnectionPool(
            make_conninfo("", **address.parameters),
            kwargs={"autocommit": True, "prepare_threshold": None},
            min_size=0,
            max_size=address.connections,
            max_idle=_IDLE_SECONDS,
            num_workers=1,
            open=False,
            name=address.name,
        )

    def open(self, prepare: Callable[[Database], None]) -> None:
        """Connect once, which says at once what is wrong with the address, and prepare the database."""
        try:
            with psycopg.connect(**self.address.parameters, autocommit=True, prepare_threshold=None) as db:
                prepare(db)
        except FAILURES as error:
            raise self.failure(error) from None
        self._pool.open()

    def close(self) -> None:
        """Close all connections; one that a thread is using is closed when it is done."""
        self._pool.close()

    @property
    def wait_seconds(self) -> float:
        """How long this thread may wait now."""
        until: float | None = getattr(self._local, "until", None)
        most = 0.0 if getattr(self._local, "is_at_once", False) else self.address.wait_seconds
        return most if until is None else min(most, max(0.0, until - monotonic()))

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it, this thread never waits."""
        before = getattr(self._local, "is_at_once", False)
        self._local.is_at_once = True
        try:
            yield
        finally:
            self._local.is_at_once = before

    # -- round trips

    def look_up(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """The few rows of a statement that reads by a key, in one round trip; tried again if the connection is lost."""

        def work(_: bool) -> list[Row]:
            with self._connection() as db:
                return db.execute(sql, values).fetchall()

        return self.persevere(work)

    def read(self, *statements: Statement) -> list[list[Row]]:
        """The rows of each statement, which may take long: with time limits, otherwise as `look_up`."""
        return self.persevere(lambda _: self._round_trip(_LIMITS, statements))

    def write(self, *statements: Statement) -> list[list[Row]]:
        """Run statements in one transaction and one round trip; raises `Interrupted` if it is not known whether it was done."""
        return self._round_trip(_SHARED, statements)

    @contextmanager
    def transaction(self, *, alone: bool = False, limited: bool = True) -> Iterator[Database]:
        """A transaction of several round trips; `alone` waits until no other writer writes, and keeps them out."""
        with self._connection() as db, db.transaction():
            db.execute(_ALONE if alone else _SHARED, self._limits(limited=limited))
            yield db

    @contextmanager
    def connection(self) -> Iterator[Database]:
        """A connection without a transaction, for what cannot run in one."""
        with self._connection() as db:
            yield db

    def persevere(self, work: Callable[[bool], T]) -> T:
        """Do something again that was interrupted, until the wait is over; `work` is told whether an earlier try may have been done."""
        if getattr(self._local, "until", None) is not None:
            return work(False)
        self._local.until = monotonic() + self.address.wait_seconds
        is_again = False
        try:
            while True:
                try:
                    return work(is_again)
                except Interrupted:
                    if is_again and not self.wait_seconds:
                        raise
                is_again = True
                sleep(min(_BETWEEN_TRIES, self.wait_seconds))
                self._pool.check()  # the others may be lost too
        except FAILURES as error:
            raise self.failure(error) from None
        finally:
            self._local.until = None

    # -- inside

    def _round_trip(self, limits: str, statements: Sequence[Statement]) -> list[list[Row]]:
        with self._connection() as db:
            # What is sent between two synchronisations is one transaction, even without BEGIN and COMMIT.
            with db.pipeline():
                db.execute(limits, self._limits())
                asked = [db.execute(*statement) for statement in statements]
            return [cursor.fetchall() if cursor.description else [] for cursor in asked]

    def _limits(self, *, limited: bool = True) -> tuple[str, str]:
        """The time limits in milliseconds; to PostgreSQL, 0 is none at all."""
        statement = round(self.address.statement_seconds * 1_000) if limited else 0
        return str(max(1, round(self.wait_seconds * 1_000))), str(statement)

    @contextmanager
    def _connection(self) -> Iterator[Database]:
        try:
            with self._pool.connection(self._patience) as db:
                yield db
        except FAILURES as error:
            raise self.failure(error) from None

    @property
    def _patience(self) -> float:
        """How long to wait for a connection."""
        waited = self.wait_seconds
        is_full = waited < _CONNECTING and self._pool.get_stats().get("pool_size", 0) >= self.address.connections
        return max(waited, _AT_LEAST if is_full else _CONNECTING)

    def failure(self, error: Exception) -> StoreError:
        """An error of PostgreSQL as one of ours, without values and without the password."""
        where, waited = self.address.name, self.address.wait_seconds
        told = self.address.hidden(_primary(error))
        if isinstance(error, PoolClosed):
            return StoreError(f"{where}: the store is closed")
        if isinstance(error, PoolTimeout):
            return self._without_connection()
        if isinstance(error, errors.LockNotAvailable):
            return Busy(
                f"{where}: waited {waited:g} s (wait_seconds) for another writer to finish (docs/errors.md, Busy)"
            )
        if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
            return Damaged(f"{where}: {told} (docs/errors.md, Damaged)")
        if isinstance(error, errors.DeadlockDetected | errors.SerializationFailure):
            return Interrupted(f"{where}: other writers were in the way: {told}")
        for kind, words in _WORDS:
            if isinstance(error, kind):
                return StoreError(f"{where}: " + words.format(statement=self.address.statement_seconds, told=told))
        if isinstance(error, psycopg.OperationalError):
            return Interrupted(f"{where}: no answer from the server: {told}")
        return StoreError(f"{where}: {told}")

    def _without_connection(self) -> StoreError:
        where, most = self.address.name, self.address.connections
        stats = self._pool.get_stats()
        if stats.get("pool_size", 0) < most:
            waited = max(self.address.wait_seconds, _CONNECTING)
            return StoreError(
                f"{where}: no connection within {waited:g} s: the server is down, starting, or has none left"
            )
        return Busy(f"{where}: no connection was free; at most {most} are used at once (connections)")


def _primary(error: Exception) -> str:
    """What happened, on one line; the details of an error may have values of a row."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((primary or str(error) or type(error).__name__).split())
