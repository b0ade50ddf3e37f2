"""What every store must do, asked of each of them; and what ours do about damage."""

from itertools import count

import pytest

from pageturn.stores import (
    Batch,
    Broken,
    Loss,
    MemorySidecars,
    MemoryStore,
    Record,
    Repairs,
    SessionRow,
    Snapshot,
    Span,
    SqliteStore,
    open_store,
    shown,
)
from pageturn.stores.words import hidden_parts, terms
from pageturn.testing import maintained_store_cases, reopened_store_cases, sidecar_cases, store_cases
from pageturn.testing.stores import batch
from pageturn.values.errors import Conflict, Damaged, InvalidInput, StoreError

ALL = 10**9


def new_store(name, folder):
    """Makes stores of a kind, each of them new."""
    numbers = count()
    return MemoryStore if name == "memory" else lambda: SqliteStore(str(folder / f"{next(numbers)}.db"))


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = new_store(request.param, tmp_path)()
    opened.create(SessionRow("a", b"key", 1))
    yield opened
    opened.close()


def bodies(store, session="a", **bounds):
    return [record.body for record in store.records(session, **bounds)]


@pytest.mark.parametrize("case", [*store_cases(), *maintained_store_cases()], ids=str)
@pytest.mark.parametrize("name", ["memory", "sqlite"])
def test_every_store(case, name, tmp_path):
    case(new_store(name, tmp_path))


@pytest.mark.parametrize("case", reopened_store_cases(shared=True), ids=str)
def test_a_store_in_a_file_outlives_its_process_and_is_shared(case, tmp_path):
    case(new_store("sqlite", tmp_path), lambda store: SqliteStore(store.path))


@pytest.mark.parametrize("case", sidecar_cases(), ids=str)
@pytest.mark.parametrize("name", ["dicts", "memory", "sqlite"])
def test_all_sidecars(case, name, tmp_path):
    case(MemorySidecars if name == "dicts" else new_store(name, tmp_path))


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


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://me:se@cret@host:5432/agents?password=other", "postgresql://host:5432/agents"),
        ("postgres:///agents", "postgres:///agents"),
        ("agent.db", "agent.db"),
        ("sqlite:a@b.db?wait_seconds=1", "sqlite:a@b.db?wait_seconds=1"),
    ],
)
def test_a_url_is_shown_without_what_is_secret(url, name):
    assert shown(url) == name


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
    with pytest.raises(Damaged, match=r"session 'a': entries after 4 are damaged or missing"):
        chained.append("a", 4, batch(5))
    damage(chained, "DELETE FROM records WHERE session = 2")
    with pytest.raises(Damaged, match="session 'b': entries after 0"):
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
    with pytest.raises(StoreError, match="which entries were erased cannot be determined"):
        chained.erased([Span("a", ALL)])
    chained.repair(Repairs(losses=[("a", 1), ("b", 3)]))
    assert chained.erased([Span("a", ALL)]) == {1}
    assert chained.erasures() == 2


def test_what_is_mended_is_chained_anew_with_the_forks(chained):
    chained.keep_snapshot("b", Snapshot(3, b"state"))
    damage(chained, "UPDATE records SET body = x'' WHERE session = 1 AND seq = 2")
    chained.repair(Repairs(records={"a": [Record(2, 0, b"{new}")], "b": [], "f": []}))
    assert bodies(chained) == [b"{1}", b"{new}", b"{3}", b"{4}", b"{5}"]
    assert told(chained, "f") == [4, 5]
    assert chained.check() == []
    assert chained.snapshot("b") == Snapshot(3, b"state")


def test_a_mending_is_whole_or_not_at_all(chained):
    damage(chained, "UPDATE records SET body = x'' WHERE session = 1 AND seq = 2")
    with pytest.raises(StoreError):
        chained.repair(Repairs(records={"a": [Record(2, 0, b"{}")]}, references=[("a", 1, None)], blobs={"e": None}))
    assert told(chained)[1] == "entry 2 was altered"


def test_a_row_is_restored_from_its_copy(chained):
    rows = chained.sessions()
    damage(chained, "UPDATE sessions SET key = x'00', scope = 'x' WHERE id = 'a'")
    damage(chained, "DELETE FROM sessions WHERE id = 'b'")
    chained.repair(Repairs())
    assert chained.sessions() == rows
    assert chained.check() == []


def test_a_store_says_what_it_has(chained):
    chained.append("b", 3, batch(4, texts=["tulip"]))
    assert chained.documents("b") == {4}
    assert chained.references("a") == {(1, "d")}
    assert dict(chained.blobs()) == {"d": b"x"}
