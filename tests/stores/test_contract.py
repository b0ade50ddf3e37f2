"""What every store must do, asked of each of them."""

import threading

import pytest

from pageturn.errors import Conflict, Damaged, InvalidInput, StoreError
from pageturn.stores import (
    Batch,
    Broken,
    Document,
    Loss,
    MemorySidecars,
    MemoryStore,
    Mending,
    Record,
    SessionRow,
    Slot,
    Snapshot,
    Span,
    SqliteStore,
    open_store,
)
from pageturn.stores.words import hidden_parts, terms

ALL = 10**9


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "agent.db"))
    opened.create(SessionRow("a", b"key", 1))
    yield opened
    opened.close()


def batch(*numbers, blobs=None, texts=()):
    blobs = blobs or {}
    return Batch(
        [Record(n, n * 10, b"{%d}" % n) for n in numbers],
        blobs,
        [Document(n, text) for n, text in zip(numbers, texts, strict=False)],
        [(numbers[0], digest) for digest in blobs],
    )


def bodies(store, session="a", **bounds):
    return [record.body for record in store.records(session, **bounds)]


def test_records_come_back_in_order_and_by_range(store):
    store.append("a", 0, batch(1, 2))
    store.append("a", 2, batch(3))
    assert bodies(store) == [b"{1}", b"{2}", b"{3}"]
    assert bodies(store, after=1, upto=2) == [b"{2}"]
    assert next(iter(store.records("a"))) == Record(1, 10, b"{1}")
    assert store.session("a").head == 3


def test_an_append_behind_another_record_is_a_conflict_and_changes_nothing(store):
    store.append("a", 0, batch(1, 2))
    with pytest.raises(Conflict) as caught:
        store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["lost"]))
    assert len(caught.value.missed) == 2
    assert bodies(store) == [b"{1}", b"{2}"]
    assert store.blob("d") is None
    assert store.search([Span("a", ALL)], "lost", 5) == []


def test_a_batch_goes_in_whole_or_not_at_all(store):
    broken = Batch([Record(1, 1, b"{}"), Record(1, 1, b"{}")], {"d": b"x"})
    with pytest.raises(StoreError):
        store.append("a", 0, broken)
    assert bodies(store) == []
    assert store.session("a").head == 0
    assert store.blob("d") is None
    store.append("a", 0, batch(1))
    assert bodies(store) == [b"{1}"]


def test_an_unknown_session_is_an_error_when_written_and_empty_when_read(store):
    with pytest.raises(StoreError, match="no session 'b'"):
        store.append("b", 0, batch(1))
    assert store.session("b") is None
    assert bodies(store, "b") == []
    assert store.search([Span("b", ALL)], "x", 5) == []


def test_a_session_is_created_once(store):
    with pytest.raises(Conflict, match="session 'a' exists already"):
        store.create(SessionRow("a", b"other", 2))
    assert store.session("a") == SessionRow("a", b"key", 1)


def test_sessions_are_listed_newest_first_and_by_scope(store):
    store.create(SessionRow("b", b"k", 2, scope="team"))
    store.create(SessionRow("c", b"k", 3, scope="team", parent="a", parent_seq=0))
    assert [row.id for row in store.sessions()] == ["c", "b", "a"]
    assert [row.id for row in store.sessions(scope="team")] == ["c", "b"]
    assert store.sessions(scope="none") == []


def test_blobs_are_kept_once_and_read_by_range(store):
    store.append("a", 0, batch(1, blobs={"d": b"0123456789"}))
    store.append("a", 1, batch(2, blobs={"d": b"0123456789"}))
    assert store.blob("d") == b"0123456789"
    assert store.blob("d", 3, 4) == b"3456"
    assert store.blob("d", 8, 100) == b"89"
    assert store.blob("d", 50, 5) == b""
    assert store.blob("e") is None


def test_a_large_blob_comes_back_whole(store):
    data = bytes(range(256)) * 40_000
    store.append("a", 0, batch(1, blobs={"big": data}))
    assert store.blob("big") == data


def test_a_snapshot_is_replaced(store):
    assert store.snapshot("a") is None
    store.append("a", 0, batch(1, 2))
    store.keep_snapshot("a", Snapshot(1, b"one"))
    store.keep_snapshot("a", Snapshot(2, b"two"))
    assert store.snapshot("a") == Snapshot(2, b"two")


