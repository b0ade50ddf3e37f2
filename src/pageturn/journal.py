"""The journal of one session: append entries to the store, and keep the state that they come to.

The store is the truth. The state is applied from it once, when the journal is opened (from a snapshot, where there is one),
and from then on with every append. A fork begins with the entries of its parent.
"""

import gc
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from copy import copy
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from pageturn.bodies import digest_of, digests, search_text, unpack
from pageturn.entries import (
    Entry,
    Fold,
    MessageAdded,
    PageErased,
    Pinned,
    RenditionAdmitted,
    Shown,
    Staged,
    TextReference,
    TurnTaken,
)
from pageturn.errors import Conflict, Damaged, StoreError
from pageturn.handles import parse
from pageturn.messages import Message, Role, Text
from pageturn.pages import Page
from pageturn.proposals import Proposal
from pageturn.relevance import RelevanceMeta
from pageturn.renditions.fencing import noted
from pageturn.state import SessionState, apply, forget_page
from pageturn.stores import LAST, Batch, Document, Freed, Loss, Record, SessionRow, Snapshot, Span, Store
from pageturn.wire import from_json, to_json

_SNAPSHOT_EVERY = 2_000  # entries at least, and a quarter of the journal, lie between two snapshots


class Fresh(NamedTuple):
    """An entry on its way into the journal, with the words that it brings."""

    entry: Entry
    blobs: Mapping[str, bytes] = {}
    text: str | None = None
    message: Message | None = None  # as it will be read, so that nobody's later change to what was given matters


