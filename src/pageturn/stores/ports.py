"""Defines what a store does: keep records in order, blobs by digest, and text to search. It knows no domain.

`Store` is all that a session needs. `Maintained` adds what the doctor needs, `Sidecars` is what routing and the gateway need, and
`VectorStore` what recall by meaning needs: a store of your own has them or not.

A session is a row and a run of records numbered from 1, each with a digest of itself and of the record before it. Appending is
compare-and-swap on the number of the last record: a batch is written as a whole, directly after the record that its writer saw last, or
not at all. A fork is a session whose records continue those of its parent. A sidecar is shared by sessions: documents by name, changed in
place, one change at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

LAST = 2**40 - 1  # the greatest number that a record may have
ERASURES_UNKNOWN = (
    "which entries were erased cannot be determined"  # how `Store.check` begins to say that `Repairs.losses` would help
)
SIDECAR = (
    "sidecar "  # how `Store.check` begins to say that documents beside the journals were altered, which a repair drops
)


class Record(NamedTuple):
    """One journal entry as it is kept: its number, its time in microseconds, and its JSON."""

    seq: int
    at: int
    body: bytes


class Broken(NamedTuple):
    """A placeholder for damaged or missing records: their numbers, what is wrong, and the blobs of a single one."""

    seq: int
    last: int
    flaw: str  # as in "entry 7 was altered"
    blobs: tuple[str, ...] = ()

    def __str__(self) -> str:
        which = f"entry {self.seq}" if self.seq == self.last else f"entries {self.seq} to {self.last}"
        return f"{which} {self.flaw}"


class Document(NamedTuple):
    """The words by which the record of that number can be found."""

    seq: int
    text: str


class Batch(NamedTuple):
    """What is appended at once: records, the blobs that they name, and their documents."""

    records: Sequence[Record]
    blobs: Mapping[str, bytes] = {}
    documents: Sequence[Document] = ()
    references: Sequence[tuple[int, str]] = ()  # (seq, digest): which record needs which blob
    inside: Mapping[
        int, str
    ] = {}  # seq -> digest: a blob that is just the text of that document; a store need not care


class SessionRow(NamedTuple):
    """A session as the store knows it."""

    id: str
    key: bytes  # what the handles of the session are checked with
    created_at: int
    scope: str | None = None
    parent: str | None = None
    parent_seq: int = 0
    head: int = 0  # the number of the last record
    flaw: str = ""  # what is wrong with the row itself


class Snapshot(NamedTuple):
    """The state of a session after a given record."""

    seq: int
    body: bytes


class Found(NamedTuple):
    """A record that matched a search; a greater score is a better match."""

    session: str
    seq: int
    score: float
    passage: int | None = (
        None  # which of its passages matched, as `values.cuts` has them; None where the store does not say
    )


class Span(NamedTuple):
    """The records of one session up to a number: what a search looks at."""

    session: str
    upto: int


class Loss(NamedTuple):
    """What an erasure takes from one record of one session: blobs, and the document with its text."""

    session: str
    seq: int
    digests: Sequence[str]
    text: str | None = None


class Repairs(NamedTuple):
    """What is put in the place of what is damaged, all at once. None is left as it is."""

    records: Mapping[
        str, Sequence[Record]
    ] = {}  # by each session that is chained anew: what stands in the place of what is broken
    misplaced: Sequence[tuple[str, int]] = ()  # (session, seq): records with a number that cannot be theirs
    blobs: Mapping[str, bytes] = {}
    references: Sequence[tuple[str, int, str]] = ()  # (session, seq, digest) that the store did not know of
    losses: Sequence[tuple[str, int]] | None = None  # (session, seq): all records that lost words by an erasure
    documents: Sequence[tuple[str, Document]] | None = None  # all words that can be searched, by session


class Freed(NamedTuple):
    """What a vacuum gives back, or would give back."""

    blobs: int
    bytes: int


class Slot(NamedTuple):
    """Where a document lies: the sidecar, and its key in it."""

    sidecar: str
    key: str


class Sidecar(NamedTuple):
    """Documents of a sidecar by key, and the number of the store's last change when they were read."""

    version: int
    documents: Mapping[str, "SidecarDocument"]


class SidecarDocument(NamedTuple):
    """A document, and the number of the change that left it so."""

    version: int
    body: bytes


Change = Callable[[Mapping[Slot, bytes | None]], Mapping[Slot, bytes | None]]  # None drops a document


@runtime_checkable
class Sidecars(Protocol):
    """Where sidecars live: all that routing asks of a store."""

    def sidecar(self, name: str, after: int = 0) -> Sidecar:
        """The documents of a sidecar that were changed after that change, in the order of their changes."""
        ...

    def sidecars(self) -> list[str]:
        """The names of all sidecars."""
        ...

    def document(self, slot: Slot) -> bytes | None:
        """One document, or None."""
        ...

    def sidecar_version(self) -> int:
        """The number of the last change of any sidecar; 0 before the first."""
        ...

    def amend(self, slots: Sequence[Slot], change: Change) -> int:
        """Read documents, and keep what `change` makes of them, so that no other change comes between; the number of this one.

        Where `change` raises or gives back nothing, nothing is changed. Numbers only grow, whatever is dropped; who follows
        a sidecar by them is not told of documents that are gone.
        """
        ...


