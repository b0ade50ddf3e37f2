"""Checks a store: records in order, blobs by digest, search and erasure; and, if it has them, maintenance and sidecars.

Damage cannot be caused through the interface, so its detection is left to the tests of each store.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from pageturn.stores.ports import Batch, Document, Loss, Maintained, Record, SessionRow, Sidecars, Snapshot, Span, Store
from pageturn.testing import sidecars, store_search
from pageturn.testing.cases import Case, Mismatch, Suite, check_all, expect, expect_equal, expect_raises
from pageturn.testing.concurrency import in_threads
from pageturn.testing.sessions import Script, open_session
from pageturn.values.errors import Conflict, StoreError
from pageturn.values.json import to_json

S = TypeVar("S", bound=Store)
MakeStore = Callable[[], Store]
"""Makes a new, empty store."""
Again = Callable[[Store], Store]
"""Opens the same data through a connection of its own; the given store may have been closed."""

MakeMaintained = Callable[[], Maintained]
"""Makes a new, empty store that can be checked and repaired."""

SUITE = Suite[[MakeStore]]("check_store")
MAINTAINED = Suite[[MakeMaintained]]("check_store")
REOPENED = Suite[[MakeStore, Again]]("check_store")
SHARED = Suite[[MakeStore, Again]]("check_store")
_ALL = 10**9


def check_store(
    make: Callable[[], S], again: Callable[[S], S] | None = None, *, shared: bool = False, only: str | None = None
) -> None:
    """Check a store of your own: `check_store(lambda: MyStore(...))`. Raises an `AssertionError` that says what fails.

    With `again`, which opens the same data once more, durability is checked too; with `shared`, for a store that several processes may
    have open at once, also what each of them sees of the others. Maintenance and sidecars are checked if the store has them.
    """
    runs = [*SUITE.runs(make), *store_search.SUITE.runs(make)]
    sample = make()
    if isinstance(sample, Maintained):
        runs += MAINTAINED.runs(cast("MakeMaintained", make))
    if isinstance(sample, Sidecars):
        runs += sidecars.SUITE.runs(cast("sidecars.MakeSidecars", make))
    sample.close()
    if again is not None:
        opened = cast("Again", again)  # it only gets stores from `make`
        runs += [*REOPENED.runs(make, opened), *(SHARED.runs(make, opened) if shared else ())]
    check_all(runs, only)


def store_cases() -> tuple[Case[[MakeStore]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(make)`."""
    return (*SUITE.cases, *store_search.SUITE.cases)


def maintained_store_cases() -> tuple[Case[[MakeMaintained]], ...]:
    """The claims about a store that can be checked and repaired."""
    return MAINTAINED.cases


def reopened_store_cases(*, shared: bool = False) -> tuple[Case[[MakeStore, Again]], ...]:
    """What outlives a store, and what several open at once see of each other: `case(make, again)`."""
    return (*REOPENED.cases, *(SHARED.cases if shared else ()))


@SUITE.claim
def records_come_back_in_order_and_by_range(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, 2))
    store.append("a", 2, batch(3))
    expect_equal(list(store.records("a")), [_record(1), _record(2), _record(3)], "the records")
    expect_equal(list(store.records("a", after=1, upto=2)), [_record(2)], "the records after 1 up to 2")
    row = store.session("a")
    expect_equal(row and row.head, 3, "the head of the session")


@SUITE.claim
def an_append_behind_another_record_is_a_conflict_and_changes_nothing(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, 2))
    late = batch(1, blobs={"d": b"x"}, texts=["lost"])
    conflict = expect_raises(Conflict, lambda: store.append("a", 0, late), "an append behind 0 when there are 2")
    expect_equal(list(conflict.missed), [_record(1), _record(2)], "what the conflict says was missed")
    expect_equal(_bodies(store), [b"{1}", b"{2}"], "the records")
    expect_equal(store.blob("d"), None, "the blob of an append that was refused")
    expect_equal(store.search([Span("a", _ALL)], "lost", 5), [], "what is found of an append that was refused")


