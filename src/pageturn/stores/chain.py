"""Chains the records of a session: each carries a digest of its session, its number, its content and the record before it.

So a record that was altered, swapped, removed or copied from elsewhere is detected when it is read. The chain begins with the origin
of its session, a digest of the session's row; for a fork it includes the digest of the last record shared with its parent. A record
also stores the digest before it, so that one lost record does not make the next one unreadable.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from pageturn.stores.ports import LAST, Broken, Record, SessionRow

SIZE = 16  # bytes of a digest
NOTHING = bytes(SIZE)  # used if there is no digest before


def digest(*parts: bytes) -> bytes:
    """A digest of several parts, of which at most one has a variable length."""
    return blake2b(b"".join(parts), digest_size=SIZE).digest()


def origin_of(row: SessionRow, parent_digest: bytes) -> bytes:
    """The first digest of a session's chain: everything in its row that never changes, and where it left its parent."""
    fields = [row.id, row.key, row.created_at, row.scope, row.parent, row.parent_seq, parent_digest]
    return digest(msgspec.msgpack.encode(fields))


def link(origin: bytes, before: bytes, record: Record) -> bytes:
    """The bytes that a record carries: the digest before it, and its own."""
    seq, at, body = record
    return before + blake2b(b"%b%b%d %d " % (origin, before, seq, at) + body, digest_size=SIZE).digest()


def links(origin: bytes, before: bytes, records: Iterable[Record]) -> list[bytes]:
    """The bytes that each of these consecutive records carries."""
    linked = []
    for record in records:
        linked.append(link(origin, before, record))
        before = linked[-1][SIZE:]
    return linked


def snapshot_digest(origin: bytes, at: bytes, body: bytes) -> bytes:
    """The digest of a snapshot: of its body, and of the record that it was made at.

    The body is included by its CRC-32. A cryptographic digest of it would add a fifth to the time of opening a long session, and a
    wrong snapshot can be made again from the records.
    """
    return digest(origin, at, b"%d %d" % (crc32(body), len(body)))


def loss_digest(before: bytes, number: int, session: int, seq: int) -> bytes:
    """The digest of a loss: which one it is, which record lost words, and the loss before it."""
    return digest(before, f"{number} {session} {seq}".encode())


class Row(NamedTuple):
    """A record as stored, whatever the types of its fields, with its chain digests."""

    seq: Any
    at: Any
    body: Any
    chain: Any


class Place(NamedTuple):
    """Where reading begins or ends: the number of a record, and its digest."""

    seq: int
    digest: bytes


class _Doubtful(NamedTuple):
    """A record whose digest does not match: the digest that the next record carries decides which of the two was altered."""

    record: Record
    carried: bytes
    worked_out: tuple[bytes, ...]


class Checker:
    """Verifies the records of one session from some place on."""

    def __init__(self, origin: bytes, start: Place, blobs_of: Callable[[int], tuple[str, ...]]) -> None:
        self._origin = origin
        self._last, self._known = start
        self._is_sure = True  # whether `_known` is the digest that the next record must carry
        self._blobs_of = blobs_of
        self._doubtful: _Doubtful | None = None

    def checked(self, rows: Iterable[Row], upto: int, end_of: Callable[[], bytes | None]) -> Iterator[Record | Broken]:
        """The records of these rows, with a `Broken` in place of one that was altered or is missing.

        After the rows, `end_of` gives the digest of the session's last record; None if the rows end earlier.
        """
        for row in rows:
            yield from self._settled(row.chain[:SIZE] if _is_link(row.chain) else b"")
            if row.seq > self._last + 1:
                yield self._broken(
                    self._last + 1, row.seq - 1, "is missing" if row.seq == self._last + 2 else "are missing"
                )
                self._is_sure = False
            self._last = row.seq
            yield from self._checked(row)
        end = end_of()
        yield from self._settled(end or b"")
        first = self._last + 1
        # What lies beyond `upto` was not asked for.
        if end is not None and self._is_sure and self._known != end and first <= upto:
            yield Broken(first, upto if upto < LAST else first, "and whatever came after it is missing")

    def _checked(self, row: Row) -> Iterator[Record | Broken]:
        if not (type(row.at) is int and type(row.body) is bytes and _is_link(row.chain)):
            self._known, self._is_sure = row.chain[SIZE:] if _is_link(row.chain) else b"", False
            yield self._broken(row.seq, row.seq, "was altered")
            return
        record = Record(row.seq, row.at, row.body)
        before, carried = row.chain[:SIZE], row.chain[SIZE:]
        if link(self._origin, before, record) == row.chain:
            is_behind = before == self._known or not self._is_sure
            self._known, self._is_sure = carried, True
            yield record if is_behind else self._broken(row.seq, row.seq, "does not follow the entry before it")
            return
        worked_out = tuple(
            link(self._origin, each, record)[SIZE:] for each in (before, self._known) if len(each) == SIZE
        )
        if carried in worked_out:
            self._known, self._is_sure = carried, True
            yield record
        else:
            self._doubtful = _Doubtful(record, carried, worked_out)

    def _settled(self, following: bytes) -> Iterator[Record | Broken]:
        """The verdict on a record in doubt, by the digest that the next one carries."""
        if (doubtful := self._doubtful) is None:
            return
        self._doubtful = None
        if following in doubtful.worked_out:  # the record is intact, and only its digest was altered
            self._known, self._is_sure = following, True
            yield doubtful.record
        else:
            self._known, self._is_sure = doubtful.carried, following == doubtful.carried
            yield self._broken(doubtful.record.seq, doubtful.record.seq, "was altered")

    def _broken(self, first: int, last: int, flaw: str) -> Broken:
        return Broken(first, last, flaw, self._blobs_of(first) if first == last else ())


def altered_digests(origin: bytes, rows: Iterable[Row], end: bytes) -> Iterator[str]:
    """The digests that were altered beside records that are whole, as sentences; `end` is the digest after the last row."""
    before: bytes = origin  # what the record before this one carries
    worked_out: tuple[bytes, ...] = ()  # and what it may have carried, if that does not match
    for seq, at, body, carried in chain(rows, [Row(0, 0, b"", end)]):
        if carried[:SIZE] in worked_out:
            yield f"the digest of the entry before {seq or 'the end'} was altered, the entry is whole"
        record, worked_out = Record(seq, at, body), ()
        if seq and link(origin, carried[:SIZE], record) != carried:
            worked_out = tuple(link(origin, each, record)[SIZE:] for each in (carried[:SIZE], before))
            if carried[SIZE:] in worked_out:
                yield f"the digest before entry {seq} was altered, the entry is whole"
        before = carried[SIZE:]


def _is_link(carried: object) -> bool:
    return type(carried) is bytes and len(carried) == 2 * SIZE
