"""Published ways to keep a session short, as their papers describe them."""

import pytest

import pageturn as pt
from pageturn.lab.baselines import everything, masking
from pageturn.lab.evictions import Evictions, evictions, total
from pageturn.lab.published_baselines import RollingSummary, files_read, stubs
from pageturn.lab.traces import Trace, estimated_tokens, text_of


def call(number, name="read_file", **arguments):
    return pt.ToolCall(id=f"c{number}", name=name, arguments=pt.to_json(arguments).decode())


def read(number, path="a.py", body=None, **fields):
    """A turn that reads a file."""
    made = call(number, path=path)
    return [pt.assistant(made), pt.tool_result(made, body if body is not None else f"{path} " * 200, **fields)]


def session(*rounds):
    messages = [pt.system("rules"), pt.user("task"), *(message for each in rounds for message in each)]
    return Trace("t", "s", (*messages, pt.assistant("done")))


# -- summaries


def spoken(count):
    return session(*([pt.assistant(f"turn {number}")] for number in range(count)))


def in_brief(messages):
    return " ".join(text_of(message).split(":\n")[-1].removeprefix("turn ") for message in messages)


def test_a_chunk_of_the_oldest_turns_becomes_a_summary_with_the_summary_before():
    *_, last = RollingSummary(3, 2, summarise=in_brief)(spoken(10))
    assert [text_of(message) for message in last] == [
        "rules",
        "task",
        "What happened so far:\n0 1 2 3 4 5",
        *(f"turn {number}" for number in range(6, 10)),
    ]


def test_until_then_all_of_it_stands_there_and_nothing_is_written():
    way = RollingSummary(3, 2, summarise=in_brief)
    trace = spoken(4)
    assert list(way(trace)) == [list(request) for request in everything(trace)]
    assert (way.read_tokens, way.written_tokens) == (0, 0)


def test_whoever_writes_summaries_reads_what_they_stand_for():
    way = RollingSummary(3, 2, summarise=lambda _: "x" * 400)
    trace = spoken(6)
    *_, last = way(trace)
    assert way.read_tokens == sum(map(estimated_tokens, trace.messages[2:5]))
    assert way.written_tokens == estimated_tokens(last[2]) >= 100


def test_the_hybrid_masks_what_it_has_not_summed_up():
    trace = session(*(read(number) for number in range(6)))
    *_, last = RollingSummary(9, 1, unmasked=2)(trace)
    assert [text_of(message)[:4] for message in last if message.tool_results] == ["[out"] * 4 + ["a.py"] * 2


def test_masking_several_at_once_leaves_the_beginning_alone_in_between():
    trace = session(*(read(number) for number in range(8)))
    hidden = [
        sum(text_of(message).startswith("[output") for message in request) for request in masking(2, at_once=3)(trace)
    ]
    assert hidden == [0, 0, 0, 0, 0, 3, 3, 3, 6]


# -- stubs


def whole(requests, number):
    """In which requests the result of a call stands whole."""
    return [
        any(
            result.tool_call_id == f"c{number}" and "not shown" not in str(result.content)
            for message in request
            for result in message.tool_results
        )
        for request in requests
    ]


def test_a_large_result_is_a_stub_once_four_requests_have_shown_it():
    requests = list(stubs()(session(*(read(number, f"{number}.py") for number in range(6)))))
    assert whole(requests, 0) == [False, True, True, True, True, False, False]
    assert "0.py, 1,000 characters" in text_of(requests[-1][3])


@pytest.mark.parametrize("fields", [{"body": "short"}, {"is_error": True}])
def test_small_results_and_errors_stay(fields):
    requests = list(stubs(age=1)(session(read(0, **fields), *(read(number, f"{number}.py") for number in (1, 2)))))
    assert whole(requests, 0) == [False, True, True, True]


def test_a_file_that_had_to_be_read_again_stays_as_long_as_it_is_the_same():
    again = session(read(0), read(1, "b.py"), read(2), read(3, "c.py"), read(4, "d.py"))
    assert whole(stubs(age=1)(again), 2) == [False, False, False, True, True, True]
    changed = session(read(0), read(1, "b.py"), read(2, body="new " * 200), read(3, "c.py"), read(4, "d.py"))
    assert whole(stubs(age=1)(changed), 2) == [False, False, False, True, False, False]


def test_edits_and_searches_read_no_file():
    calls = [
        call(0, path="a.py"),
        call(1, "edit", path="a.py", old_string="x", new_string="y"),
        call(2, "grep", path="src", pattern="x"),
        call(3, "bash", command="cat src/b.py"),
        call(4, "bash", command="make test"),
    ]
    assert files_read(session([pt.assistant(*calls)])) == {"c0": "a.py", "c3": "src/b.py"}


# -- what is evicted, and read again


def test_an_eviction_counts_once_and_a_fault_is_a_later_read_of_the_file():
    trace = session(read(0), read(1, "b.py"), read(2), read(3, "b.py"))
    found = evictions(trace, masking(1)(trace))
    # c0 goes when c1 has come, c1 when c2 has; both files are read again after that, and stand nowhere by then.
    assert found == Evictions(unique=3, requests=1 + 2 + 3, faults=2, in_need=2)
    assert (found.rate, found.rate_of_requests) == (2 / 3, 2 / 6)


def test_a_read_of_a_file_whose_newest_result_stands_there_is_not_in_need():
    trace = session(read(0), read(1), read(2))
    assert evictions(trace, masking(1)(trace)) == Evictions(unique=2, requests=1 + 2, faults=1, in_need=0)


def test_sending_everything_evicts_nothing():
    trace = session(read(0), read(1), read(2, "b.py"))
    assert evictions(trace, everything(trace)) == Evictions() == total([Evictions(), Evictions()])
    assert (Evictions().rate, Evictions().rate_of_requests) == (0.0, 0.0)


def test_small_results_errors_and_commands_are_no_evictions():
    run = call(9, "bash", command="make test")
    trace = session(
        read(0, body="short"),
        read(1, is_error=True),
        [pt.assistant(run), pt.tool_result(run, "log " * 200)],
        read(2, body="short"),
    )
    assert evictions(trace, masking(0)(trace)) == Evictions()


def test_a_turn_that_was_refused_shows_and_evicts_nothing():
    trace = session(read(0), read(1, "b.py"))
    first, _, last = everything(trace)
    assert evictions(trace, [first, None, last]) == Evictions()
