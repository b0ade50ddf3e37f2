"""Finds what must be erased with a page in every session that shares it, and which other pages repeat its text.

Everything made from a page is erased with it: its forms, texts proposed for it, index lines over it, and the summaries of later
resets, with everything made from those. Another page with the same text is not erased: it is listed, and the caller decides.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pageturn.journal.blobs import digests
from pageturn.journal.journal import Journal
from pageturn.stores import Freed, Loss, Store
from pageturn.values.entries import (
    Committed,
    Entry,
    Fold,
    MessageAdded,
    Pinned,
    PlanSet,
    Preferred,
    RenditionAdmitted,
    SessionReset,
    Shown,
    Staged,
    TextReference,
    TurnTaken,
)
from pageturn.values.errors import StoreError
from pageturn.values.handles import parse
from pageturn.values.json import Closed
from pageturn.values.pages import Page
from pageturn.values.proposals import Proposal
from pageturn.values.search_text import search_text

_RUN = 5  # words in a row that two texts share by quoting rather than by chance
_KEY = 8  # characters of a word with digits that counts as unique
_MOST_RUNS = 100_000  # of a text that are searched for; from a longer text, as many at even distances


class Quote(Closed):
    """A page, by its session and handle, that repeats words of another, or that a model derived from it."""

    session: str
    handle: str


class Erased(Closed):
    """The result of an erasure: what was freed, which pages were erased too, and which others the caller should look at."""

    blobs: int
    bytes: int
    taken: tuple[Quote, ...] = ()  # the summaries of resets that were based on the page
    quoting: tuple[Quote, ...] = ()  # remaining pages that repeat its words or were derived from it
    notes: tuple[str, ...] = ()  # keys of durable notes of this session that repeat its words
    unread: tuple[str, ...] = ()  # sessions that share the page and could not be read


class Erasure(NamedTuple):
    """What must be erased with a page."""

    losses: list[Loss]
    also: tuple[int, ...]  # further pages of this session that are erased
    found: Erased  # everything but what was freed


def plan_erasure(journal: Journal, page: Page) -> Erasure:
    """What is erased with a page, and what repeats it, in this session and in all that share it."""
    losses: dict[tuple[str, int], Loss] = {}
    taken: dict[Quote, None] = {}
    quoting: dict[Quote, None] = {}
    also: tuple[int, ...] = ()
    words = _Words(_text(journal, page))
    sharing, unread = _sharing(journal, page)
    for each in sharing:
        derived = _Derived(each, page)
        for loss in derived.losses():
            key = loss.session, loss.seq
            before = losses[key].digests if key in losses else ()
            losses[key] = loss._replace(digests=tuple(dict.fromkeys((*before, *loss.digests))))
        if each is journal:
            also = tuple(summary.seq for summary in derived.summaries)
        taken |= {Quote(each.owner(summary.seq), summary.handle): None for summary in derived.summaries}
        going = {page.seq, *(summary.seq for summary in derived.summaries)}
        for other in each.state.pages:
            if (
                other.seq not in going
                and not other.erased
                and (other.seq in derived.pages or words.are_in(_text(each, other)))
            ):
                quoting[Quote(each.owner(other.seq), other.handle)] = None
    notes = tuple(key for key, note in journal.state.notes.items() if words.are_in(note.content))
    return Erasure([*losses.values()], also, Erased(0, 0, (*taken,), (*quoting,), notes, (*unread,)))


def erase(journal: Journal, page: Page, *, at: int) -> Erased:
    """Destroy the content of a page and every text made from it, and record that."""
    planned = plan_erasure(journal, page)
    freed: Freed = journal.erase(page, planned.losses, also=planned.also, at=at)
    found = planned.found
    return Erased(freed.blobs, freed.bytes, found.taken, found.quoting, found.notes, found.unread)


def records_about(journal: Journal, page: Page) -> Iterator[tuple[str, int]]:
    """The entries of a session that lose text with a page, each with the session that wrote it."""
    return ((loss.session, loss.seq) for loss in _Derived(journal, page).losses())


def _sharing(journal: Journal, page: Page) -> tuple[list[Journal], list[str]]:
    """The sessions that share the page: this one, the one it was appended to, and all forks of that; and those that cannot be read."""
    store: Store = journal.store
    owner = journal.owner(page.seq)
    rows = store.sessions()
    names, grown = {owner}, True
    while grown:
        more = {row.id for row in rows if row.parent in names and row.parent_seq >= page.seq} - names
        names, grown = names | more, bool(more)
    journals, unread = [journal], []
    for row in rows:
        if row.id in names and row.id != journal.row.id:
            try:
                journals.append(Journal(store, row))
            except StoreError:
                unread.append(row.id)
    return journals, unread


class _Derived:
    """What one session made from a page: the summaries of later resets, and the texts about the page or about those."""

    def __init__(self, journal: Journal, page: Page) -> None:
        self._journal = journal
        self._page = page
        self._entries = [(record.seq, entry) for record, entry in journal.entries(after=page.seq)]
        resets = {entry.page for _, entry in self._entries if isinstance(entry, SessionReset) and entry.page > page.seq}
        pages = (entry.page for _, entry in self._entries if isinstance(entry, MessageAdded))
        self.summaries = [each for each in pages if each.seq in resets]
        self._gone = (page, *self.summaries)
        self.pages = set(self._derived_pages())  # pages in their own right that a model derived from it

    def losses(self) -> Iterator[Loss]:
        """What the records of the session lose."""
        for page in self._gone:
            body = self._journal.store.blob(page.digest)
            inner = digests(body) if body is not None else ()
            about = (page.relevance,) if page.relevance else ()
            text = _text(self._journal, page)
            yield Loss(self._journal.owner(page.seq), page.seq, (page.digest, *inner, *about), text)
        for seq, entry in self._entries:
            if lost := tuple(digest for page in self._gone for digest in _texts_about(page, entry)):
                yield Loss(self._journal.owner(seq), seq, lost)

    def _derived_pages(self) -> Iterator[int]:
        resting: set[int] = set()
        stated = 0
        for _, entry in self._entries:
            match entry:
                case Staged(txn=txn, proposal=proposal) if any(_rests_on(page, proposal) for page in self._gone):
                    resting.add(txn)
                case PlanSet(page=page) | Preferred(page=page):
                    stated = page
                case Committed(txn=txn):
                    if txn in resting and stated:
                        yield stated
                    stated = 0


def _text(journal: Journal, page: Page) -> str | None:
    """The text of a page; None if it is erased or cannot be read."""
    try:
        message = journal.message(page)
    except StoreError:
        return None
    return search_text(message) if message is not None else None


class _Words:
    """The words of a text, to detect whether another text repeats several in a row, or one that looks like a key."""

    def __init__(self, text: str | None) -> None:
        words = _split(text or "")
        self._length = min(_RUN, len(words))
        starts = range(0, max(0, len(words) - self._length + 1), max(1, len(words) // _MOST_RUNS))
        self._runs = {hash(tuple(words[at : at + self._length])) for at in starts} if words else set()
        self._keys = {word for word in words[: _MOST_RUNS * _RUN] if _is_key(word)}

    def are_in(self, text: str | None) -> bool:
        """Whether a text repeats some of them."""
        if not text or not self._runs:
            return False
        words = _split(text)
        if not self._keys.isdisjoint(words):
            return True
        return any(
            hash(tuple(words[at : at + self._length])) in self._runs for at in range(len(words) - self._length + 1)
        )


def _split(text: str) -> list[str]:
    """The words of a text, without what is between and around them."""
    return [bare for word in text.split() if (bare := word.strip(_AROUND))]


_AROUND = ".,;:!?()[]{}<>\"'`*_|"


def _is_key(word: str) -> bool:
    return len(word) >= _KEY and any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word)


def _texts_about(page: Page, entry: Entry) -> Iterator[str]:
    """The blobs of an entry that hold text made from a page."""
    match entry:
        case Pinned(page=page.seq, structured=TextReference(digest=digest)):
            yield digest
        case RenditionAdmitted(first=first, last=last, digest=digest) if first <= page.seq <= last:
            yield digest
        case Staged(proposal=proposal, value=digest) if _rests_on(page, proposal):
            yield digest
        case TurnTaken(shown=Shown(fold=Fold(lines=lines))):
            covering = (line for line in lines if line.first <= page.seq <= line.last)
            yield from (digest for line in covering for digest in (line.folders, line.ledger) if digest is not None)


def _rests_on(page: Page, proposal: Proposal) -> bool:
    """Whether a proposal was based on a page: named as evidence, or inside the range of a summary."""
    numbers = [parsed[0] for handle in proposal.evidence if (parsed := parse(handle)) is not None]
    covered = proposal.field == "summary" and bool(numbers) and min(numbers) <= page.seq <= max(numbers)
    return covered or page.handle in proposal.evidence
