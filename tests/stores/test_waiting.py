"""Another process is writing: readers do not wait for it, and writers no longer than they were told to."""

import random
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.stores import Batch, Document, MemoryStore, Record, SessionRow, Span, SqliteStore, open_store
from pageturn.values.errors import Busy, StoreError
from tests.sessions import open_session, resolve_range, store_of, take_turn

HOLDER = Path(__file__).with_name("holder.py")
LONG = 40.0  # seconds; whoever waits that long has waited
SHORT = 0.05


@contextmanager
def held(path, begin="BEGIN IMMEDIATE"):
    """While another process holds the write lock; it lets go when the block is left, and not before."""
    command = [sys.executable, str(HOLDER), str(path), begin]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "held\n"
        began = monotonic()
        try:
            yield
        finally:
            took = monotonic() - began
            assert holder.poll() is None
            assert holder.communicate("go\n")[0] == "let go\n"
    assert took < LONG / 2


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "agent.db")


def begun(path, turns=8, **options):
    """A session with turns of which the last few wait to be indexed."""
    session = open_session(path, **options)
    session.append(pt.system("Be careful."))
    for number in range(turns):
        take_turn(session, number)
        session.append(pt.user(f"the tulip of step{number} is in bed{number % 3}"))
    return session


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
@pytest.mark.parametrize("turns", [3, 40])
def test_a_live_session_is_read_while_another_process_writes(path, begin, turns):
    session = begun(path, turns, wait_seconds=LONG)
    page = session.reader.pages()[-1]
    before = session.derive().messages
    with held(path, begin):
        assert session.recall(f"step{turns - 1}").hits[0].handle == page.handle
        assert session.recall("step0 bed0").hits[0].excerpt == "the tulip of step0 is in bed0"
        assert len(session.recall("tulip", limit=100).hits) == turns
        assert session.recall("zebra") == pt.NoMatch()
        assert session.resolve(page.handle).text.startswith("the tulip")
        assert session.resolve("p1-aaaa") == pt.NoMatch()
        assert len(resolve_range(session, f"{session.reader.pages()[0].handle}..{page.handle}")) == len(
            session.reader.pages()
        )
        assert len(list(session.reader.messages())) == len(session.reader.pages())
        assert session.derive().messages == before
        assert session.refresh() == 0
        assert session.reader.fault_counts() == {"no_match": 2}
    assert session.checkpoint() is None
    assert open_session(path).reader.fault_counts() == {"no_match": 2}


def test_a_stored_session_is_opened_and_read_while_another_process_writes(path):
    begun(path).close()
    begun(path, id="other", seed=2, scope="team").close()
    with held(path):
        session = open_session(path, wait_seconds=LONG)
        assert len(session.reader.pages()) == 33
        assert session.derive().messages
        assert session.recall("step7").hits
        with closing(open_store(path, wait_seconds=LONG)) as store:
            assert [row.id for row in store.sessions()] == ["other", "s"]


def test_other_sessions_of_a_scope_are_searched_while_another_process_writes(path):
    begun(path, id="other", scope="team").append(pt.user("another tulip"))
    mine = begun(path, id="mine", scope="team", wait_seconds=LONG)
    with held(path):
        sessions = {hit.session for hit in mine.recall("tulip", limit=50, scope="team").hits}
    assert sessions == {"other", "mine"}


class Dying(SqliteStore):
    """Goes down after so many appends, as a crash would."""

    appends_left = 10**9

    def append(self, session, after, batch):
        if self.appends_left == 0:
            raise StoreError("gone")
        self.appends_left -= 1
        super().append(session, after, batch)


def test_what_a_crash_left_staged_is_settled_later_where_another_process_writes(path):
    store = Dying(path)
    session = open_session(store)
    page = session.append(pt.user("words"))
    store.appends_left = 1
    with pytest.raises(StoreError, match="gone"):
        session.write_back(pt.Proposal(field="memory.x", value=1, evidence=(page.handle,)))
    store.close()
    with held(path):
        late = open_session(path, wait_seconds=LONG)
        assert late.resolve(page).text == "words"
        assert late.reader.memory("x") in (None, [])
    assert late.checkpoint() is None
    assert late.reader.memory("x") == [1]


