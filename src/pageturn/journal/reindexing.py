"""Gives a store the words of a session once more, where its file was written by a version that indexed them otherwise."""

from collections.abc import Iterator

from pageturn.journal.journal import Journal
from pageturn.stores import Document, Record, Reindexed
from pageturn.values.entries import Entry, MessageAdded
from pageturn.values.errors import PageturnError
from pageturn.values.json import from_json
from pageturn.values.search_text import search_text


def give_words(journal: Journal) -> None:
    """See to it that the words of a session and of its parents can be found."""
    store = journal.store
    if not isinstance(store, Reindexed):
        return
    for span in journal.spans:
        if store.lacks_words(span.session):
            row = store.session(span.session)
            owner = journal if span.session == journal.row.id or row is None else Journal(store, row)
            store.give_words(span.session, _documents(owner))


def _documents(journal: Journal) -> Iterator[Document]:
    """The words of a session's own messages that are neither erased nor damaged."""
    erased = {page.seq for page in journal.state.pages if page.erased} | journal.erased()
    for record in journal.store.records(journal.row.id):
        if not isinstance(record, Record) or record.seq in erased:
            continue
        try:
            entry = from_json(Entry, record.body)
            message = journal.message(entry.page) if isinstance(entry, MessageAdded) else None
        except PageturnError:  # what is damaged has no words; the doctor says so
            continue
        if message is not None:
            yield Document(record.seq, search_text(message))
