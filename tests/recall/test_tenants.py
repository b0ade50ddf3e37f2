"""What is found does not depend on what other tenants of a store say, nor on words that most pages have."""

import pytest

import pageturn as pt
from pageturn.stores import MemoryStore, SqliteStore
from tests.sessions import open_session

MANY = 2_100  # passages with a word: so many that it is left out of a query with rarer ones


@pytest.fixture(params=["indexed", "waiting"])
def is_indexed(request):
    return request.param == "indexed"


@pytest.fixture
def store(tmp_path, is_indexed):
    """A store; it indexes at once, or not at all since another process is always writing."""
    store = SqliteStore(tmp_path / "agent.db", durability="off")
    if not is_indexed:
        store._index_at_once = lambda numbers: False
    yield store
    store.close()


def say(store, name, *texts):
    session = open_session(store, id=name, scope=name)
    session.extend(pt.user(text) for text in texts)
    session.recall("anything")  # so that what can be indexed is
    return session


def excerpts(outcome):
    return [hit.excerpt for hit in outcome.hits] if isinstance(outcome, pt.Recalled) else outcome


def test_a_name_is_looked_for_in_parts_whatever_other_tenants_call_theirs(store):
    mine = say(store, "mine", "the user service is slow")
    before = mine.recall("UserService")
    say(store, "theirs", "UserService and user_service", "UserService again")
    assert excerpts(mine.recall("UserService")) == excerpts(before) == ["the user service is slow"]


def test_a_word_that_is_common_with_other_tenants_is_no_common_word_here(store):
    mine = say(store, "mine", "the login fails")
    assert excerpts(mine.recall("login zebra")) == ["the login fails"]
    say(store, "theirs", *(f"login {number}" for number in range(MANY)), "a zebra")
    assert excerpts(mine.recall("login zebra")) == ["the login fails"]


def test_what_others_say_in_sessions_that_are_searched_too_counts():
    store = MemoryStore()
    mine = say(store, "mine", "the login fails")
    other = open_session(store, id="other", scope="mine", seed=3)
    other.extend(pt.user(f"login {number}") for number in range(MANY))
    assert "the login fails" in excerpts(mine.recall("login fails", sessions=["other"]))


@pytest.fixture
def busy():
    """A session with very many pages that have one word."""
    session = open_session(MemoryStore())
    session.extend(pt.user(f"the login of number {number}") for number in range(MANY))
    session.append(pt.assistant("ok"))
    return session


def test_a_common_word_is_searched_where_the_rare_one_is_undone(busy):
    busy.extend([pt.user("a zebra at the login"), pt.assistant("ok")])
    busy.undo()
    assert len(busy.recall("login zebra").hits) == 5
    assert len(busy.recall("login walrus").hits) == 5


def test_a_common_word_is_searched_where_the_rare_one_is_not_wanted(busy):
    zebra = busy.append(pt.assistant("a zebra at the login"))
    assert {hit.role for hit in busy.recall("login zebra", where={"role": "user"}).hits} == {pt.Role.USER}
    hits = busy.recall("login zebra").hits
    assert (hits[0].handle, len(hits)) == (zebra.handle, 5)  # it stays the best, and is not the only one


def test_the_parts_of_a_name_are_searched_where_it_was_said_whole_and_undone():
    session = open_session()
    session.extend([pt.user("the user service is slow"), pt.assistant("ok")])
    session.extend([pt.user("UserService"), pt.assistant("ok")])
    session.undo()
    assert excerpts(session.recall("UserService")) == ["the user service is slow"]