TEXTS = [
    "the login service in src/auth/login.py raises",
    "nothing to see here",
    "class UserAccountService handles HTTPServer requests",
    "snake_case_name and login again, login twice",
]


@pytest.fixture
def searched(store):
    store.append("a", 0, batch(1, 2, 3, 4, texts=TEXTS))

    def search(query, spans=None, limit=10):
        return [found.seq for found in store.search(spans or [Span("a", ALL)], query, limit)]

    return search


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("src/auth/login.py", {1}),
        ("auth", {1}),
        ("login.py", {1}),
        ("login", {1, 4}),
        ("UserAccountService", {3}),
        ("useraccountservice", {3}),
        ("account", {3}),
        ("http server", {3}),
        ("snake_case_name", {4}),
        ("case", {4}),
        ("zebra", set()),
        ("the and of", set()),
        ("", set()),
        ('"quoted" OR (NOT', set()),
        ("login AND NEAR(", {1, 4}),
        ("raising", {1}),
    ],
)
def test_words_are_found_whole_and_by_part(searched, query, found):
    assert set(searched(query)) == found


def test_better_matches_come_first_and_the_limit_holds(searched):
    assert searched("login service auth")[0] == 1
    assert len(searched("login", limit=1)) == 1


def test_a_search_sees_only_its_spans(store, searched):
    store.create(SessionRow("b", b"k", 2))
    store.append("b", 0, batch(1, texts=["login of another"]))
    assert searched("login", [Span("a", 3)]) == [1]
    assert searched("login", [Span("b", ALL)]) == [1]
    assert len(searched("login", [Span("a", ALL), Span("b", ALL)])) == 3


def test_common_terms_do_not_hide_a_rare_one(store):
    texts = [f"error number {n}" for n in range(1, 602)]
    store.append("a", 0, batch(*range(1, 602), texts=texts))
    assert store.search([Span("a", ALL)], "error 333", 3)[0].seq == 333
    assert len(store.search([Span("a", ALL)], "error", 3)) == 3


def test_documents_are_found_whether_one_came_or_many(store):
    for seq in range(1, 151):
        store.append("a", seq - 1, batch(seq, texts=[f"word{seq}"]))
        assert [found.seq for found in store.search([Span("a", ALL)], f"word{seq // 2 + 1}", 3)] == [seq // 2 + 1]


@pytest.mark.parametrize("searched_before", [False, True])
def test_erasing_removes_bytes_and_words_but_not_what_others_hold(store, searched_before):
    store.create(SessionRow("b", b"k", 2))
    shared = {"mine": b"secret", "shared": b"common"}
    store.append("a", 0, batch(1, blobs=shared, texts=["the secret word"]))
    store.append("b", 0, batch(1, blobs={"shared": b"common"}))
    losses = [Loss("a", 1, ["mine", "shared"], "the secret word")]
    if searched_before:
        assert len(store.search([Span("a", ALL)], "secret", 5)) == 1
    freed = store.erase("a", 1, Record(2, 20, b"{2}"), losses)
    assert freed == (1, len(b"secret"))
    assert store.blob("mine") is None
    assert store.is_erased("mine")
    assert store.blob("shared") == b"common"
    assert not store.is_erased("shared")
    assert store.search([Span("a", ALL)], "secret", 5) == []
    assert bodies(store) == [b"{1}", b"{2}"]


def test_an_erasure_that_comes_too_late_erases_nothing(store):
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["word"]))
    with pytest.raises(Conflict):
        store.erase("a", 0, Record(1, 1, b"{}"), [Loss("a", 1, ["d"], "word")])
    assert store.blob("d") == b"x"
    assert store.search([Span("a", ALL)], "word", 5)


# -- erasures are counted, and told by record


@pytest.fixture(params=["memory", "sqlite"])
def two(request, tmp_path):
    """Two ways to the same store: two connections, where it is a file."""
    opened = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "agent.db"))
    other = opened if request.param == "memory" else SqliteStore(opened.path)
    opened.create(SessionRow("a", b"key", 1))
    yield opened, other
    opened.close()
    other.close()


def erase(store, session, after, *losses):
    return store.erase(session, after, Record(after + 1, 1, b"{}"), losses)


