"""A whole request as a prompt: messages, tools, cache marks, model and settings, back to its vendor and on to the others."""

from copy import deepcopy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.json import from_json, to_json
from pageturn.values.prompt import Prompt
from tests.formats import examples
from tests.formats.test_round_trips import FORMATS, MODELS, WHOLE, by_name, conversations, dumped
from tests.long import examples as number_of
from tests.strategies import json_values

MARK = {"type": "ephemeral"}
HI = {
    openai_chat: {"messages": [{"role": "user", "content": "hi"}]},
    openai_responses: {
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    },
    anthropic: {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
    gemini: {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
NAMES = {  # of the functions of a request
    openai_chat: lambda request: [tool["function"]["name"] for tool in request["tools"]],
    openai_responses: lambda request: [tool["name"] for tool in request["tools"]],
    anthropic: lambda request: [tool["name"] for tool in request["tools"]],
    gemini: lambda request: [
        each["name"] for tool in request["config"]["tools"] for each in tool["function_declarations"]
    ],
}
SCHEMAS = {
    openai_chat: lambda request: request["tools"][0]["function"]["parameters"],
    openai_responses: lambda request: request["tools"][0]["parameters"],
    anthropic: lambda request: request["tools"][0]["input_schema"],
    gemini: lambda request: request["config"]["tools"][0]["function_declarations"][0]["parameters_json_schema"],
}


# -- in


@by_name
def test_a_request_is_taken_apart(vendor):
    body = WHOLE[vendor]
    prompt = vendor.load_request(body)
    beside = dict(examples.BESIDE[vendor.VENDOR])
    assert list(prompt.host_tools) == beside.pop("tools")
    assert prompt.settings == ({"config": beside} if vendor is gemini else beside)
    assert (prompt.model, prompt.vendor) == (MODELS[vendor], vendor.VENDOR)
    assert prompt.messages[0].role in (pt.Role.SYSTEM, pt.Role.DEVELOPER)
    assert from_json(Prompt, to_json(prompt)) == prompt


@by_name
def test_a_request_is_not_touched(vendor):
    body = deepcopy(WHOLE[vendor])
    prompt = vendor.load_request(body)
    for other in FORMATS:
        other.dump(prompt)
    assert body == WHOLE[vendor]


def test_marks_are_the_messages_that_have_them():
    assert anthropic.load_request(examples.ANTHROPIC).marks == (0, 1, 4)
    assert openai_chat.load_request(examples.OPENAI_CHAT).marks == (1,)
    assert anthropic.load_request(HI[anthropic]).marks == ()


def test_a_body_of_geminis_wire_is_read_as_its_client_would_send_it():
    body = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "read", "parameters": {"properties": {"filePath": {}}}}]}],
        "generationConfig": {"maxOutputTokens": 9, "responseSchema": {"properties": {"camelCase": {}}}},
        "safetySettings": [{"category": "C"}],
        "labels": {"teamName": "a"},
    }
    assert gemini.dump(gemini.load_request(body)) == {
        "contents": body["contents"],
        "config": {
            "system_instruction": {"parts": [{"text": "Be brief."}]},
            "tools": body["tools"],
            "max_output_tokens": 9,
            "response_schema": {"properties": {"camelCase": {}}},
            "safety_settings": [{"category": "C"}],
            "labels": {"teamName": "a"},
        },
    }


def test_objects_of_the_clients_may_stand_in_a_request():
    types = pytest.importorskip("google.genai.types")
    config = types.GenerateContentConfig(
        max_output_tokens=9,
        system_instruction="Be brief.",
        tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="read")])],
    )
    prompt = gemini.load_request({"model": "m", "contents": [types.UserContent(parts=["hi"])], "config": config})
    assert [message.text for message in prompt.messages] == ["Be brief.", "hi"]
    assert prompt.host_tools == ({"function_declarations": [{"name": "read"}]},)
    assert prompt.settings == {"config": {"max_output_tokens": 9}}


# -- and back

texts = st.text("abcXYZ ", min_size=1, max_size=8)
schemas = st.dictionaries(st.text("abcAB", min_size=1, max_size=4), json_values, max_size=2).map(
    lambda properties: {"type": "object", "properties": properties}
)
names = st.text("abc_", min_size=1, max_size=6)
TOOLS = {
    openai_chat: lambda name, schema: {"type": "function", "function": {"name": name, "parameters": schema}},
    openai_responses: lambda name, schema: {"type": "function", "name": name, "parameters": schema, "strict": False},
    anthropic: lambda name, schema: {"name": name, "input_schema": schema},
    gemini: lambda name, schema: {"function_declarations": [{"name": name, "parametersJsonSchema": schema}]},
}
taken = {"messages", "input", "contents", "system", "instructions", "tools", "model", "config", "system_instruction"}
settings_of_any_kind = st.dictionaries(
    st.text("abc_", min_size=1, max_size=6) | st.sampled_from(["stream", "max_tokens", "metadata"]),
    json_values.filter(lambda value: value is not None),
    max_size=3,
).filter(taken.isdisjoint)


