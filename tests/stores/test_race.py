"""Several writers, one session: one wins, the others are told, and nothing is lost or written twice."""

import json
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.stores import SqliteStore
from tests.long import examples
from tests.stores import child

ROOT = Path(__file__).parents[2]
WRITERS = 8


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(str(tmp_path / "agent.db"))
    yield opened
    opened.close()


def texts(session):
    return [message.text for message in session.reader.messages()]


def tags(store):
    return [json.loads(record.body)["entry"] for record in store.records("s")]


def assert_sound(store, session):
    numbers = [record.seq for record in store.records(session)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert store.check() == []


def let_all_go(writers, state):
    """Let the writers go on once all of them have come so far."""
    assert [writer.stdout.readline() for writer in writers] == [f'"{state}"\n'] * len(writers)
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()


@pytest.mark.long
@pytest.mark.parametrize("begun", [True, False])
def test_processes_lose_nothing_and_the_losers_are_told(tmp_path, begun):
    path = str(tmp_path / "agent.db")
    if begun:
        pt.Session.open(path, id=child.SESSION).close()
    command = [sys.executable, "-m", "tests.stores.child", "race", path]
    bounds = [str(examples(25, whole=2_000)), str(examples(2, whole=10))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with ExitStack() as stack:
        writers = [
            stack.enter_context(subprocess.Popen([*command, f"writer{n}", *bounds], **pipes)) for n in range(WRITERS)
        ]
        let_all_go(writers, "awake")
        let_all_go(writers, "open")
        told = [[json.loads(line) for line in writer.communicate()[0].splitlines()] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    # All of them had seen the same last entry, so all but one lost at least once.
    assert sum(conflicts for *_, conflicts in told) >= WRITERS - 1
    acknowledged = sorted(each for *pages, _ in told for each in pages)
    assert max(Counter(text for _, text in acknowledged).values()) == 1
    store = SqliteStore(path)
    session = pt.Session.open(store, id=child.SESSION)
    assert [[page.seq, text] for page, text in zip(session.reader.pages(), texts(session), strict=True)] == acknowledged
    assert_sound(store, child.SESSION)
    store.close()


@pytest.fixture
def pair(store):
    """Two sessions that have seen the same."""
    first = pt.Session.open(store, id="s")
    first.append(pt.user("seen by both"))
    return first, pt.Session.open(store, id="s")


def test_the_loser_is_told_what_it_missed_and_keeps_its_state_until_it_refreshes(store, pair):
    winner, loser = pair
    seen = loser.reader.pages()
    winner.extend([pt.user("one"), pt.assistant("two")])
    winner.pin("three")
    for _ in range(2):
        with pytest.raises(pt.Conflict) as caught:
            loser.append(pt.user("lost"))
        names = [type(entry).__name__ for entry in caught.value.missed]
        assert names == ["MessageAdded", "MessageAdded", "TurnTaken", "MessageAdded", "Pinned"]
        assert loser.reader.pages() == seen
    assert loser.refresh() == 5
    assert loser.refresh() == 0
    assert loser.reader.pages() == winner.reader.pages()
    loser.append(pt.user("four"))
    assert winner.refresh() == 1
    assert texts(winner) == texts(loser) == ["seen by both", "one", "two", "three", "four"]
    assert winner.reader.pages() == loser.reader.pages() == pt.Session.open(store, id="s").reader.pages()
    assert_sound(store, "s")


LOSSES = {
    "append": lambda session, page: session.extend([pt.user("x"), pt.assistant("y")]),
    "append with usage": lambda session, page: session.append(pt.user("x"), pt.Usage(input_tokens=1)),
    "undo": lambda session, page: session.undo(),
    "reset": lambda session, page: session.reset("a summary"),
    "choose": lambda session, page: session.choose(pt.Legacy()),
    "grant": lambda session, page: session.grant("team"),
    "pin a text": lambda session, page: session.pin("a rule"),
    "pin a page": lambda session, page: session.pin(page),
    "plan": lambda session, page: session.plan("a goal"),
    "prefer": lambda session, page: session.prefer("tea"),
    "inject": lambda session, page: session.inject(pt.ContextMessage(key="k", role=pt.Role.USER, content="x")),
    "erase": lambda session, page: session.erase(page),
    "write back": lambda session, page: session.write_back(
        pt.Proposal(field="memory.x", evidence=(page.handle,), value=1)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_whatever_the_loser_wanted_to_write_is_not_written_and_can_be_written_after(store, pair, name):
    winner, loser = pair
    winner.extend([pt.user("one"), pt.assistant("two")])
    loser.refresh()
    page = winner.append(pt.user("three"))
    written, seen = list(store.records("s")), loser.reader.pages()
    with pytest.raises(pt.Conflict) as caught:
        LOSSES[name](loser, seen[-1])
    assert len(caught.value.missed) == 1
    assert list(store.records("s")) == written
    assert loser.reader.pages() == seen
    assert loser.reader.plan is loser.reader.usage is None
    assert (loser.reader.policy, loser.reader.notes) == (pt.Paged(), ())
    loser.refresh()
    LOSSES[name](loser, page)
    winner.refresh()
    assert winner.reader.pages() == loser.reader.pages() == pt.Session.open(store, id="s").reader.pages()
    assert_sound(store, "s")


def in_threads(work, names):
    """What `work(name, wait)` returns for each, where `wait` is until all have come so far; or the first error."""
    ready = threading.Barrier(len(names), timeout=60)
    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(lambda name: work(name, ready.wait), names))


def test_threads_with_a_session_each_share_a_store_without_conflicts(store):
    shared = "the same long words " * 400

    def work(name, wait):
        session = pt.Session.open(store, id=name)
        wait()
        for number in range(20):
            session.extend([pt.user(f"{name} {number}"), pt.assistant(shared)])
        return texts(session)

    names = [f"thread{n}" for n in range(4)]
    for name, seen in zip(names, in_threads(work, names), strict=True):
        assert seen == [text for number in range(20) for text in (f"{name} {number}", shared)]
        assert texts(pt.Session.open(store, id=name)) == seen
        assert_sound(store, name)


def test_threads_that_write_one_session_lose_nothing(store):
    pt.Session.open(store, id="s")

    def work(name, wait):
        session = pt.Session.open(store, id="s")
        wait()
        conflicts = 0
        for number in range(20):
            while True:
                try:
                    session.append(pt.user(f"{name} {number}"))
                    break
                except pt.Conflict:
                    conflicts += 1
                    session.refresh()
        return conflicts

    names = [f"thread{n}" for n in range(4)]
    assert sum(in_threads(work, names)) >= len(names) - 1
    seen = texts(pt.Session.open(store, id="s"))
    assert Counter(seen) == Counter(f"{name} {number}" for name in names for number in range(20))
    for name in names:
        assert [text for text in seen if text.startswith(name)] == [f"{name} {number}" for number in range(20)]
    assert_sound(store, "s")


class Overtaken:
    """A store with which somebody else is faster: does something before the given call of that method."""

    def __init__(self, store, method, call, meanwhile):
        self.store, self.method, self.calls_left, self.meanwhile = store, method, call, meanwhile

    def __getattr__(self, name):
        genuine = getattr(self.store, name)

        def overtaken(*arguments):
            self.calls_left -= 1
            if self.calls_left == 0:
                self.meanwhile()
            return genuine(*arguments)

        return overtaken if name == self.method else genuine


@pytest.mark.parametrize("method", ["create", "append"])
def test_a_session_that_somebody_else_begins_meanwhile_is_opened(store, method):
    begin = partial(pt.Session.open, store, id="s", policy=pt.Reset(1_000))
    session = pt.Session.open(Overtaken(store, method, 1, begin), id="s")
    session.append(pt.user("hello"))
    assert session.reader.policy == pt.Reset(1_000)
    assert tags(store) == ["policy", "message"]


def test_a_store_waits_for_another_that_is_making_the_file(tmp_path):
    other = sqlite3.connect(tmp_path / "agent.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.5, other.rollback)
    done.start()
    try:
        SqliteStore(str(tmp_path / "agent.db")).close()
    finally:
        done.join()
        other.close()


INTERRUPTIONS = {
    "append": lambda session: (session.refresh(), session.append(pt.user("faster"))),
    "settle": lambda session: (session.refresh(), session.checkpoint()),
}


@pytest.mark.parametrize("key", [None, "once"])
@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_a_proposal_between_whose_two_writes_somebody_else_writes_is_settled_once(store, pair, name, key):
    other, _ = pair
    # The first append stages, the second settles.
    session = pt.Session.open(Overtaken(store, "append", 2, lambda: INTERRUPTIONS[name](other)), id="s")
    proposal = pt.Proposal(field="memory.log", value="x", evidence=(other.reader.pages()[0].handle,), key=key)
    assert session.write_back(proposal) == pt.Committed(txn=0)
    pt.Session.open(store, id="s")
    written = Counter(tags(store))
    assert (written["staged"], written["committed"], written["rejected"]) == (1, 1, 0)


def test_a_session_can_be_closed_whatever_others_wrote(store, pair):
    winner, loser = pair
    winner.append(pt.user("one"))
    assert loser.close() is None


def test_closing_a_session_leaves_a_shared_store_open():
    session = pt.Session.open(id="s")
    session.append(pt.user("one"))
    session.fork("f").close()
    session.append(pt.user("two"))
    assert texts(session) == ["one", "two"]
