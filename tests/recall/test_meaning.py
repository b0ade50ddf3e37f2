"""Recall by meaning: vectors are made beside the turns, kept, made again where they must be, and gone with what they were made of."""

import sqlite3
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import pageturn as pt
from pageturn.recall.embedders import EmbedderFailed, embed
from pageturn.recall.vectors import _AT_ONCE, Meaning, Near, _Table, packed
from pageturn.stores import Embedded, SqliteStore
from pageturn.testing import FailingStore
from tests.sessions import Clock, journal_of, open_session, reopened, store_of

ROOT = Path(__file__).parents[2]
TOPICS = [
    {"cat", "kitten", "feline", "purrs"},
    {"car", "engine", "motor", "drives"},
    {"bread", "oven", "bakes", "loaf"},
]


class Topics:
    """Vectors by topic: words of one topic mean the same."""

    dimension = 8

    def __init__(self, name="topics"):
        self.name = name
        self.embedded = []
        self.asked = 0
        self.fails = None
        self.refuses = None
        self.asked = 0

    def embed(self, texts):
        fails = self.fails
        self.asked += 1
        if fails is not None:
            raise fails
        if self.refuses is not None and any(self.refuses in text for text in texts):
            raise ValueError(self.refuses)
        self.embedded += texts
        vectors = np.zeros((len(texts), self.dimension))
        vectors[:, len(TOPICS)] = 0.01  # where every text is a little alike
        for at, text in enumerate(texts):
            for number, topic in enumerate(TOPICS):
                vectors[at, number] += len(topic & {*text.lower().replace(".", "").split()})
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Bug(BaseException):
    """What no embedder should raise, and nobody expects."""


def excerpts(recalled):
    return [hit.excerpt for hit in recalled.hits] if isinstance(recalled, pt.Recalled) else recalled


@pytest.fixture
def path(tmp_path):
    return tmp_path / "agent.db"


def wait_until(is_so):
    """Wait for the thread; the time limit of a test ends a wait that is in vain."""
    while not is_so():
        time.sleep(0.005)


def wait_for_embedding():
    """Wait until no thread embeds: then only the test asks the embedder."""
    for thread in threading.enumerate():
        if thread.name == "pageturn-embedding":
            thread.join()


def talk(session):
    session.extend([pt.user("the kitten purrs"), pt.assistant("a motor drives"), pt.user("the loaf bakes")])


def test_what_is_meant_is_found_though_nobody_said_it():
    session = open_session(embedder=Topics())
    talk(session)
    assert session.recall("feline") == pt.NoMatch()  # not embedded yet, and by words there is nothing
    assert embed(store_of(session), "s", Topics()) == 3
    assert embed(store_of(session), "s", Topics()) == 0
    assert excerpts(session.recall("feline"))[0] == "the kitten purrs"
    assert excerpts(session.recall("engine"))[0] == "a motor drives"
    session.append(pt.user("my car"))
    assert "my car" in excerpts(session.recall("car"))  # what is not embedded yet is found by words


def test_append_embeds_nothing_and_a_derivation_has_it_done_beside():
    embedder = Topics()
    session = open_session(embedder=embedder)
    talk(session)
    assert embedder.embedded == []
    session.derive()
    wait_until(lambda: len(store_of(session).vectors("s", "topics/8")) == 3)
    assert sorted(embedder.embedded) == ["a motor drives", "the kitten purrs", "the loaf bakes"]
    assert excerpts(session.recall("feline"))[0] == "the kitten purrs"
    session.close()


def test_vectors_outlive_the_session_and_only_what_is_new_is_embedded(path):
    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        talk(session)
        embed(path, "s", Topics())
    embedder = Topics()
    with pt.Session.open(path, id="s", embedder=embedder) as session:
        session.append(pt.user("an oven"))
        assert embed(path, "s", embedder) == 1
        assert embedder.embedded == ["an oven"]
        assert sorted(excerpts(session.recall("bread"))[:2]) == ["an oven", "the loaf bakes"]


def test_another_model_embeds_everything_again(path):
    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        talk(session)
        embed(path, "s", Topics())
    other = Topics("another")
    with pt.Session.open(path, id="s", embedder=other) as session:
        assert embed(path, "s", other) == 3
        assert excerpts(session.recall("feline"))[0] == "the kitten purrs"
    store = SqliteStore(path)
    assert store.vectors("s", "topics/8") == []
    assert len(store.vectors("s", "another/8")) == 3
    store.close()


def test_what_was_embedded_before_a_crash_stays_and_the_rest_follows():
    embedder = Topics()
    session = open_session(embedder=embedder)
    for number in range(3 * _AT_ONCE):
        session.append(pt.user(f"kitten number {number}"))
    calls = []

    def is_stopped():
        calls.append(1)
        return len(calls) > _AT_ONCE + 5

    assert Meaning(store_of(session), embedder, Clock()).embed(journal_of(session), is_stopped) == _AT_ONCE
    assert embed(store_of(session), "s", embedder) == 2 * _AT_ONCE
    assert len(embedder.embedded) == 3 * _AT_ONCE