@SUITE.claim
def a_batch_goes_in_whole_or_not_at_all(make: MakeStore) -> None:
    store = _with_session(make)
    broken = Batch([Record(1, 1, b"{}"), Record(1, 1, b"{}")], {"d": b"x"})
    expect_raises(StoreError, lambda: store.append("a", 0, broken), "a batch with two records of one number")
    row = store.session("a")
    expect_equal((_bodies(store), row and row.head, store.blob("d")), ([], 0, None), "records, head and blob after it")
    store.append("a", 0, batch(1))
    expect_equal(_bodies(store), [b"{1}"], "the records after a batch that is whole")


@SUITE.claim
def a_batch_that_failed_is_not_what_the_next_one_follows(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1))
    broken = Batch([Record(2, 2, b"{}"), Record(2, 2, b"{}")])
    expect_raises(StoreError, lambda: store.append("a", 1, broken), "a batch with two records of one number")
    store.append("a", 1, batch(2))
    store.append("a", 2, batch(3, 4))
    expect_equal(_bodies(store), [b"{1}", b"{2}", b"{3}", b"{4}"], "the records after a batch that failed")


@SUITE.claim
def an_unknown_session_is_an_error_when_written_and_empty_when_read(make: MakeStore) -> None:
    store = _with_session(make)
    expect_raises(StoreError, lambda: store.append("b", 0, batch(1)), "an append to a session that never was")
    expect_equal(store.session("b"), None, "the row of a session that never was")
    expect_equal(_bodies(store, "b"), [], "the records of a session that never was")
    expect_equal(store.search([Span("b", _ALL)], "x", 5), [], "what is found in a session that never was")


@SUITE.claim
def a_session_is_created_once(make: MakeStore) -> None:
    store = _with_session(make)
    expect_raises(Conflict, lambda: store.create(SessionRow("a", b"other", 2)), "a second session of one id")
    expect_equal(store.session("a"), SessionRow("a", b"key", 1), "the row of the first")


@SUITE.claim
def sessions_are_listed_newest_first_and_by_scope(make: MakeStore) -> None:
    store = _with_session(make)
    store.create(SessionRow("b", b"k", 2, scope="team"))
    store.create(SessionRow("c", b"k", 3, scope="team", parent="a", parent_seq=0))
    expect_equal([row.id for row in store.sessions()], ["c", "b", "a"], "all sessions")
    expect_equal([row.id for row in store.sessions(scope="team")], ["c", "b"], "the sessions of a scope")
    expect_equal(store.sessions(scope="none"), [], "the sessions of a scope without any")


@SUITE.claim
def blobs_are_kept_once_and_read_by_range(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, blobs={"d": b"0123456789"}))
    store.append("a", 1, batch(2, blobs={"d": b"0123456789"}))
    ranges = [store.blob("d"), store.blob("d", 3, 4), store.blob("d", 8, 100), store.blob("d", 50, 5), store.blob("e")]
    expect_equal(ranges, [b"0123456789", b"3456", b"89", b"", None], "ranges of a blob")
    store.append("a", 2, batch(3, blobs={"n": b""}))
    expect_equal((store.blob("n"), store.blob("n", 1, 2)), (b"", b""), "a blob without bytes")


@SUITE.claim
def a_large_blob_comes_back_whole(make: MakeStore) -> None:
    store = _with_session(make)
    data = bytes(range(256)) * 40_000
    store.append("a", 0, batch(1, blobs={"big": data}))
    expect(store.blob("big") == data, expected="ten megabytes as they were", got="other bytes")


@SUITE.claim
def a_snapshot_is_replaced(make: MakeStore) -> None:
    store = _with_session(make)
    expect_equal(store.snapshot("a"), None, "the snapshot of a new session")
    store.append("a", 0, batch(1, 2))
    store.keep_snapshot("a", Snapshot(1, b"one"))
    store.keep_snapshot("a", Snapshot(2, b"two"))
    expect_equal(store.snapshot("a"), Snapshot(2, b"two"), "the snapshot after two were kept")


