"""Records, blobs and snapshots: what an append writes in one statement, and what is read of them."""

from collections.abc import Sequence
from typing import Any

from pageturn.stores import chain
from pageturn.stores.chain import SIZE
from pageturn.stores.ports import LAST, Batch, Record
from pageturn.stores.postgres import words
from pageturn.stores.postgres.connections import Row, Statement
from pageturn.stores.postgres.sessions import End

_AT_ONCE = 2_000  # records read in one round trip

# Nothing is written unless the session still ends where the writer saw it end. Another writer of the session waits at this row.
_MOVED = """WITH moved AS (
    UPDATE pageturn.sessions SET head = %(last)s, digest = %(digest)s
    WHERE number = %(number)s AND head = %(after)s AND digest = %(before)s RETURNING number
)"""
_RECORDS = """, records AS (
    INSERT INTO pageturn.records SELECT number, seq, at, body, chain FROM moved,
    unnest(%(seqs)b::bigint[], %(ats)b::bigint[], %(bodies)b::bytea[], %(chains)b::bytea[]) AS given(seq, at, body, chain)
)"""
_BLOBS = """, blobs AS (
    INSERT INTO pageturn.blobs SELECT given.* FROM moved, unnest(%(names)b::text[], %(data)b::bytea[]) AS given
    ON CONFLICT DO NOTHING
), found_again AS (
    DELETE FROM pageturn.erased USING moved WHERE erased.digest = ANY(%(names)b::text[])
)"""
_REFERENCES = """, refs AS (
    INSERT INTO pageturn.refs SELECT digest, number, seq FROM moved,
    unnest(%(needed)b::text[], %(needing)b::bigint[]) AS given(digest, seq) ON CONFLICT DO NOTHING
)"""
_PASSAGES = f""", passages AS (
    INSERT INTO pageturn.passages SELECT number, seq, cut, {words.INDEXED} FROM moved,
    unnest(%(documents)b::bigint[], %(cuts)b::bigint[], %(texts)b::text[], %(parts)b::text[]) AS given(seq, cut, text, parts)
)"""
_SAME = "SELECT at, body, chain FROM pageturn.records WHERE session = %s AND seq = ANY(%s) ORDER BY seq"

# The digest that must come after the rows is from the same moment as the last of them.
_PAGE = """
SELECT s.parent_seq, s.origin, coalesce(substr(n.chain, 1, 16), s.digest), b.chain, r.seq, r.at, r.body, r.chain
FROM pageturn.sessions s
LEFT JOIN pageturn.records b ON b.session = s.number AND b.seq = %(after)s
LEFT JOIN pageturn.records n ON n.session = s.number AND n.seq = %(upto)s::bigint + 1
LEFT JOIN LATERAL (
    SELECT seq, at, body, chain FROM pageturn.records
    WHERE session = %(number)s AND seq > %(after)s AND seq <= %(upto)s ORDER BY seq LIMIT %(most)s
) r ON true
WHERE s.number = %(number)s ORDER BY r.seq
"""
BLOBS_OF = "SELECT digest FROM pageturn.refs WHERE session = %s AND seq = %s"
SNAPSHOT = """
SELECT p.seq, p.body, p.digest, s.origin, s.parent_seq, r.chain FROM pageturn.sessions s
JOIN pageturn.snapshots p ON p.session = s.number
LEFT JOIN pageturn.records r ON r.session = s.number AND r.seq = p.seq WHERE s.id = %s
"""
KEEP_SNAPSHOT = """
INSERT INTO pageturn.snapshots VALUES (%s, %s, %b, %s)
ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, body = excluded.body, digest = excluded.digest
"""


def appended(end: End, batch: Batch, linked: Sequence[bytes]) -> Statement:
    """Appends a batch after the end of a session: all of it, or nothing and no row if the session no longer ends there."""
    records = batch.records
    values: dict[str, Any] = {
        "number": end.number,
        "after": end.head,
        "before": end.digest,
        "last": records[-1].seq if records else end.head,
        "digest": linked[-1][SIZE:] if linked else end.digest,
    }
    parts = [_MOVED]
    if records:
        parts.append(_RECORDS)
        columns = zip(*records, strict=True)
        values |= zip(("seqs", "ats", "bodies"), map(list, columns), strict=True)
        values["chains"] = list(linked)
    if batch.blobs:
        parts.append(_BLOBS)
        names = sorted(batch.blobs)  # in one order, so that two writers never wait for each other
        values |= {"names": names, "data": [batch.blobs[name] for name in names]}
    if batch.references:
        parts.append(_REFERENCES)
        values |= {
            "needed": [digest for _, digest in batch.references],
            "needing": [seq for seq, _ in batch.references],
        }
    if passages := [*words.passages(batch.documents)]:
        parts.append(_PASSAGES)
        columns = zip(*passages, strict=True)
        values |= zip(("documents", "cuts", "texts", "parts"), map(list, columns), strict=True)
    return Statement(f"{''.join(parts)} SELECT number FROM moved", values)


def same(number: int, records: Sequence[Record]) -> Statement:
    """Reads the records of these numbers, to compare them."""
    return Statement(_SAME, (number, [record.seq for record in records]))


def page(number: int, after: int, upto: int) -> Statement:
    """Reads the next records of a session after a number, with all that their verification needs."""
    values = {"number": number, "after": after, "upto": min(upto, LAST), "most": _AT_ONCE}
    return Statement(_PAGE, values)


class Page:
    """The records of one round trip: where they begin, the rows, and the digest that must follow the last one."""

    def __init__(self, found: Sequence[Row], after: int) -> None:
        first, self.origin, self.end, before, *_ = found[0]
        self.rows = [chain.Row(*row[4:]) for row in found if row[4] is not None]
        self.is_last = len(self.rows) < _AT_ONCE
        if after > first and before is not None:
            self.start = chain.Place(after, before[SIZE:])
        else:
            self.start = chain.Place(first, self.origin)


def verified_snapshot(found: Row) -> tuple[int, bytes] | None:
    """A snapshot as it was written; None if it was altered, or is of another record than it says."""
    seq, body, digest, origin, first, carried = found
    at = origin if seq == first else (carried or b"")[SIZE:]
    return (seq, body) if chain.snapshot_digest(origin, at, body) == digest else None
