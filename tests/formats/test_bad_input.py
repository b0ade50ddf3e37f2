"""Whatever comes in: messages, or an error that says where, what was expected and what came."""

import copy
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.json import from_json, to_json
from pageturn.values.messages import File, Native, Text, Thinking, ToolResult
from pageturn.values.prompt import Prompt
from tests.formats.test_clients import (
    ANTHROPIC_ANSWER,
    CHAT_ANSWER,
    GEMINI_ANSWER,
    RESPONSE,
)
from tests.formats.test_round_trips import FORMATS, WHOLE, by_name
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
    st.builds(Text, text=text, extra=kept),
    st.builds(pt.Image, url=text | st.just("data:image/png;base64,iVBORw0KGgo="), extra=kept),
    st.builds(File, path=text | st.just("data:application/pdf;base64,JVBERg=="), extra=kept),
    st.builds(pt.ToolCall, id=text, name=text, arguments=text | st.just('{"a": "\\ud800"}'), extra=kept),
    st.builds(ToolResult, tool_call_id=text, content=text, extra=kept),
    st.builds(Thinking, text=text, signature=st.none() | text, redacted=st.none() | text, extra=kept),
    st.builds(
        Native,
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


USER = {"role": "user", "content": "x"}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {"a": "\ud800"}}


