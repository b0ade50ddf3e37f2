"""Appends the entries of one session to the store, and keeps the state that they add up to.

The store is authoritative. The state is built from it once, when the journal is opened (from a snapshot, if there is one), and updated
with every append. A fork begins with the entries of its parent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, NamedTuple

import msgspec

from pageturn.journal.apply import apply, forget_page
from pageturn.journal.blobs import unpack
from pageturn.journal.salvage import salvaged
from pageturn.journal.state import SessionState
from pageturn.stores import LAST, Batch, Broken, Document, Freed, Loss, Record, SessionRow, Snapshot, Span, Store
from pageturn.values.digests import digest_of, digest_of_text
from pageturn.values.entries import Entry, EntryLost, MessageAdded, PageErased
from pageturn.values.errors import Conflict, Damaged, InvalidInput, StoreError, show
from pageturn.values.fencing import noted
from pageturn.values.garbage_collection import without_garbage_collection
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import Message, Role, Text
from pageturn.values.pages import Page
from pageturn.values.relevance import RelevanceMeta

_SNAPSHOT_EVERY = 2_000  # entries between two snapshots: at least this many, and a quarter of the journal
# From this many characters on, a store is given the place of a text in the message, so that it need not copy it.
_VERY_LONG = 1_000_000
_MOST_UNFOUNDED = 100  # entries that depend on lost ones, after which the session is given up


class Fresh(NamedTuple):
    """An entry to be written, with the message or text that belongs to it."""

    entry: Entry
    blobs: Mapping[str, bytes] = {}
    text: str | None = None
    message: Message | None = None  # as it will be read back, so that later changes to what was given have no effect


class Journal:
    """The entries of one session, and the state that they add up to."""

    def __init__(self, store: Store, row: SessionRow, *, parent: "Journal | None" = None) -> None:
        self.store = store
        self.row = row
        self._supposed: dict[str, bytes] = {}
        self.spans = lineage(store, row) if parent is None else _spans_behind(parent, row)
        self._erasures, self._erased = 0, frozenset[int]()
        self._noticed: AbstractSet[int] = self._erased  # those that the state includes
        self.state, self._snapshot_seq = _state_of(parent) or _load_snapshot(store, self.spans)
        with without_garbage_collection():
            self._apply_stored(self.state)

    @classmethod
    def open(cls, store: Store, session: str) -> "Journal | None":
        """The journal of a session; None if there is no such session."""
        row = store.session(session)
        return cls(store, row) if row else None

    @property
    def has_noticed(self) -> bool:
        """Whether the state includes erasures that no entry records yet."""
        return bool(self._noticed)

    @property
    def head(self) -> int:
        """The number of the last entry."""
        return self.state.head

    def append(self, fresh: Sequence[Fresh], *, at: int) -> None:
        """Write entries, all or none, and apply them; raises `Conflict` if another writer was first."""
        records: list[Record] = []
        blobs: dict[str, bytes] = {}
        documents: list[Document] = []
        references: list[tuple[int, str]] = []
        inside: dict[int, str] = {}
        applied: list[Entry] = []
        for seq, (entry, brought, text, _) in enumerate(fresh, start=self.head + 1):
            body = to_json(entry)
            # What cannot be read back is not written. A page is made from a message that was already read back.
            applied.append(entry if isinstance(entry, MessageAdded) else from_json(Entry, body))
            records.append(Record(seq, at, body))
            blobs.update(brought)
            references += [(seq, digest) for digest in brought]
            if text is not None:
                documents.append(Document(seq, text))
                if len(text) > _VERY_LONG and (digest := digest_of_text(text)) in brought:
                    inside[seq] = digest
        try:
            self.store.append(self.row.id, self.head, Batch(records, blobs, documents, references, inside))
        except Conflict as conflict:
            raise self._described(conflict) from None
        for record, entry in zip(records, applied, strict=True):
            apply(self.state, record.seq, entry)
        if self.head - self._snapshot_seq > max(_SNAPSHOT_EVERY, self.head // 4) and not self._is_damaged:
            with suppress(StoreError), self.store.at_once():  # the entries are written; a snapshot may be missing
                self.keep_snapshot()

    def erase(self, page: Page, losses: Sequence[Loss], *, also: tuple[int, ...] = (), at: int) -> Freed:
        """Destroy the content of a page, of others erased with it, and everything else in the plan; record that."""
        entry = PageErased(page=page.seq, digest=page.digest, also=also)
        record = Record(self.head + 1, at, to_json(entry))
        try:
            freed = self.store.erase(self.row.id, self.head, record, losses)
        except Conflict as conflict:
            raise self._described(conflict) from None
        apply(self.state, record.seq, entry)
        return freed

    def notice_erased(self) -> list[PageErased]:
        """Account for pages that other sessions sharing them erased; returns the entries that record it, for the next write."""
        erased = self.erased()
        if erased is self._noticed:
            return []
        self._noticed = erased
        found = (self.state.page(seq) for seq in sorted(erased))
        entries = [
            PageErased(page=page.seq, digest=page.digest) for page in found if page is not None and not page.erased
        ]
        for entry in entries:
            forget_page(self.state, entry)
        return entries

    def catch_up(self) -> int:
        """Apply what others have appended meanwhile; returns the number of entries."""
        before = self.head
        self._apply_stored(self.state)
        return self.head - before

    def past(self, head: int = LAST) -> SessionState:
        """The state when this was the last entry, computed from the entries alone."""
        state = SessionState()
        self._apply_stored(state, upto=head, begin=SessionState)
        return state

    def entries(self, after: int = 0) -> Iterator[tuple[Record, Entry]]:
        """The entries in order, those of the parents too; raises `Damaged` at the first that cannot be read."""
        for session, record in self.records(after):
            if isinstance(record, Broken):
                raise Damaged(f"session {session!r}: {record}")
            yield record, _decoded(session, record)

    def records(self, after: int = 0) -> Iterator[tuple[str, Record | Broken]]:
        """The stored entries, each with the session that wrote it."""
        for span in self.spans:
            for record in self.store.records(span.session, after, span.upto) if span.upto > after else ():
                yield span.session, record

    def erased(self) -> AbstractSet[int]:
        """The numbers of the entries that lost words, by this session, a fork or a parent, in whatever process, until now.

        An entry can lose its words while others have the same: the store keeps the bytes for those, and this one counts as erased.
        """
        now = self.store.erasures()
        if now != self._erasures:
            self._erased |= self.store.erased(self.spans, after=self._erasures)
            self._erasures = now
        return self._erased

    def message(self, page: Page, *, asks_again: bool = True) -> Message | None:
        """The message of a page, verified against its digest; None if it was erased, by any session.

        A caller that reads many pages asks the store for erasures once (`notice_erased`), and not `again` for each.
        """
        erased = self.erased() if asks_again else self._erased
        body = self._verified(page.digest) if page.seq not in erased else None
        if body is None:
            return None
        message = unpack(body, self.verified)
        if message.role is Role.SYSTEM and page.role is Role.USER:  # a model stated it, under an earlier version
            words = Text(noted(str(page.kind), message.text))
            message = msgspec.structs.replace(message, role=Role.USER, synthetic=True, content=(words,))
        return msgspec.structs.replace(message, id=page.id)

    def is_out_of_scope(self, page: Page) -> bool:
        """Whether a page is a preference for another scope: it is stored and can be recalled, but is not shown."""
        return self.state.is_out_of_scope(page, self.row.scope)

    def relevance(self, page: Page) -> RelevanceMeta | None:
        """What a page is about, as extracted when it was appended; None if nothing was extracted, or if it was erased."""
        if not page.relevance:
            return None if page.relevance is None else RelevanceMeta()
        data = self._verified(page.relevance)
        return from_json(RelevanceMeta, data) if data is not None else None

    def text(self, digest: str) -> str | None:
        """A text stored as a blob; None if it was erased."""
        data = self._verified(digest)
        return data.decode() if data is not None else None

    def value(self, digest: str) -> Any:
        """The value of a proposal, from its blob; UNSET if it was erased."""
        data = self._verified(digest)
        return msgspec.UNSET if data is None else msgspec.json.decode(data)

    @property
    def _is_damaged(self) -> bool:
        """Whether the state depends on unreadable entries; then it is rebuilt each time, and says so."""
        return self.state.damage is not None or bool(self.state.restored)

    def keep_snapshot(self) -> None:
        """Save the state, so that the next opening need not apply every entry."""
        if self._is_damaged:
            return
        if (stored := _encoded(self.state)) is None:
            return
        self.store.keep_snapshot(self.row.id, Snapshot(self.head, stored))
        self._snapshot_seq = self.head

    @contextmanager
    def supposing(self, fresh: Sequence[Fresh]) -> Iterator[None]:
        """Pretend that these entries were written, to find out the consequences; afterwards everything is as before."""
        before = {name: copy(getattr(self.state, name)) for name in self.state.__struct_fields__}
        try:
            for seq, (entry, brought, *_) in enumerate(fresh, start=self.head + 1):
                self._supposed.update(brought)
                apply(self.state, seq, entry)
            yield
        finally:
            self._supposed.clear()
            for name, value in before.items():
                setattr(self.state, name, value)

    def _described(self, conflict: Conflict) -> Conflict:
        """A conflict with the missed entries, instead of the store's records."""
        missed = [
            _decoded(self.row.id, record) if isinstance(record, Record) else self._salvaged(record)
            for record in conflict.missed
        ]
        return Conflict(str(conflict), missed=missed)

    def _apply_stored(
        self, state: SessionState, upto: int = LAST, begin: Callable[[], SessionState] | None = None
    ) -> None:
        """Apply the entries that the state does not include yet; `begin` gives the initial state if that must be repeated.

        After a lost entry, some intact ones may depend on it. Those are lost too, and the others apply without them.
        """
        unfounded: dict[int, str] = {}
        while (failed := self._applied(state, upto, unfounded)) is not None:
            seq, error = failed
            if not state.lost or seq in unfounded or len(unfounded) >= _MOST_UNFOUNDED:
                what = f"session {self.row.id!r}, entry {seq}: it contradicts the entries before it"
                raise StoreError(what) from error
            unfounded[seq] = f"entry {seq} depends on lost entries: {next(iter(state.lost.values())).what}"
            again = begin() if begin is not None else _load_snapshot(self.store, self.spans)[0]
            for name in state.__struct_fields__:
                setattr(state, name, getattr(again, name))

    def _applied(self, state: SessionState, upto: int, unfounded: Mapping[int, str]) -> tuple[int, Exception] | None:
        """Apply entries; returns the first that contradicts those before it, and why."""
        for session, record in self.records(after=state.head):
            if record.seq > upto:
                break
            entry = self._entry(record)
            if record.seq in unfounded:
                entry = EntryLost(last=record.seq, what=unfounded[record.seq], is_accepted=state.damage is None)
            try:
                apply(state, record.seq, entry)
            except (AssertionError, LookupError, ValueError) as error:
                return record.seq, error
            if isinstance(record, Broken) and isinstance(entry, MessageAdded):
                state.restored[record.seq] = f"session {session!r}: {record}, and was rebuilt from its text"
        return None

    def _entry(self, record: Record | Broken) -> Entry:
        """The entry in a record; if it is damaged, what can be salvaged."""
        if isinstance(record, Broken):
            return self._salvaged(record)
        try:
            return from_json(Entry, record.body)
        except ValueError as error:
            what = f"entry {record.seq} cannot be read: {error}"
            return EntryLost(last=record.seq, what=what, is_accepted=False)

    def _salvaged(self, broken: Broken) -> Entry:
        return salvaged(broken, self.row.key, self.verified)

    def owner(self, seq: int) -> str:
        """The session, this one or an ancestor, that has the record of that number."""
        return next(span.session for span in self.spans if seq <= span.upto)

    def _verified(self, digest: str) -> bytes | None:
        """The bytes of a blob; None if they were erased. Damage and loss are errors."""
        data = self._supposed.get(digest) or self.store.blob(digest)
        if data is None and not self.store.is_erased(digest):
            raise Damaged(f"session {self.row.id!r}: blob {digest} is missing")
        if data is not None and digest_of(data) != digest:
            raise Damaged(f"session {self.row.id!r}: blob {digest} does not have the content that its name says")
        return data

    def verified(self, digest: str) -> bytes:
        """The bytes of a blob; raises `Damaged` if they were altered or are gone."""
        data = self._verified(digest)
        if data is None:
            raise Damaged(f"session {self.row.id!r}: blob {digest} was erased")
        return data