@runtime_checkable
class Store(Protocol):
    """Where journals live: all that a session asks of a store. Every method raises `StoreError` where the backend fails.

    Whatever only reads never waits for a writer. What writes may have to wait, up to a limit that whoever opened the store has
    set, and raises `Busy` after it.
    """

    def create(self, row: SessionRow) -> None:
        """Add a session; raises `Conflict` where the id is taken."""
        ...

    def session(self, session: str) -> SessionRow | None:
        """The row of a session; one that is damaged says so, and None is only a session that never was."""
        ...

    def sessions(self, *, scope: str | None = None) -> list[SessionRow]:
        """All sessions, or those of a scope and those that are so damaged that nobody can say which is theirs, newest first."""
        ...

    def append(self, session: str, after: int, batch: Batch) -> None:
        """Add a batch behind record `after`, durably; raises `Conflict` with the records after it where there are any.

        Raises `Damaged` where the last records of the session are missing, since nobody knows what the batch would follow.
        """
        ...

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record | Broken]:
        """The session's own records in order, each verified; those of its parent are the parent's.

        Where records were altered, swapped, removed or brought from elsewhere, a `Broken` stands in their place.
        """
        ...

    def snapshot(self, session: str) -> Snapshot | None:
        """The newest snapshot of a session's state: derived data, which may be lost without harm. One that is damaged is none."""
        ...

    def keep_snapshot(self, session: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of a session."""
        ...

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        """The bytes of a blob, or of a range of it; None where there is no such blob."""
        ...

    def search(self, spans: Sequence[Span], query: str, limit: int, *, every: bool = False) -> list[Found]:
        """The best matches among the records of these spans; also those that an index does not have yet.

        Words that very many records have may be left out where a query has rarer ones, unless `every` word counts. Whether a record
        is found depends on these spans alone, never on what other sessions say.
        """
        ...

    def erase(self, session: str, after: int, record: Record, losses: Sequence[Loss]) -> Freed:
        """Append a record; what is lost loses its words in the index, and its bytes where no other record needs them."""
        ...

    def scrub(self) -> None:
        """Make sure that nothing that was dropped lingers in the files; raises `NotScrubbed` while others are reading."""
        ...

    def is_erased(self, digest: str) -> bool:
        """Whether a blob is missing because it was erased; False while any record of any session still needs it.

        So it says nothing about a single record: of two that brought the same bytes one may be erased. That is what `erased` is for.
        """
        ...

    def erasures(self) -> int:
        """A number that grows with every erasure, by whatever session and process; 0 before the first."""
        ...

    def erased(self, spans: Sequence[Span], after: int = 0) -> set[int]:
        """The numbers of the records of these spans that lost words, by whatever session, after `erasures()` was that number."""
        ...

    def at_once(self) -> AbstractContextManager[None]:
        """Within it, this thread never waits: a write that would have to raises `Busy` and writes nothing."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@runtime_checkable
class Maintained(Store, Protocol):
    """A store that can also be looked through and put right: what the doctor and `pageturn vacuum` ask of one."""

    def vacuum(self, *, dry_run: bool) -> Freed:
        """Drop blobs that no record names any more."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the store itself, in sentences."""
        ...

    def documents(self, session: str) -> set[int]:
        """The numbers of the session's own records that can be found by their words."""
        ...

    def references(self, session: str) -> set[tuple[int, str]]:
        """The blobs that the session's own records need, as far as the store knows: (seq, digest)."""
        ...

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """All blobs with their names, in no order."""
        ...

    def backup(self) -> str:
        """Copy everything as it is, damage included, to a separate place; returns its name."""
        ...

    def repair(self, found: Repairs) -> None:
        """Replace what is damaged and rebuild the chains; all of it or nothing.

        Rows that the store can restore by themselves are restored. Snapshots that no longer fit go.
        """
        ...


@runtime_checkable
class Reindexed(Protocol):
    """A store that takes words once more: an older version indexed them otherwise, or its index was damaged."""

    def drop_words(self) -> None:
        """Drop an index that was found to be damaged: every session lacks its words then. Raises `StoreError` where that cannot be written."""
        ...

    def has_other_words(self, documents: Iterable[tuple[str, Document]]) -> bool:
        """Whether what is indexed differs from these documents, which are all that there should be, by session."""
        ...

    def lacks_words(self, session: str, records: Iterable[int] = ()) -> bool:
        """Whether the words of a session's own records, of which these should have some, have to be given before they are found."""
        ...

    def give_words(self, session: str, documents: Iterable[Document]) -> None:
        """The words of all of a session's own records that have any."""
        ...


class Embedded(NamedTuple):
    """What the passages of a record mean to an embedder, as bytes that it can read."""

    seq: int
    data: bytes


@runtime_checkable
class VectorStore(Protocol):
    """A store that keeps vectors. They are derived data: whoever has none is searched by words alone."""

    def keep_vectors(self, session: str, embedder: str, given: Sequence[Embedded]) -> None:
        """Keep the vectors of the session's own records, in the place of those that they have; not of records that lost their words."""
        ...

    def vectors(self, session: str, embedder: str, after: int = 0) -> list[Embedded]:
        """The vectors of the session's own records behind a number that were made by that embedder, in order."""
        ...
