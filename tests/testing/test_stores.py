"""The suite of stores notices a store that breaks any of its claims."""

import threading

import pytest

from pageturn.stores import Freed, MemorySidecars, MemoryStore, SessionRow, Span
from pageturn.testing import check_store, maintained_store_cases, reopened_store_cases, sidecar_cases, store_cases
from pageturn.values.errors import Conflict, StoreError
from tests.testing.twins import broken, caught

REAL = MemoryStore


def one_by_one(self, session, after, batch):
    for at, record in enumerate(batch.records):
        rest = batch if at == 0 else batch._replace(blobs={}, documents=(), references=())
        REAL.append(self, session, after + at, rest._replace(records=[record]))


def behind_whatever_there_is(self, session, after, batch):
    row = self.session(session)
    records = [record._replace(seq=row.head + at) for at, record in enumerate(batch.records, start=1)]
    REAL.append(self, session, row.head, batch._replace(records=records))


def silently(error, method):
    def call(self, *arguments):
        try:
            return method(self, *arguments)
        except error:
            return Freed(0, 0)

    return call


def forgets_before_it_looks(self, session, after, record, losses):
    row = self.session(session)
    REAL.erase(self, session, row.head, record._replace(seq=row.head + 1), losses)
    if after != row.head:
        raise Conflict("too late")
    return Freed(1, 6)


def keeps_the_bytes(self, session, after, record, losses):
    return REAL.erase(self, session, after, record, [loss._replace(digests=()) for loss in losses])


def counting_vacuums(self):
    return REAL.erasures(self) + getattr(self, "vacuums", 0)


def counted_vacuum(self, *, dry_run):
    self.vacuums = getattr(self, "vacuums", 0) + 1
    return REAL.vacuum(self, dry_run=dry_run)


def first_snapshot_only(self, session, snapshot):
    if REAL.snapshot(self, session) is None:
        REAL.keep_snapshot(self, session, snapshot)


def own_thread_only(self, session, after, batch):
    if threading.current_thread() is not threading.main_thread():
        raise StoreError("made in another thread")
    REAL.append(self, session, after, batch)


def without_what_is_common_anywhere(self, spans, query, limit, *, every=False):
    others = [row.id for row in self.sessions()]
    rare = [word for word in query.split() if len(REAL.search(self, [Span(id, 10**9) for id in others], word, 99)) < 99]
    return REAL.search(self, spans, " ".join(rare), limit, every=every)


def late_index(self, spans, query, limit):
    return REAL.search(
        self, [span._replace(upto=min(span.upto, self.session(span.session).head - 60)) for span in spans], query, limit
    )


TWINS = {
    "records come back in order and by range": {
        "records": lambda self, session, after=0, upto=10**9: reversed(list(REAL.records(self, session, after, upto)))
    },
    "an append behind another record is a conflict and changes nothing": {"append": behind_whatever_there_is},
    "a batch goes in whole or not at all": {"append": one_by_one},
    "a batch that failed is not what the next one follows": {"append": one_by_one},
    "an unknown session is an error when written and empty when read": {
        "append": lambda self, session, after, batch: self.session(session) and REAL.append(self, session, after, batch)
    },
    "a session is created once": {"create": silently(Conflict, REAL.create)},
    "sessions are listed newest first and by scope": {"sessions": lambda self, *, scope=None: REAL.sessions(self)[:2]},
    "blobs are kept once and read by range": {
        "blob": lambda self, digest, start=0, length=None: REAL.blob(self, digest, 0, length)
    },
    "a large blob comes back whole": {
        "blob": lambda self, digest, start=0, length=None: (REAL.blob(self, digest, start, length) or b"")[:1_000_000]
    },
    "a snapshot is replaced": {"keep_snapshot": first_snapshot_only},
    "it knows which records need which blobs": {"references": lambda self, session: set()},
    "erasing removes bytes and words but not what others hold": {"erase": keeps_the_bytes},
    "an erasure that comes too late erases nothing": {"erase": forgets_before_it_looks},
    "nothing but an erasure is counted as one": {"erasures": counting_vacuums, "vacuum": counted_vacuum},
    "a fork and its parent both count though they erase the same": {
        "erasures": lambda self: min(REAL.erasures(self), 1)
    },
    "a record loses its words though another still needs the same bytes": {
        "erased": lambda self, spans, after=0: set() if self.blob("same") else REAL.erased(self, spans, after)
    },
    "vacuum says first and frees then": {"vacuum": lambda self, *, dry_run: REAL.vacuum(self, dry_run=False)},
    "a sound store has nothing to report": {"check": lambda self: ["dust"]},
    "threads share a store": {"append": own_thread_only},
    "a session lives in it": {"search": lambda self, spans, query, limit: []},
    "words are found whole and by part": {
        "search": lambda self, spans, query, limit: REAL.search(self, spans, query, limit) if "." in query else []
    },
    "better matches come first and the limit holds": {
        "search": lambda self, spans, query, limit: REAL.search(self, spans, query, 99)
    },
    "a search sees only its spans": {
        "search": lambda self, spans, query, limit: REAL.search(
            self, [span._replace(upto=10**9) for span in spans], query, limit
        )
    },
    "common words do not hide a rare one": {
        "search": lambda self, spans, query, limit: REAL.search(self, spans, query.split()[0], limit)
    },
    "what other sessions say hides nothing": {"search": without_what_is_common_anywhere},
    "every word counts where that is asked for": {
        "search": lambda self, spans, query, limit, *, every=False: REAL.search(self, spans, query, limit, every=not every)
    },
    "every document is found as soon as it is there": {"search": late_index},
}  # fmt: skip


