"""Indexes the words of a session again, if an older version indexed them differently or the index was damaged."""

from collections.abc import Iterator, Sequence

from pageturn.journal.journal import Journal
from pageturn.stores import Batch, Document, MemoryStore, Record, Reindexed, SessionRow, Span
from pageturn.values.entries import Entry, MessageAdded
from pageturn.values.errors import PageturnError
from pageturn.values.json import from_json
from pageturn.values.pages import Page
from pageturn.values.search_text import search_text

_LOOKED_AT = 1_000_000  # bytes of the newest pages that are checked if a search found nothing


def give_words(journal: Journal) -> None:
    """Make sure that a search can find the words of a session and of its parents."""
    store = journal.store
    if not isinstance(store, Reindexed):
        return
    first = 0
    for span in journal.spans:
        own = _with_words(journal, first, span.upto)
        first = span.upto
        if store.lacks_words(span.session, own):
            row = store.session(span.session)
            owner = journal if span.session == journal.row.id or row is None else Journal(store, row)
            store.give_words(span.session, documents_of(owner))


def _with_words(journal: Journal, after: int, upto: int) -> Iterator[int]:
    """The records that have words, after one number and up to another."""
    erased = journal.erased()
    return (
        page.seq
        for page in journal.state.pages
        if after < page.seq <= upto and not page.erased and page.seq not in erased
    )


def documents_of(journal: Journal) -> Iterator[Document]:
    """The words of a session's own messages that are neither erased nor damaged."""
    erased = {page.seq for page in journal.state.pages if page.erased} | journal.erased()
    for record in journal.store.records(journal.row.id):
        if not isinstance(record, Record) or record.seq in erased:
            continue
        try:
            entry = from_json(Entry, record.body)
            message = journal.message(entry.page) if isinstance(entry, MessageAdded) else None
        except PageturnError:  # a damaged message has no words; the doctor reports it
            continue
        if message is not None:
            yield Document(record.seq, search_text(message))


def is_missed(journals: Sequence[Journal], words: str) -> bool:
    """Whether the newest pages of these sessions contain any of these words although a search found nothing: then the index is damaged."""
    texts: list[str] = []
    left = _LOOKED_AT
    for journal in journals:
        for page in reversed(journal.state.pages):
            left -= page.size
            if left < 0:
                break
            texts += _text_of(journal, page)
    if not texts:
        return False
    beside = MemoryStore()
    beside.create(SessionRow("beside", b"", 0))
    records = [Record(seq, 0, b"{}") for seq in range(1, len(texts) + 1)]
    beside.append("beside", 0, Batch(records, documents=[*map(Document._make, enumerate(texts, start=1))]))
    found = beside.search([Span("beside", len(texts))], words, 1, every=True)
    beside.close()
    return bool(found)


def _text_of(journal: Journal, page: Page) -> list[str]:
    if page.erased or page.seq in journal.erased():
        return []
    try:
        message = journal.message(page)
    except PageturnError:
        return []
    return [] if message is None else [search_text(message)]
