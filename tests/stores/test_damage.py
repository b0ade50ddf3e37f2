"""A store that something changed: its sessions give the same bytes, or say what is wrong. Nothing raw, and nothing else in silence."""

import random
import sqlite3
from collections import Counter

import pytest

import pageturn as pt
from tests.long import examples
from tests.stores import damaging, written

PARTS = 50
CHANGES = examples(100, whole=10_000) // PARTS


@pytest.fixture(scope="module")
def written_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "agent.db"
    written.write(path)
    return path


@pytest.fixture(scope="module")
def whole(written_file, tmp_path_factory):
    """What the sessions give before any change."""
    given = damaging.given(damaging.copied(written_file, tmp_path_factory.mktemp("whole") / "agent.db"))
    assert given["doctor"] == []
    assert not any(given[id].startswith(("error", "faults")) for id in written.SESSIONS)
    return given


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_change_of_the_file_is_harmless_or_told_and_a_repair_loses_nothing_that_is_whole(
    written_file, whole, tmp_path, part
):
    outcomes = Counter()
    for seed in range(part * CHANGES, (part + 1) * CHANGES):
        path = damaging.copied(written_file, tmp_path / f"{seed}.db")
        what = f"seed {seed}, {damaging.damage(path, random.Random(seed))}"
        before = damaging.given(path)
        for id in (*written.SESSIONS, "router"):
            is_told = before[id].startswith(("error: ", "faults: "))
            assert before[id] == whole[id] or is_told, f"{what}: {id} is another in silence"
            outcomes["told" if is_told else "same"] += 1
        _require_hits_or_words_about_them(before, whole, what)
        if seed % 5:
            path.unlink()
            continue
        repaired = damaging.repaired(path)
        after = damaging.given(path)
        if not repaired.startswith("error: "):  # else pages of the file do not fit together, and it was left alone
            for id in written.SESSIONS:
                assert after[id] == whole[id] or before[id] != whole[id], f"{what}: {id} was whole before the repair"
            errors = [after[id] for id in written.SESSIONS if after[id].startswith("error: ")]
            # Only words that are gone for ever may be in the way.
            assert all("is a rule" in error or "blob" in error for error in errors), f"{what}: {errors}"
        for file in tmp_path.glob(f"{seed}.db*"):
            file.unlink()
    assert outcomes["same"]


def _require_hits_or_words_about_them(given, whole, what):
    """Whatever a search finds is what it found before; it says so, or the context of the session does, or at least the doctor does."""
    for id in written.SESSIONS:
        for query, handles in given["found"][id].items():
            before = whole["found"][id][query]
            if handles is not None and handles != before and given[id] == whole[id]:
                assert handles, f"{what}: {id} has nothing about {query!r} in silence"
                assert given["doctor"], f"{what}: {id} has other pages about {query!r} in silence"


ALTERED = "UPDATE {} SET {} = CAST({} || ' ' AS BLOB)"


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM snapshots"],
        ["UPDATE snapshots SET body = x'82a6'"],
        ["UPDATE snapshots SET body = x'ff' || substr(body, 2)"],
        ["UPDATE snapshots SET seq = seq - 1"],
        ["UPDATE snapshots SET body = (SELECT body FROM snapshots LIMIT 1)"],
        ["DELETE FROM refs", "DELETE FROM names", "DELETE FROM words_data", "DELETE FROM unindexed"],
        ["UPDATE records SET chain = zeroblob(32) WHERE seq = 3"],
        ["UPDATE sessions SET scope = 'elsewhere', key = x'00'"],
        ["UPDATE blobs SET digest = 'x' || digest"],
        ["UPDATE unindexed SET text = replace(text, 'After', 'Aftir')"],
    ],
)
def test_what_can_be_worked_out_is_rebuilt(written_file, whole, tmp_path, statements):
    path = damaging.copied(written_file, tmp_path / "agent.db")
    damaging.execute(path, *statements)
    assert damaging.given(path)["doctor"] or statements == ["DELETE FROM snapshots"]
    assert not damaging.repaired(path).startswith("error")
    assert damaging.given(path) == whole


def test_a_fork_whose_parent_lost_only_what_came_after_it_goes_on(written_file, whole, tmp_path):
    path = damaging.copied(written_file, tmp_path / "agent.db")
    behind = "seq > (SELECT parent_seq FROM sessions WHERE id = 'fork')"
    damaging.execute(path, f"DELETE FROM records WHERE session = 1 AND {behind}", "DELETE FROM snapshots")
    given = damaging.given(path)
    assert given["whole"].startswith("error: ")
    assert given["fork"] == whole["fork"]
    assert not any("fork" in what for what in given["doctor"])
    assert not damaging.repaired(path).startswith("error")
    assert damaging.given(path)["fork"] == whole["fork"]