@MAINTAINED.claim
def it_knows_which_records_need_which_blobs(make: MakeMaintained) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, 2, blobs={"d": b"x"}, texts=["one", "two"]))
    store.append("a", 2, batch(3, blobs={"d": b"x"}))
    expect_equal(list(store.blobs()), [("d", b"x")], "all blobs")
    expect_equal(store.references("a"), {(1, "d"), (3, "d")}, "the references")
    expect_equal(store.documents("a"), {1, 2}, "the records with words")


@SUITE.claim
def erasing_removes_bytes_and_words_but_not_what_others_hold(make: MakeStore) -> None:
    for searched_before in (False, True):
        store = _with_session(make)
        store.create(SessionRow("b", b"k", 2))
        both = {"mine": b"secret", "shared": b"common"}
        references = [(1, digest) for digest in both]
        store.append("a", 0, Batch([_record(1)], both, [Document(1, "the secret word")], references))
        store.append("b", 0, batch(1, blobs={"shared": b"common"}))
        if searched_before:
            expect_equal(len(store.search([Span("a", _ALL)], "secret", 5)), 1, "what is found before the erasure")
        freed = erase(store, "a", 1, Loss("a", 1, ["mine", "shared"], "the secret word"))
        expect_equal(tuple(freed), (1, len(b"secret")), "blobs and bytes that were freed")
        expect_equal((store.blob("mine"), store.is_erased("mine")), (None, True), "the blob that nobody else needs")
        expect_equal(
            (store.blob("shared"), store.is_erased("shared")), (b"common", False), "the blob that another needs"
        )
        expect_equal(store.search([Span("a", _ALL)], "secret", 5), [], "what is found after the erasure")
        expect_equal(_bodies(store), [b"{1}", b"{}"], "the records, with that of the erasure")


@SUITE.claim
def an_erasure_that_comes_too_late_erases_nothing(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["word"]))
    expect_raises(
        Conflict, lambda: erase(store, "a", 0, Loss("a", 1, ["d"], "word")), "an erasure behind 0 when there is 1"
    )
    expect_equal(store.blob("d"), b"x", "the blob")
    expect_equal(len(store.search([Span("a", _ALL)], "word", 5)), 1, "how many are found")


@SUITE.claim
def nothing_but_an_erasure_is_counted_as_one(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["one"]))
    store.keep_snapshot("a", Snapshot(1, b"s"))
    store.search([Span("a", _ALL)], "one", 1)
    if isinstance(store, Maintained):
        store.vacuum(dry_run=False)
    expect_raises(Conflict, lambda: erase(store, "a", 0, Loss("a", 1, ["d"], "one")), "an erasure behind 0")
    expect_equal(
        (store.erasures(), store.erased([Span("a", _ALL)])), (0, set()), "erasures, and records that lost words"
    )


@SUITE.claim
def a_fork_and_its_parent_both_count_though_they_erase_the_same(make: MakeStore) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["one"]))
    store.create(SessionRow("f", b"k", 2, parent="a", parent_seq=1))
    erase(store, "f", 1, Loss("a", 1, ["d"], "one"))
    first = store.erasures()
    lineage = [Span("a", 1), Span("f", _ALL)]
    expect_equal((store.erased(lineage), store.erased([Span("a", _ALL)])), ({1}, {1}), "the records that lost words")
    erase(store, "a", 1, Loss("a", 1, ["d"], "one"))
    expect(store.erasures() > first, expected=f"more than {first} erasures", got=store.erasures())
    expect_equal(store.erased(lineage, after=first), {1}, "the records that lost words since the first erasure")


