"""Doctor: does a store hold what its journals say? Reads everything, changes nothing."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from pageturn.bodies import digest_of, digests
from pageturn.delegation import Beliefs
from pageturn.entries import Entry, MessageAdded, Pinned, RenditionAdmitted, Staged, TextReference
from pageturn.errors import PageturnError
from pageturn.handles import check_of
from pageturn.journal import Journal
from pageturn.pages import Page
from pageturn.stores import SessionRow, Store

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # nothing is written that would need one


class Finding(NamedTuple):
    """Something that is wrong, and where."""

    session: str
    what: str


def examine(
    store: Store, *, progress: Callable[[SessionRow, int], None] = lambda _row, _done: None
) -> Iterator[Finding]:
    """Every finding about a store: its own integrity, each session's entries, words and handles, then beliefs."""
    for problem in store.check():
        yield Finding("", problem)
    for row in store.sessions():
        try:
            journal = Journal(store, row)
        except PageturnError as error:
            yield Finding(row.id, f"cannot be read: {error}")
            continue
        yield from (Finding(row.id, what) for what in _examine_words(journal, partial(progress, row)))
    yield from (Finding("", what) for what in _examine_beliefs(store))


def _examine_beliefs(store: Store) -> Iterator[str]:
    """Whether every posterior and every decision can be read."""
    for scope in sorted({name.partition("/")[2] for name in store.sidecars()}):
        try:
            beliefs = Beliefs(store, scope, clock=lambda: _NO_TIME)
            for _ in beliefs.log():
                pass
            _ = beliefs.pruned
        except PageturnError as error:
            yield str(error)


def _examine_words(journal: Journal, progress: Callable[[int], None]) -> Iterator[str]:
    erased = {page.seq for page in journal.state.pages if page.erased}
    try:
        for record, entry in journal.entries():
            progress(record.seq)
            if isinstance(entry, MessageAdded) and entry.page.seq not in erased:
                yield from _examine_page(journal, entry.page)
            elif (digest := _text_of(entry)) is not None:
                yield from _examine_blob(journal, digest, f"entry {record.seq}")
    except PageturnError as error:
        yield str(error)


def _text_of(entry: Entry) -> str | None:
    """The blob of an entry that keeps a text beside the messages."""
    match entry:
        case RenditionAdmitted(digest=digest) | Pinned(structured=TextReference(digest=digest)) | Staged(value=digest):
            return digest
    return None


def _examine_page(journal: Journal, page: Page) -> Iterator[str]:
    if page.check != check_of(journal.row.key, page.seq, page.digest):
        yield f"{page.handle}: the handle does not belong to this session"
    wrong = list(_examine_blob(journal, page.digest, page.handle))
    if page.relevance:
        wrong += _examine_blob(journal, page.relevance, page.handle)
    body = journal.store.blob(page.digest)
    if not wrong and body is not None:
        wrong = [what for digest in digests(body) for what in _examine_blob(journal, digest, page.handle)]
    yield from wrong


def _examine_blob(journal: Journal, digest: str, owner: str) -> Iterator[str]:
    data = journal.store.blob(digest)
    if data is None:
        if journal.store.is_erased(digest):
            return
        yield f"{owner}: its words ({digest}) are missing"
    elif digest_of(data) != digest:
        yield f"{owner}: its words are not those that were written ({digest})"