WRITES = {
    "append": lambda session: session.append(pt.user("x")),
    "pin": lambda session: session.pin("a rule"),
    "erase": lambda session: session.erase(session.reader.pages()[3]),
    "fork": lambda session: session.fork("f"),
    "undo": lambda session: session.undo(),
    "write back": lambda session: session.write_back(
        pt.Proposal(field="memory.x", value=1, evidence=(session.reader.pages()[0].handle,))
    ),
    "another session": lambda session: pt.Session.open(store_of(session), id="new"),
    "another policy": lambda session: pt.Session.open(store_of(session), id="s", policy=pt.Legacy()),
}


@pytest.mark.parametrize("seconds", [0, SHORT])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_says_what_it_waited_for_and_how_to_wait_longer(path, write, seconds):
    session = begun(open_store(path, wait_seconds=seconds))
    pages = session.reader.pages()
    with held(path):
        with pytest.raises(pt.StoreError) as caught:
            WRITES[write](session)
        assert isinstance(caught.value, Busy)
        assert str(caught.value) == (
            f"{path}: waited {seconds:g} s (wait_seconds) for another process or thread to finish writing (docs/errors.md, Busy)"
        )
        assert session.reader.pages() == pages
    WRITES[write](session)
    assert SqliteStore(path).check() == []


@pytest.mark.parametrize("seconds", [0, SHORT])
def test_a_boundary_waits_no_longer_than_that_and_is_a_flush_miss(path, seconds):
    session = begun(path, wait_seconds=seconds)
    with held(path):
        assert session.recall("zebra") == pt.NoMatch()
        assert session.checkpoint() == pt.FlushMiss()
        assert "wait_seconds" in session.reader.faults()[-1].entry.detail
    assert session.checkpoint() is None
    with held(path):
        assert session.close() == pt.FlushMiss()
    assert open_session(path).reader.fault_counts() == {"no_match": 1, "flush_miss": 1}


def test_leaving_a_session_that_had_to_wait_too_long_says_so(path):
    session = begun(path, wait_seconds=SHORT)
    with held(path), pytest.raises(pt.StoreError, match=r"flush miss .*wait_seconds"), session:
        pass


def test_an_append_goes_on_when_the_other_writer_is_done(path):
    session = begun(path, wait_seconds=LONG)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.2, holder.rollback)
    done.start()
    session.append(pt.user("at last"))
    done.join()
    holder.close()
    assert session.recall("at last").hits


def test_the_recall_tool_answers_from_what_waits_and_its_answer_is_written_later(path):
    session = begun(path, wait_seconds=SHORT)
    session.append(pt.assistant(pt.ToolCall(id="ask", name="recall", arguments='{"query": "step7"}')))
    with held(path), pytest.raises(pt.StoreError, match="wait_seconds"):
        session.answer()
    assert session.answer()
    assert "step7 is in bed1" in list(session.reader.messages())[-1].tool_results[0].content


@pytest.mark.parametrize(
    ("url", "argument", "seconds"),
    [
        ("{path}", None, 5.0),
        ("{path}", 2, 2),
        ("{path}?wait_seconds=0", None, 0.0),
        ("sqlite:{path}?wait_seconds=1.5&durability=normal", None, 1.5),
        ("sqlite:{path}?wait_seconds=1.5", 0.25, 0.25),
    ],
)
def test_the_limit_stands_in_the_url_or_beside_it(path, url, argument, seconds):
    store = open_store(url.format(path=path), wait_seconds=argument)
    session = pt.Session.open(store, id="s")
    assert store.wait_seconds == seconds
    timeout = store._connection.execute("PRAGMA busy_timeout").fetchone()[0]
    assert timeout == int(seconds * 1_000)
    session.recall("zebra")
    assert store._connection.execute("PRAGMA busy_timeout").fetchone()[0] == timeout


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "5", True, [1]])
def test_a_limit_that_is_no_time_is_refused(path, seconds):
    for url in (path, ":memory:"):
        with pytest.raises(pt.InvalidInput, match="wait_seconds: expected a finite number, at least 0"):
            pt.Session.open(url, id="s", wait_seconds=seconds)
    with pytest.raises(pt.InvalidInput, match="wait_seconds"):
        SqliteStore(path, wait_seconds=seconds)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "soon"])
def test_a_limit_in_a_url_that_is_no_time_is_refused(path, text):
    with pytest.raises(pt.InvalidInput, match=r"url: expected .*wait_seconds=0 or more"):
        pt.Session.open(f"sqlite:{path}?wait_seconds={text}", id="s")


def test_a_limit_beside_a_store_is_refused(path):
    with pytest.raises(
        pt.InvalidInput, match="wait_seconds: expected none with a store object, which has its own, got 1"
    ):
        pt.Session.open(SqliteStore(path), id="s", wait_seconds=1)