@SUITE.claim
def a_record_loses_its_words_though_another_still_needs_the_same_bytes(make: MakeStore) -> None:
    store = _with_session(make)
    store.create(SessionRow("b", b"k", 2))
    store.append("a", 0, batch(1, blobs={"same": b"x"}))
    store.append("b", 0, batch(1, blobs={"same": b"x"}))
    erase(store, "a", 1, Loss("a", 1, ["same"]))
    expect_equal((store.is_erased("same"), store.blob("same")), (False, b"x"), "the blob that another needs")
    lost = [store.erased([Span("a", _ALL)]), store.erased([Span("b", _ALL)])]
    expect_equal(lost, [{1}, set()], "the records of each session that lost words")
    store.append("a", 2, batch(3, blobs={"same": b"x"}))
    expect_equal(store.erased([Span("a", _ALL)]), {1}, "the records that lost words after the bytes came again")


@MAINTAINED.claim
def vacuum_says_first_and_frees_then(make: MakeMaintained) -> None:
    store = _with_session(make)
    store.append("a", 0, Batch([Record(1, 1, b"{}")], {"orphan": b"12345"}))
    store.append("a", 1, batch(2, blobs={"needed": b"x"}))
    expect_equal(tuple(store.vacuum(dry_run=True)), (1, 5), "what a vacuum would free")
    expect_equal(store.blob("orphan"), b"12345", "the blob after a dry run")
    expect_equal(tuple(store.vacuum(dry_run=False)), (1, 5), "what a vacuum frees")
    expect_equal((store.blob("orphan"), store.blob("needed")), (None, b"x"), "the blobs after it")
    expect_equal(tuple(store.vacuum(dry_run=True)), (0, 0), "what another vacuum would free")


@MAINTAINED.claim
def a_sound_store_has_nothing_to_report(make: MakeMaintained) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, 2))
    store.create(SessionRow("b", b"k", 2, parent="a", parent_seq=2, head=2))
    store.append("b", 2, batch(3))
    expect_equal(_bodies(store, "b"), [b"{3}"], "a fork's own records")
    expect_equal(store.check(), [], "what is wrong with the store")


@SUITE.claim
def threads_share_a_store(make: MakeStore) -> None:
    store = _with_session(make)

    def work(name: str) -> None:
        store.create(SessionRow(name, b"k", 1))
        for number in range(1, 21):
            store.append(name, number - 1, batch(number))

    in_threads(work, [f"t{number}" for number in range(4)])
    rows = [store.session(f"t{number}") for number in range(4)]
    expect_equal(
        [row and row.head for row in rows], [20] * 4, "the heads of four sessions, each from a thread of its own"
    )
    if isinstance(store, Maintained):
        expect_equal(store.check(), [], "what is wrong with the store")


@SUITE.claim
def a_session_lives_in_it(make: MakeStore) -> None:
    store = make()
    script = Script(open_session(store), budget_tokens=4_000).begin()
    script.session.pin("Never push to main.")
    script.work(20)
    ours, theirs = script.derive(), open_session(store).derive(budget_tokens=4_000)
    _expect_same_words(ours.messages, theirs.messages, "a session that was opened again")
    recalled = script.session.recall("value_3 compute_3")
    expect(hasattr(recalled, "hits"), expected="hits for words that were appended", got=recalled)


@REOPENED.claim
def what_was_written_is_there_when_it_is_opened_again(make: MakeStore, again: Again) -> None:
    store = _with_session(make)
    store.append("a", 0, batch(1, 2, blobs={"d": b"x", "e": b"yy"}, texts=["the first", "the second"]))
    erase(store, "a", 2, Loss("a", 1, ["d"], "the first"))
    store.close()
    other = again(store)
    expect_equal(_bodies(other), [b"{1}", b"{2}", b"{}"], "the records")
    expect_equal((other.blob("d"), other.is_erased("d"), other.blob("e")), (None, True, b"yy"), "the blobs")
    expect_equal([found.seq for found in other.search([Span("a", _ALL)], "first second", 5)], [2], "what is found")
    expect_equal(other.erased([Span("a", _ALL)]), {1}, "the records that lost words")
    other.append("a", 3, batch(4))
    if isinstance(other, Maintained):
        expect_equal(other.check(), [], "what is wrong with the store")
    other.close()


