"""Turns, undo, forks and resets."""

import pytest

import pageturn as pt
from pageturn.values.messages import developer
from tests.sessions import open_session, reopened, take_turn, texts


def test_messages_of_one_append_are_written_together():
    session = open_session()
    pages = session.extend([pt.user("a"), pt.assistant("b"), pt.user("c")])
    assert [page.seq for page in pages] == [2, 3, 5]
    assert texts(reopened(session)) == ["a", "b", "c"]
    assert session.extend([]) == ()
    assert session.reader.head == pages[-1].seq


def test_an_assistant_message_ends_a_turn_and_carries_its_usage():
    session = open_session()
    usage = pt.Usage(input_tokens=120, output_tokens=7, cache_read_tokens=100, model="gpt-5")
    session.append(pt.user("hi"))
    session.append(pt.assistant("ho"), usage)
    assert session.reader.usage == usage
    session.append(pt.user("and"), pt.Usage(input_tokens=5))
    assert reopened(session).reader.usage == pt.Usage(input_tokens=5)


def test_developer_messages_that_open_a_session_are_bootstrap_however_they_come():
    session = open_session()
    session.append(pt.system("a"))
    session.pin("never push")
    session.append(developer("b"))
    session.extend([pt.user("c"), developer("nudge")])
    assert [page.kind.value for page in session.reader.pages()] == [
        "bootstrap", "constraint", "bootstrap", "conversation", "conversation",
    ]  # fmt: skip


def test_undo_takes_back_turns_and_keeps_them_resolvable():
    session = open_session()
    session.append(pt.system("rules"))
    take_turn(session, 1)
    session.pin("keep this")
    result = take_turn(session, 2)
    session.undo()
    assert texts(session) == ["rules", "question 1", "answer 1", "result 1", "keep this"]
    assert session.resolve(result.handle).text == "result 2"
    assert session.recall("result 2").hits[0].excerpt != "result 2"
    session.undo()
    assert texts(reopened(session)) == ["rules", "keep this"]
    with pytest.raises(pt.InvalidInput, match="turns: expected at least one turn to undo, got 1"):
        session.undo()


def test_undo_of_several_turns_and_then_going_on():
    session = open_session()
    for number in range(4):
        take_turn(session, number)
    session.undo(2)
    take_turn(session, 9)
    assert texts(session)[-3:] == ["question 9", "answer 9", "result 9"]
    assert texts(session)[:3] == ["question 0", "answer 0", "result 0"]
    session.undo(1)
    assert texts(session)[-3:] == ["question 1", "answer 1", "result 1"]


def test_undo_is_not_confused_by_ids_that_are_used_twice():
    session = open_session()
    take_turn(session, 0)
    take_turn(session, 0)
    session.undo()
    assert texts(session) == ["question 0", "answer 0", "result 0"]


@pytest.mark.parametrize("turns", [0, -1, 3])
def test_undo_of_turns_that_are_not_there_is_refused(turns):
    session = open_session()
    take_turn(session, 1)
    take_turn(session, 2)
    with pytest.raises(pt.InvalidInput, match="turns: expected 1 to 2, got"):
        session.undo(turns)


def test_a_fork_shares_the_past_and_goes_its_own_way(store):
    session = open_session(store)
    take_turn(session, 1)
    pin = session.pin("Never push to main.")
    fork = session.fork("child")
    take_turn(session, 2)
    mine = fork.append(pt.user("other way"))
    assert texts(fork) == ["question 1", "answer 1", "result 1", "Never push to main.", "other way"]
    assert "other way" not in texts(session)
    assert fork.resolve(pin.handle).text == "Never push to main."
    again = open_session(store, id="child")
    assert again.reader.pages() == fork.reader.pages()
    assert again.fork("grandchild").reader.pages() == fork.reader.pages()
    assert session.resolve(mine.handle) == pt.NoMatch()
    assert store.check() == []
    with pytest.raises(pt.Conflict, match="session 'child' exists already"):
        session.fork("child")


def test_a_fork_may_share_only_the_beginning(store):
    with pt.Session.open(store, id="a") as session:
        session.append(pt.user("One."))
        page = session.append(pt.assistant("1"))
        upto = session.reader.head
        session.extend([pt.user("Two."), pt.assistant("2")])
        fork = session.fork("b", upto=upto)
        fork.append(pt.user("Rather two."))
        assert [message.text for message in fork.reader.messages()] == ["One.", "1", "Rather two."]
        assert fork.resolve(page).text == "1"
        assert [message.text for message in fork.derive().messages] == ["One.", "1", "Rather two."]
        again = fork.fork("c", upto=upto - 1)  # in what its parent shares
        assert [message.text for message in again.reader.messages()] == ["One.", "1"]
        for wrong in (-1, session.reader.head + 1, "3", True):
            with pytest.raises(pt.InvalidInput, match="upto"):
                session.fork("d", upto=wrong)
    assert [message.text for message in pt.SessionReader.open(store, "b").messages()] == ["One.", "1", "Rather two."]


def test_a_fork_of_undone_turns_does_not_bring_them_back(store):
    session = open_session(store)
    take_turn(session, 1)
    take_turn(session, 2)
    session.undo()
    assert texts(session.fork("f")) == ["question 1", "answer 1", "result 1"]


def test_undo_takes_back_a_reset_with_the_turns_before_it_only():
    session = open_session()
    take_turn(session, 1)
    session.reset("so far")
    take_turn(session, 2)
    session.undo()
    assert texts(session)[-1] == "so far"
    session.undo()
    assert texts(session) == []
    assert session.reader.resets == ()


def test_the_usage_of_a_message_is_that_of_its_turn():
    session = open_session()
    session.extend([pt.user("a"), pt.assistant("b", usage=pt.Usage(input_tokens=5)), pt.user("c")])
    assert session.reader.usage == pt.Usage(input_tokens=5)
    session.append(pt.assistant("d", usage=pt.Usage(input_tokens=6)), usage=pt.Usage(input_tokens=7))
    assert session.reader.usage == pt.Usage(input_tokens=7)
    session.append(pt.user("e", usage=pt.Usage(input_tokens=8)))
    assert reopened(session).reader.usage == pt.Usage(input_tokens=8)
