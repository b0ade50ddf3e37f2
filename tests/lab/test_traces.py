"""Recorded sessions as traces."""

import gzip
import json

import pytest

import pageturn as pt
from pageturn.lab.traces import Trace, estimated_tokens, read_traces


@pytest.fixture
def path(tmp_path):
    session = {
        "id": "t1",
        "source": "synthetic",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "a" * 40},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "x = 1"},
            {"role": "user", "content": "This stands for what came before."},
            {"role": "assistant", "content": "done"},
        ],
        "annotations": {"compactions": [{"index": 4, "trigger": "auto", "pre_tokens": 100}]},
    }
    file = tmp_path / "t.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(session).encode()))
    return file


def test_recorded_summaries_stand_beside_the_session(path):
    (trace,) = read_traces(path)
    assert [message.role.value for message in trace.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert trace.compactions == ((4, "This stands for what came before."),)
    assert trace.turns == [2, 4]


def test_tokens_of_the_study_are_a_quarter_of_the_characters(path):
    (trace,) = read_traces(path)
    assert estimated_tokens(trace.messages[1]) == 10
    assert estimated_tokens(trace.messages[2]) == len("read\n{}") // 4
    assert trace.tokens == sum(map(estimated_tokens, trace.messages))
    assert not trace.is_long


def test_sessions_are_split_by_their_id():
    sides = [Trace(f"session-{number}", "s", ()).is_for_tuning for number in range(200)]
    assert 60 < sum(sides) < 140
    assert sides == [Trace(f"session-{number}", "s", ()).is_for_tuning for number in range(200)]


def test_a_damaged_line_is_named(tmp_path):
    file = tmp_path / "bad.jsonl"
    file.write_text('{"id": "x"}\n')
    with pytest.raises(
        pt.InvalidInput, match=r"bad\.jsonl:1: expected a recorded session, got \$\.messages: expected a list"
    ):
        list(read_traces(file))