def test_every_erasure_is_counted_for_everybody(two):
    store, other = two
    store.append("a", 0, batch(1, 2, blobs={"d": b"x"}, texts=["one", "two"]))
    assert (store.erasures(), other.erasures()) == (0, 0)
    assert other.erased([Span("a", ALL)]) == set()
    erase(store, "a", 2, Loss("a", 1, ["d"], "one"))
    first = other.erasures()
    assert store.erasures() == first > 0
    assert other.erased([Span("a", ALL)]) == {1}
    erase(other, "a", 3, Loss("a", 2, [], "two"))
    assert store.erasures() > first
    assert store.erased([Span("a", ALL)]) == {1, 2}
    assert store.erased([Span("a", ALL)], after=first) == {2}
    assert store.erased([Span("a", ALL)], after=store.erasures()) == set()
    assert store.erased([Span("a", 1)]) == {1}


def test_nothing_but_an_erasure_is_counted(store):
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["one"]))
    store.keep_snapshot("a", Snapshot(1, b"s"))
    store.search([Span("a", ALL)], "one", 1)
    store.vacuum(dry_run=False)
    with pytest.raises(Conflict):
        erase(store, "a", 0, Loss("a", 1, ["d"], "one"))
    assert store.erasures() == 0
    assert store.erased([Span("a", ALL)]) == set()


def test_a_fork_and_its_parent_both_count_though_they_erase_the_same(store):
    store.append("a", 0, batch(1, blobs={"d": b"x"}, texts=["one"]))
    store.create(SessionRow("f", b"k", 2, parent="a", parent_seq=1))
    erase(store, "f", 1, Loss("a", 1, ["d"], "one"))
    first = store.erasures()
    lineage = [Span("a", 1), Span("f", ALL)]
    assert store.erased(lineage) == store.erased([Span("a", ALL)]) == {1}
    erase(store, "a", 1, Loss("a", 1, ["d"], "one"))
    assert store.erasures() > first
    assert store.erased(lineage, after=first) == {1}


def test_a_record_loses_its_words_although_an_unrelated_one_still_needs_the_same_bytes(store):
    store.create(SessionRow("b", b"k", 2))
    store.append("a", 0, batch(1, blobs={"same": b"x"}))
    store.append("b", 0, batch(1, blobs={"same": b"x"}))
    erase(store, "a", 1, Loss("a", 1, ["same"]))
    assert not store.is_erased("same")
    assert store.blob("same") == b"x"
    assert store.erased([Span("a", ALL)]) == {1}
    assert store.erased([Span("b", ALL)]) == set()
    store.append("a", 2, batch(3, blobs={"same": b"x"}))
    assert store.erased([Span("a", ALL)]) == {1}


def test_an_erasure_is_seen_by_another_thread(two):
    store, other = two
    store.append("a", 0, batch(1, blobs={"d": b"x"}))
    seen = []
    erase(store, "a", 1, Loss("a", 1, ["d"]))
    thread = threading.Thread(target=lambda: seen.append((other.erasures(), other.erased([Span("a", ALL)]))))
    thread.start()
    thread.join()
    assert seen == [(store.erasures(), {1})]


def test_vacuum_says_first_and_frees_then(store):
    store.append("a", 0, Batch([Record(1, 1, b"{}")], {"orphan": b"12345"}))
    store.append("a", 1, batch(2, blobs={"needed": b"x"}))
    assert store.vacuum(dry_run=True) == (1, 5)
    assert store.blob("orphan") == b"12345"
    assert store.vacuum(dry_run=False) == (1, 5)
    assert store.blob("orphan") is None
    assert store.blob("needed") == b"x"
    assert store.vacuum(dry_run=True) == (0, 0)


def test_a_sound_store_has_nothing_to_report(store):
    store.append("a", 0, batch(1, 2))
    store.create(SessionRow("b", b"k", 2, parent="a", parent_seq=2, head=2))
    store.append("b", 2, batch(3))
    assert store.check() == []


def test_threads_share_a_store(store):
    def work(name):
        store.create(SessionRow(name, b"k", 1))
        for n in range(1, 21):
            store.append(name, n - 1, batch(n))

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.session(f"t{n}").head for n in range(4)] == [20] * 4
    assert store.check() == []


