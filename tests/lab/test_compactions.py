"""What a recorded summary kept, what the recording fetched again, and stores as traces."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pageturn as pt
from pageturn.lab.baselines import everything
from pageturn.lab.compactions import compactions
from pageturn.lab.our_policies import Deriving
from pageturn.lab.replay import Recording
from pageturn.lab.rereads import repeated
from pageturn.lab.stored_traces import stored_traces
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Compaction, Trace
from pageturn.stores import MemoryStore


def call(id, **arguments):
    return pt.ToolCall(id=id, name="read", arguments=pt.to_json(arguments).decode())


def test_a_summary_is_asked_for_what_was_said_before_and_not_again_since():
    past = (pt.user("old_name_one, old_name_two, old_name_three"), pt.assistant("so it is"))
    after = (
        pt.assistant(call("1", a="old_name_one new_name_one")),
        pt.tool_result("1", "this says old_name_two"),
        pt.assistant(call("2", a="old_name_two old_name_three old_name_one")),
    )
    trace = Trace("t", "s", past + after, (Compaction(2, "all about old_name_one and old_name_two"),))
    (kept,) = compactions(trace)
    # The first was asked for before anybody said it again, the second was told by a result, the third stands nowhere.
    assert (kept.asked, kept.by_summary) == (2, 1)
    assert kept.tokens == len(trace.compactions[0].summary) // 4
    assert (kept.by_newest, kept.by_paged) == (0, None)


def test_as_many_tokens_of_ours_keep_more_than_the_newest_messages():
    trace = coding_session(1, 90)
    summary = "x" * 6_000
    kept = list(compactions(trace._replace(compactions=(Compaction(120, summary), Compaction(180, summary)))))
    assert len(kept) == 2
    assert all(one.by_summary == 0 < one.asked for one in kept)
    assert sum(one.by_paged for one in kept) > sum(one.by_newest for one in kept)


def test_what_is_fetched_again_is_a_fault_where_it_does_not_stand_there():
    long = "a result that says a lot about nothing at all\n" * 9
    trace = Trace(
        "t",
        "s",
        (
            pt.user("go"),
            pt.assistant(call("1", path="a")),
            pt.tool_result("1", long),
            pt.assistant(call("2", path="a")),  # the same again
            pt.tool_result("2", long),
            pt.assistant(call("3", path="b")),  # the same bytes by another way
            pt.tool_result("3", long),
            pt.assistant(call("4", path="a")),  # changed since
            pt.tool_result("4", "short"),
            pt.assistant(call("5", path="c")),  # too short to mean anything
            pt.tool_result("5", "short"),
            pt.assistant("done"),
        ),
    )
    assert {turn: [(one.fault.code, one.before) for one in again] for turn, again in repeated(trace).items()} == {
        3: [("duplicate_tool", 2)],
        5: [("refetch", 4)],
    }
    recording = Recording(trace)
    assert recording.replay(everything).faults == {}
    blind = recording.replay(lambda trace: [trace.messages[:1] for _ in trace.turns])
    assert blind.faults == {"duplicate_tool": 1, "refetch": 1}
    assert blind.turns[1].faults == {"duplicate_tool": 1}


def test_what_two_calls_of_one_turn_bring_is_nobodys_fault():
    long = "a result that says a lot about nothing at all\n" * 9
    calls = pt.assistant(call("1", path="a"), call("2", path="a"), call("3", path="b"))
    results = (pt.tool_result(number, long) for number in "123")
    trace = Trace("t", "s", (pt.user("go"), calls, *results, pt.assistant("done")))
    assert repeated(trace) == {}
    assert Recording(trace).replay(everything).faults == {}


def test_calls_whose_arguments_are_no_json_are_told_apart_by_them():
    long = "a result that says a lot about nothing at all\n" * 9
    messages = [pt.user("go")]
    for number, arguments in enumerate(("cat a", "cat b", "cat b")):
        fetch = pt.ToolCall(id=str(number), name="read", arguments=arguments)
        messages += [pt.assistant(fetch), pt.tool_result(fetch, long)]
    found = repeated(Trace("t", "s", tuple(messages)))
    assert [one.fault.code for again in found.values() for one in again] == ["refetch", "duplicate_tool"]


def test_what_a_session_counts_as_fetched_again_came_again_in_the_recording():
    trace = coding_session(11, 60)
    again = repeated(trace)
    counted = Counter()
    for turn, shown in zip(trace.turns, Deriving(pt.Legacy(), budget_tokens=3_000)(trace), strict=True):
        assert Counter(shown.faults) <= Counter(one.fault.code for one in again.get(turn, ()))
        counted += Counter(shown.faults)
    assert counted


def test_what_stands_whole_by_another_way_is_no_fault():
    """The bytes count, and not the message that brought them: a result may have come three times and stand there once."""
    long = "a result that says a lot about nothing at all\n" * 9
    reads = [(pt.assistant(call(str(at), path="a")), pt.tool_result(str(at), long)) for at in range(3)]
    messages = (pt.user("go"), *(message for read in reads for message in read))
    first = messages[:3]
    replay = Recording(Trace("t", "s", messages)).replay(lambda _: [first[:1], first, first])
    assert replay.faults == {}


def test_the_sessions_of_a_store_are_traces_with_times():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = MemoryStore()
    session = pt.Session.open(store, id="one", clock=lambda: now)
    for message in (pt.system("rules"), pt.user("go"), pt.assistant("gone")):
        session.append(message)
        now += timedelta(seconds=90)
    (trace,) = stored_traces(store, "here")
    assert (trace.id, trace.source, len(trace.turns), trace.times) == ("one", "here", 1, (0.0, 90.0, 180.0))
    assert [message.text for message in trace.messages] == ["rules", "go", "gone"]


def test_messages_that_were_imported_say_when_they_came():
    def said(text, at):
        return pt.user(text, metadata={"source": {"tool": "some", "at": at}})

    store = MemoryStore()
    session = pt.Session.open(store, id="one")
    session.extend([said("a", "2026-01-01T00:00:10Z"), said("b", None), said("c", "2026-01-01T00:05:00.5Z")])
    session.append(said("late", "2026-01-01T00:04:00Z"))
    (trace,) = stored_traces(store, "here")
    assert trace.times == (0.0, 0.0, 290.5, 290.5)
