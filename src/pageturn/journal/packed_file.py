"""Defines the file that a packed session is: lines of JSON, of which the first says what it is and the last that nothing is missing.

Between them are records and blobs as they are stored. The last line counts them, and has a digest of all lines before it, so that a file that
was cut or altered on its way is refused. That protects against accidents, not against a person who wants to deceive: whoever can write the
file can also write its digest. Files of format 1 have no last line; what cannot be checked of one is in `Packed.unchecked`.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import msgspec

from pageturn.stores import LAST, Record, SessionRow
from pageturn.values.digests import digest_of
from pageturn.values.errors import InvalidInput, show
from pageturn.values.ids import require_session_id

_WHAT = "pageturn session"
_FORMAT = 2
_WITHOUT_END = 1  # the format whose files end anywhere
_LONGEST_KEY = 64  # bytes that the digest of a handle takes
_UNCHECKED = "It is a file of format 1, which has no digest: whether its end is missing or an entry was altered could not be checked."

T = TypeVar("T")


class PackedRecord(NamedTuple):
    """A record, and the blobs that it needs."""

    record: Record
    blobs: Sequence[str]


class PackedSession(NamedTuple):
    """A session without a scope, and its own records."""

    row: SessionRow
    records: Sequence[PackedRecord]


class Packed(NamedTuple):
    """The content of a file: a session after those that it was forked from, and their blobs by digest."""

    sessions: Sequence[PackedSession]
    blobs: Mapping[str, bytes]
    unchecked: str = ""


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    key: str
    created_at: int
    parent: str | None = None
    parent_seq: int = 0


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    what: str
    version: int
    sessions: list[_Row]  # parents first


class _End(msgspec.Struct, forbid_unknown_fields=True):
    records: int
    blobs: int
    digest: str  # of all lines before


class _Line(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A record of a session, a blob, or the end."""

    session: str | None = None
    seq: int = 0
    at: int = 0
    body: str = ""
    blobs: list[str] = []
    digest: str | None = None
    data: str = ""
    end: _End | None = None


class Writer:
    """Makes the lines of a file, in this order: the head, blobs and records, the end."""

    def __init__(self) -> None:
        self._digest = _Digest()
        self._records = self._blobs = 0

    def head(self, rows: Sequence[SessionRow]) -> bytes:
        kept = [_Row(row.id, _text(row.key), row.created_at, row.parent, row.parent_seq) for row in rows]
        return self._line(_Head(_WHAT, _FORMAT, kept))

    def blob(self, digest: str, data: bytes) -> bytes:
        self._blobs += 1
        return self._line(_Line(digest=digest, data=_text(data)))

    def record(self, session: str, record: Record, blobs: Sequence[str]) -> bytes:
        self._records += 1
        return self._line(_Line(session=session, seq=record.seq, at=record.at, body=_text(record.body), blobs=[*blobs]))

    def end(self) -> bytes:
        return self._line(_Line(end=_End(self._records, self._blobs, self._digest.hex())))

    def _line(self, value: _Head | _Line) -> bytes:
        line = msgspec.json.encode(value) + b"\n"
        self._digest.add(line)
        return line


def read(lines: Iterable[bytes]) -> Packed:
    """The content of a file; raises `InvalidInput` with the line where it is not what was written."""
    numbered = enumerate(lines, start=1)
    first = next(numbered, (1, b""))[1]
    head = _head(first)
    digest = _Digest()
    digest.add(first)
    sessions = [PackedSession(_row(row), []) for row in head.sessions]
    records: dict[str, list[PackedRecord]] = {row.id: [] for row, _ in sessions}
    blobs: dict[str, bytes] = {}
    end: _End | None = None
    number = 1
    for number, text in numbered:
        where = f"line {number}"
        if end is not None:
            raise InvalidInput(where, expected="nothing after the end", got=show(text))
        line = _decoded(text, _Line, where, "a record, a blob or the end")
        if line.end is not None and head.version != _WITHOUT_END:
            end = line.end
            _require_whole(end, _End(sum(map(len, records.values())), len(blobs), digest.hex()), where)
        elif line.digest is not None:
            blobs[line.digest] = _blob(line, where)
        elif line.session in records:
            record = Record(line.seq, line.at, _bytes(line.body, where))
            records[line.session].append(PackedRecord(record, line.blobs))
        else:
            raise InvalidInput(where, expected="a record or a blob", got=show(text))
        digest.add(text)
    if end is None and head.version != _WITHOUT_END:
        raise InvalidInput(f"after line {number}", expected="the rest of the file, up to a line `end`", got="nothing")
    whole = [PackedSession(row, records[row.id]) for row, _ in sessions]
    _require_family(whole)
    return Packed(whole, blobs, "" if end is not None else _UNCHECKED)


