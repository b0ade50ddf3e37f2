"""The reader of Anthropic's requests: what it refuses, one minimal case a kind, and what it takes."""

import pytest

from tests.strict.anthropic import CODES, problems
from tests.strict.edits import JPEG, PDF, PNG, add, both, drop, edited, insert, kind, put, swap

OLDER = "claude-sonnet-4-5"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
DOCUMENT = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
EPHEMERAL = {"type": "ephemeral"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def text(words):
    return {"type": "text", "text": words}


GOOD = {
    "system": [text("You are an engineer."), {**text("Be brief."), "cache_control": EPHEMERAL}],
    "tools": [
        {"name": "read", "description": "Reads a file.", "input_schema": SCHEMA},
        {"name": "list", "input_schema": {"type": "object"}},
    ],
    "messages": [
        {"role": "user", "content": [IMAGE, DOCUMENT, text("What is in a.py and b.py?")]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two files.", "signature": "c2lnbmVk"},
                text("I look."),
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "b.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [text("y = 2"), IMAGE]},
                text("Go on."),
            ],
        },
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "ZGF0YQ=="}, text("Two numbers.")]},
        {"role": "user", "content": "Thank you."},
    ],
}
FIRST, CALLS, RESULTS, REPLY = (("messages", at, "content") for at in range(4))
LOOP = both(drop("messages", 4), drop("messages", 3), drop("messages", 2, "content", 2))
SPOKEN = {"role": "system", "content": "From now on in French."}
THINKS = {"type": "enabled", "budget_tokens": 2048}
EARLIER = [edited(GOOD, drop("messages", 4))]
MARKED = [put("system", 0, "cache_control", EPHEMERAL), put("tools", 0, "cache_control", EPHEMERAL)]