@pytest.mark.parametrize("case", [*store_cases(), *maintained_store_cases()], ids=str)
def test_a_broken_store_is_noticed(case):
    assert caught(case, broken(MemoryStore, **TWINS[case.claim]))


@pytest.mark.parametrize("case", reopened_store_cases(shared=True), ids=str)
def test_a_store_that_forgets_or_hides_is_noticed(case):
    assert caught(case, MemoryStore, lambda store: with_session(MemoryStore()))


def with_session(store):
    store.create(SessionRow("a", b"key", 1))
    return store


def amend_in_two_steps(self, slots, change):
    found = {slot: self.document(slot) for slot in slots}
    if not hasattr(self, "barrier"):
        self.barrier = threading.Barrier(4)
    if found == {("cars", "one"): b"0"}:
        self.barrier.wait(30)  # all four have read the same
    kept = change(found)
    return MemorySidecars.amend(self, slots, lambda _: kept)


def remember_the_failed(self, slots, change):
    self._version += 1
    return MemorySidecars.amend(self, slots, change)


def number_anew(self, slots, change):
    number = MemorySidecars.amend(self, slots, change)
    self._version = max((d.version for docs in self._sidecars.values() for d in docs.values()), default=0)
    return number


SIDECAR_TWINS = {
    "a sidecar gives what was changed since": {
        "sidecar": lambda self, name, after=0: MemorySidecars.sidecar(self, name)
    },
    "a change sees what is there and is whole or not at all": {"amend": remember_the_failed},
    "what is dropped is gone and numbers only grow": {"amend": number_anew},
    "no change is lost between threads": {"amend": amend_in_two_steps},
}


@pytest.mark.parametrize("case", sidecar_cases(), ids=str)
def test_broken_sidecars_are_noticed(case):
    assert caught(case, broken(MemorySidecars, **SIDECAR_TWINS[case.claim]))


def test_all_that_fails_is_named_and_one_claim_can_be_checked_alone():
    twin = broken(MemoryStore, check=lambda self: ["dust"], vacuum=lambda self, *, dry_run: Freed(9, 9))
    with pytest.raises(AssertionError) as failure:
        check_store(twin)
    told = str(failure.value)
    assert told.startswith("check_store: threads share a store\n  expected: what is wrong with the store to be []")
    assert "2 more of" in told
    assert told.endswith("claims fail:\n  vacuum says first and frees then\n  a sound store has nothing to report")
    check_store(twin, only="a snapshot is replaced")
    with pytest.raises(ValueError, match="there is no claim 'a store is fast'; there are\n  records come back"):
        check_store(twin, only="a store is fast")


def test_what_outlives_a_store_is_checked_where_it_can_be_opened_again():
    with pytest.raises(AssertionError, match="what was written is there when it is opened again"):
        check_store(MemoryStore, lambda store: with_session(MemoryStore()))
    with pytest.raises(AssertionError, match="every erasure is counted for everybody"):
        check_store(
            MemoryStore, lambda store: MemoryStore(), shared=True, only="every erasure is counted for everybody"
        )