def _require_whole(said: _End, found: _End, where: str) -> None:
    if (said.records, said.blobs) != (found.records, found.blobs):
        expected, got = (f"{end.records} entries and {end.blobs} texts" for end in (said, found))
        raise InvalidInput(where, expected=f"{expected} before it", got=got)
    if said.digest != found.digest:
        raise InvalidInput(where, expected="lines as they were written", got="lines that were altered or moved")


def _require_family(sessions: Sequence[PackedSession]) -> None:
    """Raise unless each session continues the one before it, and has its records one after the other, from its first."""
    before, head = None, 0
    for row, records in sessions:
        if row.parent != before or not 0 <= row.parent_seq <= head:
            expected = f"session {row.id!r} to continue the one before it, which ends at entry {head}"
            raise InvalidInput("line 1", expected=expected, got=f"entry {row.parent_seq} of {show(row.parent)}")
        for seq, (record, _) in enumerate(records, start=row.parent_seq + 1):
            if record.seq != seq:
                raise InvalidInput(f"session {row.id!r}", expected=f"entry {seq}", got=f"entry {record.seq}")
        before, head = row.id, row.parent_seq + len(records)
    if not head:
        raise InvalidInput("after line 1", expected="the entries of the session", got="none")


def _head(text: bytes) -> _Head:
    head = _decoded(text, _Head, "line 1", "a packed session")
    if head.what != _WHAT or not head.sessions:
        raise InvalidInput("line 1", expected="a packed session", got=show(text))
    if not _WITHOUT_END <= head.version <= _FORMAT:
        got = f"{head.version}, of another pageturn"
        raise InvalidInput("line 1", expected=f"a format from {_WITHOUT_END} to {_FORMAT}", got=got)
    if len({row.id for row in head.sessions}) < len(head.sessions):
        raise InvalidInput("line 1", expected="each session once", got=show(text))
    return head


def _row(row: _Row) -> SessionRow:
    require_session_id(row.id)
    if not 0 <= row.created_at <= LAST**2 or not 0 <= row.parent_seq <= LAST:
        raise InvalidInput("line 1", expected="a time and a number of an entry", got=show(row))
    key = _bytes(row.key, "line 1")
    if not 0 < len(key) <= _LONGEST_KEY:
        raise InvalidInput("line 1", expected=f"a key of 1 to {_LONGEST_KEY} bytes", got=f"{len(key)}")
    return SessionRow(row.id, key, row.created_at, None, row.parent, row.parent_seq)


def _blob(line: _Line, where: str) -> bytes:
    data = _bytes(line.data, where)
    if digest_of(data) != line.digest:
        raise InvalidInput(where, expected="bytes that fit their digest", got="others")
    return data


def _decoded(text: bytes, type_: type[T], where: str, what: str) -> T:
    try:
        return msgspec.json.decode(text, type=type_)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput(where, expected=what, got=show(text)) from error


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _bytes(text: str, where: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidInput(where, expected="base64", got=show(text)) from error


class _Digest:
    """A digest of lines, whichever ending they got on their way."""

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=16)

    def add(self, line: bytes) -> None:
        self._digest.update(line.rstrip(b"\r\n") + b"\n")

    def hex(self) -> str:
        return self._digest.hexdigest()
