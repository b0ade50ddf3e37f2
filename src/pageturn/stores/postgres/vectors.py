"""The vectors of the passages of each record. They are derived data: a record has those of one embedder, the last one used."""

from collections.abc import Sequence

from pageturn.stores.ports import Embedded
from pageturn.stores.postgres.connections import Statement

_KEEP = """
INSERT INTO pageturn.vectors SELECT %(number)s, seq, %(embedder)s, data
FROM unnest(%(seqs)b::bigint[], %(data)b::bytea[]) AS given(seq, data)
WHERE NOT EXISTS (SELECT FROM pageturn.losses l WHERE l.session = %(number)s AND l.seq = given.seq)
ON CONFLICT (session, seq) DO UPDATE SET embedder = excluded.embedder, data = excluded.data
"""
_AFTER = "SELECT seq, data FROM pageturn.vectors WHERE session = %s AND embedder = %s AND seq > %s ORDER BY seq"


def kept(number: int, embedder: str, given: Sequence[Embedded]) -> Statement:
    """Stores vectors of records of a session, replacing any older ones; records that lost their words get none."""
    latest = dict(given)
    values = {"number": number, "embedder": embedder, "seqs": [*latest], "data": [*latest.values()]}
    return Statement(_KEEP, values)


def after(number: int, embedder: str, seq: int) -> Statement:
    """Reads the vectors of a session by that embedder, of records after a number, in order."""
    return Statement(_AFTER, (number, embedder, seq))