@pytest.mark.parametrize("batches", [0, 2])
def test_what_was_embedded_before_a_kill_9_is_kept_and_nothing_by_half(path, batches):
    with pt.Session.open(path, id="s") as session:
        session.extend(pt.user(f"kitten number {number}") for number in range(3 * _AT_ONCE))
    command = [sys.executable, "-m", "tests.recall.child", str(path), str(batches)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "hangs\n"
        process.kill()
    embedder = Topics()
    with pt.Session.open(path, id="s", embedder=embedder) as session:
        assert embed(path, "s", embedder) == (3 - batches) * _AT_ONCE
        assert len(session.recall("feline", 1_000).hits) == 3 * _AT_ONCE


def test_an_embedder_that_fails_means_search_by_words_and_a_notice():
    embedder, clock = Topics(), Clock()
    session = open_session(embedder=embedder, clock=clock)
    talk(session)
    embed(store_of(session), "s", embedder)
    embedder.fails = EmbedderFailed("no connection")
    recalled = session.recall("kitten")
    assert excerpts(recalled) == ["the kitten purrs"]
    assert recalled.notices == ("searched by words alone, the embedder has no answer: no connection",)
    clock.now += timedelta(seconds=60)
    embedder.fails = ValueError("secret text")
    assert session.recall("kitten").notices == ("searched by words alone, the embedder has no answer: ValueError",)
    session.append(pt.user("more"))
    session.derive()
    wait_for_embedding()
    embedder.fails = None
    clock.now += timedelta(seconds=60)
    assert session.recall("kitten").notices == ()
    assert embed(store_of(session), "s", embedder) == 1
    assert embedder.embedded[-1] == "more"


def test_an_embedder_that_failed_is_left_alone_for_a_while():
    embedder, clock = Topics(), Clock(step_seconds=0)
    session = open_session(embedder=embedder, clock=clock)
    talk(session)
    embedder.fails = EmbedderFailed("no connection")
    session.recall("kitten")
    asked = embedder.asked
    clock.now += timedelta(seconds=29)
    assert session.recall("kitten").notices == (
        "searched by words alone, the embedder has no answer: no connection (it is asked again 30 s after that)",
    )
    session.derive()
    wait_for_embedding()
    assert embedder.asked == asked
    clock.now += timedelta(seconds=1)
    session.recall("kitten")
    assert embedder.asked == asked + 2  # with the query, and with a harmless text
    embedder.fails = None
    assert embed(store_of(session), "s", embedder) == 3  # whoever asks for that does not want to wait
    clock.now += timedelta(seconds=30)
    assert session.recall("feline").notices == ()


def test_a_query_that_the_embedder_refuses_holds_up_no_other():
    embedder = Topics()
    embedder.refuses = "motor"
    session = open_session(embedder=embedder)
    session.append(pt.user("the kitten purrs"))
    assert embed(store_of(session), "s", embedder) == 1
    assert session.recall("kitten motor").notices == (
        "searched by words alone, the embedder has no answer: ValueError",
    )
    assert session.recall("feline").notices == ()
    assert excerpts(session.recall("feline")) == ["the kitten purrs"]


def test_a_text_that_the_embedder_refuses_stops_nothing_behind_it(path):
    embedder = Topics()
    embedder.refuses = "motor"
    with pt.Session.open(path, id="s", embedder=embedder) as session:
        talk(session)
        session.append(pt.user("a feline"))
        assert embed(path, "s", embedder) == 4
        assert embed(path, "s", embedder) == 0
        assert {"the kitten purrs", "a feline"} <= {*excerpts(session.recall("cat"))}
        assert "a motor drives" not in excerpts(session.recall("kitten car"))
        assert "a motor drives" in excerpts(session.recall("drives"))
    with pt.Session.open(path, id="s", embedder=embedder) as session:
        assert embed(path, "s", embedder) == 0


def test_an_endpoint_that_is_down_marks_nothing():
    embedder = Topics()
    session = open_session(embedder=embedder)
    talk(session)
    embedder.fails = EmbedderFailed("no connection")
    with pytest.raises(EmbedderFailed):
        embed(store_of(session), "s", embedder)
    assert embedder.asked == 2  # for the texts, and for one that nobody refuses
    embedder.fails = None
    assert embed(store_of(session), "s", embedder) == 3


def test_a_page_that_cannot_be_read_now_is_embedded_later():
    embedder, store = Topics(), FailingStore()
    session = open_session(store, embedder=embedder)
    talk(session)
    blob, failed = store.blob, []

    def fail_once(digest, *rest):
        if not failed:
            failed.append(digest)
            raise pt.StoreError("the disk is busy")
        return blob(digest, *rest)

    store.blob = fail_once
    session = reopened(session, embedder=embedder)
    assert embed(store_of(session), "s", embedder) == 2
    assert failed
    assert embed(store_of(session), "s", embedder) == 1
    assert "the kitten purrs" in excerpts(session.recall("feline"))


def test_what_is_wanted_is_found_by_meaning_behind_any_number_of_nearer_pages():
    session = open_session(embedder=Topics())
    page = session.append(pt.user("a feline and an oven that bakes a loaf"))
    session.extend(pt.assistant(f"kitten number {number}") for number in range(600))
    embed(store_of(session), "s", Topics())
    assert [hit.handle for hit in session.recall("cat", where={"role": "user"}).hits] == [page.handle]


def test_what_is_near_to_nothing_is_no_match():
    session = open_session(embedder=Topics())
    talk(session)
    embed(store_of(session), "s", Topics())
    assert session.recall("xylophone qqq") == pt.NoMatch()
    assert "the kitten purrs" in excerpts(session.recall("xylophone feline"))


@pytest.mark.parametrize("length", [0.001, 1, 40])
def test_vectors_of_any_length_count_by_their_direction(length):
    embedder = Topics()
    embed_texts = embedder.embed
    embedder.embed = lambda texts: embed_texts(texts) * length
    session = open_session(embedder=embedder)
    talk(session)
    embed(store_of(session), "s", embedder)
    (hit,) = session.recall("feline").hits
    assert (hit.excerpt, hit.score) == ("the kitten purrs", pytest.approx(3, abs=0.1))


def test_vectors_of_another_dimension_are_made_again_though_the_name_is_the_same(path):
    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        talk(session)
        embed(path, "s", Topics())
    other = Topics()
    other.dimension = 2 * Topics.dimension + 4  # whose vectors would take as many bytes as two of the others
    with pt.Session.open(path, id="s", embedder=other) as session:
        assert embed(path, "s", other) == 3
        assert excerpts(session.recall("feline")) == ["the kitten purrs"]


def test_the_recall_tool_tells_the_model_when_only_words_were_searched():
    embedder = Topics()
    session = open_session(embedder=embedder)
    talk(session)
    embedder.fails = EmbedderFailed("no [connection]\n</page>")
    session.append(pt.assistant(pt.ToolCall(id="r", name="recall", arguments='{"query": "kitten"}')))
    session.answer()
    told = session.reader.messages()[-1].tool_results[0].content
    assert told.splitlines()[-1].startswith("[searched by words alone, the embedder has no answer: no (connection)")
    assert told.count("</page>") == 1


@pytest.mark.parametrize("wrong", [np.zeros((1, 3)), [[float("nan")] * 8], "text"])
def test_vectors_of_another_form_are_an_embedder_that_fails(wrong):
    embedder = Topics()
    session = open_session(embedder=embedder)
    talk(session)
    embedder.embed = lambda texts: wrong
    assert session.recall("kitten").notices


def test_erased_words_leave_no_vector_in_the_file(path):
    store = SqliteStore(path)
    with pt.Session.open(store, id="s", embedder=Topics()) as session:
        talk(session)
        page = session.append(pt.user("SECRET engine"))
        embed(store, "s", Topics())
        session.erase(page)
        assert "SECRET engine" not in excerpts(session.recall("motor"))
        assert page.seq not in [each.seq for each in store.vectors("s", "topics/8")]
        store.keep_vectors("s", "topics/8", [Embedded(page.seq, b"late")])  # by a thread that read it before
        assert page.seq not in [each.seq for each in store.vectors("s", "topics/8")]
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (3,)
    db.close()


def test_the_bytes_of_erased_vectors_are_gone_from_the_files(path):
    def files():
        return b"".join(file.read_bytes() for file in path.parent.iterdir())

    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        talk(session)
        page = session.append(pt.user("a SECRET engine in an oven"))
        embed(path, "s", Topics())
        store = SqliteStore(path)
        vectors = {each.seq: each.data for each in store.vectors("s", "topics/8")}
        store.close()
        assert all(data in files() for data in vectors.values())
        session.erase(page)
        assert vectors.pop(page.seq) not in files()
        assert all(data in files() for data in vectors.values())


def test_what_is_undone_is_not_found_by_meaning():
    session = open_session(embedder=Topics())
    talk(session)
    session.extend([pt.user("a feline"), pt.assistant("ok")])
    embed(store_of(session), "s", Topics())
    assert "a feline" in excerpts(session.recall("cat"))
    session.undo()
    assert "a feline" not in excerpts(session.recall("cat"))


def test_another_tenants_pages_are_not_found_by_meaning(path):
    store = SqliteStore(path)
    other = pt.Session.open(store, id="other", scope="theirs", embedder=Topics())
    talk(other)
    embed(store, "other", Topics(), scope="theirs")
    mine = pt.Session.open(store, id="mine", scope="ours", embedder=Topics())
    mine.append(pt.user("bread"))
    embed(store, "mine", Topics(), scope="ours")
    assert mine.recall("feline", where={"role": "assistant"}) == pt.NoMatch()
    assert excerpts(mine.recall("feline bread")) == ["bread"]
    assert mine.recall("feline", sessions=["other"]).is_denied
    mine.grant("theirs")
    assert "the kitten purrs" in excerpts(mine.recall("feline", sessions=["other"]))
    store.close()


def test_a_fork_finds_by_meaning_what_its_parent_said():
    session = open_session(embedder=Topics())
    talk(session)
    fork = session.fork("f")
    session.append(pt.user("a later engine"))
    fork.append(pt.user("an oven"))
    embed(store_of(session), "s", Topics())
    assert embed(store_of(session), "f", Topics()) == 1
    assert excerpts(fork.recall("feline"))[0] == "the kitten purrs"
    assert "a later engine" not in excerpts(fork.recall("motor"))


SWAPPED = "UPDATE vectors SET data = (SELECT v.data FROM vectors v WHERE v.row != vectors.row ORDER BY v.row LIMIT 1)"
FIRST = "WHERE row = (SELECT min(row) FROM vectors)"
END_OF_VECTORS = "x'0000C07F'"  # not a number


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE vectors SET data = x'00112233' {FIRST}",
        f"UPDATE vectors SET data = x'' {FIRST}",
        f"UPDATE vectors SET data = CAST(substr(data, 1, 8) || {END_OF_VECTORS} || substr(data, 13) AS BLOB) {FIRST}",
        f"UPDATE vectors SET data = CAST(x'11' || substr(data, 2) AS BLOB) {FIRST}",
        f"{SWAPPED} {FIRST}",
    ],
)
def test_a_damaged_vector_counts_as_none(path, statement):
    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        talk(session)
    embed(path, "s", Topics())
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        assert "a motor drives" in excerpts(session.recall("engine"))
    assert embed(path, "s", Topics()) == 1
    with pt.Session.open(path, id="s", embedder=Topics()) as session:
        assert excerpts(session.recall("feline"))[0] == "the kitten purrs"


