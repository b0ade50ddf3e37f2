"""The rows of sessions, and where each session ends."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pageturn.stores import chain
from pageturn.stores.chain import NOTHING, SIZE
from pageturn.stores.ports import SessionRow
from pageturn.stores.postgres.connections import Row, Statement
from pageturn.values.errors import Damaged

_FIELDS = "id, key, created_at, scope, parent, parent_seq"
ROWS = f"SELECT {_FIELDS}, head, parent_digest, origin FROM pageturn.sessions"
NUMBERS = "SELECT id, number FROM pageturn.sessions WHERE id = ANY(%s)"
_CREATE = f"""
INSERT INTO pageturn.sessions ({_FIELDS}, parent_digest, origin, head, digest)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING RETURNING number
"""
_END = """
SELECT s.number, s.parent_seq, s.origin, s.head, s.digest, r.chain FROM pageturn.sessions s
LEFT JOIN pageturn.records r ON r.session = s.number AND r.seq = s.head WHERE s.id = %s
"""
ORIGIN = "SELECT number, parent, parent_seq, origin FROM pageturn.sessions WHERE id = %s"
_CHAIN = "SELECT chain FROM pageturn.records WHERE session = %s AND seq = %s"

LookUp = Callable[[str, Sequence[object]], list[Row]]


class End(NamedTuple):
    """The end of a session: its number in the database, its origin, and the number and the digest of its last record."""

    number: int
    origin: bytes
    head: int
    digest: bytes


def created(row: SessionRow, shared: bytes) -> Statement:
    """Adds a session; it returns nothing if the id is taken."""
    origin = chain.origin_of(row, shared)
    return Statement(_CREATE, (*row[:6], shared, origin, row.parent_seq, origin))


def row_of(found: Row) -> SessionRow:
    """The row of a session, with any damage to it."""
    *told, shared, origin = found
    row = SessionRow(*told)
    return row if chain.origin_of(row, shared) == origin else row._replace(flaw="its row was altered")


def end_of(look_up: LookUp, session: str) -> End | None:
    """The end of a session; raises if its last record is not the one that its row tells of."""
    found = look_up(_END, (session,))
    if not found:
        return None
    number, first, origin, head, digest, carried = found[0]
    last = origin if head == first else (carried or b"")[SIZE:]
    if last != digest:
        raise Damaged(
            f"session {session!r}: its last entries, up to {head}, are damaged or missing, so nothing can follow them;"
            " see `pageturn doctor --repair`"
        )
    return End(number, origin, head, digest)


def digest_at(look_up: LookUp, number: int, first: int, origin: bytes, seq: int) -> bytes | None:
    """The digest of a session's record of that number; the origin if its own records begin after that number."""
    if seq == first:
        return origin
    found = look_up(_CHAIN, (number, seq))
    return found[0][0][SIZE:] if found else None


def parent_digest(look_up: LookUp, parent: str | None, seq: int) -> bytes:
    """The digest of the last record that a fork shares with its parent; the record may be an ancestor's."""
    seen: set[str] = set()
    while parent is not None and parent not in seen:
        seen.add(parent)
        found = look_up(ORIGIN, (parent,))
        if not found:
            break
        number, parent, first, origin = found[0]
        if seq >= first:
            return digest_at(look_up, number, first, origin, seq) or NOTHING
    return NOTHING