@REOPENED.claim
def a_session_goes_on_where_it_was(make: MakeStore, again: Again) -> None:
    store = make()
    script = Script(open_session(store), budget_tokens=4_000).begin()
    script.work(12)
    expected = script.derive()
    script.session.close()
    store.close()
    other = again(store)
    found = open_session(other).derive(budget_tokens=4_000)
    _expect_same_words(found.messages, expected.messages, "a session whose store was closed and opened again")
    other.close()


@SHARED.claim
def an_append_is_seen_by_the_others_and_only_one_of_two_wins(make: MakeStore, again: Again) -> None:
    store = _with_session(make)
    other = again(store)
    store.append("a", 0, batch(1))
    expect_equal(_bodies(other), [b"{1}"], "the records, as another connection sees them")
    expect_raises(Conflict, lambda: other.append("a", 0, batch(1)), "an append behind 0 by another connection")
    other.append("a", 1, batch(2))
    expect_equal(_bodies(store), [b"{1}", b"{2}"], "the records")
    _close(store, other)


@SHARED.claim
def every_erasure_is_counted_for_everybody(make: MakeStore, again: Again) -> None:
    store = _with_session(make)
    other = again(store)
    everything = [Span("a", _ALL)]
    store.append("a", 0, batch(1, 2, blobs={"d": b"x"}, texts=["one", "two"]))
    expect_equal(
        (store.erasures(), other.erasures(), other.erased(everything)), (0, 0, set()), "erasures before the first"
    )
    erase(store, "a", 2, Loss("a", 1, ["d"], "one"))
    first = other.erasures()
    expect(store.erasures() == first > 0, expected="one number for everybody, above 0", got=(store.erasures(), first))
    expect_equal(other.erased(everything), {1}, "the records that lost words, as another connection sees them")
    erase(other, "a", 3, Loss("a", 2, [], "two"))
    expect(store.erasures() > first, expected=f"a number above {first}", got=store.erasures())
    lost = [store.erased(everything), store.erased(everything, after=first), store.erased([Span("a", 1)])]
    expect_equal(lost, [{1, 2}, {2}, {1}], "the records that lost words: all, since the first erasure, up to record 1")
    expect_equal(store.erased(everything, after=store.erasures()), set(), "the records that lost words since now")
    seen: list[set[int]] = []
    in_threads(lambda _: seen.append(other.erased(everything)), ["reader"])
    expect_equal(seen, [{1, 2}], "the records that lost words, as another thread sees them")
    _close(store, other)


def batch(*numbers: int, blobs: Mapping[str, bytes] | None = None, texts: Sequence[str] = ()) -> Batch:
    """Records of these numbers, with blobs that the first of them needs and words for each."""
    blobs = blobs or {}
    documents = [Document(number, text) for number, text in zip(numbers, texts, strict=False)]
    return Batch([_record(number) for number in numbers], blobs, documents, [(numbers[0], digest) for digest in blobs])


def erase(store: Store, session: str, after: int, *losses: Loss) -> tuple[int, int]:
    """Erase something, with a record of its own."""
    return store.erase(session, after, Record(after + 1, 1, b"{}"), losses)


def _record(number: int) -> Record:
    return Record(number, number * 10, b"{%d}" % number)


def _with_session(make: Callable[[], S]) -> S:
    store = make()
    store.create(SessionRow("a", b"key", 1))
    return store


def _bodies(store: Store, session: str = "a") -> list[bytes]:
    records = list(store.records(session))
    for record in records:
        if not isinstance(record, Record):
            raise Mismatch(expected="sound records", got=str(record))
    return [record.body for record in records if isinstance(record, Record)]


def _close(*stores: Store) -> None:
    for store in stores:
        store.close()


def _expect_same_words(got: object, expected: object, what: str) -> None:
    expect(
        to_json(got) == to_json(expected), expected=f"the same context from {what}, byte for byte", got="other bytes"
    )