KINDS = [
    kind("request_extra_field", "Messages API, body", put("conversation", "c")),
    kind("request_field_missing", "Messages API, max_tokens", put("model", "claude-opus-5-5"), whole=True),
    kind("request_field_type", "Messages API, max_tokens", put("model", "m"), put("max_tokens", "9"), whole=True),
    kind("messages_missing", "Messages API, messages", put("messages", None)),
    kind("messages_empty", "Messages API, messages", put("messages", [])),
    kind("message_not_object", "Messages API, messages", put("messages", 4, "hello")),
    kind("message_field_missing", "Messages API, messages", drop("messages", 4, "content")),
    kind("message_field_type", "Messages API, messages", put("messages", 4, "role", 7)),
    kind("message_extra_field", "Errors, extra inputs", put("messages", 4, "name", "Ann")),
    kind("role_unknown", "Messages API, role", put("messages", 4, "role", "tool")),
    kind("first_not_user", "Messages API, messages", drop("messages", 0)),
    kind("roles_repeat", "Messages API, alternating turns", add("messages", {"role": "user", "content": "Bye."})),
    kind("prefill_unsupported", "Errors, prefill not supported", drop("messages", 4)),
    kind(
        "system_role_unsupported", "Mid-conversation system messages", add("messages", SPOKEN), model="claude-sonnet-5"
    ),
    kind("system_role_after", "Mid-conversation system messages", put("messages", 4, SPOKEN)),
    kind(
        "system_role_before", "Mid-conversation system messages", insert("messages", 1, {**SPOKEN}), swap("messages", 0)
    ),
    kind("system_role_block", "Mid-conversation system messages", add("messages", {**SPOKEN, "content": [IMAGE]})),
    kind("system_type", "Messages API, system", put("system", {"text": "x"})),
    kind("system_block_type", "Messages API, system", put("system", 0, IMAGE)),
    kind("content_type", "Messages API, content", put("messages", 4, "content", {"text": "x"})),
    kind("content_empty", "Errors, non-empty content", put("messages", 4, "content", [])),
    kind("text_empty", "Errors, text content blocks must be non-empty", put(*FIRST, 2, "text", "")),
    kind("text_blank", "Errors, non-whitespace text", put(*FIRST, 2, "text", " \n")),
    kind("final_text_whitespace", "Prefill", drop("messages", 4), put(*REPLY, 1, "text", "Two "), model=OLDER),
    kind("block_not_object", "Messages API, content", put(*FIRST, 0, "x")),
    kind("block_type_unknown", "Messages API, content", put(*FIRST, 0, {"type": "video"})),
    kind("block_role", "Search results", add(*REPLY, {"type": "search_result"})),
    kind("block_field_missing", "Messages API, content", drop(*CALLS, 2, "name")),
    kind("block_field_type", "Messages API, content", put(*RESULTS, 0, "is_error", "yes")),
    kind("block_extra_field", "Errors, extra inputs", put(*CALLS, 2, "index", 0)),
    kind("call_role", "Tool use", add(*FIRST, {"type": "tool_use", "id": "t", "name": "read", "input": {}})),
    kind("call_id_pattern", "Tool use, id", put(*CALLS, 2, "id", "call:1")),
    kind("call_id_length", "Converse API, toolUseId", put(*CALLS, 2, "id", "x" * 65)),
    kind("call_id_repeated", "Tool use, id", put(*CALLS, 3, "id", "toolu_1")),
    kind("call_name_pattern", "Tool use, name", put(*CALLS, 2, "name", "read file")),
    kind("call_name_length", "Tool use, name", put(*CALLS, 2, "name", "r" * 129)),
    kind("call_input_type", "Tool use, input", put(*CALLS, 2, "input", '{"path": "a.py"}')),
    kind("call_unanswered", "Handle tool calls", drop(*RESULTS, 1)),
    kind("call_unanswered", "Handle tool calls", insert("messages", 2, {"role": "user", "content": "Wait."})),
    kind("call_unanswered", "Handle tool calls", put("messages", GOOD["messages"][:2])),
    kind("result_role", "Handle tool calls", add(*REPLY, GOOD["messages"][2]["content"][0])),
    kind("result_orphan", "Handle tool calls", put(*RESULTS, 0, "tool_use_id", "toolu_9")),
    kind("result_orphan", "Handle tool calls", put("messages", GOOD["messages"][2:])),
    kind("result_repeated", "Handle tool calls", put(*RESULTS, 1, "tool_use_id", "toolu_1")),
    kind("result_not_first", "Handle tool calls", swap(*RESULTS, 1)),
    kind(
        "result_block_type",
        "Messages API, tool_result",
        put(*RESULTS, 1, "content", [GOOD["messages"][1]["content"][0]]),
    ),
    kind("result_error_media", "Errors, is_error", put(*RESULTS, 1, "is_error", True)),
    kind("server_call_unanswered", "Server tools", insert(*CALLS, 1, SEARCH)),
    kind("server_result_orphan", "Server tools", insert(*REPLY, 1, SEARCHED)),
    kind("thinking_role", "Extended thinking", add(*FIRST, GOOD["messages"][1]["content"][0])),
    kind("block_field_missing", "Extended thinking, signature", drop(*CALLS, 0, "signature")),
    kind("thinking_signature_empty", "Extended thinking, signature", put(*CALLS, 0, "signature", "")),
    kind("redacted_data_empty", "Extended thinking, redaction", put(*REPLY, 0, "data", "")),
    kind("thinking_last", "Extended thinking", swap(*REPLY, 0)),
    kind("thinking_after_call", "Extended thinking", swap(*CALLS, 0), swap(*CALLS, 1)),
    kind(
        "thinking_loop_start",
        "Extended thinking with tools",
        LOOP,
        drop(*CALLS, 0),
        put("thinking", THINKS),
        model=OLDER,
    ),
    kind("thinking_disabled", "Errors, thinking disabled", drop("messages", 4), put("thinking", {"type": "disabled"})),
    kind("thinking_config_type", "Thinking, configuration", put("thinking", {"type": "on"})),
    kind("thinking_budget_small", "Extended thinking, budget", put("thinking", {**THINKS, "budget_tokens": 1000})),
    kind("thinking_budget_large", "Extended thinking, budget", put("thinking", THINKS), put("max_tokens", 2048)),
    kind(
        "thinking_forced_tool",
        "Extended thinking with tools",
        put("thinking", THINKS),
        put("tool_choice", {"type": "any"}),
    ),
    kind("reasoning_prefix_changed", "Prefix checks", put(*FIRST, 2, "text", "And now?"), previous=EARLIER),
    kind("reasoning_left_out", "Prefix checks", drop(*CALLS, 0), previous=EARLIER),
    kind("reasoning_modified", "Extended thinking", put(*CALLS, 0, "thinking", "Three files."), previous=EARLIER),
    kind(
        "reasoning_loop_changed",
        "Extended thinking with tools",
        LOOP,
        put(*CALLS, 0, "signature", "b3RoZXI="),
        put("thinking", THINKS),
        model=OLDER,
        previous=EARLIER,
    ),
    kind(
        "cache_too_many",
        "Prompt caching, limits",
        *MARKED,
        *(put(*FIRST, i, "cache_control", EPHEMERAL) for i in (0, 1)),
    ),
    kind("cache_type", "Prompt caching", put("system", 1, "cache_control", {"type": "persistent"})),
    kind("cache_ttl", "Prompt caching, ttl", put("system", 1, "cache_control", {**EPHEMERAL, "ttl": "2h"})),
    kind("cache_ttl_order", "Prompt caching, mixing ttl", put(*FIRST, 0, "cache_control", {**EPHEMERAL, "ttl": "1h"})),
    kind("cache_extra_field", "Prompt caching", put("system", 1, "cache_control", {**EPHEMERAL, "scope": "all"})),
    kind("cache_on_thinking", "Prompt caching, what cannot be cached", put(*CALLS, 0, "cache_control", EPHEMERAL)),
    kind("cache_on_empty_text", "Prompt caching, what cannot be cached", put("system", 1, "text", "")),
    kind("cache_on_deferred_tool", "Tool search", MARKED[1], put("tools", 0, "defer_loading", True)),
    kind("image_role", "Vision", insert(*REPLY, 1, IMAGE)),
    kind("image_source", "Vision", put(*FIRST, 0, "source", {"type": "path", "path": "a.png"})),
    kind("image_media_type", "Vision, formats", put(*FIRST, 0, "source", "media_type", "image/svg+xml")),
    kind("image_data", "Vision", put(*FIRST, 0, "source", "data", "not base64!")),
    kind("image_data_type", "Vision", put(*FIRST, 0, "source", "data", JPEG)),
    kind("image_url", "Vision, URL", put(*FIRST, 0, "source", {"type": "url", "url": "http://example.org/a.png"})),
    kind("document_role", "PDF support", insert(*REPLY, 1, DOCUMENT)),
    kind("document_source", "PDF support", put(*FIRST, 1, "source", {"type": "path"})),
    kind("document_media_type", "PDF support", put(*FIRST, 1, "source", "media_type", "text/csv")),
    kind("document_data", "PDF support", put(*FIRST, 1, "source", "data", "%PDF")),
    kind(
        "document_text_empty",
        "Citations",
        put(*FIRST, 1, "source", {"type": "text", "media_type": "text/plain", "data": ""}),
    ),
    kind(
        "search_result_content",
        "Search results",
        add(*FIRST, {"type": "search_result", "source": "s", "title": "t", "content": []}),
    ),
    kind("tool_not_object", "Messages API, tools", put("tools", 0, "read")),
    kind("tool_field_missing", "Define tools", drop("tools", 0, "input_schema")),
    kind("tool_field_type", "Define tools", put("tools", 0, "description", ["Reads."])),
    kind("tool_extra_field", "Errors, extra inputs", put("tools", 0, "parameters", SCHEMA)),
    kind("tool_name_pattern", "Define tools, name", put("tools", 0, "name", "files.read")),
    kind("tool_name_repeated", "Define tools, name", put("tools", 1, "name", "read")),
    kind("tool_schema_type", "Define tools, input_schema", put("tools", 0, "input_schema", {"type": "string"})),
    kind("tool_schema_union", "Define tools, input_schema", put("tools", 0, "input_schema", "anyOf", [SCHEMA])),
    kind(
        "tool_property_name", "Define tools, input_schema", put("tools", 0, "input_schema", "properties", {"a b": {}})
    ),
    kind("tool_all_deferred", "Tool search", *(put("tools", i, "defer_loading", True) for i in (0, 1))),
    kind("tool_choice_unknown", "Messages API, tool_choice", put("tool_choice", {"type": "tool", "name": "write"})),
    kind("tool_choice_without_tools", "Messages API, tool_choice", drop("tools"), put("tool_choice", {"type": "auto"})),
    kind("tools_undefined", "Handle tool calls", drop("tools"), whole=True),
]


