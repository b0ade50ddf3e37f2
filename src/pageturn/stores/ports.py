"""Defines the interfaces of a store: it keeps records in order, blobs by digest, and text to search, and knows nothing of what they mean.

`Store` is all that a session needs. `Maintained` adds what the doctor needs, `Sidecars` what routing and the gateway need, and
`VectorStore` what recall by meaning needs; a store of your own may implement them or not.

A session is a row and a sequence of records numbered from 1, each with a digest of itself and of the record before it. Appending is
compare-and-swap on the number of the last record: a batch is written as a whole, directly after the record that its writer saw last,
or not at all. A fork is a session whose records continue those of its parent. A sidecar is shared by sessions: documents by name,
changed in place, one change at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

LAST = 2**40 - 1  # the greatest number that a record may have
ERASURES_UNKNOWN = "which entries were erased cannot be determined"  # how a message of `Store.check` begins if `Repairs.losses` would help
SIDECAR = "sidecar "  # how a message of `Store.check` begins if sidecar documents were altered, which a repair drops


class Record(NamedTuple):
    """One journal entry as stored: its number, its time in microseconds, and its JSON."""

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
    """The text by which a search finds the record of that number."""

    seq: int
    text: str


class Batch(NamedTuple):
    """What is appended at once: records, the blobs that they need, and their documents."""

    records: Sequence[Record]
    blobs: Mapping[str, bytes] = {}
    documents: Sequence[Document] = ()
    references: Sequence[tuple[int, str]] = ()  # (seq, digest): which record needs which blob
    # seq -> digest: a blob that is exactly the text of that document; a store may ignore it.
    inside: Mapping[int, str] = {}


class SessionRow(NamedTuple):
    """A session as the store knows it."""

    id: str
    key: bytes  # the key of the checks in the session's handles
    created_at: int
    scope: str | None = None
    parent: str | None = None
    parent_seq: int = 0
    head: int = 0  # the number of the last record
    flaw: str = ""  # the damage to the row itself


class Snapshot(NamedTuple):
    """The state of a session after a given record."""

    seq: int
    body: bytes


class Found(NamedTuple):
    """A record that matched a search; a greater score is a better match."""

    session: str
    seq: int
    score: float
    # The passage that matched, as `values.passages` counts them; None if the store does not say.
    passage: int | None = None


class Span(NamedTuple):
    """The records of one session up to a number, which a search covers."""

    session: str
    upto: int


class Loss(NamedTuple):
    """What an erasure removes from one record of one session: blobs, and the document with its text."""

    session: str
    seq: int
    digests: Sequence[str]
    text: str | None = None


class Repairs(NamedTuple):
    """The replacements for everything that is damaged, applied at once."""

    # By each session whose chain is rebuilt: the replacements of broken records.
    records: Mapping[str, Sequence[Record]] = {}
    misplaced: Sequence[tuple[str, int]] = ()  # (session, seq): records with an impossible number
    blobs: Mapping[str, bytes] = {}
    references: Sequence[tuple[str, int, str]] = ()  # (session, seq, digest) that the store did not know of
    losses: Sequence[tuple[str, int]] | None = None  # (session, seq): all records that lost words by an erasure
    documents: Sequence[tuple[str, Document]] | None = None  # all searchable texts, by session


class Freed(NamedTuple):
    """What a vacuum frees, or would free."""

    blobs: int
    bytes: int


class Slot(NamedTuple):
    """The address of a document: the sidecar, and its key in it."""

    sidecar: str
    key: str


class Sidecar(NamedTuple):
    """The documents of a sidecar by key, and the number of the store's last change when they were read."""

    version: int
    documents: Mapping[str, "SidecarDocument"]


class SidecarDocument(NamedTuple):
    """A document, and the number of the change that wrote it."""

    version: int
    body: bytes


Change = Callable[[Mapping[Slot, bytes | None]], Mapping[Slot, bytes | None]]  # None deletes a document


@runtime_checkable
class Sidecars(Protocol):
    """The interface for sidecars, used by routing and the gateway."""

    def sidecar(self, name: str, after: int = 0) -> Sidecar:
        """The documents of a sidecar that changed after that change number, in the order of their changes."""
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
        """Read documents and store what `change` returns for them, atomically; returns the number of this change.

        If `change` raises or returns nothing, nothing is changed. Numbers only grow, even if documents are deleted; a reader that
        follows a sidecar by them does not see deletions.
        """
        ...