def test_a_url_says_which_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_store(":memory:"), MemoryStore)
    for url in ("a.db", str(tmp_path / "b.db"), "sqlite:c.db", "sqlite:d.db?durability=normal"):
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        store.close()
    assert {path.name for path in tmp_path.iterdir()} >= {"a.db", "b.db", "c.db", "d.db"}


@pytest.mark.parametrize(
    "url", ["redis://host", "sqlite:a.db?durability=maybe", "sqlite:a.db?speed=high", "a.db?wait=1"]
)
def test_a_url_that_means_nothing_is_refused(url):
    with pytest.raises(InvalidInput, match="url: expected"):
        open_store(url)


def test_camel_case_hides_its_parts_and_stopwords_say_nothing():
    assert set(hidden_parts("UserAccount parseHTTPResponse plain").split()) == {
        "User",
        "Account",
        "parse",
        "HTTP",
        "Response",
    }
    assert terms("Which commit broke the login?") == ["commit", "broke", "login"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain words only", ""),
        ("UserAccount useUserAccount", "User Account use"),
        ("parseHTTPResponse2 FF0a 0xFFee", "parse HTTP Response 2 FF 0 a x F Fee"),
        ("ABC snake_case kebab-case", ""),
        ("iPhone éCole", "i Phone"),
    ],
)
def test_the_hidden_parts_of_a_text_never_change(text, parts):
    """A document is taken out of the index by repeating exactly what was put in, perhaps by an older version."""
    assert hidden_parts(text) == parts


# -- sidecars

ONE, TWO = Slot("cars", "one"), Slot("cars", "two")


@pytest.fixture(params=["dicts", "memory", "sqlite"])
def sidecars(request, tmp_path):
    if request.param == "dicts":
        yield MemorySidecars()
        return
    opened = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "agent.db"))
    yield opened
    assert opened.check() == []
    opened.close()


def put(store, **documents):
    slots = {Slot("cars", key): body for key, body in documents.items()}
    return store.amend(list(slots), lambda _: slots)


def test_a_sidecar_gives_what_was_changed_since(sidecars):
    assert sidecars.sidecar_version() == 0
    assert sidecars.sidecar("cars") == (0, {})
    assert put(sidecars, one=b"1") == 1
    assert put(sidecars, two=b"2") == 2
    assert sidecars.sidecar_version() == 2
    assert sidecars.sidecar("cars") == (2, {"one": (1, b"1"), "two": (2, b"2")})
    assert put(sidecars, one=b"3") == 3
    assert sidecars.sidecar("cars", after=2) == (3, {"one": (3, b"3")})
    assert list(sidecars.sidecar("cars").documents) == ["two", "one"]
    assert sidecars.sidecar("cars", after=3) == (3, {})
    assert sidecars.sidecar("others") == (0, {})
    assert sidecars.sidecars() == ["cars"]
    assert (sidecars.document(ONE), sidecars.document(Slot("others", "one"))) == (b"3", None)


def test_a_change_sees_what_is_there_and_is_whole_or_not_at_all(sidecars):
    put(sidecars, one=b"1")
    seen = []

    def fail(found):
        seen.append(dict(found))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        sidecars.amend([ONE, TWO], fail)
    assert seen == [{ONE: b"1", TWO: None}]
    assert sidecars.amend([ONE], lambda _: {}) == 1
    assert sidecars.sidecar("cars") == (1, {"one": (1, b"1")})
    assert sidecars.amend([ONE, TWO], lambda found: {TWO: found[ONE] + b"2"}) == 2
    assert sidecars.document(TWO) == b"12"


def test_what_is_dropped_is_gone_and_numbers_only_grow(sidecars):
    put(sidecars, one=b"1")
    put(sidecars, two=b"2")
    assert put(sidecars, two=None) == 3
    assert (sidecars.sidecar_version(), sidecars.document(TWO)) == (3, None)
    assert put(sidecars, two=b"3", one=None) == 4
    assert sidecars.sidecar("cars", after=2) == (4, {"two": (4, b"3")})
    assert put(sidecars, two=None, three=None) == 5
    assert sidecars.sidecars() == []
    assert put(sidecars, one=b"4") == 6
    assert sidecars.sidecar("cars") == (6, {"one": (6, b"4")})


def test_no_change_is_lost_between_threads(sidecars):
    put(sidecars, one=b"0")

    def work():
        for _ in range(25):
            sidecars.amend([ONE], lambda found: {ONE: b"%d" % (int(found[ONE]) + 1)})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sidecars.document(ONE) == b"100"


