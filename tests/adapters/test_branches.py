"""A session is exactly the history that a framework sends, however the framework rewrites it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.adapters.branches import Branches, History, said, session_name
from pageturn.stores import MemoryStore, open_store


def history(*texts, thread="t", system=None):
    """Words of a person and of a model in turns; `call x` calls the recall tool, `result x` answers it."""
    return History(thread, [said(message_of(text), f"id-{number}") for number, text in enumerate(texts)], system)


def message_of(text):
    kind, _, rest = text.partition(" ")
    match kind:
        case "call":
            return pt.assistant(pt.ToolCall(id=rest, name="recall", arguments='{"query": "port"}'))
        case "run":
            return pt.assistant(pt.ToolCall(id=rest, name="bash", arguments="{}"))
        case "result":
            return pt.tool_result(rest, "done")
        case "model":
            return pt.assistant(text)
        case _:
            return pt.user(text)


def told(session):
    return [message for message in session.reader.messages() if message.metadata is not None]


def texts(session):
    return [message.text for message in told(session)]


def follow(branches, *args, **fields):
    return branches.follow(history(*args, **fields), lambda session: (session.id, texts(session)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.lists(st.sampled_from(["a", "b", "model c", "model d"]), max_size=4)),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_a_session_is_the_history_and_other_branches_stay(edits, is_restarted):
    with closing(MemoryStore()) as store:
        branches = Branches(store)
        said_so_far, stored = [], {}
        for keep, new in edits:
            said_so_far = [*said_so_far[:keep], *new]
            name, now = follow(branches, *said_so_far)
            assert now == said_so_far
            stored[name] = now
            if is_restarted:
                branches = Branches(store)
        for name, then in stored.items():
            with pt.Session.open(store, id=name) as session:
                assert texts(session) == then


def test_a_history_that_grows_stays_in_its_session_and_one_that_changes_forks_it():
    branches = Branches(MemoryStore())
    assert follow(branches, "a", "model b") == ("t", ["a", "model b"])
    assert follow(branches, "a", "model b", "c") == ("t", ["a", "model b", "c"])
    assert follow(branches, "a", "x") == ("t.1", ["a", "x"])  # edited
    assert follow(branches, "a") == ("t.2", ["a"])  # cut
    assert follow(branches, "a", "x", "model y") == ("t.1", ["a", "x", "model y"])
    assert follow(branches, "a", "model b", "c", "model d")[0] == "t"
    assert follow(branches, "a", thread="u") == ("u", ["a"])


def test_ids_that_a_framework_gives_anew_change_nothing():
    branches = Branches(MemoryStore())
    follow(branches, "a", "model b")
    again = History("t", [said(message_of(text), None) for text in ("a", "model b", "c")])
    assert branches.follow(again, texts) == ["a", "model b", "c"]
    assert branches.follow(again, lambda session: session.id) == "t"


def test_an_answer_of_the_recall_tool_is_stored_once_wherever_the_framework_puts_it():
    tool = pt.RecallTool()
    branches = Branches(MemoryStore(), recall=tool)
    asked = ("the port is 8443", "call r1")
    assert branches.follow(history(*asked), lambda session: session.answer())
    for later in (("result r1", "a"), ("result r1", "a", "model b")):
        name, _ = follow(branches, *asked, *later)
        assert name == "t"
    messages = branches.follow(history(*asked, "result r1"), lambda session: session.reader.messages())
    assert sum(bool(message.tool_results) for message in messages) == 1


def test_a_model_that_uses_an_id_again_loses_no_result():
    branches = Branches(MemoryStore(), recall=pt.RecallTool())
    asked = ("the port is 8443", "call c0")
    branches.follow(history(*asked), lambda session: session.answer())
    later = (*asked, "result c0", "run c0", "result c0", "a")
    assert follow(branches, *later)[0] == "t"
    kept = branches.follow(history(*later), lambda session: session.reader.messages())
    assert [message.role for message in kept] == ["user", "assistant", "tool", "assistant", "tool", "user"]


def test_rules_and_pins_hold_in_every_branch():
    store = MemoryStore()
    branches = Branches(store, rules=["Never push."])
    branches.follow(history("a", "model b"), lambda session: session.pin("Ask first."))
    rules = branches.follow(history("x"), lambda session: session.derive().messages[:2])
    assert [message.text for message in rules] == ["Never push.", "Ask first."]
    again = Branches(store, rules=["Never push."]).follow(history("x"), lambda session: session.derive().messages)
    assert [message.text for message in again] == ["Never push.", "Ask first.", "x"]


def test_a_rule_that_was_unpinned_is_in_no_later_branch():
    branches = Branches(MemoryStore())
    given = history("a", "model b")
    page = branches.follow(given, lambda session: session.pin("Ask first."))
    branches.follow(given, lambda session: session.unpin(page))
    shown = branches.follow(history("a", "x"), lambda session: session.derive().messages)
    assert [message.text for message in shown] == ["a", "x"]


def test_what_was_erased_is_not_appended_again():
    branches = Branches(MemoryStore())
    follow(branches, "a", "my password is hunter2", "model b")
    with_secret = history("a", "my password is hunter2", "model b", "c")
    branches.follow(with_secret, lambda session: session.erase(session.reader.pages()[1]))
    store = branches._store
    for each in (branches, Branches(store)):
        assert each.follow(with_secret, texts) == ["a", "model b", "c"]
        assert each.follow(with_secret, lambda session: session.id) == "t"


def test_another_process_is_seen(tmp_path):
    ours, theirs = Branches(tmp_path / "s.db"), Branches(tmp_path / "s.db")
    follow(ours, "a")
    follow(theirs, "a", "model b")
    assert follow(ours, "a", "model b", "c") == ("t", ["a", "model b", "c"])
    follow(theirs, "x")
    assert follow(ours, "x", "model y") == ("t.1", ["x", "model y"])
    ours.close()
    theirs.close()


def test_work_is_done_again_if_another_process_wrote_first(tmp_path):
    ours, theirs = Branches(tmp_path / "s.db"), Branches(tmp_path / "s.db")
    tries = []

    def work(session):
        if not tries:
            follow(theirs, "a", "model b")
        tries.append(session.append(pt.assistant("model c"), None))
        return session.id

    assert ours.follow(history("a"), work) == "t.1"
    assert len(tries) == 1
    assert follow(ours, "a", "model b") == ("t", ["a", "model b"])
    ours.close()
    theirs.close()


def test_many_threads_at_once_are_never_mixed():
    branches, barrier = Branches(MemoryStore()), Barrier(8)

    def talk(number):
        barrier.wait()
        spoken = []
        for turn in range(6):
            spoken.append(f"{number} says {turn}")
            name, now = follow(branches, *spoken, thread=f"thread-{number}")
            assert (name, now) == (f"thread-{number}", spoken)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, range(8)))


def test_one_thread_called_at_once_loses_nothing():
    branches, barrier = Branches(MemoryStore()), Barrier(4)

    def answer(number):
        barrier.wait()
        given = history("a")
        branches.follow(given, lambda session: session.derive())
        barrier.wait()
        page = said(pt.assistant(f"model {number}"), f"answer-{number}").message
        return branches.follow(given, lambda session: (session.append(page), texts(session))[1])

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(answer, range(4))) == [["a", f"model {number}"] for number in range(4)]


@pytest.mark.parametrize("thread", ["t.1", "user 7", "a/b", "x" * 300, "", "über", "t..1"])
def test_any_name_is_a_thread_and_none_is_a_branch_of_another(thread):
    branches = Branches(MemoryStore())
    for _ in range(2):
        follow(branches, "a", thread="t")
        follow(branches, "b", thread="t")  # t.1
        assert follow(branches, "mine", thread=thread) == (session_name(thread), ["mine"])
    assert session_name(thread) not in ("t", "t.1")
    assert session_name("x" * 299) != session_name("x" * 300)


def test_a_system_prompt_that_changes_folds_the_same_session():
    branches = Branches(MemoryStore())
    follow(branches, "a", system="You code.")
    seen = branches.follow(history("a", "model b", "c", system="You write."), lambda session: session.derive().messages)
    assert [message.text for message in seen] == ["You write.", "a", "model b", "c"]


def test_more_threads_than_stay_open_go_on_where_they_were(monkeypatch):
    monkeypatch.setattr("pageturn.adapters.branches._MOST_OPEN", 2)
    branches = Branches(open_store(":memory:"))
    for turn in (["a"], ["a", "model b"]):
        for number in range(5):
            assert follow(branches, *turn, thread=f"u{number}") == (f"u{number}", turn)
