"""Reads blobs, and with one that is asked for those of the records around it, which are asked for next.

A session that is opened reads its texts one by one, and a round trip for each would take most of the time.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from pageturn.stores.postgres.connections import Connections, Row

_AROUND = 32  # records before and after
_SHORT = 8_192  # bytes: a longer blob is read only when it is asked for
_MOST = 8_000_000  # bytes that are kept
_WITH_NEIGHBOURS = f"""
SELECT digest, data FROM pageturn.blobs WHERE digest = %s
UNION ALL
SELECT b.digest, b.data FROM pageturn.blobs b WHERE octet_length(b.data) <= {_SHORT} AND b.digest IN (
    SELECT n.digest FROM (SELECT session, seq FROM pageturn.refs WHERE digest = %s LIMIT 1) r
    JOIN pageturn.refs n ON n.session = r.session AND n.seq BETWEEN r.seq - {_AROUND} AND r.seq + {_AROUND}
)
"""
_PART = "SELECT substr(data, %s, %s) FROM pageturn.blobs WHERE digest = %s"
_REST = "SELECT substr(data, %s) FROM pageturn.blobs WHERE digest = %s"


class Blobs:
    """The blobs of a store. A kept one is forgotten as soon as the store learns of any erasure."""

    def __init__(self, db: Connections) -> None:
        self._db = db
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._erasures = 0  # the number of erasures after which the kept ones were read

    def read(self, digest: str, start: int, length: int | None) -> bytes | None:
        """The bytes of a blob, or a range of them; None if there is no such blob."""
        if length is not None:
            return _first(self._db.look_up(_PART, (start + 1, length, digest)))
        if start:
            return _first(self._db.look_up(_REST, (start + 1, digest)))
        if (kept := self._kept.get(digest)) is not None:
            return kept
        erasures = self._erasures
        found: dict[str, bytes] = dict(self._db.look_up(_WITH_NEIGHBOURS, (digest, digest)))
        self._keep(found, erasures)
        return found.get(digest)

    def erased(self, erasures: int) -> None:
        """Take note of the number of erasures that the database tells."""
        if erasures != self._erasures:
            self.forget(erasures)

    def forget(self, erasures: int = -1) -> None:
        """Forget all that is kept."""
        with self._lock:
            self._erasures = erasures
            self._kept.clear()
            self._size = 0

    def _keep(self, found: dict[str, bytes], erasures: int) -> None:
        with self._lock:
            if erasures != self._erasures:  # what was read may have been erased meanwhile
                return
            for digest, data in found.items():
                if len(data) <= _SHORT and digest not in self._kept:
                    self._kept[digest] = data
                    self._size += len(data)
            while self._size > _MOST:
                self._size -= len(self._kept.popitem(last=False)[1])


def _first(found: Sequence[Row]) -> bytes | None:
    return found[0][0] if found else None