@runtime_checkable
class Store(Protocol):
    """The interface that a session needs of a store. Every method raises `StoreError` if the backend fails.

    Reads never wait for a writer. Writes may wait, up to the limit that was set when the store was opened, and then raise `Busy`.
    """

    def create(self, row: SessionRow) -> None:
        """Add a session; raises `Conflict` if the id is taken."""
        ...

    def session(self, session: str) -> SessionRow | None:
        """The row of a session. A damaged row says so; None means that there never was such a session."""
        ...

    def sessions(self, *, scope: str | None = None) -> list[SessionRow]:
        """All sessions, or those of a scope and those too damaged to tell their scope, newest first."""
        ...

    def append(self, session: str, after: int, batch: Batch) -> None:
        """Append a batch after record `after`, durably; if there are later records, raises `Conflict` with them.

        Raises `Damaged` if the last records of the session are missing, since it is unknown what the batch would follow.
        """
        ...

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record | Broken]:
        """The session's own records in order, each verified, without those of its parent.

        A `Broken` takes the place of records that were altered, swapped, removed or copied from elsewhere.
        """
        ...

    def snapshot(self, session: str) -> Snapshot | None:
        """The newest snapshot of a session's state: derived data that may be lost without harm. A damaged one counts as none."""
        ...

    def keep_snapshot(self, session: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of a session."""
        ...

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        """The bytes of a blob, or a range of them; None if there is no such blob."""
        ...

    def search(self, spans: Sequence[Span], query: str, limit: int, *, every: bool = False) -> list[Found]:
        """The best matches among the records of these spans, including records that are not indexed yet.

        Words in very many records may be dropped if the query has rarer ones, unless `every` is true. Whether a record is found
        depends on these spans alone, never on the content of other sessions.
        """
        ...

    def erase(self, session: str, after: int, record: Record, losses: Sequence[Loss]) -> Freed:
        """Append a record; each loss removes words from the index, and bytes that no other record needs."""
        ...

    def scrub(self) -> None:
        """Make sure that no deleted bytes remain in the files; raises `NotScrubbed` while others are reading."""
        ...

    def is_erased(self, digest: str) -> bool:
        """Whether a blob is missing because it was erased; False while any record of any session still needs it.

        So it says nothing about a single record: of two with the same bytes, one may be erased. `erased` answers that.
        """
        ...

    def erasures(self) -> int:
        """A number that grows with every erasure, by any session and process; 0 before the first."""
        ...

    def erased(self, spans: Sequence[Span], after: int = 0) -> set[int]:
        """The numbers of the records of these spans that lost words, by any session, since `erasures()` returned that number."""
        ...

    def at_once(self) -> AbstractContextManager[None]:
        """Within it, this thread never waits: a write that would have to wait raises `Busy` and writes nothing."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


@runtime_checkable
class Maintained(Store, Protocol):
    """A store that can also be checked and repaired: what the doctor and `pageturn vacuum` need."""

    def vacuum(self, *, dry_run: bool) -> Freed:
        """Delete blobs that no record needs any more."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the store itself, as sentences."""
        ...

    def documents(self, session: str) -> set[int]:
        """The numbers of the session's own records that have searchable text."""
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

        Rows that the store can restore by itself are restored. Snapshots that no longer match are deleted.
        """
        ...


@runtime_checkable
class Reindexed(Protocol):
    """A store whose index can be filled again: because an older version indexed differently, or because the index was damaged."""

    def drop_words(self) -> None:
        """Drop a damaged index: every session then lacks its words. Raises `StoreError` if that cannot be written."""
        ...

    def has_other_words(self, documents: Iterable[tuple[str, Document]]) -> bool:
        """Whether the index differs from these documents, which are all that it should have, by session."""
        ...

    def lacks_words(self, session: str, records: Iterable[int] = ()) -> bool:
        """Whether the words of a session's own records must be indexed again; `records` are some that should have words."""
        ...

    def give_words(self, session: str, documents: Iterable[Document]) -> None:
        """Index the words of all of a session's own records that have any."""
        ...


@runtime_checkable
class Transactional(Protocol):
    """A store that can write to several sessions, all or nothing."""

    def transaction(self) -> AbstractContextManager[None]:
        """Within it, everything that this thread writes is written when it ends; if it ends by an exception, nothing is."""
        ...


class Embedded(NamedTuple):
    """The vectors of the passages of a record, as bytes that the embedder can read."""

    seq: int
    data: bytes


@runtime_checkable
class VectorStore(Protocol):
    """A store that keeps vectors. They are derived data: a session without them is searched by words alone."""

    def keep_vectors(self, session: str, embedder: str, given: Sequence[Embedded]) -> None:
        """Store the vectors of the session's own records, replacing older ones; records that lost their words get none."""
        ...

    def vectors(self, session: str, embedder: str, after: int = 0) -> list[Embedded]:
        """The vectors of the session's own records after a number that were made by that embedder, in order."""
        ...


@runtime_checkable
class FullStore(Maintained, Sidecars, Reindexed, VectorStore, Protocol):
    """A store with everything: what `open_store` returns."""

    @property
    def path(self) -> str:
        """The file, or the server and the database; without a password."""
        ...
