"""Seals the documents of sidecars: each row carries a digest of itself, and each sidecar the sum of the digests of its rows.

So a document that was altered is detected when it is read, and one that was removed when its whole sidecar is read.
"""

from collections.abc import Iterable

import msgspec

from pageturn.stores.chain import digest
from pageturn.stores.ports import SidecarDocument
from pageturn.values.errors import Damaged

NOTHING = bytes(16)  # the sum of no digests
LAST_DROP = ("", "")  # a row of no sidecar, which keeps the number of the last change that deleted something

Row = tuple[object, object, object, object, object]  # name, key, version, body and digest, of any types


def sealed(name: object, key: object, number: object, body: object) -> Row:
    """A row with its digest."""
    return name, key, number, body, digest(msgspec.msgpack.encode((name, key, number, body)))


def is_sound(row: Row) -> bool:
    """Whether a row is the one that was written."""
    return sealed(*row[:4]) == row


def document_of(row: Row) -> SidecarDocument:
    """The document of a row; raises `Damaged` if the row was altered."""
    _, key, number, body, _ = row
    if type(number) is not int or type(body) is not bytes or not is_sound(row):
        raise Damaged(f"document {key!r} was changed by another program (`pageturn doctor --repair` drops it)")
    return SidecarDocument(number, body)


def summed(digests: Iterable[object], less: Iterable[object] = ()) -> bytes:
    """The sum of digests in any order; for damaged ones, a sum that matches nothing."""
    added, taken = (sum(int.from_bytes(each) for each in those if isinstance(each, bytes)) for those in (digests, less))
    return ((added - taken) % 2**128).to_bytes(16)
