"""Writes a session as one file, with the sessions that it was forked from, and reads such a file into another store.

The file is lines of JSON: what it is, then records and blobs as they are stored. Handles still resolve where it is read, since the key that they
are checked with goes along: who has the file has the session.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from pageturn.journal.journal import Journal
from pageturn.journal.reindexing import documents_of
from pageturn.stores import Batch, Maintained, Record, Reindexed, SessionRow
from pageturn.values.digests import digest_of
from pageturn.values.errors import InvalidInput, StoreError, show

_WHAT = "pageturn session"
_VERSION = 1


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


class _Line(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A record of a session, or a blob."""

    session: str | None = None
    seq: int = 0
    at: int = 0
    body: str = ""
    blobs: list[str] = []
    digest: str | None = None
    data: str = ""


def pack(store: Maintained, session: str) -> Iterator[bytes]:
    """The lines of the file; raises `StoreError` where a record is damaged, since half a session is none."""
    rows = _family(store, session)
    kept = [_Row(row.id, _text(row.key), row.created_at, row.parent, row.parent_seq) for row in rows]
    yield msgspec.json.encode(_Head(_WHAT, _VERSION, kept)) + b"\n"
    written: set[str] = set()
    for number, row in enumerate(rows):
        upto = rows[number + 1].parent_seq if number + 1 < len(rows) else row.head
        named: dict[int, list[str]] = {}
        for seq, digest in sorted(store.references(row.id)):
            named.setdefault(seq, []).append(digest)
        for record in store.records(row.id, upto=upto):
            if not isinstance(record, Record):
                raise StoreError(f"session {row.id!r}: {record}; pageturn doctor --repair comes first")
            blobs = named.get(record.seq, [])
            for digest in blobs:
                data = store.blob(digest) if digest not in written else None
                if data is not None:
                    written.add(digest)
                    yield msgspec.json.encode(_Line(digest=digest, data=_text(data))) + b"\n"
            line = _Line(session=row.id, seq=record.seq, at=record.at, body=_text(record.body), blobs=blobs)
            yield msgspec.json.encode(line) + b"\n"


def unpack(store: Maintained, lines: Iterable[bytes], scope: str | None = None) -> str:
    """Read a file into a store; the session's id. Nothing is written before all of it is found to be sound."""
    numbered = enumerate(lines, start=1)
    head = _head(next(numbered, (1, b""))[1])
    rows = {row.id: row for row in head.sessions}
    blobs: dict[str, bytes] = {}
    records: dict[str, list[tuple[Record, list[str]]]] = {id_: [] for id_ in rows}
    for number, text in numbered:
        line = _decoded(text, f"line {number}")
        if line.digest is not None:
            data = _bytes(line.data, number)
            if digest_of(data) != line.digest:
                raise InvalidInput(f"line {number}", expected="bytes that fit their digest", got="others")
            blobs[line.digest] = data
        elif line.session in records:
            records[line.session].append((Record(line.seq, line.at, _bytes(line.body, number)), line.blobs))
        else:
            raise InvalidInput(f"line {number}", expected="a record or a blob", got=show(text))
    for id_ in rows:
        if store.session(id_) is not None:
            raise InvalidInput("store", expected=f"one without a session {id_!r}", got="one that has it")
    for row in head.sessions:
        _write(store, SessionRow(row.id, _bytes(row.key, 1), row.created_at, scope, row.parent, row.parent_seq), records[row.id], blobs)  # fmt: skip
    return head.sessions[-1].id


def _write(
    store: Maintained, row: SessionRow, records: list[tuple[Record, list[str]]], blobs: dict[str, bytes]
) -> None:
    store.create(row)
    references = [(record.seq, digest) for record, named in records for digest in named if digest in blobs]
    needed = {digest: blobs[digest] for _, digest in references}
    if records:
        first = records[0][0].seq
        store.append(row.id, first - 1, Batch([record for record, _ in records], needed, references=references))
    found = store.session(row.id)
    if found is not None and isinstance(store, Reindexed):
        store.give_words(row.id, documents_of(Journal(store, found)))


def _family(store: Maintained, session: str) -> list[SessionRow]:
    """A session and those that it was forked from, the eldest first."""
    rows: list[SessionRow] = []
    name: str | None = session
    while name is not None:
        row = store.session(name)
        if row is None or row in rows:
            raise InvalidInput("session", expected="one of the store", got=show(name))
        rows.append(row)
        name = row.parent
    return rows[::-1]


def _head(text: bytes) -> _Head:
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput("line 1", expected="a packed session", got=show(text)) from error
    if head.what != _WHAT or head.version != _VERSION or not head.sessions:
        raise InvalidInput("line 1", expected=f"a packed session of version {_VERSION}", got=show(text))
    return head


def _decoded(text: bytes, where: str) -> _Line:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput(where, expected="a record or a blob", got=show(text)) from error


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _bytes(text: Any, number: int) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidInput(f"line {number}", expected="base64", got=show(text)) from error