def require_scope(row: SessionRow, scope: str | None) -> None:
    """Raise unless the caller named the scope of the session, or it has none."""
    if scope != row.scope:
        named = (
            "none (it was created without one)" if row.scope is None else f"{row.scope!r}, with which it was created"
        )
        raise InvalidInput("scope", expected=f"the scope of session {row.id!r}, {named}", got=show(scope))


def lineage(store: Store, row: SessionRow) -> list[Span]:
    """The runs of records that make up a session: its ancestors' up to the fork, then its own."""
    spans = [Span(row.id, LAST)]
    seen = {row.id}
    while True:
        if row.flaw:
            raise Damaged(f"session {row.id!r}: {row.flaw}")
        if row.parent is None:
            return spans[::-1]
        parent = store.session(row.parent)
        if parent is None:
            raise Damaged(f"session {row.id!r}: its parent {row.parent!r} is missing")
        if parent.id in seen:
            raise Damaged(f"session {row.id!r}: its parent {parent.id!r} is its own descendant")
        seen.add(parent.id)
        spans.append(Span(parent.id, min(row.parent_seq, spans[-1].upto)))
        row = parent


def _decoded(session: str, record: Record) -> Entry:
    try:
        return from_json(Entry, record.body)
    except ValueError as error:
        raise StoreError(f"session {session!r}, entry {record.seq}: {error}") from error


