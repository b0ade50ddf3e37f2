"""A store in a PostgreSQL database, which many programs on many machines may use at once.

Durability is the server's: an append that returned was committed. Waiting: readers never wait for a writer. A writer waits for another
writer of the same session, for an erasure, or for a free connection, for at most `wait_seconds`, and then raises `Busy`. A lost
connection is made again within that time, and what was being written is written once.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice

from pageturn.stores import chain
from pageturn.stores.chain import SIZE
from pageturn.stores.ports import (
    LAST,
    Batch,
    Broken,
    Change,
    Document,
    Embedded,
    Found,
    Freed,
    Loss,
    Record,
    Repairs,
    SessionRow,
    Sidecar,
    Slot,
    Snapshot,
    Span,
)
from pageturn.stores.postgres import (
    address,
    losses,
    records,
    schema,
    search,
    sessions,
    sidecars,
    upkeep,
    vectors,
)
from pageturn.stores.postgres.blobs import Blobs
from pageturn.stores.postgres.connections import Connections, Statement
from pageturn.stores.postgres.records import Page
from pageturn.stores.postgres.sessions import End
from pageturn.stores.seals import document_of
from pageturn.values.checks import require_finite
from pageturn.values.errors import Conflict, Damaged, NotScrubbed, StoreError

_MOST_KNOWN = 4_096  # sessions whose ends and numbers are cached
_AT_ONCE = 500  # documents indexed in one round trip


class PostgresStore:
    """A store in the schema `pageturn` of a database."""

    def __init__(
        self, url: str, *, wait_seconds: float | None = None, create: bool = True, read_only: bool = False
    ) -> None:
        if wait_seconds is not None:
            require_finite("wait_seconds", wait_seconds, at_least=0)
        place = address.read(url, wait_seconds)
        self.path = place.name
        self._is_read_only = read_only
        self._ends: dict[str, End] = {}  # of sessions written here; other writers may have appended since
        self._known: dict[str, int] = {}  # the numbers of sessions, which never change
        self._complete: set[str] = set()  # sessions in which every record is known to have its words
        self._db = Connections(place)
        self._blobs = Blobs(self._db)
        self._db.open(lambda db: schema.prepare(db, place.name, place.wait_seconds, create=create and not read_only))

    def close(self) -> None:
        self._db.close()

    def at_once(self) -> AbstractContextManager[None]:
        return self._db.at_once()

    # -- sessions

    def create(self, row: SessionRow) -> None:
        self._require_writable()
        # Plain str: a subclass of a host may break the encoder.
        row = SessionRow._make(str.__str__(field) if isinstance(field, str) else field for field in row)

        def work(is_again: bool) -> None:
            shared = sessions.parent_digest(self._db.look_up, row.parent, row.parent_seq)
            (made,) = self._db.write(sessions.created(row, shared))
            if made or (is_again and self._is_the_same(row)):
                return
            raise Conflict(f"session {row.id!r} exists already: choose another id, or open it with Session.open")

        self._db.persevere(work)

    def _is_the_same(self, row: SessionRow) -> bool:
        """Whether a session is the one that an interrupted try has created; its key is random."""
        found = self.session(row.id)
        return found is not None and found[:6] == row[:6]

    def session(self, session: str) -> SessionRow | None:
        found = self._db.look_up(f"{sessions.ROWS} WHERE id = %s", (session,))
        return sessions.row_of(found[0]) if found else None

    def sessions(self, *, scope: str | None = None) -> list[SessionRow]:
        (found,) = self._db.read(Statement(f"{sessions.ROWS} ORDER BY number DESC"))
        rows = map(sessions.row_of, found)
        return [row for row in rows if scope is None or row.scope == scope or row.flaw]

    # -- records and blobs

    def append(self, session: str, after: int, batch: Batch) -> None:
        self._require_writable()

        def work(is_again: bool) -> None:
            for end in self._ends_of(session):
                if end.head == after:
                    linked = chain.links(end.origin, end.digest, batch.records)
                    (moved,) = self._db.write(records.appended(end, batch, linked))
                    if moved:
                        self._remember(session, end, batch.records, linked)
                        return
            if not (is_again and self._is_written(end, batch.records)):
                raise self._conflict(session, after)

        self._db.persevere(work)

    def _ends_of(self, session: str) -> Iterator[End]:
        """The end of a session as it is known here, and then as the database has it."""
        known = self._ends.pop(session, None)
        if known is not None:
            yield known
        yield self._end_of(session)

    def _end_of(self, session: str) -> End:
        end = sessions.end_of(self._db.look_up, session)
        if end is None:
            raise StoreError(f"{self.path}: no session {session!r}")
        return end

    def _remember(self, session: str, end: End, written: Sequence[Record], linked: Sequence[bytes]) -> None:
        if len(self._ends) >= _MOST_KNOWN:
            self._ends.clear()
        self._ends[session] = end._replace(head=written[-1].seq, digest=linked[-1][SIZE:]) if written else end

    def _is_written(self, end: End, written: Sequence[Record]) -> bool:
        """Whether a batch is in the session: records of the same numbers and digests."""
        (found,) = self._db.read(records.same(end.number, written))
        if not found:
            return False
        linked = chain.links(end.origin, found[0][2][:SIZE], written)
        return [carried for *_, carried in found] == linked

    def _conflict(self, session: str, after: int) -> Conflict:
        head = self._end_of(session).head
        return Conflict(
            f"session {session!r}: expected entry {after} to be the last, and another writer has appended up to {head}. "
            "Call session.refresh() and derive again. If the writer is a thread of this program, give each thread "
            "a session of its own (docs/session.md, Who writes)",
            missed=self.records(session, after),
        )

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record | Broken]:
        number = self._number(session)
        if number is None:
            return
        page = self._page(number, after, upto)
        checker = chain.Checker(page.origin, page.start, partial(self._blobs_of, number))

        def rows() -> Iterator[chain.Row]:
            nonlocal page
            yield from page.rows
            while not page.is_last:
                page = self._page(number, page.rows[-1].seq, upto)
                yield from page.rows

        found = checker.checked(rows(), upto, lambda: page.end)
        yield from (each for each in found if each.seq > after)

    def _page(self, number: int, after: int, upto: int) -> Page:
        (found,) = self._db.read(records.page(number, after, upto))
        if not found:
            raise Damaged(f"{self.path}: the row of a session is missing")
        return Page(found, after)

    def _blobs_of(self, number: int, seq: int) -> tuple[str, ...]:
        """The blobs that a record needs, in no order."""
        return tuple(digest for (digest,) in self._db.look_up(records.BLOBS_OF, (number, seq)))

    def snapshot(self, session: str) -> Snapshot | None:
        found = self._db.look_up(records.SNAPSHOT, (session,))
        whole = records.verified_snapshot(found[0]) if found else None
        return Snapshot(*whole) if whole else None

    def keep_snapshot(self, session: str, snapshot: Snapshot) -> None:
        self._require_writable()
        found = self._db.look_up(sessions.ORIGIN, (session,))
        if not found:
            return
        number, _, first, origin = found[0]
        at = sessions.digest_at(self._db.look_up, number, first, origin, snapshot.seq)
        if at is None:
            raise Damaged(f"session {session!r}: entry {snapshot.seq}, which a snapshot was made at, is missing")
        digest = chain.snapshot_digest(origin, at, snapshot.body)
        self._write(Statement(records.KEEP_SNAPSHOT, (number, *snapshot, digest)))

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        return self._blobs.read(digest, start, length)

    # -- search

    def search(self, spans: Sequence[Span], query: str, limit: int, *, every: bool = False) -> list[Found]:
        numbers = self._numbers([span.session for span in spans])
        searched = [search.Searched(name, numbers[name], upto) for name, upto in spans if name in numbers]
        return search.search(self._db.read, searched, query, limit, every=every)

    def documents(self, session: str) -> set[int]:
        (found,) = self._db.read(Statement(search.DOCUMENTS, (self._number(session),)))
        return {seq for (seq,) in found}

    def drop_words(self) -> None:
        self._require_writable()
        with self._db.transaction(alone=True) as db:
            db.execute("TRUNCATE pageturn.passages")
        self._complete.clear()

    def has_other_words(self, documents: Iterable[tuple[str, Document]]) -> bool:
        waiting: dict[str, list[Document]] = {}
        for session, document in documents:
            mine = waiting.setdefault(session, [])
            mine.append(document)
            if len(mine) == _AT_ONCE and self._differ(session, waiting.pop(session)):
                return True
        return any(self._differ(session, mine) for session, mine in waiting.items())

    def _differ(self, session: str, documents: Sequence[Document]) -> bool:
        number = self._number(session)
        return number is not None and self._db.read(search.different(number, documents)) != [[(0,)]]

    def lacks_words(self, session: str, records: Iterable[int] = ()) -> bool:
        if session in self._complete:
            return False
        is_lacking = bool({*records} - self.documents(session))
        if not is_lacking:
            self._complete.add(session)
        return is_lacking

    def give_words(self, session: str, documents: Iterable[Document]) -> None:
        self._require_writable()
        number = self._number(session)
        if number is None:
            return
        known = self.documents(session)
        lacking = (document for document in documents if document.seq not in known)
        while some := [*islice(lacking, _AT_ONCE)]:
            self._write(search.added(number, some))
        self._complete.add(session)

    # -- vectors

    def keep_vectors(self, session: str, embedder: str, given: Sequence[Embedded]) -> None:
        self._require_writable()
        number = self._number(session)
        if number is not None and given:
            self._write(vectors.kept(number, embedder, given))

    def vectors(self, session: str, embedder: str, after: int = 0) -> list[Embedded]:
        (found,) = self._db.read(vectors.after(self._number(session) or 0, embedder, after))
        return [Embedded(*row) for row in found]

    # -- sidecars

    def sidecar(self, name: str, after: int = 0) -> Sidecar:
        (found,) = self._db.read(sidecars.changed(name, after))
        return sidecars.sidecar_of(found, name, after)

    def sidecars(self) -> list[str]:
        return [name for (name,) in self._db.look_up(sidecars.NAMES)]

    def document(self, slot: Slot) -> bytes | None:
        found = self._db.look_up(sidecars.DOCUMENT, slot)
        return document_of(found[0]).body if found else None

    def sidecar_version(self) -> int:
        ((version,),) = self._db.look_up(sidecars.VERSION)
        return int(version)

    def amend(self, slots: Sequence[Slot], change: Change) -> int:
        self._require_writable()
        return self._db.persevere(sidecars.Amendment(self._db, slots, change))

    # -- erasing and upkeep

    def erase(self, session: str, after: int, record: Record, losses: Sequence[Loss]) -> Freed:
        self._require_writable()
        freed = self._db.persevere(lambda is_again: self._erase(session, after, record, losses, is_again=is_again))
        self._blobs.forget()
        return freed

    def _erase(self, session: str, after: int, record: Record, given: Sequence[Loss], *, is_again: bool) -> Freed:
        numbers = self._numbers([loss.session for loss in given])
        end = self._end_of(session)
        self._ends.pop(session, None)
        if end.head == after:
            linked = chain.links(end.origin, end.digest, [record])
            with self._db.transaction(alone=True) as db:
                if db.execute(*records.appended(end, Batch([record]), linked)).fetchall():
                    lost = [(numbers[loss.session], loss) for loss in given if loss.session in numbers]
                    return losses.apply(db, end.number, record.seq, lost)
            end = self._end_of(session)
        if is_again and self._is_written(end, [record]):
            ((freed,),) = self._db.read(losses.freed(end.number, record.seq))
            return Freed(*freed)
        raise self._conflict(session, after)

    def scrub(self) -> None:
        try:
            with self._db.connection() as db:
                readers = upkeep.scrub(db, self._db.wait_seconds)
        except StoreError as error:
            raise NotScrubbed(f"{error}, so erased bytes stay in the tables for now") from error
        if readers:
            reading = f"{readers} transactions are still reading after {self._db.wait_seconds:g} s (wait_seconds)"
            raise NotScrubbed(f"{self.path}: {reading}, so erased bytes stay in the tables for now")

    def erasures(self) -> int:
        ((number,),) = self._db.look_up(losses.LAST)
        self._blobs.erased(number)
        return int(number)

    def erased(self, spans: Sequence[Span], after: int = 0) -> set[int]:
        numbers = self._numbers([span.session for span in spans])
        upto = {numbers[span.session]: span.upto for span in spans if span.session in numbers}
        (found,) = self._db.read(losses.after(after))
        return {seq for session, seq in losses.verified(found, after) if seq <= upto.get(session, -1)}

    def is_erased(self, digest: str) -> bool:
        return bool(self._db.look_up(losses.IS_ERASED, (digest,)))

    def vacuum(self, *, dry_run: bool) -> Freed:
        self._require_writable()
        with self._db.transaction(alone=not dry_run, limited=False) as db:
            freed = upkeep.vacuum(db, dry_run=dry_run)
        if not dry_run:
            self._blobs.forget()
            self.scrub()
        return freed

    def check(self) -> list[str]:
        self._blobs.forget()  # who checks looks at the tables as they are now
        with self._db.connection() as db:
            return upkeep.check(db)

    def references(self, session: str) -> set[tuple[int, str]]:
        named = "SELECT seq, digest FROM pageturn.refs WHERE session = %s"
        (found,) = self._db.read(Statement(named, (self._number(session),)))
        return {(seq, digest) for seq, digest in found}

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        (found,) = self._db.read(Statement("SELECT digest FROM pageturn.blobs"))
        for (digest,) in found:
            data = self._blobs.read(digest, 0, None)
            if data is not None:  # otherwise it was deleted meanwhile
                yield digest, data

    def backup(self) -> str:
        self._require_writable()
        with self._db.transaction(alone=True, limited=False) as db:
            return f"{self.path}, schema {upkeep.back_up(db)}"

    def repair(self, found: Repairs) -> None:
        self._require_writable()
        with self._db.transaction(alone=True, limited=False) as db:
            upkeep.repair(db, found)
        self._ends.clear()
        self._complete.clear()
        self._blobs.forget()

    # -- inside

    def _require_writable(self) -> None:
        if self._is_read_only:
            raise StoreError(f"{self.path}: opened for reading only")

    def _write(self, statement: Statement) -> None:
        """Run a statement that may be done twice."""
        self._db.persevere(lambda _: self._db.write(statement))

    def _number(self, session: str) -> int | None:
        return self._numbers([session]).get(session)

    def _numbers(self, names: Sequence[str]) -> dict[str, int]:
        """The numbers of these sessions in the database, without those that there are not."""
        found = {name: number for name in names if (number := self._known.get(name)) is not None}
        unknown = [name for name in names if name not in found]
        if unknown:
            fresh: dict[str, int] = dict(self._db.look_up(sessions.NUMBERS, (unknown,)))
            if len(self._known) + len(fresh) > _MOST_KNOWN:
                self._known.clear()
            self._known.update(fresh)
            found.update(fresh)
        return found