@pytest.mark.parametrize(
    ("load", "given_", "complaint"),
    [
        (openai_chat.load_reply, 5, r"\$: expected an object, got 5"),
        (openai_chat.load_reply, USER, r"\$\.role: expected assistant, as a reply has it, got 'user'"),
        (openai_chat.load_reply, {"choices": []}, r"\$\.choices: expected one choice, got 0"),
        (openai_chat.load_reply, {"choices": [1, 2]}, r"\$\.choices: expected one choice, got 2"),
        (
            openai_chat.load_reply,
            {"choices": [{"message": {"role": "assistant"}}], "usage": {"prompt_tokens": True}},
            r"\$\.usage\.prompt_tokens: expected a whole number, got True",
        ),
        (openai_chat.load_messages, [{"role": "bot"}], r"\$\[0\]\.role: expected system, .*, got 'bot'"),
        (
            openai_chat.load_messages,
            [USER, {"role": "user", "content": 3}],
            r"\$\[1\]\.content: expected text or a list",
        ),
        (openai_chat.load_messages, [{"role": "tool"}], r"\$\[0\]\.tool_call_id: expected text, got nothing"),
        (
            openai_chat.load_messages,
            {"messages": []},
            r"\$: expected a list of messages \(load_request takes a request",
        ),
        (openai_chat.load_messages, "hi", r"\$: expected a list of messages, got 'hi'"),
        (openai_chat.load_request, [USER], r"\$: expected a request \(load_messages takes a list of messages\), got"),
        (openai_chat.load_request, {"model": "m"}, r"\$\.messages: expected a list, got nothing"),
        (openai_chat.load_request, {"messages": [USER], "model": 5}, r"\$\.model: expected text, got 5"),
        (openai_chat.load_request, {"messages": [USER], "tools": {}}, r"\$\.tools: expected a list, got {}"),
        (openai_chat.load_request, {"messages": [USER], "tools": [5]}, r"\$\.tools\[0\]: expected an object, got 5"),
        (openai_chat.load_request, {"messages": [USER], 5: 5}, r"\$: expected fields with texts for names, got 5"),
        (openai_chat.load_request, {"messages": [{}]}, r"\$\.messages\[0\]\.role: expected text, got nothing"),
        (openai_responses.load_reply, "hi", r"\$: expected an object, got 'hi'"),
        (openai_responses.load_reply, USER, r"\$: expected an item that the model wrote, got"),
        (openai_responses.load_reply, [USER], r"\$\[0\]: expected an item that the model wrote, got"),
        (openai_responses.load_messages, [{"type": "function_call"}], r"\$\[0\]\.call_id: expected text, got nothing"),
        (openai_responses.load_messages, [{"role": "tool"}], r"\$\[0\]\.role: expected user, .*, got 'tool'"),
        (openai_responses.load_request, {"input": 5}, r"\$\.input: expected text or a list of items, got 5"),
        (openai_responses.load_request, {"input": "x", "instructions": 5}, r"\$\.instructions: expected text, got 5"),
        (anthropic.load_reply, {"content": []}, r"\$\.role: expected text, got nothing"),
        (anthropic.load_reply, USER, r"\$\.role: expected assistant, as a reply has it, got 'user'"),
        (
            anthropic.load_reply,
            {"role": "assistant", "content": [CALL]},
            r"\$\.content\[0\]\.input: expected text that",
        ),
        (anthropic.load_messages, [{"role": "tool"}], r"\$\[0\]\.role: expected user, assistant or system, got 'tool'"),
        (
            anthropic.load_messages,
            [{"role": "user", "content": [{"text": "x"}]}],
            r"\$\[0\]\.content\[0\]\.type: expected text, got",
        ),
        (
            anthropic.load_messages,
            [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "thinking"}]}],
                }
            ],
            r"\$\[0\]\.content\[0\]\.content",
        ),
        (anthropic.load_request, {"messages": [], "system": 5}, r"\$\.system: expected text or a list of parts, got 5"),
        (gemini.load_reply, USER, r"\$\.role: expected model, as a reply has it, got 'user'"),
        (gemini.load_reply, {"candidates": []}, r"\$\.candidates: expected one candidate, got 0"),
        (
            gemini.load_reply,
            {"candidates": [{"content": {"role": "model", "parts": True}}]},
            r"\$\.candidates\[0\]\.content\.parts: expected a list, got True",
        ),
        (gemini.load_messages, [{"role": "assistant"}], r"\$\[0\]\.role: expected user or model, got 'assistant'"),
        (
            gemini.load_messages,
            [{"parts": [{"functionCall": {"name": "f", "args": {"a": "\ud800"}}}]}],
            r"\$\[0\]\.parts\[0\]\.function_call\.args: expected text that is valid Unicode, got the lone surrogate",
        ),
        (
            gemini.load_messages,
            [{"parts": [{"functionResponse": {"name": "f", "response": {"a": "\ud800"}}}]}],
            r"\$\[0\]\.parts\[0\]\.function_response\.response: expected text that is valid Unicode",
        ),
        (
            gemini.load_messages,
            [{"parts": [{"functionCall": {"args": {}}}]}],
            r"\$\[0\]\.parts\[0\]\.function_call\.name: expected text",
        ),
        (gemini.load_request, {"config": {}}, r"\$\.contents: expected a list of contents, got nothing"),
        (gemini.load_request, {"contents": 5}, r"\$\.contents: expected a list of contents, got 5"),
        (gemini.load_request, {"contents": "x", "config": 5}, r"\$\.config: expected an object, got 5"),
        (
            gemini.load_request,
            {"contents": "x", "config": {"tools": [print]}},
            r"\$\.config\.tools\[0\]: expected an object, got <built-in",
        ),
    ],
)
def test_the_complaint_says_where_and_what(load, given_, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        load(given_)


ONE = pt.user("x")


@by_name
@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        (
            ONE,
            r"prompt: expected a Context, a Prompt or a list of messages \(for one message: dump\(\[message\]\)\), got",
        ),
        ({"messages": []}, r"prompt: expected .* \(a request is read first: dump\(load_request\(body\)\)\), got"),
        ("hi", r"prompt: expected a Context, a Prompt or a list of messages, got 'hi'"),
        (None, r"prompt: expected a Context, a Prompt or a list of messages, got None"),
        ([ONE, 5], r"prompt\[1\]: expected a Message, got int 5"),
        ([pt.user(Text(text=5))], r"prompt\[0\]\.content\[0\]\.text: expected text, got 5"),
        (Prompt(messages=[ONE]), r"prompt\.messages: expected a tuple, got list"),
        (Prompt(messages=(ONE, 5)), r"prompt\.messages\[1\]: expected a Message, got int 5"),
        (Prompt(messages=(ONE,), host_tools=(5,)), r"prompt\.host_tools\[0\]: expected an object, got 5"),
        (Prompt(messages=(ONE,), settings={5: 5}), r"prompt\.settings: expected fields with texts for names, got 5"),
        (Prompt(messages=(ONE,), model=5), r"prompt\.model: expected a str, got int 5"),
        (Prompt(messages=(ONE,), marks=(0, 1)), r"prompt\.marks\[1\]: expected a whole number, 0 or more and below 1"),
    ],
)
def test_what_cannot_be_dumped_is_refused_with_its_place(vendor, given_, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        vendor.dump(given_)


@by_name
@settings(max_examples=number_of(100, whole=2_000))
@given(value=json_values)
def test_any_json_gives_messages_or_a_complaint(vendor, value):
    check(vendor, value)


RESPONSES = {
    openai_chat: CHAT_ANSWER,
    openai_responses: RESPONSE,
    anthropic: ANTHROPIC_ANSWER,
    gemini: GEMINI_ANSWER,
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
    damaged = copy.deepcopy(data.draw(st.sampled_from([WHOLE[vendor], RESPONSES[vendor]])))
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
        native = Native(vendor=vendor.VENDOR, item=item, text="what it says")
        request = vendor.dump([pt.user("x"), role(native)])
        assert "what it says" in str(request) or vendor is gemini


def check(vendor, value):
    for load in (vendor.load_reply, vendor.load_request, vendor.load_messages):
        try:
            loaded = load(value)
            prompt = [loaded] if isinstance(loaded, pt.Message) else loaded
            for message in prompt.messages if isinstance(prompt, Prompt) else prompt:
                assert from_json(pt.Message, to_json(message)) == message
            for other in FORMATS:  # what was taken can be sent on
                msgspec.json.encode(other.dump(prompt))
        except pt.InvalidInput:
            continue


@pytest.mark.parametrize("other", FORMATS, ids=lambda other: other.VENDOR)
@pytest.mark.parametrize("vendor", FORMATS, ids=lambda vendor: vendor.VENDOR)
def test_a_response_of_another_vendor_is_refused_with_the_format_that_reads_it(vendor, other):
    if vendor is other:
        assert vendor.load_reply(RESPONSES[other]).role is pt.Role.ASSISTANT
        return
    expected = rf"a reply of {vendor.VENDOR}, got one of {other.VENDOR}, which pageturn\.formats\.{other.VENDOR}"
    with pytest.raises(pt.InvalidInput, match=expected):
        vendor.load_reply(RESPONSES[other])
