"""Checks the tables, copies them, repairs what can be repaired, and frees what nothing needs any more.

It knows rows and digests. What an entry means, and what should replace a lost one, is decided by `pageturn.journal.repair`.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from time import monotonic, sleep

from pageturn.stores import chain
from pageturn.stores.chain import NOTHING, SIZE, altered_digests, snapshot_digest
from pageturn.stores.ports import Freed, Record, Repairs, SessionRow
from pageturn.stores.postgres import losses, search, sidecars
from pageturn.stores.postgres.connections import Database, Row
from pageturn.stores.postgres.records import SNAPSHOT, verified_snapshot
from pageturn.stores.postgres.schema import TABLES
from pageturn.stores.postgres.sessions import ROWS, LookUp, parent_digest, row_of
from pageturn.values.errors import StoreError

_UNNAMED = "FROM pageturn.blobs b WHERE NOT EXISTS (SELECT FROM pageturn.refs r WHERE r.digest = b.digest)"
_ERASABLE = (
    "records",
    "blobs",
    "refs",
    "passages",
    "vectors",
    "snapshots",
    "sidecars",
)  # what erasures and repairs delete from
_RUNNING = """
SELECT pid, xact_start FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend' AND backend_xmin IS NOT NULL
"""
_BETWEEN_LOOKS = 0.01  # seconds
_RECORDS = "SELECT seq, at, body, chain FROM pageturn.records WHERE session = %s AND seq > %s ORDER BY seq"
_SNAPSHOT = SNAPSHOT.replace("s.id", "s.number")
_REPLACE = """
INSERT INTO pageturn.records VALUES (%s, %s, %s, %s, '')
ON CONFLICT (session, seq) DO UPDATE SET at = excluded.at, body = excluded.body
"""
_PUT_BLOB = "INSERT INTO pageturn.blobs VALUES (%s, %b) ON CONFLICT (digest) DO UPDATE SET data = excluded.data"
_PUT_REFERENCE = "INSERT INTO pageturn.refs VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_AT_ONCE = 500  # documents indexed in one round trip


def vacuum(db: Database, *, dry_run: bool) -> Freed:
    """Delete blobs that no record needs, or count them; within a transaction that is alone."""
    counted = f"SELECT count(*), coalesce(sum(octet_length(data)), 0)::bigint {_UNNAMED}"
    freed = Freed(*db.execute(counted).fetchall()[0])
    if not dry_run:
        db.execute(f"DELETE {_UNNAMED}")
    return freed


def scrub(db: Database, wait_seconds: float) -> int:
    """Let PostgreSQL remove what was deleted, once nobody can read it any more; returns how many still can when the wait is over."""
    until = monotonic() + wait_seconds
    readers = {*db.execute(_RUNNING).fetchall()}
    while readers and monotonic() < until:
        sleep(_BETWEEN_LOOKS)
        readers &= {*db.execute(_RUNNING).fetchall()}
    db.execute(f"VACUUM {', '.join(f'pageturn.{table}' for table in _ERASABLE)}")
    return len(readers)


def back_up(db: Database) -> str:
    """Copy all tables into a schema of their own; returns its name."""
    for number in count(1):
        name = f"pageturn_before_repair_{number}"
        if db.execute("SELECT to_regnamespace(%s)", (name,)).fetchone() == (None,):
            db.execute(f"CREATE SCHEMA {name}")
            for table in TABLES:
                db.execute(f"CREATE TABLE {name}.{table} AS TABLE pageturn.{table}")
            return name
    raise AssertionError("numbers do not end")


# -- checking


def check(db: Database) -> list[str]:
    """What is wrong with the tables, apart from records."""
    sessions = db.execute(f"{ROWS.replace('SELECT ', 'SELECT number, digest, ', 1)} ORDER BY number").fetchall()
    found = [what for each in sessions for what in _check_session(db, each)]
    return [*found, *_check_losses(db), *sidecars.check(db)]


def _check_session(db: Database, found: Row) -> Iterator[str]:
    number, end, *told = found
    row, origin = row_of(tuple(told)), told[-1]
    session = f"session {row.id!r}"
    if row.flaw:
        yield f"{session}: {row.flaw}"
        return
    if row.parent is not None and parent_digest(_look_up(db), row.parent, row.parent_seq) != told[-2]:
        yield f"{session}: entry {row.parent_seq} of its parent {row.parent!r} is not the one that it was forked at"
    rows = (chain.Row(*each) for each in db.execute(_RECORDS, (number, row.parent_seq)).fetchall())
    yield from (f"{session}: {what}" for what in altered_digests(origin, rows, end))
    if _is_damaged(db, number):
        yield f"{session}: its snapshot is damaged"


def _is_damaged(db: Database, number: int) -> bool:
    found = db.execute(_SNAPSHOT, (number,)).fetchall()
    return any(verified_snapshot(row) is None for row in found)


def _at(snapshot: Row) -> bytes:
    """The digest of the record that a snapshot was made at."""
    seq, _, _, origin, first, carried = snapshot
    return bytes(origin) if seq == first else (carried or b"")[SIZE:]


def _check_losses(db: Database) -> Iterator[str]:
    try:
        [*losses.verified(db.execute(*losses.after(0)).fetchall(), 0)]
    except StoreError as error:
        yield str(error)


def _look_up(db: Database) -> LookUp:
    return lambda sql, values: db.execute(sql, values).fetchall()


# -- repairing


def repair(db: Database, found: Repairs) -> None:
    """Apply repairs, within a transaction that is alone."""
    numbers: dict[str, int] = dict(db.execute("SELECT id, number FROM pageturn.sessions").fetchall())
    whole = [number for number in numbers.values() if not _is_damaged(db, number)]
    for session, seq in found.misplaced:
        db.execute("DELETE FROM pageturn.records WHERE session = %s AND seq = %s", (numbers[session], seq))
    for session, records in found.records.items():
        for record in records:
            db.execute(_REPLACE, (numbers[session], *record))
    for session in sorted(found.records, key=numbers.__getitem__):  # parents come before their forks
        _rechain(db, numbers[session])
    _keep_snapshots(db, whole)
    for name, data in found.blobs.items():
        db.execute(_PUT_BLOB, (name, data))
    for session, seq, digest in found.references:
        db.execute(_PUT_REFERENCE, (digest, numbers[session], seq))
    sidecars.repair(db)
    if found.losses is not None:
        losses.begin_anew(db, [(numbers[session], seq) for session, seq in found.losses])
    if found.documents is not None:
        _index_again(db, numbers, found)


def _rechain(db: Database, number: int) -> None:
    """Rebuild the chain of a session from its present records."""
    told = db.execute(
        "SELECT id, key, created_at, scope, parent, parent_seq FROM pageturn.sessions WHERE number = %s", (number,)
    ).fetchall()[0]
    row = SessionRow(*told)
    shared = parent_digest(_look_up(db), row.parent, row.parent_seq)
    origin = last = chain.origin_of(row, shared)
    head = row.parent_seq
    for seq, at, body, _ in db.execute(_RECORDS, (number, head)).fetchall():
        carried = chain.link(origin, last, Record(seq, at, body))
        db.execute("UPDATE pageturn.records SET chain = %s WHERE session = %s AND seq = %s", (carried, number, seq))
        head, last = seq, carried[SIZE:]
    db.execute(
        "UPDATE pageturn.sessions SET parent_digest = %s, origin = %s, head = %s, digest = %s WHERE number = %s",
        (shared or NOTHING, origin, head, last, number),
    )


def _keep_snapshots(db: Database, whole: list[int]) -> None:
    """Keep the snapshots that were intact, whatever happened to their records: they may be the only copy of what those said."""
    db.execute("DELETE FROM pageturn.snapshots WHERE NOT session = ANY(%s)", (whole,))
    for number in whole:
        for snapshot in db.execute(_SNAPSHOT, (number,)).fetchall():
            digest = snapshot_digest(snapshot[3], _at(snapshot), snapshot[1])
            db.execute("UPDATE pageturn.snapshots SET digest = %s WHERE session = %s", (digest, number))


def _index_again(db: Database, numbers: Mapping[str, int], found: Repairs) -> None:
    db.execute("DELETE FROM pageturn.passages")
    documents = found.documents or ()
    for session in dict.fromkeys(session for session, _ in documents):
        own = [document for name, document in documents if name == session]
        for first in range(0, len(own), _AT_ONCE):
            db.execute(*search.added(numbers[session], own[first : first + _AT_ONCE]))