# -- what waits is ranked as it will be in the index

VOCABULARY = "alpha beta gamma delta tulip src/auth/login.py UserAccount runs running".split()
TEXTS = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=12)


def filled(path, texts, session="a"):
    store = SqliteStore(path, wait_seconds=LONG)
    store.create(SessionRow(session, b"k", 1))
    for seq, text in enumerate(texts, 1):
        store.append(session, seq - 1, Batch([Record(seq, seq, b"{}")], {}, [Document(seq, text)]))
    return store


@given(TEXTS, st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4).map(" ".join), st.integers(1, 5))
def test_documents_that_wait_are_found_with_the_scores_that_the_index_will_give(texts, query, limit):
    with TemporaryDirectory() as folder:
        path = f"{folder}/a.db"
        store = filled(path, texts)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = store.search([Span("a", len(texts))], query, limit)
        other.execute("ROLLBACK")
        other.close()
        indexed = store.search([Span("a", len(texts))], query, limit)
        store.close()
    assert [each.seq for each in waiting] == [each.seq for each in indexed]
    assert [each.score for each in waiting] == pytest.approx([each.score for each in indexed], rel=1e-9)


@given(TEXTS, TEXTS, st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4).map(" ".join))
def test_documents_in_the_index_and_outside_of_it_are_found_together(before, after, query):
    with TemporaryDirectory() as folder:
        path = f"{folder}/a.db"
        store = filled(path, before)
        store.search([Span("a", 10**6)], "tulip", 1)
        head = len(before)
        for seq, text in enumerate(after, head + 1):
            store.append("a", seq - 1, Batch([Record(seq, seq, b"{}")], {}, [Document(seq, text)]))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = store.search([Span("a", 10**6)], query, 100)
        other.execute("ROLLBACK")
        other.close()
        indexed = store.search([Span("a", 10**6)], query, 100)
        store.close()
    assert {each.seq for each in waiting} == {each.seq for each in indexed}
    assert [each.score for each in waiting] == sorted((each.score for each in waiting), reverse=True)


def test_the_best_match_is_the_same_in_and_outside_of_the_index(path):
    chance = random.Random(1)
    words = [f"word{n}" for n in range(200)]
    texts = [" ".join(chance.choices(words, k=chance.randint(5, 60))) for _ in range(100)]
    texts[20], texts[90] = "a rare tulip stands in word3", "a rare tulip stands in word3 beside word4"
    store = filled(path, texts)
    with held(path):
        waiting = store.search([Span("a", 100)], "where does the rare tulip stand", 5)
    indexed = store.search([Span("a", 100)], "where does the rare tulip stand", 5)
    assert [each.seq for each in waiting] == [each.seq for each in indexed] == [21, 91]


def test_a_term_weighs_by_how_rare_it_is_on_both_sides_together(path):
    """Rare in the index and common outside of it is not rare."""
    store = filled(path, ["alpha", *["gamma delta"] * 39])
    store.search([Span("a", 40)], "gamma", 1)
    for seq in range(41, 61):
        text = "alpha beta and more words" if seq == 50 else "alpha and more words"
        store.append("a", seq - 1, Batch([Record(seq, seq, b"{}")], {}, [Document(seq, text)]))
    with held(path):
        waiting = store.search([Span("a", 60)], "alpha beta", 1)
    indexed = store.search([Span("a", 60)], "alpha beta", 1)
    assert [each.seq for each in waiting] == [each.seq for each in indexed] == [50]


def test_a_span_ends_where_it_ends_also_for_what_waits(path):
    store = filled(path, ["tulip one", "tulip two", "tulip three"])
    with held(path):
        assert {each.seq for each in store.search([Span("a", 2)], "tulip", 9)} == {1, 2}


def test_a_common_term_is_left_out_of_a_query_with_a_rare_one_also_for_what_waits(path, monkeypatch):
    monkeypatch.setattr("pageturn.stores.words.COMMON", 500)
    store = filled(path, [f"error number{n}" for n in range(550)])
    with held(path):
        assert [each.seq for each in store.search([Span("a", 10**6)], "error number549", 9)] == [550]
        assert len(store.search([Span("a", 10**6)], "error", 9)) == 9


def test_a_memory_store_has_nobody_to_wait_for():
    store = MemoryStore()
    session = open_session(store)
    with store.at_once():
        session.append(pt.user("x"))
    assert session.recall("x").hits
