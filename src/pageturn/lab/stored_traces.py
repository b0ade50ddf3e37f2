"""Converts the sessions of a store to traces, with the times of their messages, so that they can be replayed."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import accumulate

from pageturn.journal.journal import Journal
from pageturn.lab.traces import Compaction, Trace
from pageturn.stores import Store
from pageturn.values.messages import Message
from pageturn.values.pages import Page

_MICROS = 1_000_000


def stored_traces(store: Store, source: str) -> Iterator[Trace]:
    """The sessions of a store, oldest first. A text that replaced a run of pages is a compaction of the tool that wrote it."""
    for row in sorted(store.sessions(), key=lambda row: (row.created_at, row.id)):
        journal = Journal(store, row)
        read = [(page, journal.message(page)) for page in journal.state.live_pages() if not page.erased]
        said = [(page, message) for page, message in read if message is not None]
        pages = [page for page, _ in said]
        yield Trace(
            row.id, source, tuple(message for _, message in said), tuple(_compactions(journal, pages)), _times(said)
        )


def _times(said: list[tuple[Page, Message]]) -> tuple[float, ...]:
    """Seconds since the first message, empty if unknown; a message without a time has that of the one before it."""
    known = [_time(page, message) for page, message in said]
    first = next((time for time in known if time is not None), None)
    if first is None:
        return ()
    return tuple(round(latest - first, 6) for latest in accumulate((time or first for time in known), max))


def _time(page: Page, message: Message) -> float | None:
    """The time of a message; an imported one carries its own."""
    source = (message.metadata or {}).get("source")
    if isinstance(source, Mapping):
        try:
            return datetime.fromisoformat(str(source["at"])).timestamp()
        except (KeyError, ValueError, OverflowError):
            return None
    return page.at / _MICROS if page.at else None


def _compactions(journal: Journal, pages: list[Page]) -> Iterator[Compaction]:
    for rendition in journal.state.renditions:
        text = journal.text(rendition.digest)
        before = sum(page.seq <= rendition.last for page in pages)
        if rendition.first < rendition.last and text is not None:
            yield Compaction(before, text)
