"""Erased is erased: on both sides of a fork, in other processes, and although somebody else still has the same words."""

import subprocess
import sys
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.stores import MemoryStore, SqliteStore
from tests.sessions import forked, journal_of, open_session, reopened, store_of

ROOT = Path(__file__).parents[2]
ERASE = """
import sys, pageturn as pt
with pt.Session.open(sys.argv[1], id=sys.argv[2]) as session:
    session.erase(sys.argv[3])
"""


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "agent.db"))
    yield opened
    opened.close()


@pytest.fixture
def family(store):
    """A session, its fork, and the fork's fork, which share a page."""
    session = open_session(store)
    page = session.append(pt.user("the tulip"))
    session.append(pt.assistant("ok"))
    fork = forked(session, "f")
    fork.append(pt.user("on its own"))
    return page, [session, fork, forked(fork, "g")]


@pytest.mark.parametrize("eraser", [0, 1, 2])
@pytest.mark.parametrize("elsewhere", [None, "unrelated", "the same session", "a fork"])
def test_a_page_that_one_of_a_family_erases_is_erased_for_all_of_it(store, family, eraser, elsewhere):
    page, sessions = family
    stranger = open_session(store, id="stranger", seed=2)
    kept = {"unrelated": stranger, "the same session": sessions[0], "a fork": sessions[2]}.get(elsewhere)
    copy = kept.append(pt.user("the tulip")) if kept is not None else None
    before = store.erasures()
    sessions[eraser].erase(page)
    assert store.erasures() > before
    for session in [*sessions, *map(reopened, sessions)]:
        assert session.resolve(page) == pt.Denied("erased")
        assert page.seq in journal_of(session).erased()
        said = [message.text for message in session.reader.messages()]
        assert said.count("the tulip") == (kept is not None and session.id == kept.id)
    if kept is not None:
        assert kept.resolve(copy).text == "the tulip"
        assert copy.seq not in journal_of(kept).erased()
        assert kept.recall("tulip").hits[0].handle == copy.handle


def test_words_that_are_said_again_do_not_bring_back_what_was_erased(store, family):
    page, (session, fork, _) = family
    session.erase(page)
    again = session.append(pt.user("the tulip"))
    assert session.resolve(again).text == "the tulip"
    assert fork.resolve(page) == session.resolve(page) == pt.Denied("erased")


@pytest.mark.parametrize("eraser", ["s", "f"])
def test_what_another_process_erases_is_erased_at_once(tmp_path, eraser):
    path = str(tmp_path / "agent.db")
    session = open_session(path)
    page = session.append(pt.user("the tulip"))
    fork = forked(session, "f")
    number = store_of(session).erasures()
    command = [sys.executable, "-c", ERASE, path, eraser, page.handle]
    subprocess.run(command, check=True, cwd=ROOT)
    assert store_of(session).erasures() > number
    for each in (session, fork):
        assert journal_of(each).erased() == {page.seq}
        assert each.resolve(page) == pt.Denied("erased")


def test_what_a_fork_said_after_they_parted_is_not_its_parents(store, family):
    _, (session, fork, _) = family
    session.extend([pt.user("a"), pt.user("b")])
    own = fork.append(pt.user("mine"))
    fork.erase(own)
    assert journal_of(fork).erased() == {own.seq}
    assert journal_of(session).erased() == set()
