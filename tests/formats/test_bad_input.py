"""Whatever comes in: messages, or an error that says where, what was expected and what came."""

import copy
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.wire import from_json, to_json
from tests.formats.test_clients import (
    ANTHROPIC_ANSWER,
    CHAT_ANSWER,
    CHAT_EVENTS,
    GEMINI_ANSWER,
    RESPONSE,
    gemini_events,
)
from tests.formats.test_round_trips import EXAMPLES, FORMATS, by_name
from tests.long import examples as number_of
from tests.strategies import extras, json_values, messages, name, text

# Messages that no `load` made: items and kept fields of any form, under the vendors' names.
kept = (
    st.none()
    | extras
    | st.dictionaries(
        st.sampled_from([vendor.VENDOR for vendor in FORMATS]),
        json_values
        | st.dictionaries(
            st.sampled_from(
                ["as", "whole", "item", "name", "function", "function_call", "file", "inline_data", "source"]
            ),
            json_values | st.sampled_from(["file_id", "file_data", "refusal", "object", "custom", "instructions"]),
        ),
    )
)
strange_parts = st.one_of(
    st.builds(pt.Text, text=text, extra=kept),
    st.builds(pt.Image, url=text | st.just("data:image/png;base64,iVBORw0KGgo="), extra=kept),
    st.builds(pt.File, path=text | st.just("data:application/pdf;base64,JVBERg=="), extra=kept),
    st.builds(pt.ToolCall, id=text, name=text, arguments=text | st.just('{"a": "\\ud800"}'), extra=kept),
    st.builds(pt.ToolResult, tool_call_id=text, content=text, extra=kept),
    st.builds(pt.Thinking, text=text, signature=st.none() | text, redacted=st.none() | text, extra=kept),
    st.builds(
        pt.Native,
        vendor=st.sampled_from([vendor.VENDOR for vendor in FORMATS]) | name,
        item=st.dictionaries(st.sampled_from(["type", "text", "audio", "id", "content"]), json_values),
        text=text,
    ),
)
strange = st.builds(
    pt.Message,
    role=st.sampled_from(pt.Role),
    content=st.lists(strange_parts, max_size=4).map(tuple),
    metadata=st.none() | st.dictionaries(st.just("response"), json_values),
    extra=kept,
)


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
        (
            gemini,
            {"candidates": [{"content": {"role": "model", "parts": True}}]},
            r"\$\.candidates\[0\]\.content\.parts: expected a list, got True",
        ),
        (
            gemini,
            {"parts": [{"functionCall": {"name": "f", "args": {"a": "\ud800"}}}]},
            r"\$\.parts\[0\]\.function_call\.args: expected text that is valid Unicode, got the lone surrogate",
        ),
        (
            gemini,
            {"parts": [{"functionResponse": {"name": "f", "response": {"a": "\ud800"}}}]},
            r"\$\.parts\[0\]\.function_response\.response: expected text that is valid Unicode",
        ),
        (
            anthropic,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"a": "\ud800"}}]},
            r"\$\.content\[0\]\.input: expected text that is valid Unicode",
        ),
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


RESPONSES = {
    openai_chat: (CHAT_ANSWER, [chunk for _, chunk in CHAT_EVENTS]),
    openai_responses: (RESPONSE, [{"type": "response.completed", "response": RESPONSE}]),
    anthropic: (ANTHROPIC_ANSWER,),
    gemini: (GEMINI_ANSWER, [chunk for _, chunk in gemini_events()]),
}
wrong = st.sampled_from(
    [
        {},
        [],
        [{}],
        {"type": "text"},
        True,
        0,
        -1,
        2**70,
        float("nan"),
        "",
        " ",
        "\ud800",
        [[]],
        ["x"],
        {"": None},
    ]
)


@by_name
@settings(max_examples=number_of(120, whole=6_000))
@given(data=st.data())
def test_a_damaged_request_or_response_gives_messages_or_a_complaint(vendor, data):
    damaged = copy.deepcopy(data.draw(st.sampled_from([EXAMPLES[vendor], *RESPONSES[vendor]])))
    for _ in range(data.draw(st.integers(1, 2))):
        spot, names = damaged, []
        while isinstance(spot, dict | list) and spot and (not names or data.draw(st.booleans() | st.just(True))):
            name = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
            names.append((spot, name))
            spot = spot[name]
        holder, name = data.draw(st.sampled_from(names))
        holder[name] = copy.deepcopy(data.draw(json_values | wrong))
    check(vendor, damaged)


@by_name
@settings(max_examples=number_of(100, whole=4_000))
@given(messages=st.lists(messages | strange, max_size=4))
def test_any_messages_are_dumped_or_a_complaint_says_why_not(vendor, messages):
    with suppress(pt.InvalidInput):
        vendor.dump(messages)


@by_name
@pytest.mark.parametrize("item", [{}, {"type": None}, {"type": 5}, {"text": "x"}, {"audio": 5}])
def test_an_item_that_is_none_of_the_vendors_is_replaced_by_its_words(vendor, item):
    for role in (pt.user, pt.assistant, pt.system):
        native = pt.Native(vendor=vendor.VENDOR, item=item, text="what it says")
        request = vendor.dump([pt.user("x"), role(native)])
        assert "what it says" in str(request) or vendor is gemini


def check(vendor, value):
    try:
        loaded = vendor.load(value)
        for message in loaded if isinstance(loaded, list) else [loaded]:
            assert from_json(pt.Message, to_json(message)) == message
        for other in FORMATS:  # what was taken can be sent on
            msgspec.json.encode(other.dump(loaded if isinstance(loaded, list) else [loaded]))
    except pt.InvalidInput:
        return