class Journal:
    """One session's entries and what they come to."""

    def __init__(self, store: Store, row: SessionRow, *, parent: "Journal | None" = None) -> None:
        self.store = store
        self.row = row
        self._supposed: dict[str, bytes] = {}
        self.spans = lineage(store, row) if parent is None else _spans_behind(parent, row)
        self._erasures, self._erased = 0, frozenset[int]()
        self._noticed: AbstractSet[int] = self._erased  # those that the state knows of
        self.state: SessionState
        self._snapshot_seq = 0
        if parent is None or parent.has_noticed:
            self.state, self._snapshot_seq = _load_snapshot(store, self.spans)
        else:
            self.state = _copied(parent.state)
        with _without_garbage_collection():
            self._apply_stored(self.state)

    @classmethod
    def open(cls, store: Store, session: str) -> "Journal | None":
        """The journal of a session, or None where there is no such session."""
        row = store.session(session)
        return cls(store, row) if row else None

    @property
    def has_noticed(self) -> bool:
        """Whether the state knows of erasures that the entries may not tell of yet."""
        return bool(self._noticed)

    @property
    def head(self) -> int:
        """The number of the last entry."""
        return self.state.head

    def append(self, fresh: Sequence[Fresh], *, at: int) -> None:
        """Write entries, all or none, and apply them; raises `Conflict` where somebody else wrote first."""
        records: list[Record] = []
        blobs: dict[str, bytes] = {}
        documents: list[Document] = []
        references: list[tuple[int, str]] = []
        applied: list[Entry] = []
        for seq, (entry, brought, text, _) in enumerate(fresh, start=self.head + 1):
            body = to_json(entry)
            # What cannot be read back is not written. A page is made of a message that was read back already.
            applied.append(entry if isinstance(entry, MessageAdded) else from_json(Entry, body))
            records.append(Record(seq, at, body))
            blobs.update(brought)
            references += [(seq, digest) for digest in brought]
            if text is not None:
                documents.append(Document(seq, text))
        with self._conflicts_told():
            self.store.append(self.row.id, self.head, Batch(records, blobs, documents, references))
        for record, entry in zip(records, applied, strict=True):
            apply(self.state, record.seq, entry)
        if self.head - self._snapshot_seq > max(_SNAPSHOT_EVERY, self.head // 4):
            with suppress(StoreError), self.store.at_once():  # the entries are written; a snapshot may be missing
                self.keep_snapshot()

    def erase(self, page: Page, *, at: int) -> Freed:
        """Destroy the words of a page, and every text that was made of them; write down that this was done."""
        entry = PageErased(page=page.seq, digest=page.digest)
        record = Record(self.head + 1, at, to_json(entry))
        with self._conflicts_told():
            freed = self.store.erase(self.row.id, self.head, record, self._losses(page))
        apply(self.state, record.seq, entry)
        return freed

    def notice_erased(self) -> list[PageErased]:
        """Take into account the pages that another session erased which shares them; the entries that say so, for whoever writes next."""
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
        """Apply what others have appended meanwhile; says how many entries that were."""
        before = self.head
        self._apply_stored(self.state)
        return self.head - before

    def past(self, head: int) -> SessionState:
        """What the entries had come to when this was the last one."""
        state = SessionState()
        self._apply_stored(state, upto=head)
        return state

    def entries(self, after: int = 0) -> Iterator[tuple[Record, Entry]]:
        """The entries in order, those of the parents too."""
        for span in self.spans:
            for record in self.store.records(span.session, after, span.upto) if span.upto > after else ():
                yield record, _decoded(self.row.id, record)

    def erased(self) -> AbstractSet[int]:
        """The numbers of the entries that lost words, by this session, a fork or a parent, in whatever process, until now.

        An entry can lose its words while others have the same: the store keeps the bytes for those, and this one's are erased.
        """
        now = self.store.erasures()
        if now != self._erasures:
            self._erased |= self.store.erased(self.spans, after=self._erasures)
            self._erasures = now
        return self._erased

    def message(self, page: Page) -> Message | None:
        """The message of a page, verified against its digest; None where its words were erased, by whatever session."""
        body = self._verified(page.digest) if page.seq not in self.erased() else None
        if body is None:
            return None
        message = unpack(body, self._text)
        if message.role is Role.SYSTEM and page.role is Role.USER:  # a model stated it, under an earlier version
            words = Text(noted(str(page.kind), message.text))
            message = msgspec.structs.replace(message, role=Role.USER, synthetic=True, content=(words,))
        return msgspec.structs.replace(message, id=page.id)

    def is_out_of_scope(self, page: Page) -> bool:
        """Whether a page is a preference that is not meant for this session: it is kept and recalled, and not shown."""
        return self.state.is_out_of_scope(page, self.row.scope)

    def relevance(self, page: Page) -> RelevanceMeta | None:
        """What a page is about, as it was read off when it was appended; None where nobody did, or where it was erased."""
        if not page.relevance:
            return None if page.relevance is None else RelevanceMeta()
        data = self._verified(page.relevance)
        return from_json(RelevanceMeta, data) if data is not None else None

    def text(self, digest: str) -> str | None:
        """A text that is kept as a blob; None where it was erased."""
        data = self._verified(digest)
        return data.decode() if data is not None else None

    def value(self, digest: str) -> Any:
        """The value of a proposal, from the blob that it is kept as; UNSET where it was erased."""
        data = self._verified(digest)
        return msgspec.UNSET if data is None else msgspec.json.decode(data)

    def keep_snapshot(self) -> None:
        """Save the state, so that the next opening need not apply every entry."""
        stored = msgspec.msgpack.encode(_StoredState(_SNAPSHOT_FORMAT, self.state))
        self.store.keep_snapshot(self.row.id, Snapshot(self.head, stored))
        self._snapshot_seq = self.head

    @contextmanager
    def supposing(self, fresh: Sequence[Fresh]) -> Iterator[None]:
        """As if these entries were written, to find out what would come of them; afterwards everything is as it was."""
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

    @contextmanager
    def _conflicts_told(self) -> Iterator[None]:
        """A conflict with the entries that were missed, instead of the store's records."""
        try:
            yield
        except Conflict as conflict:
            missed = [_decoded(self.row.id, record) for record in conflict.missed]
            raise Conflict(str(conflict), missed=missed) from None

    def _apply_stored(self, state: SessionState, upto: int = LAST) -> None:
        for record, entry in takewhile(lambda each: each[0].seq <= upto, self.entries(after=state.head)):
            try:
                apply(state, record.seq, entry)
            except (AssertionError, LookupError) as error:
                what = f"session {self.row.id!r}, entry {record.seq}: it does not follow from the entries before it"
                raise StoreError(what) from error

    def _losses(self, page: Page) -> list[Loss]:
        """What goes with a page: its own words, its pins' forms, and the texts that were proposed for it."""
        message = self.message(page)
        body = self.store.blob(page.digest)
        inner = digests(body) if body is not None else ()
        text = search_text(message) if message is not None else None
        about = (page.relevance,) if page.relevance else ()
        losses = [Loss(self._owner(page.seq), page.seq, (page.digest, *inner, *about), text)]
        for record, entry in self.entries(after=page.seq):
            if told := tuple(_texts_about(page, entry)):
                losses.append(Loss(self._owner(record.seq), record.seq, told))
        return losses

    def _owner(self, seq: int) -> str:
        """The session, this one or an ancestor, whose record has that number."""
        return next(span.session for span in self.spans if seq <= span.upto)

    def _verified(self, digest: str) -> bytes | None:
        """The bytes of a blob; None where they were erased. Damage and loss are errors."""
        data = self._supposed.get(digest) or self.store.blob(digest)
        if data is None and not self.store.is_erased(digest):
            raise Damaged(f"session {self.row.id!r}: blob {digest} is missing")
        if data is not None and digest_of(data) != digest:
            raise Damaged(f"session {self.row.id!r}: blob {digest} does not have the content that its name says")
        return data

    def _text(self, digest: str) -> bytes:
        data = self._verified(digest)
        if data is None:
            raise Damaged(f"session {self.row.id!r}: blob {digest} was erased")
        return data


def lineage(store: Store, row: SessionRow) -> list[Span]:
    """The runs of records that a session consists of: its ancestors' up to where it left them, then its own."""
    spans = [Span(row.id, LAST)]
    while row.parent is not None:
        parent = store.session(row.parent)
        if parent is None:
            raise StoreError(f"session {row.id!r}: its parent {row.parent!r} is missing")
        spans.append(Span(parent.id, min(row.parent_seq, spans[-1].upto)))
        row = parent
    return spans[::-1]


def _texts_about(page: Page, entry: Entry) -> Iterator[str]:
    """The blobs of an entry that hold words made of a page's."""
    match entry:
        case Pinned(page=page.seq, structured=TextReference(digest=digest)):
            yield digest
        case RenditionAdmitted(first=first, last=last, digest=digest) if first <= page.seq <= last:
            yield digest
        case Staged(proposal=proposal, value=digest) if _rests_on(page, proposal):
            yield digest
        case TurnTaken(shown=Shown(fold=Fold(lines=lines))):
            covering = (line for line in lines if line.first <= page.seq <= line.last)
            yield from (told for line in covering for told in (line.folders, line.ledger) if told is not None)


def _rests_on(page: Page, proposal: Proposal) -> bool:
    """Whether a proposal was made of a page: named as evidence, or inside the span that a summary covers."""
    numbers = [parsed[0] for handle in proposal.evidence if (parsed := parse(handle)) is not None]
    covered = proposal.field == "summary" and bool(numbers) and min(numbers) <= page.seq <= max(numbers)
    return covered or page.handle in proposal.evidence


def _decoded(session: str, record: Record) -> Entry:
    try:
        return from_json(Entry, record.body)
    except ValueError as error:
        raise StoreError(f"session {session!r}, entry {record.seq}: {error}") from error


def _spans_behind(parent: Journal, row: SessionRow) -> list[Span]:
    """The runs of records of a fork that begins now."""
    return [*parent.spans[:-1], Span(parent.row.id, row.parent_seq), Span(row.id, LAST)]


def _copied(state: SessionState) -> SessionState:
    """The same state, for another journal to go on with."""
    return _SNAPSHOTS.decode(msgspec.msgpack.encode(_StoredState(_SNAPSHOT_FORMAT, state))).state


def _load_snapshot(store: Store, spans: Sequence[Span]) -> tuple[SessionState, int]:
    """The state to start from. A snapshot that cannot be read is no loss: the entries are there."""
    for span in reversed(spans):
        snapshot = store.snapshot(span.session)
        if snapshot is None or snapshot.seq > span.upto:
            continue
        try:
            with _without_garbage_collection():
                stored = _SNAPSHOTS.decode(snapshot.body)
            if stored.format == _SNAPSHOT_FORMAT:
                return stored.state, snapshot.seq
        except msgspec.DecodeError:
            continue
    return SessionState(), 0


class _StoredState(msgspec.Struct):
    format: int
    state: SessionState


_SNAPSHOT_FORMAT = 11  # grows with every change of SessionState or of anything in it
_SNAPSHOTS = msgspec.msgpack.Decoder(_StoredState, dec_hook=lambda type_, raw: type_.from_builtins(raw))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """A hundred thousand pages that all stay alive would make the collector run again and again for nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