# -- damage


def damage(store, statement, *values):
    store._connection.execute(statement, values)


@pytest.fixture
def chained(store):
    store.append("a", 0, batch(1, 2, blobs={"d": b"x"}))
    store.append("a", 2, batch(3, 4, 5))
    store.create(SessionRow("b", b"other", 2))
    store.append("b", 0, Batch([Record(n, n, b"{other}") for n in (1, 2, 3)]))
    store.create(SessionRow("f", b"key", 3, parent="a", parent_seq=3))
    store.append("f", 3, batch(4, 5))
    return store


def told(store, session="a", **bounds):
    """What stands where: the number of a record, or what is wrong."""
    return [str(each) if isinstance(each, Broken) else each.seq for each in store.records(session, **bounds)]


DAMAGES = [
    (["UPDATE records SET body = x'7b7d' WHERE session = 1 AND seq = 2"], [1, "entry 2 was altered", 3, 4, 5]),
    (["UPDATE records SET at = at + 1 WHERE session = 1 AND seq = 5"], [1, 2, 3, 4, "entry 5 was altered"]),
    (["UPDATE records SET at = 'x' WHERE session = 1 AND seq = 1"], ["entry 1 was altered", 2, 3, 4, 5]),
    (["DELETE FROM records WHERE session = 1 AND seq = 2"], [1, "entry 2 is missing", 3, 4, 5]),
    (["DELETE FROM records WHERE session = 1 AND seq IN (2, 3)"], [1, "entries 2 to 3 are missing", 4, 5]),
    (["DELETE FROM records WHERE session = 1 AND seq = 1"], ["entry 1 is missing", 2, 3, 4, 5]),
    (
        ["DELETE FROM records WHERE session = 1 AND seq IN (4, 5)"],
        [1, 2, 3, "entry 4 and whatever came after it is missing"],
    ),
    (
        ["UPDATE records SET seq = 99 WHERE session = 1 AND seq = 2", "UPDATE records SET seq = 2 WHERE session = 1 AND seq = 3",
         "UPDATE records SET seq = 3 WHERE session = 1 AND seq = 99"],
        [1, "entry 2 was altered", "entry 3 was altered", 4, 5],
    ),
    (
        ["DELETE FROM records WHERE session = 1 AND seq = 3", "UPDATE records SET session = 1 WHERE session = 2 AND seq = 3"],
        [1, 2, "entry 3 was altered", 4, 5],
    ),
    (["UPDATE records SET chain = zeroblob(32) WHERE session = 1 AND seq = 3"], [1, 2, 3, 4, 5]),
    (["UPDATE records SET chain = 'x' WHERE session = 1 AND seq = 3"], [1, 2, "entry 3 was altered", 4, 5]),
]  # fmt: skip


@pytest.mark.parametrize(("statements", "expected"), DAMAGES)
def test_what_was_altered_swapped_removed_or_brought_from_elsewhere_is_noticed(chained, statements, expected):
    assert told(chained) == [1, 2, 3, 4, 5]
    for statement in statements:
        damage(chained, statement)
    assert told(chained) == expected
    assert told(chained, after=5) == []


def test_a_broken_record_says_which_blobs_it_brought(chained):
    damage(chained, "UPDATE records SET body = x'' WHERE session = 1 AND seq = 1")
    assert next(chained.records("a")) == Broken(1, 1, "was altered", ("d",))


def test_what_a_fork_shares_is_read_up_to_where_it_left(chained):
    assert told(chained, "a", upto=3) == [1, 2, 3]
    damage(chained, "DELETE FROM records WHERE session = 1 AND seq >= 2 AND seq < 100")
    assert told(chained, "a", upto=3) == [1, "entries 2 to 3 and whatever came after it is missing"]
    assert told(chained, "f") == [4, 5]


def test_the_chain_of_a_fork_begins_with_its_parents_digest(chained):
    assert chained.check() == []
    damage(chained, "UPDATE records SET chain = zeroblob(32) WHERE session = 1 AND seq = 3")
    assert any("session 'f': entry 3 of its parent 'a' is not the one" in what for what in chained.check())


