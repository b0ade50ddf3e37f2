"""The synthetic coding session resembles recorded ones in what matters to a budget."""

import json

import pytest

from pageturn.lab.baselines import keep_last
from pageturn.lab.replay import Recording, cold_turns
from pageturn.lab.rereads import repeated
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import estimated_tokens, text_of
from pageturn.values.identifiers import names_in


@pytest.fixture(scope="module")
def trace():
    return coding_session(1)


def test_it_is_the_same_for_the_same_seed():
    assert coding_session(2, 20) == coding_session(2, 20)
    assert coding_session(2, 20).messages != coding_session(3, 20).messages


def test_every_call_has_its_result_directly_after_it(trace):
    for place, message in enumerate(trace.messages):
        answers = trace.messages[place + 1 : place + 1 + len(message.tool_calls)]
        assert [result.tool_call_id for answer in answers for result in answer.tool_results] == [
            call.id for call in message.tool_calls
        ]


def test_edits_replace_lines_that_stand_in_the_file_as_it_was_read_last_or_edited_since(trace):
    texts = {}
    for place, message in enumerate(trace.messages):
        for number, call in enumerate(message.tool_calls):
            arguments = json.loads(call.arguments)
            result = trace.messages[place + 1 + number].tool_results[0].content
            if call.name == "read_file":
                texts[arguments["path"]] = "\n".join(line.split("→", 1)[1] for line in result.splitlines())
            elif call.name == "edit_file":
                assert arguments["old_string"] in texts[arguments["path"]]
                before, after = arguments["old_string"], arguments["new_string"]
                texts[arguments["path"]] = texts[arguments["path"]].replace(before, after, 1)
    assert len(texts) > 10


def test_it_is_long_and_mostly_results_and_presses_on_a_budget_as_recorded_ones_do(trace):
    assert trace.is_long
    assert 200 <= len(trace.turns) <= 215
    results = sum(estimated_tokens(message) for message in trace.messages if message.tool_results)
    assert 0.75 <= results / trace.tokens <= 0.95  # 80-95 % in recorded ones
    kept = [Recording(trace).score(keep_last(budget)).coverage for budget in (2_000, 8_000, 32_000)]
    assert kept == sorted(kept)
    assert kept[0] < 0.75
    assert 0.8 < kept[1] < 0.97
    assert any(len(message.tool_calls) > 1 for message in trace.messages)


def test_names_and_repetitions_are_as_rare_as_in_recorded_ones(trace):
    """Of 39 long recorded sessions, .11 of Claude Code's tokens and .13 of Codex's are names, and .02 of calls bring what they brought."""
    named = sum(len(name) + 1 for message in trace.messages for name in names_in(text_of(message))) // 4
    assert 0.05 <= named / trace.tokens <= 0.15
    calls = sum(len(message.tool_calls) for message in trace.messages)
    again = sum(map(len, repeated(trace).values()))
    assert 0 < again < 0.03 * calls
    reads = [call.arguments for message in trace.messages for call in message.tool_calls if call.name == "read_file"]
    assert 0.3 <= 1 - len(set(reads)) / len(reads) <= 0.7  # files are read again, when they have changed


def test_times_run_along_and_the_person_is_away_now_and_then(trace):
    assert len(trace.times) == len(trace.messages)
    assert list(trace.times) == sorted(trace.times)
    assert 0 < len(cold_turns(trace, 300)) < 20
    assert cold_turns(trace, None) == frozenset()