@st.composite
def requests(draw, vendor):
    """Requests in the form that `dump` gives: with tools, settings, and marks on any of their blocks."""
    body = dumped(vendor, draw(conversations(pictures_too=vendor is not gemini)))
    blocks = [] if vendor is gemini else [block for block in blocks_of(vendor, body) if isinstance(block, dict)]
    for block in draw(st.lists(st.sampled_from(blocks), max_size=4, unique_by=id)) if blocks else []:
        if vendor is anthropic:
            block["cache_control"] = draw(st.sampled_from([MARK, {**MARK, "ttl": "1h"}]))
        elif block.get("type") in ("text", "input_text"):
            block["prompt_cache_breakpoint"] = {"mode": "explicit"}
    tools = [TOOLS[vendor](name, draw(schemas)) for name in draw(st.lists(names, max_size=2, unique=True))]
    told = draw(settings_of_any_kind) | ({"tools": tools} if tools else {})
    if vendor is gemini:
        config = body.pop("config", {}) | told
        body |= {"config": config} if config else {}
    else:
        body |= told
    return body | ({"model": MODELS[vendor]} if draw(st.booleans()) or vendor is not anthropic else {})


def blocks_of(vendor, body):
    for message in [*body.get("messages", []), *body.get("input", []), {"content": body.get("system")}]:
        if isinstance(message.get("content"), list):
            yield from message["content"]


@by_name
@settings(max_examples=number_of(60, whole=1_000))
@given(data=st.data())
def test_any_request_comes_back_with_its_tools_marks_and_settings(vendor, data):
    body = data.draw(requests(vendor))
    prompt = vendor.load_request(body)
    assert vendor.dump(prompt) == body
    assert vendor.dump(from_json(Prompt, to_json(prompt))) == body


@by_name
@settings(max_examples=number_of(30, whole=600))
@given(data=st.data())
def test_any_request_goes_to_every_other_vendor_with_its_functions(vendor, data):
    prompt = vendor.load_request(data.draw(requests(vendor)))
    for other in FORMATS:
        if other is not vendor:
            request = other.dump(prompt)
            assert "model" not in request
            assert len(NAMES[other](request) if prompt.host_tools else []) == len(prompt.host_tools)
            again = msgspec.structs.replace(other.load_request(request), model=prompt.model)
            assert other.dump(again) == request | ({"model": prompt.model} if prompt.model else {})


def test_a_mark_is_kept_in_a_result_and_beside_other_blocks():
    inner = {"type": "text", "text": "x", "cache_control": {**MARK, "ttl": "1h"}}
    body = {
        "system": [{"type": "text", "text": "a", "cache_control": MARK}, {"type": "text", "text": "b"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [inner]}]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": MARK}],
        "cache_control": MARK,
    }
    prompt = anthropic.load_request(body)
    assert prompt.marks == (0, 3)
    assert anthropic.dump(prompt) == body


def test_marks_of_a_prompt_count_and_not_those_of_its_messages():
    prompt = anthropic.load_request(examples.ANTHROPIC)
    none = anthropic.dump(msgspec.structs.replace(prompt, marks=()))
    assert "cache_control" not in str(none)
    moved = anthropic.dump(msgspec.structs.replace(prompt, marks=(1, 5)))
    first, *_, last = moved["messages"][0]["content"][0], moved["messages"][2]["content"][2]
    assert first["cache_control"] == {**MARK, "ttl": "1h"}
    assert last["cache_control"] == MARK
    assert str(moved).count("cache_control") == 2
    chat = openai_chat.load_request(examples.OPENAI_CHAT | {"model": "gpt-5"})
    assert "prompt_cache_breakpoint" in str(openai_chat.dump(chat))
    assert "prompt_cache_breakpoint" not in str(openai_chat.dump(msgspec.structs.replace(chat, marks=())))


def test_instructions_that_were_marked_stay_parts_for_any_model():
    told = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": MARK}]
    body = {
        "model": "anthropic/claude-opus-5",
        "messages": [{"role": "system", "content": told}, *HI[openai_chat]["messages"]],
    }
    assert openai_chat.dump(openai_chat.load_request(body)) == body


