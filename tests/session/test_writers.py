"""Several writers, reopening, closing."""

import pickle

import pytest

import pageturn as pt
from tests.sessions import call, journal_of, open_session, reopened, store_of, take_turn, texts


def test_a_new_session_is_paged_and_a_stored_one_keeps_its_policy(store):
    assert open_session(store, id="with a model".replace(" ", "-"), model="gpt-5").reader.policy == pt.Paged()
    assert open_session(store).reader.policy == pt.Paged()
    assert open_session(store, policy=pt.Reset(5_000)).reader.policy == pt.Reset(5_000)
    assert open_session(store).reader.policy == pt.Reset(5_000)


def test_the_loser_of_a_race_is_told_and_can_go_on(store):
    first, second = open_session(store), open_session(store, seed=2)
    first.extend([pt.user("one"), pt.assistant("two")])
    with pytest.raises(pt.Conflict) as caught:
        second.append(pt.user("three"))
    assert len(caught.value.missed) == 3
    assert texts(second) == []
    assert second.refresh() == 3
    second.append(pt.user("three"))
    first.refresh()
    assert texts(first) == texts(second) == ["one", "two", "three"]


def test_boundaries_do_not_mind_that_others_wrote(store):
    first, second = open_session(store), open_session(store, seed=2)
    first.append(pt.user("one"))
    assert second.recall("zebra") == pt.NoMatch()
    assert second.checkpoint() is None
    assert texts(second) == ["one"]
    assert reopened(first).reader.fault_counts() == {"no_match": 1}


def test_a_policy_is_chosen_although_others_wrote(store):
    first = open_session(store)
    genuine = store.append

    def append_late(session, after, batch):
        store.append = genuine
        first.append(pt.user("meanwhile"))
        genuine(session, after, batch)

    store.append = append_late
    second = open_session(store, seed=2, policy=pt.Legacy())
    assert (second.reader.policy, texts(second)) == (pt.Legacy(), ["meanwhile"])


def test_a_closed_session_is_closed_once_and_takes_nothing_more():
    session = open_session()
    assert session.close() is None
    assert session.close() is None
    with pytest.raises(pt.StoreError, match="session 's' is closed"):
        session.append(pt.user("too late"))


def test_a_conflict_at_a_reset_writes_nothing(store):
    first, second = open_session(store), open_session(store, seed=2)
    first.append(pt.user("unseen"))
    with pytest.raises(pt.Conflict):
        second.reset("all that I have seen")
    assert store.session("s").head == 2


def test_the_same_clock_and_randomness_give_the_same_journal():
    def bodies():
        session = open_session()
        take_turn(session, 1)
        session.pin("x")
        return [record for record, _ in journal_of(session).entries()]

    assert bodies() == bodies()


def test_pages_can_be_pickled():
    session = open_session()
    page = session.append(pt.assistant(call(1)))
    assert pickle.loads(pickle.dumps(page)) == page


def test_a_closed_store_says_so(tmp_path):
    for url in (":memory:", str(tmp_path / "a.db")):
        session = pt.Session.open(url, id="s")
        session.append(pt.user("words"))
        fork = session.fork("f")
        session.close()
        assert fork.close() == pt.FlushMiss()
        assert session.recall("words") == pt.BackendError(f"{url}: the store is closed")
        with pytest.raises(pt.StoreError, match="the store is closed"):
            list(session.reader.messages())


def test_a_conflict_with_nobody_is_told_and_not_tried_for_ever(monkeypatch):
    session = open_session()
    session.append(pt.user("hello"))

    def refuse(*_):
        raise pt.Conflict("somebody else wrote, says a store that is damaged")

    monkeypatch.setattr(store_of(session), "append", refuse)
    assert session.checkpoint() == pt.FlushMiss()
    with pytest.raises(pt.Conflict, match="damaged"):
        pt.Session.open(store_of(session), id=session.id, model="another")