def test_nothing_follows_a_tail_that_is_missing(chained):
    damage(chained, "DELETE FROM records WHERE session = 1 AND seq = 5")
    with pytest.raises(Damaged, match=r"session 'a': entries behind 4 are damaged or missing"):
        chained.append("a", 4, batch(5))
    damage(chained, "DELETE FROM records WHERE session = 2")
    with pytest.raises(Damaged, match="session 'b': entries behind 0"):
        chained.append("b", 0, batch(1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshots SET body = x'00'",
        "UPDATE snapshots SET body = 'text'",
        "UPDATE snapshots SET seq = 4",
        "UPDATE snapshots SET session = 3",
        "UPDATE snapshots SET digest = NULL",
        "UPDATE records SET chain = zeroblob(32) WHERE seq = 5",
    ],
)
def test_a_damaged_snapshot_is_none(chained, statement):
    chained.keep_snapshot("a", Snapshot(5, b"state"))
    assert chained.snapshot("a") == Snapshot(5, b"state")
    damage(chained, statement)
    assert chained.snapshot("a") is chained.snapshot("f") is None


@pytest.mark.parametrize(
    "column", ["id", "key", "created_at", "scope", "parent", "parent_seq", "parent_digest", "origin"]
)
def test_a_row_that_was_altered_says_so_and_hides_no_other(chained, column):
    damage(chained, f"UPDATE sessions SET {column} = 'x' WHERE id = 'b'")
    assert chained.session("b").flaw
    assert [bool(row.flaw) for row in chained.sessions()] == [False, True, False]
    assert len(chained.sessions(scope="nobody's")) == 1  # it might be


def test_a_row_that_is_gone_is_not_a_session_that_never_was(chained):
    damage(chained, "DELETE FROM sessions WHERE id = 'b'")
    assert chained.session("b").flaw
    assert chained.session("c") is None
    with pytest.raises(Conflict):
        chained.create(SessionRow("b", b"again", 9))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM losses WHERE number = 1",
        "DELETE FROM losses",
        "UPDATE losses SET seq = 2",
        "UPDATE losses_end SET number = 9",
    ],
)
def test_an_erasure_that_is_lost_is_not_forgotten(chained, statement):
    chained.erase("a", 5, Record(6, 60, b"{}"), [Loss("a", 1, ["d"])])
    chained.erase("b", 3, Record(4, 40, b"{}"), [Loss("b", 3, [])])
    assert chained.erased([Span("a", ALL)]) == {1}
    damage(chained, statement)
    with pytest.raises(StoreError, match="which entries lost their words by an erasure cannot be told"):
        chained.erased([Span("a", ALL)])
    chained.mend(Mending(losses=[("a", 1), ("b", 3)]))
    assert chained.erased([Span("a", ALL)]) == {1}
    assert chained.erasures() == 2


def test_what_is_mended_is_chained_anew_with_the_forks(chained):
    chained.keep_snapshot("b", Snapshot(3, b"state"))
    damage(chained, "UPDATE records SET body = x'' WHERE session = 1 AND seq = 2")
    chained.mend(Mending(records={"a": [Record(2, 0, b"{new}")], "b": [], "f": []}))
    assert bodies(chained) == [b"{1}", b"{new}", b"{3}", b"{4}", b"{5}"]
    assert told(chained, "f") == [4, 5]
    assert chained.check() == []
    assert chained.snapshot("b") == Snapshot(3, b"state")


def test_a_mending_is_whole_or_not_at_all(chained):
    damage(chained, "UPDATE records SET body = x'' WHERE session = 1 AND seq = 2")
    with pytest.raises(StoreError):
        chained.mend(Mending(records={"a": [Record(2, 0, b"{}")]}, references=[("a", 1, None)], blobs={"e": None}))
    assert told(chained)[1] == "entry 2 was altered"


def test_a_row_is_restored_from_its_copy(chained):
    rows = chained.sessions()
    damage(chained, "UPDATE sessions SET key = x'00', scope = 'x' WHERE id = 'a'")
    damage(chained, "DELETE FROM sessions WHERE id = 'b'")
    chained.mend(Mending())
    assert chained.sessions() == rows
    assert chained.check() == []


def test_a_store_says_what_it_has(chained):
    chained.append("b", 3, batch(4, texts=["tulip"]))
    assert chained.documents("b") == {4}
    assert chained.references("a") == {(1, "d")}
    assert dict(chained.blobs()) == {"d": b"x"}