def _spans_behind(parent: Journal, row: SessionRow) -> list[Span]:
    """The runs of records of a new fork."""
    return [*parent.spans[:-1], Span(parent.row.id, row.parent_seq), Span(row.id, LAST)]


def _state_of(parent: Journal | None) -> tuple[SessionState, int] | None:
    """The state that a fork starts with, without a snapshot of its own; None if it must be built from the entries."""
    state = copy_of(parent.state) if parent is not None and not parent.has_noticed else None
    return (state, 0) if state is not None else None


def copy_of(state: SessionState) -> SessionState | None:
    """A state that shares nothing with the first; None if it cannot be written as a snapshot."""
    stored = _encoded(state)
    return _SNAPSHOTS.decode(stored).state if stored is not None else None


def _encoded(state: SessionState) -> bytes | None:
    """A state as bytes; None if an unknown field has a number of more than 64 bits. The entries are there anyway."""
    try:
        return msgspec.msgpack.encode(_StoredState(_SNAPSHOT_FORMAT, state))
    except OverflowError:
        return None


def _load_snapshot(store: Store, spans: Sequence[Span]) -> tuple[SessionState, int]:
    """The initial state. An unreadable snapshot is no loss: the entries are there."""
    for span in reversed(spans):
        snapshot = store.snapshot(span.session)
        if snapshot is None or snapshot.seq > span.upto:
            continue
        if (state := read_snapshot(snapshot)) is not None:
            return state, snapshot.seq
    return SessionState(), 0


def read_snapshot(snapshot: Snapshot) -> SessionState | None:
    """The state in a snapshot; None if it cannot be read, or has another version."""
    try:
        with without_garbage_collection():
            stored = _SNAPSHOTS.decode(snapshot.body)
    except (ValueError, TypeError, RecursionError):  # msgspec's errors, and those of invalid text, are ValueErrors
        return None
    return stored.state if stored.format == _SNAPSHOT_FORMAT else None


class _StoredState(msgspec.Struct):
    format: int
    state: SessionState


_SNAPSHOT_FORMAT = 16  # increase with every change of SessionState or of anything in it
_SNAPSHOTS = msgspec.msgpack.Decoder(_StoredState, dec_hook=lambda type_, raw: type_.from_builtins(raw))
