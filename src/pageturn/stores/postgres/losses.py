"""Erasures: what a record loses by one, and the chained list of all losses, by which every gateway learns of them."""

from collections.abc import Iterable, Iterator, Sequence

from pageturn.stores.chain import NOTHING, loss_digest
from pageturn.stores.ports import ERASURES_UNKNOWN, Freed, Loss
from pageturn.stores.postgres.connections import Database, Row, Statement
from pageturn.values.errors import StoreError

LAST = "SELECT number FROM pageturn.losses_end"
# With the losses after a number, that one itself and the end of the list, all of one moment.
_AFTER = """
SELECT number, session, seq, digest FROM pageturn.losses WHERE number >= %s
UNION ALL SELECT number, NULL, NULL, digest FROM pageturn.losses_end ORDER BY number, session NULLS LAST
"""
_NEXT = "SELECT number, digest FROM pageturn.losses_end FOR UPDATE"
_ADD = "INSERT INTO pageturn.losses VALUES (%s, %s, %s, %s)"
_SET_END = "UPDATE pageturn.losses_end SET number = %s, digest = %s"
_UNNAME = "DELETE FROM pageturn.refs WHERE session = %s AND seq = %s AND digest = ANY(%s)"
_FORGET = ("passages", "vectors")
_DROP = """
WITH dropped AS (
    DELETE FROM pageturn.blobs b WHERE digest = ANY(%(digests)s)
    AND NOT EXISTS (SELECT FROM pageturn.refs r WHERE r.digest = b.digest) RETURNING digest, octet_length(data) AS bytes
), kept AS (
    INSERT INTO pageturn.erased SELECT digest, bytes, %(session)s, %(seq)s FROM dropped ON CONFLICT DO NOTHING
)
SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM dropped
"""
_FREED = "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM pageturn.erased WHERE session = %s AND seq = %s"
# A blob that was written again is not erased, whatever the list says.
IS_ERASED = """
SELECT FROM pageturn.erased e WHERE digest = %s AND NOT EXISTS (SELECT FROM pageturn.blobs b WHERE b.digest = e.digest)
"""


def after(number: int) -> Statement:
    """Reads the losses after a number, for `verified`."""
    return Statement(_AFTER, (number,))


def verified(rows: Sequence[Row], after: int) -> Iterator[tuple[int, int]]:
    """The records, as (session, number), that lost words after that loss; raises `StoreError` if that cannot be determined."""
    *found, (last, _, _, end) = rows
    before = NOTHING if not after else next((digest for number, *_, digest in found if number == after), None)
    for number, session, seq, carried in found:
        if number <= after:
            continue
        if number != after + 1 or before is None or loss_digest(before, number, session, seq) != carried:
            raise StoreError(f"{ERASURES_UNKNOWN}: loss {after + 1} is damaged")
        yield session, seq
        after, before = number, carried
    if (after, before) != (last, end):
        raise StoreError(f"{ERASURES_UNKNOWN}: loss {after + 1} is missing")


def add(db: Database, records: Iterable[tuple[int, int]]) -> None:
    """Add losses to the list, within a transaction."""
    number, before = db.execute(_NEXT).fetchall()[0]
    for session, seq in records:
        number, before = number + 1, loss_digest(before, number + 1, session, seq)
        db.execute(_ADD, (number, session, seq, before))
    db.execute(_SET_END, (number, before))


def begin_anew(db: Database, records: Iterable[tuple[int, int]]) -> None:
    """Replace the list."""
    db.execute("DELETE FROM pageturn.losses")
    db.execute(_SET_END, (0, NOTHING))
    add(db, records)


def apply(db: Database, number: int, seq: int, losses: Sequence[tuple[int, Loss]]) -> Freed:
    """Remove what these losses name, each with the number of its session, by record `seq` of session `number`.

    It must be alone: otherwise another writer may come to need a blob that is deleted here.
    """
    for session, loss in losses:
        db.execute(_UNNAME, (session, loss.seq, list(loss.digests)))
        for table in _FORGET:
            db.execute(f"DELETE FROM pageturn.{table} WHERE session = %s AND seq = %s", (session, loss.seq))
    add(db, [(session, loss.seq) for session, loss in losses])
    digests = sorted({digest for _, loss in losses for digest in loss.digests})
    values = {"digests": digests, "session": number, "seq": seq}
    return Freed(*db.execute(_DROP, values).fetchall()[0])


def freed(number: int, seq: int) -> Statement:
    """Reads what an earlier erasure by that record freed."""
    return Statement(_FREED, (number, seq))
