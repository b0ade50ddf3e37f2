"""The calls that a host has to run: in order, ours apart, also after a crash, and not for ever."""

import pageturn as pt
from tests.sessions import call, open_session, reopened


def test_open_calls_are_listed_in_order_until_they_are_answered():
    session = open_session()
    session.append(pt.user("go"))
    assert session.pending() == ()
    session.derive()
    calls = [call(n, "bash", f'{{"command": "make {n}"}}') for n in range(3)]
    session.append(pt.assistant("working", *calls))
    assert session.pending() == tuple(calls)
    session.append(pt.tool_result(calls[1], "ok"))
    assert session.pending() == (calls[0], calls[2])
    assert reopened(session).pending() == (calls[0], calls[2])  # after a crash
    session.append(pt.assistant("meanwhile", call("x")))
    assert [each.id for each in session.pending()] == ["c0", "c2", "cx"]
    session.extend([pt.tool_result(calls[0], "late"), pt.tool_result(calls[2], "later"), pt.tool_result("cx", "ok")])
    assert session.pending() == ()


def test_calls_of_the_recall_tool_are_ours_and_not_listed():
    session = open_session()
    session.append(pt.user("go"))
    session.derive()
    mine, ours = call(1), call(2, "recall", '{"query": "go"}')
    session.append(pt.assistant("both", mine, ours))
    assert session.pending() == (mine,)
    assert session.answer() is False
    assert session.pending() == (mine,)
    assert reopened(session, recall=None).pending() == (mine,)


def test_a_call_is_abandoned_after_32_turns():
    session = open_session()
    session.append(pt.user("go"))
    lost = call("lost")
    session.append(pt.assistant("starting", lost))
    for number in range(31):
        session.append(pt.assistant(f"turn {number}"))
        assert session.pending() == (lost,)
    session.append(pt.assistant("the last"))
    assert session.pending() == ()


def test_undone_calls_are_not_pending_and_erased_results_were_results():
    session = open_session()
    session.append(pt.user("go"))
    first, second = call(1), call(2)
    session.append(pt.assistant("one", first))
    result = session.append(pt.tool_result(first, "secret"))
    session.append(pt.assistant("two", second))
    session.erase(result)
    assert session.pending() == (second,)
    session.undo()
    assert session.pending() == ()
    context = session.derive()
    assert "[this result was erased]" in [
        str(each.content) for message in context.messages for each in message.tool_results
    ]


def test_an_id_that_comes_twice_is_answered_the_newest_first():
    session = open_session()
    session.extend([pt.user("go"), pt.assistant("one", call(1, arguments='{"n": 1}'))])
    session.append(pt.assistant("again", call(1, arguments='{"n": 2}')))
    session.append(pt.tool_result("c1", "ok"))
    assert [each.arguments for each in session.pending()] == ['{"n": 1}']
