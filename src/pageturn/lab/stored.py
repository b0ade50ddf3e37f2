"""Stored sessions as traces: what is in a store can be replayed, with the times at which it came."""

from collections.abc import Iterator

from pageturn.journal import Journal
from pageturn.lab.traces import Compaction, Trace
from pageturn.pages import Page
from pageturn.stores import Store

_MICROS = 1_000_000


def stored_traces(store: Store, source: str) -> Iterator[Trace]:
    """The sessions of a store, the oldest first. Text that stands for a run of pages is a compaction of the tool that wrote it."""
    for row in sorted(store.sessions(), key=lambda row: (row.created_at, row.id)):
        journal = Journal(store, row)
        read = [(page, journal.message(page)) for page in journal.state.live_pages() if not page.erased]
        said = [(page, message) for page, message in read if message is not None]
        pages = [page for page, _ in said]
        yield Trace(
            row.id, source, tuple(message for _, message in said), tuple(_compactions(journal, pages)), _times(pages)
        )


def _times(pages: list[Page]) -> tuple[float, ...]:
    """Seconds since the first page; none where some are not known or go backwards."""
    times = [page.at for page in pages]
    if not times or not all(times) or times != sorted(times):
        return ()
    return tuple((at - times[0]) / _MICROS for at in times)


def _compactions(journal: Journal, pages: list[Page]) -> Iterator[Compaction]:
    for rendition in journal.state.renditions:
        text = journal.text(rendition.digest)
        before = sum(page.seq <= rendition.last for page in pages)
        if rendition.first < rendition.last and text is not None:
            yield Compaction(before, text)