# -- the index, which has no digests: the messages tell what it should have


@pytest.fixture
def indexed(tmp_path):
    """A file whose words are all in the index, and by which word each of its messages is found."""
    path = tmp_path / "indexed.db"
    with pt.Session.open(path, id="one") as session:
        pages = session.extend([pt.user(f"the flower is called {word}") for word in _WORDS])
        assert [session.recall(word).hits[0].handle for word in _WORDS] == [page.handle for page in pages]
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    return path


_WORDS = [f"{a}{b}{c}" for a in ("bra", "tul", "ros") for b in ("ma", "mi", "mu", "my") for c in ("lia", "pan", "nor")]


def _block(path):
    """The number and the bytes of the largest leaf of the index."""
    db = sqlite3.connect(path)
    row = db.execute("SELECT id, block FROM words_data ORDER BY length(block) DESC LIMIT 1").fetchone()
    db.close()
    return row


def _changed(path, to, block):
    db = sqlite3.connect(damaging.copied(path, to), isolation_level=None)
    db.execute("UPDATE words_data SET block = ? WHERE id = ?", (block, _block(path)[0]))
    db.close()
    return to


@pytest.mark.long
def test_an_altered_index_hides_no_page_without_a_fault_and_the_doctor_sees_it(indexed, tmp_path):
    rng = random.Random(3)
    noticed = 0
    for number in range(examples(12, whole=200)):
        block = bytearray(_block(indexed)[1])
        if number:
            block[rng.randrange(4, len(block))] ^= 1 << rng.randrange(8)
        else:
            block = bytes(len(block))
        path = _changed(indexed, tmp_path / f"{number}.db", bytes(block))
        store = damaging.SqliteStore(str(path))
        findings = [*damaging.examine(store)]
        noticed += bool(findings)
        session = pt.Session.open(store, id="one")
        answers = [session.recall(word) for word in _WORDS]
        for word, answer in zip(_WORDS, answers, strict=True):
            if isinstance(answer, pt.Recalled):  # a word that was altered into another one is what only the doctor sees
                assert findings or any(word in hit.excerpt for hit in answer.hits), (number, word)
            else:
                assert answer.code == "backend_error", (number, word)
        damaging.repair(store)
        assert all(word in session.recall(word).hits[0].excerpt for word in _WORDS)
        assert [*damaging.examine(store)] == []
        store.close()
    assert noticed


def test_a_page_that_the_index_has_lost_is_found_again(indexed):
    damaging.execute(indexed, "DELETE FROM words_data", "DELETE FROM words_docsize")
    with pt.Session.open(indexed, id="one") as session:
        assert all(word in session.recall(word).hits[0].excerpt for word in _WORDS)


def test_a_search_says_so_where_lost_entries_keep_the_index_from_being_made_again(written_file, tmp_path):
    path = damaging.copied(written_file, tmp_path / "agent.db")
    damaging.execute(
        path, "UPDATE sessions SET number = 1000 WHERE id = 'whole'"
    )  # so that none of its rows are its own
    with pt.Session.open(path, id="fork") as session:  # which has a snapshot
        assert session.derive().messages
        assert session.recall("tulip").code == "backend_error"
        assert session.recall("zebra").code == "no_match"


def test_what_nobody_said_is_no_damage(indexed):
    before = _block(indexed)
    with pt.Session.open(indexed, id="one") as session:
        assert session.recall("zebra").code == "no_match"
    assert _block(indexed) == before


# -- what a router has learned


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sidecars SET body = CAST(replace(CAST(body AS TEXT), '\"alpha\":1', '\"alpha\":0') AS BLOB) WHERE name LIKE 'delegation%'",
        "DELETE FROM sidecars WHERE name LIKE 'delegation%'",
        "DELETE FROM sidecars",
        "DELETE FROM sidecar_digests",
        "UPDATE sidecars SET version = version + 1 WHERE name LIKE 'delegation%'",
    ],
)
def test_altered_beliefs_choose_nobody(written_file, whole, tmp_path, statement):
    path = damaging.copied(written_file, tmp_path / "agent.db")
    damaging.execute(path, statement)
    given = damaging.given(path)
    assert given["router"].startswith("error: ")
    assert any("sidecar 'delegation/garden'" in what for what in given["doctor"])
    assert not damaging.repaired(path).startswith("error")
    assert damaging.given(path)["doctor"] == []
