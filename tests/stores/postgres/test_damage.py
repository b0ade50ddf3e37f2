"""What was altered in the tables by another program is noticed, and repaired where the rest allows it."""

import pytest

from pageturn.stores import Batch, Broken, Document, Loss, Record, Repairs, SessionRow, Slot, Snapshot, Span
from pageturn.testing.stores import batch
from pageturn.values.errors import Damaged, StoreError

ALL = 10**9
SLOT = Slot("cars", "one")


@pytest.fixture
def chained(store):
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, batch(1, 2, blobs={"d": b"x"}))
    store.append("a", 2, batch(3, 4, 5))
    store.create(SessionRow("b", b"other", 2))
    store.append("b", 0, Batch([Record(n, n, b"{other}") for n in (1, 2, 3)]))
    store.create(SessionRow("f", b"key", 3, parent="a", parent_seq=3))
    store.append("f", 3, batch(4, 5))
    return store


@pytest.fixture
def damage(server, url):
    name = url.partition("?")[0].rpartition("/")[2]
    return lambda *statements: [server.execute(statement, name) for statement in statements]


def told(store, session="a", **bounds):
    """What stands where: the number of a record, or what is wrong."""
    return [str(each) if isinstance(each, Broken) else each.seq for each in store.records(session, **bounds)]


_OF_A = "pageturn.records SET {} WHERE session = 1 AND seq = {}"
DAMAGES = [
    (["UPDATE " + _OF_A.format("body = '{}'", 2)], [1, "entry 2 was altered", 3, 4, 5]),
    (["UPDATE " + _OF_A.format("at = at + 1", 5)], [1, 2, 3, 4, "entry 5 was altered"]),
    (["DELETE FROM pageturn.records WHERE session = 1 AND seq = 2"], [1, "entry 2 is missing", 3, 4, 5]),
    (["DELETE FROM pageturn.records WHERE session = 1 AND seq IN (2, 3)"], [1, "entries 2 to 3 are missing", 4, 5]),
    (["DELETE FROM pageturn.records WHERE session = 1 AND seq = 1"], ["entry 1 is missing", 2, 3, 4, 5]),
    (
        ["DELETE FROM pageturn.records WHERE session = 1 AND seq > 3"],
        [1, 2, 3, "entry 4 and whatever came after it is missing"],
    ),
    (
        [
            "UPDATE " + _OF_A.format("seq = 99", 2),
            "UPDATE " + _OF_A.format("seq = 2", 3),
            "UPDATE " + _OF_A.format("seq = 3", 99),
        ],
        [1, "entry 2 was altered", "entry 3 was altered", 4, 5],
    ),
    (["UPDATE " + _OF_A.format("chain = decode(repeat('00', 32), 'hex')", 3)], [1, 2, 3, 4, 5]),
]


@pytest.mark.parametrize(("statements", "expected"), DAMAGES)
def test_what_was_altered_swapped_or_removed_is_noticed(chained, damage, statements, expected):
    assert told(chained) == [1, 2, 3, 4, 5]
    damage(*statements)
    assert told(chained) == expected


def test_what_a_fork_shares_is_read_up_to_where_it_left(chained, damage):
    assert told(chained, upto=3) == [1, 2, 3]
    damage("DELETE FROM pageturn.records WHERE session = 1 AND seq >= 2")
    assert told(chained, upto=3) == [1, "entries 2 to 3 and whatever came after it is missing"]
    assert told(chained, "f") == [4, 5]


def test_many_records_are_read_page_by_page_and_all_verified(store, damage, monkeypatch):
    monkeypatch.setattr("pageturn.stores.postgres.records._AT_ONCE", 7)
    store.create(SessionRow("a", b"key", 1))
    store.append("a", 0, Batch([Record(number, number, b"{}") for number in range(1, 29)]))
    assert told(store) == list(range(1, 29))
    assert told(store, after=6, upto=14) == list(range(7, 15))
    damage("UPDATE " + _OF_A.format("body = 'x'", 7), "UPDATE " + _OF_A.format("body = 'x'", 28))
    assert [each for each in told(store) if isinstance(each, str)] == ["entry 7 was altered", "entry 28 was altered"]


def test_a_broken_record_says_which_blobs_it_brought(chained, damage):
    damage("UPDATE " + _OF_A.format("body = ''", 1))
    assert next(chained.records("a")) == Broken(1, 1, "was altered", ("d",))


def test_nothing_follows_a_tail_that_is_missing(chained, opened, url, damage):
    damage("DELETE FROM pageturn.records WHERE session = 1 AND seq = 5")
    with pytest.raises(Damaged, match="session 'a': its last entries, up to 5, are damaged or missing"):
        opened(url).append("a", 5, batch(6))


