"""Keeps sidecars in PostgreSQL: one change at a time for the whole database, so that their numbers come in the order of the changes."""

from collections.abc import Iterator, Mapping, Sequence

from pageturn.stores.ports import SIDECAR, Change, Sidecar, Slot
from pageturn.stores.postgres.connections import Connections, Database, Interrupted, Row, Statement
from pageturn.stores.seals import NOTHING, document_of, is_sound, sealed, summed
from pageturn.values.errors import Damaged

NAMES = "SELECT DISTINCT name FROM pageturn.sidecars ORDER BY name"
VERSION = "SELECT version FROM pageturn.sidecars_end"
_FIELDS = "name, key, version, body, digest"
# Rows and their sum in one statement, so that no write comes between.
_CHANGED = f"""
SELECT {_FIELDS} FROM pageturn.sidecars WHERE name = %s AND version > %s
UNION ALL SELECT name, NULL, NULL, NULL, total FROM pageturn.sidecar_digests WHERE name = %s ORDER BY 3, 2
"""
DOCUMENT = f"SELECT {_FIELDS} FROM pageturn.sidecars WHERE name = %s AND key = %s"
_DOCUMENTS = f"""
SELECT {_FIELDS} FROM pageturn.sidecars WHERE (name, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""
_LOCK = "SELECT version, pg_current_xact_id()::text FROM pageturn.sidecars_end FOR UPDATE"
_SET_VERSION = "UPDATE pageturn.sidecars_end SET version = %s"
_DELETE = "DELETE FROM pageturn.sidecars WHERE (name, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
_PUT = """
INSERT INTO pageturn.sidecars VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (name, key) DO UPDATE SET version = excluded.version, body = excluded.body, digest = excluded.digest
"""
_TOTAL = "SELECT total FROM pageturn.sidecar_digests WHERE name = %s"
_SET_TOTAL = """
INSERT INTO pageturn.sidecar_digests VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET total = excluded.total
"""
_ALL = f"SELECT {_FIELDS} FROM pageturn.sidecars"
_OUTCOME = "SELECT pg_xact_status(%s::xid8)"


def changed(name: str, after: int) -> Statement:
    """Reads the documents that changed after that change, for `sidecar_of`."""
    return Statement(_CHANGED, (name, after, name))


def sidecar_of(found: Sequence[Row], name: str, after: int) -> Sidecar:
    """The documents of those rows, in the order of their changes."""
    rows = [row for row in found if row[1] is not None]
    total = next((row[4] for row in found if row[1] is None), NOTHING)
    documents = {row[1]: document_of(row) for row in rows}
    if not after and summed(row[4] for row in rows) != total:
        raise Damaged(f"{SIDECAR}{name!r}: documents are missing, or were added by another program")
    return Sidecar(max((each.version for each in documents.values()), default=after), documents)


class Amendment:
    """One change of documents, which can be tried again: it looks first whether the try before was committed."""

    def __init__(self, db: Connections, slots: Sequence[Slot], change: Change) -> None:
        self._db, self._slots, self._change = db, slots, change
        self._tried: tuple[str, int] | None = None  # the transaction, and the number that it gave

    def __call__(self, _: bool) -> int:
        """The number of the change."""
        if self._tried is not None and self._is_done(self._tried[0]):
            return self._tried[1]
        self._tried = None
        with self._db.transaction() as db:
            version, transaction = db.execute(_LOCK).fetchall()[0]
            rows = {Slot(row[0], row[1]): row for row in db.execute(_DOCUMENTS, _columns(self._slots))}
            found = {slot: document_of(rows[slot]).body if slot in rows else None for slot in self._slots}
            kept = self._change(found)
            if not kept:
                return int(version)
            self._tried = transaction, version + 1
            before = {Slot(row[0], row[1]): row for row in db.execute(_DOCUMENTS, _columns([*kept]))}
            with db.pipeline():
                _write(db, version + 1, kept, before)
        return int(version + 1)

    def _is_done(self, transaction: str) -> bool:
        ((outcome,),) = self._db.look_up(_OUTCOME, (transaction,))
        if outcome == "in progress":  # the server has not noticed yet that the connection is gone
            raise Interrupted(f"{self._db.address.name}: a change of a sidecar has not ended yet")
        return bool(outcome == "committed")


def _write(db: Database, version: int, kept: Mapping[Slot, bytes | None], before: Mapping[Slot, Row]) -> None:
    rows = [sealed(*slot, version, body) for slot, body in kept.items() if body is not None]
    totals = {name: db.execute(_TOTAL, (name,)).fetchall() for name in {slot.sidecar for slot in kept}}
    for name, found in totals.items():
        gone = [row[4] for slot, row in before.items() if slot in kept and slot.sidecar == name]
        come = [row[4] for row in rows if row[0] == name]
        db.execute(_SET_TOTAL, (name, summed([*(row[0] for row in found), *come], less=gone)))
    if dropped := [slot for slot, body in kept.items() if body is None]:
        db.execute(_DELETE, _columns(dropped))
    for row in rows:
        db.execute(_PUT, row)
    db.execute(_SET_VERSION, (version,))


def _columns(slots: Sequence[Slot]) -> tuple[list[str], list[str]]:
    return [slot.sidecar for slot in slots], [slot.key for slot in slots]


def check(db: Database) -> Iterator[str]:
    """What differs from what was written."""
    rows = db.execute(_ALL).fetchall()
    yield from (f"{SIDECAR}{row[0]!r}: document {row[1]!r} was altered" for row in rows if not is_sound(row))
    totals: dict[str, bytes] = dict(db.execute("SELECT name, total FROM pageturn.sidecar_digests").fetchall())
    for name in sorted({row[0] for row in rows} | totals.keys()):
        if summed(row[4] for row in rows if row[0] == name) != totals.get(name, NOTHING):
            yield f"{SIDECAR}{name!r}: documents are missing, or were added by another program"


def repair(db: Database) -> None:
    """Delete altered documents, and accept the rest, within a transaction."""
    if not [*check(db)]:
        return
    rows = db.execute(_ALL).fetchall()
    db.execute(_DELETE, _columns([Slot(row[0], row[1]) for row in rows if not is_sound(row)]))
    db.execute("DELETE FROM pageturn.sidecar_digests")
    sound = [row for row in rows if is_sound(row)]
    for name in {row[0] for row in sound}:
        db.execute(_SET_TOTAL, (name, summed(row[4] for row in sound if row[0] == name)))
    # Readers that follow the changes read everything again.
    db.execute("UPDATE pageturn.sidecars_end SET version = version + 1")
