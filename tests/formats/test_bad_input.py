"""Whatever comes in: messages, or an error that says where, what was expected and what came."""

import copy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.wire import from_json, to_json
from tests.formats.test_round_trips import EXAMPLES, FORMATS, by_name
from tests.long import examples as number_of
from tests.strategies import json_values


@pytest.mark.parametrize(
    ("vendor", "given_", "complaint"),
    [
        (openai_chat, 5, r"\$: expected an object, got 5"),
        (openai_chat, {"role": "bot", "content": "x"}, r"\$\.role: expected system, .*, got 'bot'"),
        (openai_chat, [{"role": "user", "content": 3}], r"\$\[0\]\.content: expected text or a list of parts, got 3"),
        (openai_chat, {"role": "tool", "content": "x"}, r"\$\.tool_call_id: expected text, got nothing"),
        (openai_chat, {"choices": []}, r"\$\.choices: expected one choice, got 0"),
        (openai_chat, {"choices": [1, 2]}, r"\$\.choices: expected one choice, got 2"),
        (openai_responses, "hi", r"\$: expected an object, got 'hi'"),
        (openai_responses, [{"type": "function_call"}], r"\$\[0\]\.call_id: expected text, got nothing"),
        (openai_responses, {"type": "message", "role": "tool"}, r"\$\.role: expected user, .*, got 'tool'"),
        (anthropic, {"role": "tool", "content": ""}, r"\$\.role: expected user, assistant or system, got 'tool'"),
        (anthropic, [{"role": "user", "content": [{"text": "x"}]}], r"\$\[0\]\.content\[0\]\.type: expected text, got"),
        (
            anthropic,
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "thinking"}]}],
            },
            r"\$\.content\[0\]\.content",
        ),
        (gemini, {"role": "assistant", "parts": []}, r"\$\.role: expected user or model, got 'assistant'"),
        (gemini, {"candidates": []}, r"\$\.candidates: expected one candidate, got 0"),
        (gemini, {"parts": [{"functionCall": {"args": {}}}]}, r"\$\.parts\[0\]\.function_call\.name: expected text"),
    ],
)
def test_the_complaint_says_where_and_what(vendor, given_, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        vendor.load(given_)


@by_name
@settings(max_examples=number_of(100, whole=2_000))
@given(value=json_values)
def test_any_json_gives_messages_or_a_complaint(vendor, value):
    check(vendor, value)


@by_name
@settings(max_examples=number_of(150, whole=3_000))
@given(data=st.data())
def test_a_damaged_request_gives_messages_or_a_complaint(vendor, data):
    damaged = copy.deepcopy(EXAMPLES[vendor])
    spot, names = damaged, []
    while isinstance(spot, dict | list) and spot and (not names or data.draw(st.booleans() | st.just(True))):
        name = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        names.append((spot, name))
        spot = spot[name]
    holder, name = data.draw(st.sampled_from(names))
    holder[name] = data.draw(json_values | st.just({}) | st.just([]) | st.just([{}]) | st.just({"type": "text"}))
    check(vendor, damaged)


def check(vendor, value):
    try:
        loaded = vendor.load(value)
    except pt.InvalidInput:
        return
    for message in loaded if isinstance(loaded, list) else [loaded]:
        assert from_json(pt.Message, to_json(message)) == message
    for other in FORMATS:  # what was taken can be sent on
        msgspec.json.encode(other.dump(loaded if isinstance(loaded, list) else [loaded]))
