"""Writes a session as one file, with the sessions that it was forked from, and reads such a file into another store.

Handles still resolve where it is read, since the key that they are checked with goes along: who has the file has the session.
"""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

from pageturn.journal.doctor import examine
from pageturn.journal.journal import Journal
from pageturn.journal.packed_file import Packed, Writer, read
from pageturn.journal.reindexing import documents_of
from pageturn.stores import Batch, Maintained, MemoryStore, Record, Reindexed, SessionRow, Transactional
from pageturn.values.digests import digest_of
from pageturn.values.errors import InvalidInput, StoreError, show
from pageturn.values.json import to_json


def pack(store: Maintained, session: str) -> Iterator[bytes]:
    """The lines of the file; raises `StoreError` where anything is damaged, since half a session is none."""
    rows = _family(store, session)
    writer = Writer()
    yield writer.head(rows)
    written: set[str] = set()
    for number, row in enumerate(rows):
        upto = rows[number + 1].parent_seq if number + 1 < len(rows) else row.head
        named: dict[int, list[str]] = {}
        for seq, digest in sorted(store.references(row.id)):
            named.setdefault(seq, []).append(digest)
        for record in store.records(row.id, upto=upto):
            if not isinstance(record, Record):
                raise _damaged(row.id, str(record))
            blobs = named.get(record.seq, [])
            for digest in blobs:
                data = _whole_blob(store, row.id, digest) if digest not in written else None
                if data is not None:
                    written.add(digest)
                    yield writer.blob(digest, data)
            yield writer.record(row.id, record, blobs)
    for record in _erased_elsewhere(store, rows[-1]):
        yield writer.record(session, record, ())
    yield writer.end()


def unpack(store: Maintained, lines: Iterable[bytes], scope: str | None = None) -> str:
    """Read a file into a store; the session's id. All of it is written, or nothing."""
    return write(store, read(lines), scope)


def write(store: Maintained, packed: Packed, scope: str | None = None) -> str:
    """Write what was read from a file into a store; the session's id. It is checked before, by the doctor, in a store in memory."""
    for row, _ in packed.sessions:
        if store.session(row.id) is not None:
            raise InvalidInput("store", expected=f"one without a session {row.id!r}", got="one that has it")
    rehearsal = MemoryStore()
    _write(rehearsal, packed, None)
    for finding in examine(rehearsal):
        raise InvalidInput("the file", expected="a session that is whole", got=f"{finding.session}: {finding.what}")
    with store.transaction() if isinstance(store, Transactional) else nullcontext():
        _write(store, packed, scope)
    return packed.sessions[-1].row.id


def _write(store: Maintained, packed: Packed, scope: str | None) -> None:
    for row, records in packed.sessions:
        store.create(row._replace(scope=scope))
        references = [(each.seq, digest) for each, named in records for digest in named if digest in packed.blobs]
        needed = {digest: packed.blobs[digest] for _, digest in references}
        store.append(row.id, row.parent_seq, Batch([each for each, _ in records], needed, references=references))
        if isinstance(store, Reindexed):
            store.give_words(row.id, documents_of(Journal(store, row)))


def _family(store: Maintained, session: str) -> list[SessionRow]:
    """A session and those that it was forked from, the eldest first."""
    rows: list[SessionRow] = []
    name: str | None = session
    while name is not None:
        row = store.session(name)
        if row is None or row in rows:
            raise InvalidInput("session", expected="one of the store", got=show(name))
        if row.flaw:
            raise _damaged(row.id, row.flaw)
        rows.append(row)
        name = row.parent
    return rows[::-1]


def _whole_blob(store: Maintained, session: str, digest: str) -> bytes | None:
    """The bytes of a blob; None if they were erased."""
    data = store.blob(digest)
    if data is None and not store.is_erased(digest):
        raise _damaged(session, f"blob {digest} is missing")
    if data is not None and digest_of(data) != digest:
        raise _damaged(session, f"blob {digest} was altered")
    return data


def _erased_elsewhere(store: Maintained, row: SessionRow) -> Iterator[Record]:
    """The entries with which the session would record what a fork or a parent erased, as its next writer does."""
    journal = Journal(store, row)
    last = next((record.at for _, record in journal.records(row.head - 1) if isinstance(record, Record)), 0)
    for seq, entry in enumerate(journal.notice_erased(), start=row.head + 1):
        yield Record(seq, last, to_json(entry))


def _damaged(session: str, what: str) -> StoreError:
    return StoreError(f"session {session!r}: {what}; pageturn doctor --repair comes first")