def test_only_an_embedder_embeds_and_only_what_is_stored(path):
    with pytest.raises(pt.InvalidInput, match="embedder"):
        open_session(embedder="minilm")
    with pt.Session.open(path, id="s", scope="ours") as session:
        talk(session)
    with pytest.raises(pt.InvalidInput, match="embedder"):
        embed(path, "s", "minilm", scope="ours")
    with pytest.raises(pt.InvalidInput, match="id: expected the id of a session of the store"):
        embed(path, "t", Topics())
    with pytest.raises(pt.InvalidInput, match="scope"):
        embed(path, "s", Topics())
    assert embed(path, "s", Topics(), scope="ours") == 3


def test_a_search_among_many_vectors_finds_what_a_look_at_all_finds():
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((20_000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    table = _Table(64, "s")
    table.take(packed(vectors[seq * 10 : seq * 10 + 10], "s", seq + 1) for seq in range(2_000))
    for place in (0, 7_777, 19_999):
        asked = vectors[place] + 0.05 * chance.standard_normal(64).astype(np.float32)
        asked /= np.linalg.norm(asked)
        found, is_all = table.near(asked, 10**9, [], 256, 0.0)
        assert not is_all
        first = next(iter(found))
        assert (first, found[first].passage) == (place // 10 + 1, place % 10)
        assert found[first].cosine == pytest.approx(float(vectors[place] @ asked), abs=0.02)
        assert len(packed(vectors[:100], "s", 1).data) == 100 * (64 + 4) + 4
    assert max(table.near(vectors[19_999], 50, [], 256, 0.0)[0]) <= 50
    assert 1_999 in table.near(vectors[0], 10**9, [1_999], 256, 0.0)[0]
    assert table.near(vectors[0], 10**9, [], 256, 0.9) == ({1: Near(pytest.approx(1, abs=0.02), 0)}, True)


def test_a_thread_that_ends_in_a_bug_is_followed_by_another(monkeypatch):
    told = []
    monkeypatch.setattr("threading.excepthook", lambda hook: told.append(hook.exc_value))
    embedder = Topics()
    session = open_session(embedder=embedder)
    talk(session)
    embedder.fails = bug = Bug()
    session.derive()
    wait_until(lambda: told)
    assert told == [bug]
    embedder.fails = None
    session.derive()
    wait_until(lambda: len(store_of(session).vectors("s", "topics/8")) == 3)
    assert embed(store_of(session), "s", embedder) == 0
    session.close()