def test_a_row_that_was_altered_says_so_and_hides_no_other(chained, damage):
    damage("UPDATE pageturn.sessions SET scope = 'another' WHERE id = 'b'")
    assert chained.session("b").flaw
    assert [bool(row.flaw) for row in chained.sessions()] == [False, True, False]
    assert chained.check() == ["session 'b': its row was altered"]


@pytest.mark.parametrize("change", ["body = '{}'", "seq = 4", "digest = ''"])
def test_a_damaged_snapshot_is_none(chained, damage, change):
    chained.keep_snapshot("a", Snapshot(5, b"state"))
    assert chained.snapshot("a") == Snapshot(5, b"state")
    damage(f"UPDATE pageturn.snapshots SET {change}")
    assert chained.snapshot("a") is None
    assert chained.check() == ["session 'a': its snapshot is damaged"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pageturn.losses WHERE number = 1",
        "DELETE FROM pageturn.losses",
        "UPDATE pageturn.losses SET seq = 2",
        "UPDATE pageturn.losses_end SET number = 9",
    ],
)
def test_an_erasure_that_is_lost_is_not_forgotten(chained, damage, statement):
    chained.erase("a", 5, Record(6, 60, b"{}"), [Loss("a", 1, ["d"])])
    chained.erase("b", 3, Record(4, 40, b"{}"), [Loss("b", 3, [])])
    assert chained.erased([Span("a", ALL)]) == {1}
    damage(statement)
    with pytest.raises(StoreError, match="which entries were erased cannot be determined"):
        chained.erased([Span("a", ALL)])
    chained.repair(Repairs(losses=[("a", 1), ("b", 3)]))
    assert chained.erased([Span("a", ALL)]) == {1}
    assert chained.erasures() == 2


def test_what_is_mended_is_chained_anew_with_the_forks(chained, damage):
    chained.keep_snapshot("b", Snapshot(3, b"state"))
    damage("UPDATE " + _OF_A.format("body = ''", 2))
    chained.repair(Repairs(records={"a": [Record(2, 0, b"{new}")], "b": [], "f": []}))
    assert [record.body for record in chained.records("a")] == [b"{1}", b"{new}", b"{3}", b"{4}", b"{5}"]
    assert told(chained, "f") == [4, 5]
    assert chained.check() == []
    assert chained.snapshot("b") == Snapshot(3, b"state")
    chained.append("a", 5, batch(6))


def test_a_mending_is_whole_or_not_at_all(chained, damage):
    damage("UPDATE " + _OF_A.format("body = ''", 2))
    with pytest.raises(StoreError):
        chained.repair(Repairs(records={"a": [Record(2, 0, b"{}")]}, references=[("a", 1, None)], blobs={"e": None}))
    assert told(chained)[1] == "entry 2 was altered"


@pytest.mark.parametrize("statement", ["UPDATE pageturn.sidecars SET body = 'x'", "DELETE FROM pageturn.sidecars"])
def test_a_sidecar_that_was_altered_is_noticed_and_repaired(store, damage, statement):
    store.amend([SLOT], lambda _: {SLOT: b"1", Slot("cars", "two"): b"2"})
    damage(f"{statement} WHERE key = 'one'")
    with pytest.raises(Damaged):
        store.sidecar("cars")
    assert store.check()
    store.repair(Repairs())
    assert list(store.sidecar("cars").documents) == ["two"]
    assert store.check() == []
    assert store.amend([SLOT], lambda _: {SLOT: b"3"}) == 3


def test_an_index_that_lost_words_is_filled_again(store, damage):
    store.create(SessionRow("a", b"key", 1))
    documents = [Document(1, "tulip"), Document(2, "rose")]
    store.append("a", 0, Batch([Record(1, 1, b"{}"), Record(2, 2, b"{}")], documents=documents))
    given = [("a", document) for document in documents]
    assert not store.has_other_words(given)
    damage("UPDATE pageturn.passages SET words = to_tsvector('lily') WHERE seq = 2")
    assert store.has_other_words(given)
    store.drop_words()
    assert store.lacks_words("a", [1, 2])
    store.give_words("a", documents)
    assert not store.lacks_words("a", [1, 2])
    assert not store.has_other_words(given)
    assert [found.seq for found in store.search([Span("a", ALL)], "rose", 5)] == [2]


def test_a_copy_is_beside_the_tables(chained, server, url):
    name = chained.backup().rpartition("schema ")[2]
    count = f"SELECT count(*) FROM {name}.records"
    assert server.execute(count, url.partition("?")[0].rpartition("/")[2]) == [(10,)]