@by_name
def test_a_request_that_ends_with_the_model_is_its_authors_own(vendor):
    body = dumped(vendor, [pt.user("hi"), pt.assistant("I am")])
    assert vendor.dump(vendor.load_request(body)) == body
    if vendor in (anthropic, gemini):
        prompt = Prompt(messages=(pt.user("hi"), pt.assistant("I am")))
        assert str(vendor.dump(prompt)).count("(Continue.)") == 1


# -- on to the others


@pytest.mark.parametrize("origin", FORMATS, ids=lambda vendor: f"from {vendor.VENDOR}")
@by_name
def test_functions_go_to_every_vendor_and_what_is_a_vendors_own_stays(origin, vendor):
    if origin is vendor:
        return
    request = vendor.dump(origin.load_request(WHOLE[origin]))
    custom = ["patch"] if origin in (openai_chat, openai_responses) else []
    assert NAMES[vendor](request) == ["read", *custom]
    assert SCHEMAS[vendor](request) == examples.SCHEMA
    assert "search" not in str(request.get("tools") or request["config"]["tools"])
    assert "model" not in request


EVERYWHERE = {
    openai_chat: {"max_completion_tokens": 900, "stop": ["END"], "stream": True, "tool_choice": "required"},
    openai_responses: {"max_output_tokens": 900, "stream": True, "tool_choice": "required"},
    gemini: {
        "config": {
            "max_output_tokens": 900,
            "stop_sequences": ["END"],
            "tool_config": {"function_calling_config": {"mode": "ANY"}},
        }
    },
}


@pytest.mark.parametrize("vendor", EVERYWHERE, ids=lambda vendor: vendor.VENDOR)
def test_a_request_of_anthropic_keeps_the_settings_that_others_have(vendor):
    request = vendor.dump(anthropic.load_request(WHOLE[anthropic]))
    beside = {name: value for name, value in request.items() if name not in taken}
    if vendor is gemini:
        config = {name: value for name, value in request["config"].items() if name not in taken}
        assert beside | {"config": config} == EVERYWHERE[vendor]
    else:
        assert beside == EVERYWHERE[vendor] | {"parallel_tool_calls": False}


def test_settings_of_others_go_to_anthropic_as_far_as_it_has_them():
    request = anthropic.dump(openai_chat.load_request(WHOLE[openai_chat]))
    assert {name: value for name, value in request.items() if name not in taken} == {
        "max_tokens": 900,
        "stop_sequences": ["END"],
        "stream": True,
        "tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": True},
    }
    request = anthropic.dump(gemini.load_request(WHOLE[gemini]))
    assert {name: value for name, value in request.items() if name not in taken} == {
        "max_tokens": 900,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "tool", "name": "read"},
    }


def test_nothing_is_said_of_calls_where_no_tool_is_left():
    body = HI[anthropic] | {
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "tool_choice": {"type": "any"},
    }
    assert openai_chat.dump(anthropic.load_request(body)) == HI[openai_chat]


@pytest.mark.parametrize("odd", [5, "x", [], {}, True, {"type": []}, {"config": 5}])
@by_name
def test_settings_that_no_vendor_would_take_go_to_nobody_else(vendor, odd):
    odd_ones = dict.fromkeys(
        ("tool_choice", "stop", "max_tokens", "max_output_tokens", "temperature", "tool_config"), odd
    )
    told = {"config": odd_ones} if vendor is gemini else odd_ones
    body = HI[vendor] | told
    assert vendor.dump(vendor.load_request(body)) == body
    for other in FORMATS:
        assert other.dump(vendor.load_request(body))


def test_names_of_functions_fit_where_they_go():
    tool = {
        "function_declarations": [
            {"name": "a.b", "parameters": {"type": "OBJECT", "properties": {"p": {"type": "STRING"}}}}
        ]
    }
    choice = {"tool_config": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a.b"]}}}
    request = anthropic.dump(gemini.load_request(HI[gemini] | {"config": {"tools": [tool], **choice}}))
    schema = {"type": "object", "properties": {"p": {"type": "string"}}}
    assert request["tools"] == [{"name": "a_b", "input_schema": schema}]
    assert request["tool_choice"] == {"type": "tool", "name": "a_b"}


@by_name
def test_a_prompt_by_hand_has_the_recall_tool_and_no_model(vendor):
    prompt = Prompt(messages=(pt.user("hi"),), recall_tool=pt.RecallTool(), model=MODELS[vendor])
    request = vendor.dump(prompt)
    assert NAMES[vendor](request) == ["recall"]
    assert "model" not in request