@pytest.mark.parametrize("bad", KINDS, ids=str)
def test_it_refuses(bad):
    assert bad.code in {problem.code for problem in problems(edited(GOOD, bad.edit), **bad.options)}


def test_every_code_is_tried():
    assert {bad.code for bad in KINDS} == set(CODES)
    assert len(CODES) >= 40


COMPACTED = edited(GOOD, insert(*REPLY, 0, {"type": "compaction", "content": "So far."}), drop(*CALLS, 0))
WHOLE = {"model": OLDER, "max_tokens": 4096}
TAKEN = {
    "pictures, parallel calls, thinking": (GOOD, {}),
    "a whole request": (GOOD | WHOLE, {"whole": True}),
    "words only": ({"system": "s", "messages": [{"role": "user", "content": "x"}]}, {}),
    "unchanged history": (GOOD, {"previous": EARLIER}),
    "history grouped otherwise, marked otherwise": (
        edited(
            GOOD,
            put("system", [GOOD["system"][0], text("Be brief.")]),
            put(*RESULTS, 0, "content", [text("x = 1")]),
            put("messages", 4, "content", [{**text("Thank you."), "cache_control": EPHEMERAL}]),
        ),
        {"previous": EARLIER},
    ),
    "new thinking behind a change": (
        edited(GOOD, put(*FIRST, 2, "text", "Summary."), drop(*CALLS, 0), drop(*REPLY, 0)),
        {"previous": EARLIER},
    ),
    "changed history on an older model": (
        edited(GOOD, put(*FIRST, 2, "text", "Summary.")) | WHOLE,
        {"previous": EARLIER},
    ),
    "an open loop with its thinking": (edited(GOOD, LOOP, put("thinking", THINKS)) | WHOLE, {"previous": EARLIER}),
    "instructions in the middle": (edited(GOOD, add("messages", SPOKEN)), {}),
    "a prefill on an older model": (edited(GOOD, drop("messages", 4)), {"model": OLDER}),
    "a server tool": (edited(GOOD, insert(*CALLS, 1, SEARCHED), insert(*CALLS, 1, SEARCH)), {}),
    "an empty result": (edited(GOOD, put(*RESULTS, 0, "content", ""), drop(*RESULTS, 1, "content")), {}),
    "a change before what the API has compacted": (
        edited(COMPACTED, put(*FIRST, 2, "text", "Summary.")),
        {"previous": [edited(COMPACTED, drop("messages", 4))]},
    ),
    "a change before what the API has just compacted": (
        edited(COMPACTED, put(*FIRST, 2, "text", "Summary.")),
        {"previous": [edited(GOOD, drop("messages", 4), drop("messages", 3))]},
    ),
    "longer ttl first": (edited(GOOD, put("tools", 1, "cache_control", {**EPHEMERAL, "ttl": "1h"})), {}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_it_takes(name):
    request, options = TAKEN[name]
    assert problems(request, **options) == []


def test_thinking_that_is_new_is_bound_to_the_newest_earlier_request():
    asked = edited(GOOD, drop("messages", 4), drop("messages", 3))
    folded = edited(GOOD, put(*FIRST, 2, "text", "Summary."), drop(*CALLS, 0))
    found = [problem for problem in problems(folded, previous=[asked]) if problem.code == "reasoning_prefix_changed"]
    assert [problem.path for problem in found] == ["$.messages[3].content[0]"]
    assert "$.messages[0].content[2]" in found[0].sentence


@pytest.mark.parametrize(
    "changed", [put("tools", 0, "description", "x"), put("system", 1, "text", "x"), drop("tools", 1)]
)
def test_tools_and_instructions_are_part_of_the_prefix(changed):
    codes = [problem.code for problem in problems(edited(GOOD, changed), previous=EARLIER)]
    assert codes == ["reasoning_prefix_changed"] * 2


@pytest.mark.parametrize(
    ("model", "is_checked"),
    [
        ("claude-fable-5-1", True),
        ("claude-mythos-5-2", True),
        ("claude-opus-5-5-20261001", True),
        ("claude-haiku-5-5", True),
        ("some-model", True),
        ("claude-opus-5", False),
        ("claude-fable-5", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-3-5-sonnet-20241022", False),
    ],
)
def test_which_models_check_prefixes(model, is_checked):
    changed = edited(GOOD, put(*FIRST, 2, "text", "x"))
    assert bool(problems(changed, model=model, previous=EARLIER)) is is_checked
