"""Checks a store against its journals. Reads everything, changes nothing.

The store check verifies the hash chain of every session and the digest of every blob, replays the entries and compares the resulting
state with the snapshot, and checks that every page has its handle, its text in the search index, and its blobs listed as needed.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from pageturn.journal.blobs import digests
from pageturn.journal.journal import Journal
from pageturn.journal.reindexing import documents_of
from pageturn.journal.salvage import salvaged
from pageturn.stores import Broken, Maintained, Reindexed, SessionRow
from pageturn.values.digests import digest_of
from pageturn.values.entries import (
    Entry,
    EntryLost,
    Fold,
    MessageAdded,
    Pinned,
    RenditionAdmitted,
    Shown,
    Staged,
    TextReference,
    TurnTaken,
)
from pageturn.values.errors import InvalidInput, PageturnError, StoreError
from pageturn.values.handles import check_of
from pageturn.values.json import from_json
from pageturn.values.pages import Page


class Finding(NamedTuple):
    """A problem, and where it is."""

    session: str
    what: str


S = TypeVar("S", bound=Maintained)


def examine(
    store: S,
    *,
    progress: Callable[[SessionRow, int], None] = lambda _row, _done: None,
    also: Sequence[Callable[[S], Iterator[str]]] = (),
) -> Iterator[Finding]:
    """All findings about a store: its tables, each session's entries, pages and index, then the sidecars."""
    try:
        for problem in store.check():
            yield Finding("", problem)
    except StoreError as error:
        yield Finding("", str(error))
    for row in store.sessions():
        try:
            yield from (Finding(row.id, what) for what in _examine_session(store, row, partial(progress, row)))
        except PageturnError as error:
            yield Finding(row.id, f"cannot be read: {error}")
    yield from (Finding("", what) for what in _examine_words(store))
    yield from (Finding("", what) for check in also for what in check(store))


def _examine_words(store: Maintained) -> Iterator[str]:
    """Whether the index has the words of the messages and no others, if all messages can be read."""
    if not isinstance(store, Reindexed):
        return
    try:
        rows = store.sessions()
        if not any(store.lacks_words(row.id) for row in rows):  # otherwise the next recall indexes them again
            documents = ((row.id, document) for row in rows for document in documents_of(Journal(store, row)))
            if store.has_other_words(documents):
                yield "the index has other words than the messages, so a search may miss some"
    except PageturnError as error:
        yield f"the index could not be compared with the messages: {error}"


def _examine_session(store: Maintained, row: SessionRow, progress: Callable[[int], None]) -> Iterator[str]:
    journal = Journal(store, row)
    said: dict[int, Entry] = {}
    for record in store.records(row.id):
        progress(record.seq)
        if isinstance(record, Broken):
            yield f"{record}: {_what_is_left(journal, record)}"
            continue
        try:
            said[record.seq] = from_json(Entry, record.body)
        except InvalidInput as error:
            yield f"entry {record.seq} is intact and cannot be read: {error}"
    yield from _examine_state(journal)
    erased = {page.seq for page in journal.state.pages if page.erased} | journal.erased()
    for seq, entry in said.items():
        if isinstance(entry, MessageAdded) and seq not in erased:
            yield from _examine_page(journal, entry.page)
        elif seq not in erased:
            for digest in texts_of(entry):
                yield from _examine_blob(journal, digest, f"entry {seq}")
    yield from _examine_lists(store, journal, {seq: entry for seq, entry in said.items() if seq not in erased})


def _what_is_left(journal: Journal, broken: Broken) -> str:
    entry = salvaged(broken, journal.row.key, journal.verified)
    if isinstance(entry, MessageAdded):
        return f"its page {entry.page.handle} can be rebuilt from its text"
    return "its content is lost, and no context is derived until that is accepted (--repair)"


def _examine_state(journal: Journal) -> Iterator[str]:
    """Whether replaying all entries gives the same state as the snapshot with the last entries."""
    past = journal.past()
    if past != journal.state and not past.lost and not past.restored:  # only the snapshot shows what is lost
        yield "the snapshot differs from the entries that it was made from"


def _examine_lists(store: Maintained, journal: Journal, said: dict[int, Entry]) -> Iterator[str]:
    """Whether the index has the words of every message, and the store knows of every blob that is needed."""
    is_older = isinstance(store, Reindexed) and store.lacks_words(journal.row.id)  # the next recall indexes them again
    found = store.documents(journal.row.id)
    for seq, entry in said.items() if not is_older else ():
        if isinstance(entry, MessageAdded) and seq not in found:
            yield f"{entry.page.handle}: its text is missing from the index"
        elif not isinstance(entry, MessageAdded | EntryLost) and seq in found:
            yield f"entry {seq}: the index has text for it, but it has none"
    known = store.references(journal.row.id)
    for seq, entry in said.items():
        if any((seq, digest) not in known for digest in needed_by(journal, entry)):
            yield f"entry {seq}: the store does not know that its text is needed, so a vacuum would delete it"


def texts_of(entry: Entry) -> Iterator[str]:
    """The blobs of an entry that stores texts besides messages."""
    match entry:
        case RenditionAdmitted(digest=digest) | Pinned(structured=TextReference(digest=digest)) | Staged(value=digest):
            yield digest
        case TurnTaken(shown=Shown(fold=Fold(lines=lines))):
            yield from (digest for line in lines for digest in (line.folders, line.ledger) if digest is not None)


def needed_by(journal: Journal, entry: Entry) -> Iterator[str]:
    """The blobs that an entry is known to need."""
    if not isinstance(entry, MessageAdded):
        # Their texts were stored with an earlier entry, or may have been.
        if not isinstance(entry, TurnTaken | RenditionAdmitted):
            yield from texts_of(entry)
        return
    yield entry.page.digest
    if entry.page.relevance:
        yield entry.page.relevance
    try:
        yield from digests(journal.verified(entry.page.digest))
    except (StoreError, ValueError):
        return


def _examine_page(journal: Journal, page: Page) -> Iterator[str]:
    if page.check != check_of(journal.row.key, page.seq, page.digest):
        yield f"{page.handle}: the handle does not belong to this session"
    wrong = list(_examine_blob(journal, page.digest, page.handle))
    if page.relevance:
        wrong += _examine_blob(journal, page.relevance, page.handle)
    body = journal.store.blob(page.digest) if not wrong else None
    if body is not None:
        wrong = [what for digest in digests(body) for what in _examine_blob(journal, digest, page.handle)]
    yield from wrong


def _examine_blob(journal: Journal, digest: str, owner: str) -> Iterator[str]:
    try:
        data = journal.store.blob(digest)
    except StoreError as error:
        yield f"{owner}: its text ({digest}) cannot be read: {error}"
        return
    if data is None:
        if not journal.store.is_erased(digest):
            yield f"{owner}: its text ({digest}) is missing"
    elif digest_of(data) != digest:
        yield f"{owner}: its text is not what was written ({digest})"
