"""Repairs a damaged store without losing anything intact, after making a copy of it.

Whatever can be recomputed is restored exactly: rows, digests, snapshots, lists, the search index, blobs that exist elsewhere. A lost
entry is replaced by one that says so; from then on it is a fault of the session, and the session can continue.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from pageturn.journal.doctor import needed_by, texts_of
from pageturn.journal.erasing import records_about
from pageturn.journal.journal import Journal
from pageturn.journal.salvage import salvaged
from pageturn.stores import (
    ERASURES_UNKNOWN,
    SIDECAR,
    Broken,
    Document,
    Maintained,
    Record,
    Reindexed,
    Repairs,
    SessionRow,
)
from pageturn.values.digests import digest_of
from pageturn.values.entries import Entry, EntryLost, Faulted, MessageAdded, PageErased
from pageturn.values.errors import NotScrubbed, PageturnError, StoreError
from pageturn.values.faults import BackendError
from pageturn.values.json import from_json, to_json
from pageturn.values.relevance import extract
from pageturn.values.search_text import search_text

_WIDEST_GAP = 10_000  # missing numbers; after more of them, the next record is one whose number was altered


class Repaired(NamedTuple):
    """What a repair did: the name of the copy, and each step in a sentence."""

    backup: str
    done: tuple[str, ...]


def repair(store: Maintained) -> Repaired:
    """Repair what can be repaired; raises `StoreError`, after making the copy, if the file itself is too damaged."""
    backup = store.backup()
    try:
        altered = [each for each in store.check() if each.startswith(SIDECAR)]
        store.repair(Repairs())  # rows first, so that every readable session is found
        done = [f"{each}; what is left is used from now on" for each in altered]
        done += [*_mend_entries(store), *_mend_blobs(store), *_mend_blobs(store), *_rebuild_lists(store)]
        with suppress(NotScrubbed):
            store.scrub()  # this rewrites the file, and so repairs what only SQLite knows of
    except StoreError as error:
        raise StoreError(f"{error}; the store as it was before is in {backup}") from error
    return Repaired(backup, tuple(done))


def _journals(store: Maintained) -> Iterator[Journal]:
    """The sessions that can be read, parents before their forks."""
    for row in reversed(store.sessions()):
        try:
            yield Journal(store, row)
        except PageturnError:
            continue


def _mend_entries(store: Maintained) -> Iterator[str]:
    """Replace entries that were altered or are missing, and rebuild the chain of the session and its forks."""
    records: dict[str, list[Record]] = {}
    misplaced: list[tuple[str, int]] = []
    for journal in _journals(store):
        row = journal.row
        found = list(store.records(row.id))
        if found and isinstance(found[-1], Broken):  # its forks know at least how long it was
            forked = max((fork.parent_seq for fork in store.sessions() if fork.parent == row.id), default=0)
            found[-1] = found[-1]._replace(last=max(found[-1].last, forked))
        broken = [each for each in found if isinstance(each, Broken)]
        far = next((each.last for each in broken if each.last - each.seq > _WIDEST_GAP), None)
        if far is not None:  # the records after it have an altered number
            misplaced += [(row.id, each.seq) for each in found if each.seq > far]
            broken = [each for each in broken if each.last < far]
        records[row.id] = list(_instead(journal, broken, max([row.parent_seq, *_heads(found, far)])))
        for each in broken:
            yield f"session {row.id!r}: {each}, and was replaced by an entry that says so"
    store.repair(Repairs(records=records, misplaced=misplaced))


def _heads(found: list[Record | Broken], far: int | None) -> Iterator[int]:
    for each in found:
        if far is None or each.seq < far - _WIDEST_GAP:
            yield each.last if isinstance(each, Broken) else each.seq


def _instead(journal: Journal, broken: list[Broken], head: int) -> Iterator[Record]:
    """The replacements: rebuilt pages, and placeholders for lost entries."""
    faults: list[Faulted] = []
    for each in broken:
        where = f"session {journal.row.id!r}: {each}"
        entry = _from_snapshot(journal, each) or salvaged(each, journal.row.key, journal.verified)
        is_restored = isinstance(entry, MessageAdded)
        for seq in range(each.seq, each.last + 1):
            lost = EntryLost(last=seq, what=f"{where}, and is lost")
            yield Record(seq, 0, to_json(entry if is_restored else lost))
        what = BackendError(f"{where}, and {'was rebuilt from its text' if is_restored else 'is lost'}")
        faults.append(Faulted(fault=what, turn=journal.state.turn, page=each.seq if is_restored else None))
    for seq, fault in enumerate(faults, start=head + 1):
        yield Record(seq, 0, to_json(fault))


def _from_snapshot(journal: Journal, broken: Broken) -> MessageAdded | None:
    """The entry of a page, from an intact snapshot that has the page."""
    page = journal.state.page(broken.seq) if broken.seq == broken.last else None
    if page is None or broken.seq in journal.state.restored:
        return None
    return MessageAdded(page=msgspec.structs.replace(page, undone=False, erased=False, replaced=False))


def _entries(store: Maintained, row: SessionRow) -> Iterator[tuple[int, Entry]]:
    """The readable entries of a session itself."""
    for record in store.records(row.id):
        if isinstance(record, Record):
            try:
                yield record.seq, from_json(Entry, record.body)
            except ValueError:
                continue


def _mend_blobs(store: Maintained) -> Iterator[str]:
    """Find the bytes of damaged blobs elsewhere: under another name, as text, or by packing the message again.

    What a message needs besides its body is known only after the body is restored, so this runs twice.
    """
    wanted: dict[str, tuple[Journal, str]] = {}
    again: dict[str, bytes] = {}
    for journal in _journals(store):
        for seq, entry in _entries(store, journal.row):
            owner = entry.page.handle if isinstance(entry, MessageAdded) else f"entry {seq}"
            for digest in (*needed_by(journal, entry), *texts_of(entry)):
                if not _is_whole(store, digest) and not store.is_erased(digest):
                    wanted[digest] = (journal, owner)
            if isinstance(entry, MessageAdded) and entry.page.relevance in wanted:
                again |= _relevance(journal, entry)
    for _, data in store.blobs() if wanted else ():
        if (digest := digest_of(data)) in wanted:
            again[digest] = data
    found = {digest: data for digest, data in again.items() if digest in wanted}
    store.repair(Repairs(blobs=found))
    for digest in found:
        journal, owner = wanted[digest]
        yield f"session {journal.row.id!r}, {owner}: its text ({digest}) was found elsewhere"


def _relevance(journal: Journal, entry: MessageAdded) -> dict[str, bytes]:
    try:
        message = journal.message(entry.page)
    except PageturnError:
        return {}
    data = to_json(extract(message)) if message is not None else b""
    return {digest_of(data): data}


def _is_whole(store: Maintained, digest: str) -> bool:
    try:
        data = store.blob(digest)
    except StoreError:
        return False
    return data is not None and digest_of(data) == digest


def _rebuild_lists(store: Maintained) -> Iterator[str]:
    """Rebuild from the entries: what was erased, which blobs are needed, and the index."""
    wrong = store.check()
    losses = [*_losses(store)] if any(ERASURES_UNKNOWN in each for each in wrong) else None
    if losses is not None:
        store.repair(Repairs(losses=losses))
        yield "the list of erasures was rebuilt"
    references: list[tuple[str, int, str]] = []
    documents: list[tuple[str, Document]] = []
    is_indexed = not any(each.startswith("the index") for each in wrong)
    for journal in _journals(store):
        own, erased = journal.row.id, {page.seq for page in journal.state.pages if page.erased} | journal.erased()
        known, indexed = store.references(own), store.documents(own)
        for seq, entry in _entries(store, journal.row):
            if seq in erased:
                continue
            needed = (digest for digest in needed_by(journal, entry) if (seq, digest) not in known)
            references += [(own, seq, digest) for digest in needed]
            if isinstance(entry, MessageAdded):
                is_indexed = is_indexed and seq in indexed
                documents += [(own, Document(seq, text)) for text in _words(journal, entry)]
            else:
                is_indexed = is_indexed and seq not in indexed
    is_indexed = is_indexed and not (isinstance(store, Reindexed) and store.has_other_words(documents))
    if references:
        yield f"{len(references)} blobs are marked as needed again"
    if not is_indexed:
        yield f"the index was rebuilt from {len(documents)} messages"
    store.repair(Repairs(references=references, documents=None if is_indexed else documents))


def _losses(store: Maintained) -> Iterator[tuple[str, int]]:
    for journal in _journals(store):
        for _, entry in _entries(store, journal.row):
            page = journal.state.page(entry.page) if isinstance(entry, PageErased) else None
            if page is not None:
                yield from records_about(journal, page)


def _words(journal: Journal, entry: MessageAdded) -> Iterator[str]:
    try:
        message = journal.message(entry.page)
    except PageturnError:
        return
    if message is not None:
        yield search_text(message)
