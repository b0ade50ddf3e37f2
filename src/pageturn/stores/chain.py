"""The chain of a session: every record carries a digest of its session, its number, its content and the record before it.

So a record that was altered, swapped, removed or taken from elsewhere is noticed when it is read. The chain begins with the
origin of its session, a digest of the session's own row, which for a fork covers the digest of its parent's last shared record.
A record keeps the digest before it beside its own, so that one lost record does not take the next one with it.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from pageturn.stores.contract import LAST, Broken, Record, SessionRow

SIZE = 16  # bytes of a digest
NOTHING = bytes(SIZE)  # stands before whatever has nothing before it


def digest(*parts: bytes) -> bytes:
    """A digest of parts of which at most one has no fixed length."""
    return blake2b(b"".join(parts), digest_size=SIZE).digest()


def origin_of(row: SessionRow, parent_digest: bytes) -> bytes:
    """What the chain of a session begins with: everything in its row that never changes, and where it left its parent."""
    told = [row.id, row.key, row.created_at, row.scope, row.parent, row.parent_seq, parent_digest]
    return digest(msgspec.msgpack.encode(told))


def link(origin: bytes, before: bytes, record: Record) -> bytes:
    """What a record carries: the digest before it, and its own."""
    seq, at, body = record
    return before + blake2b(b"%b%b%d %d " % (origin, before, seq, at) + body, digest_size=SIZE).digest()


def links(origin: bytes, before: bytes, records: Iterable[Record]) -> Iterator[bytes]:
    """What each of these records carries, one behind the other."""
    for record in records:
        linked = link(origin, before, record)
        before = linked[SIZE:]
        yield linked


def snapshot_digest(origin: bytes, at: bytes, body: bytes) -> bytes:
    """The digest of a snapshot: of its body, and of the record that it was made at.

    The body goes in by its CRC-32. A cryptographic digest of it would take a fifth of the time that opening a long session takes,
    and a snapshot that is wrong is made again from the records.
    """
    return digest(origin, at, b"%d %d" % (crc32(body), len(body)))


class Row(NamedTuple):
    """A record as it lies in the store, of whatever types, with what it carries."""

    seq: Any
    at: Any
    body: Any
    chain: Any


class Place(NamedTuple):
    """Where reading begins or ends: the number of a record, and its digest."""

    seq: int
    digest: bytes


class _Doubtful(NamedTuple):
    """A record that does not have the digest that it carries: what the next one carries tells which of the two was altered."""

    record: Record
    carried: bytes
    worked_out: tuple[bytes, ...]


def checked(
    origin: bytes,
    start: Place,
    rows: Iterable[Row],
    upto: int,
    end_of: Callable[[], bytes | None],
    needs: Callable[[int], tuple[str, ...]],
) -> Iterator[Record | Broken]:
    """The records of these rows, each verified; in the place of one that is altered or missing stands what is wrong.

    `end_of`, asked after the rows, gives the digest of the last record that the session has, or None where the rows do not go as far.
    `needs` gives the blobs of a record.
    """
    last, known = start
    is_sure = True  # whether `known` is the digest that the next record was written behind
    doubtful: _Doubtful | None = None
    end: bytes | None = None
    for row in chain(rows, (None,)):
        if row is None:
            end = end_of()
        if doubtful is not None:
            following = (end if row is None else row.chain[:SIZE] if _is_link(row.chain) else None) or b""
            if following in doubtful.worked_out:  # it is whole, and only what it carried was altered
                known, is_sure = following, True
                yield doubtful.record
            else:
                known, is_sure = doubtful.carried, following == doubtful.carried
                yield Broken(doubtful.record.seq, doubtful.record.seq, "was altered", needs(doubtful.record.seq))
            doubtful = None
        if row is None:
            break
        if row.seq > last + 1:
            yield _missing(last + 1, row.seq - 1, needs)
            is_sure = False
        last = row.seq
        if not (type(row.at) is int and type(row.body) is bytes and _is_link(row.chain)):
            yield Broken(last, last, "was altered", needs(last))
            known, is_sure = row.chain[SIZE:] if _is_link(row.chain) else b"", False
            continue
        record = Record(row.seq, row.at, row.body)
        before, carried = row.chain[:SIZE], row.chain[SIZE:]
        if link(origin, before, record) == row.chain:
            if before != known and is_sure:
                yield Broken(last, last, "was not written behind the entry before it", needs(last))
            else:
                yield record
            known, is_sure = carried, True
            continue
        worked_out = tuple(link(origin, each, record)[SIZE:] for each in (before, known) if len(each) == SIZE)
        if carried in worked_out:
            known, is_sure = carried, True
            yield record
        else:
            doubtful = _Doubtful(record, carried, worked_out)
    if end is not None and is_sure and known != end:
        yield Broken(last + 1, upto if last < upto < LAST else last + 1, "and whatever came after it is missing")


def _missing(first: int, last: int, needs: Callable[[int], tuple[str, ...]]) -> Broken:
    return Broken(first, last, "is missing" if first == last else "are missing", needs(first) if first == last else ())


def _is_link(carried: object) -> bool:
    return type(carried) is bytes and len(carried) == 2 * SIZE
