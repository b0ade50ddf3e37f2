"""The reader of Responses requests: what it refuses, one minimal case a kind, and what it takes."""

import pytest

from tests.strict.edits import PDF, PNG, add, both, drop, edited, insert, kind, put, swap
from tests.strict.openai_responses import CODES, problems

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
FILE = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}


def text(words, type_="input_text"):
    return {"type": type_, "text": words}


def thought(number):
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"gAAAA{number}"}


GOOD = {
    "instructions": "You are an engineer.",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "input": [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [text("What is in a.py?"), IMAGE, FILE]},
        thought(1),
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path": "a.py"}'},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "patch", "input": "*** Begin"},
        {"type": "function_call_output", "call_id": "call_1", "output": "x = 1"},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": [text("ok"), IMAGE]},
        thought(2),
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "final_answer",
            "content": [{**text("One number.", "output_text"), "annotations": []}],
        },
        {"type": "message", "role": "user", "content": "Thank you."},
    ],
    "tools": [
        {"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA, "strict": True},
        {"type": "custom", "name": "patch"},
        {"type": "web_search"},
    ],
}
SAID = ("input", 1, "content")
EARLIER = [edited(GOOD, drop("input", 9))]
LOOSE = put("tools", 0, "strict", False)

KINDS = [
    kind("request_field_missing", "Responses API, model", whole=True),
    kind("request_field_type", "Responses API, model", put("model", 5), whole=True),
    kind("request_extra_field", "Responses API, body", put("messages", [])),
    kind("input_missing", "Responses API, input", drop("input")),
    kind("input_type", "Responses API, input", put("input", {"role": "user"})),
    kind("input_empty", "Responses API, input", put("input", [])),
    kind("instructions_type", "Responses API, instructions", put("instructions", ["x"])),
    kind(
        "previous_with_conversation",
        "Conversation state",
        put("previous_response_id", "resp_1"),
        put("conversation", "conv_1"),
    ),
    kind("include_unknown", "Responses API, include", put("include", ["reasoning"])),
    kind("item_not_object", "Responses API, input items", put("input", 9, "Thank you.")),
    kind("item_type_unknown", "Responses API, input items", put("input", 9, {"type": "tool_result"})),
    kind("item_field_missing", "Responses API, function call", drop("input", 3, "call_id")),
    kind("item_field_missing", "Responses API, reasoning", drop("input", 2, "summary")),
    kind("item_field_type", "Responses API, function call", put("input", 3, "arguments", {"path": "a.py"})),
    kind("item_extra_field", "Errors, unknown parameter", put("input", 9, "cache_control", {})),
    kind("item_id_pattern", "Errors, invalid id", put("input", 3, "id", "fc:1")),
    kind("item_id_length", "Errors, string too long", put("input", 3, "id", "fc_" + "x" * 62)),
    kind("item_id_prefix", "Errors, invalid id", put("input", 3, "id", "msg_2")),
    kind("item_id_prefix", "Errors, invalid id", put("input", 4, "id", "fc_2")),
    kind("item_id_repeated", "Errors, duplicate item", put("input", 7, "id", "rs_1")),
    kind("item_status", "Responses API, status", put("input", 8, "status", "done")),
    kind("item_unstored", "Errors, item not found", put("input", 8, {"type": "item_reference", "id": "msg_1"})),
    kind("role_unknown", "Responses API, roles", put("input", 9, "role", "tool")),
    kind("roles_repeat", "Responses API, messages", add("input", {"role": "user", "content": "Bye."})),
    kind("content_type", "Responses API, content", put("input", 9, "content", {"text": "x"})),
    kind("content_empty", "Responses API, content", put("input", 9, "content", [])),
    kind("part_not_object", "Responses API, content", put(*SAID, 0, "x")),
    kind("part_type_unknown", "Responses API, content", put(*SAID, 0, "type", "text")),
    kind("part_field_missing", "Responses API, content", drop(*SAID, 0, "text")),
    kind("part_field_type", "Responses API, content", put(*SAID, 0, "text", ["x"])),
    kind("part_extra_field", "Errors, unknown parameter", put(*SAID, 0, "cache_control", {})),
    kind("input_part_by_assistant", "Errors, invalid value", put("input", 8, "content", 0, text("x"))),
    kind("output_part_by_others", "Errors, invalid value", put(*SAID, 0, text("x", "output_text"))),
    kind("text_empty", "Responses API, content", put(*SAID, 0, "text", "")),
    kind("phase_unknown", "Responses API, phase", put("input", 8, "phase", "middle")),
    kind("phase_role", "Responses API, phase", put("input", 9, "phase", "commentary")),
    kind("image_role", "Images and vision", put("input", 0, "content", [IMAGE])),
    kind("file_role", "File inputs", put("input", 0, "content", [FILE])),
    kind("image_source", "Images and vision", put(*SAID, 1, "file_id", "file-1")),
    kind("image_url_type", "Images and vision", put(*SAID, 1, "image_url", {"url": "https://example.org/a.png"})),
    kind("image_url_scheme", "Images and vision", put(*SAID, 1, "image_url", "/a.png")),
    kind("image_media_type", "Images and vision", put(*SAID, 1, "image_url", f"data:image/tiff;base64,{PNG}")),
    kind("image_data", "Images and vision", put(*SAID, 1, "image_url", "data:image/png;base64,?")),
    kind("image_detail", "Images and vision", put(*SAID, 1, "detail", "medium")),
    kind("file_source", "File inputs", put(*SAID, 2, "file_id", "file-1")),
    kind("file_name_missing", "File inputs", drop(*SAID, 2, "filename")),
    kind("call_id_empty", "Function calling, call_id", put("input", 3, "call_id", "")),
    kind("call_id_length", "Errors, string too long", put("input", 3, "call_id", "c" * 65)),
    kind("call_id_repeated", "Errors, duplicate call_id", put("input", 4, "call_id", "call_1")),
    kind("call_name_pattern", "Function calling, name", put("input", 3, "name", "files.read")),
    kind("call_name_length", "Function calling, name", put("input", 3, "name", "r" * 65)),
    kind("call_arguments_json", "Function calling, arguments", put("input", 3, "arguments", "{oh")),
    kind("call_unanswered", "Errors, no tool output found", drop("input", 5)),
    kind("output_orphan", "Errors, no tool call found", drop("input", 3)),
    kind("output_orphan", "Errors, no tool call found", swap("input", 4), swap("input", 3)),
    kind("output_kind", "Errors, no tool call found", put("input", 5, "type", "custom_tool_call_output")),
    kind("output_repeated", "Function calling", insert("input", 6, GOOD["input"][5])),
    kind("output_type", "Function calling, outputs", put("input", 5, "output", {"x": 1})),
    kind("output_empty", "Function calling, outputs", put("input", 6, "output", [])),
    kind("output_part_type", "Function calling, outputs", put("input", 6, "output", [text("ok", "output_text")])),
    kind("outputs_interrupted", "Function calling", insert("input", 5, {"role": "user", "content": "Wait."})),
    kind("reasoning_summary_part", "Responses API, reasoning", put("input", 2, "summary", [text("Hm.", "text")])),
    kind("reasoning_content_part", "Responses API, reasoning", put("input", 2, "content", [text("Hm.", "text")])),
    kind("reasoning_follower", "Reasoning, required following item", drop("input", 8)),
    kind("reasoning_follower", "Reasoning, required following item", drop("input", 9), drop("input", 8)),
    kind("reasoning_unstored", "Reasoning, encrypted content", drop("input", 2, "encrypted_content")),
    kind("reasoning_missing", "Reasoning, required reasoning item", drop("input", 2), previous=EARLIER),
    kind("reasoning_prefix_changed", "Preserved reasoning", put("input", 5, "output", "x = 2"), previous=EARLIER),
    kind("reasoning_left_out", "Preserved reasoning", drop("input", 2), previous=EARLIER),
    kind("reasoning_modified", "Reasoning", put("input", 2, "encrypted_content", "gAAAA9"), previous=EARLIER),
    kind("tool_not_object", "Responses API, tools", put("tools", 0, "read")),
    kind("tool_type_unknown", "Responses API, tools", put("tools", 2, "type", "browser")),
    kind(
        "tool_nested",
        "Migrate to the Responses API",
        put("tools", 0, {"type": "function", "function": {"name": "read"}}),
    ),
    kind("tool_field_missing", "Responses API, tools", drop("tools", 0, "name")),
    kind("tool_field_type", "Responses API, tools", put("tools", 0, "parameters", "none")),
    kind("tool_extra_field", "Responses API, tools", put("tools", 0, "input_schema", SCHEMA)),
    kind("tool_name_pattern", "Function calling, name", put("tools", 0, "name", "files.read")),
    kind("tool_name_repeated", "Function calling, name", put("tools", 1, "name", "read")),
    kind("tool_schema_type", "Function calling, parameters", LOOSE, put("tools", 0, "parameters", {"type": "string"})),
    kind("tool_schema_union", "Structured outputs, limits", LOOSE, put("tools", 0, "parameters", "oneOf", [SCHEMA])),
    kind(
        "tool_schema_items",
        "Function calling, parameters",
        put("tools", 0, "parameters", "properties", "path", {"type": "array"}),
    ),
    kind(
        "tool_strict_additional", "Structured outputs, limits", drop("tools", 0, "parameters", "additionalProperties")
    ),
    kind("tool_strict_required", "Structured outputs, limits", drop("tools", 0, "parameters", "required")),
    kind(
        "tool_choice_unknown", "Responses API, tool_choice", put("tool_choice", {"type": "function", "name": "write"})
    ),
    kind("tool_choice_without_tools", "Responses API, tool_choice", drop("tools"), put("tool_choice", "required")),
]


@pytest.mark.parametrize("bad", KINDS, ids=str)
def test_it_refuses(bad):
    assert bad.code in {problem.code for problem in problems(edited(GOOD, bad.edit), **bad.options)}


def test_every_code_is_tried():
    assert {bad.code for bad in KINDS} == set(CODES)
    assert len(CODES) >= 40


SEARCHED = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "g"}
PLAIN = put("input", 8, {"role": "assistant", "content": "One number."})  # the published types want an id beside parts
NAMELESS = both(PLAIN, *(drop("input", at, "id") for at in (2, 3, 4, 7)))
UNTYPED = ("no ids", "no ids before either")  # taken, though the published types want reasoning to have one
TAKEN = {
    "pictures, files, two kinds of calls, reasoning": (GOOD, {}),
    "a whole request": (GOOD | {"model": "gpt-5"}, {"whole": True}),
    "words only": ({"input": "hello"}, {}),
    "unchanged history": (GOOD, {"previous": EARLIER}),
    "no ids": (edited(GOOD, NAMELESS), {}),
    "no ids before either": (edited(GOOD, NAMELESS), {"previous": [edited(EARLIER[0], NAMELESS)]}),
    "reasoning and the id of what it led to are both left out": (
        edited(GOOD, PLAIN, drop("input", 7), drop("input", 3, "id"), drop("input", 2)),
        {"previous": EARLIER},
    ),
    "changed history on an older model": (
        edited(GOOD, put("input", 5, "output", "x = 2")),
        {"previous": EARLIER, "model": "gpt-5.1"},
    ),
    "a continued response": (
        {
            "previous_response_id": "resp_1",
            "input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}],
        },
        {},
    ),
    "items of the vendor's own tools": (
        edited(GOOD, insert("input", 8, SEARCHED)),
        {},
    ),
    "a compaction": (
        edited(GOOD, insert("input", 0, COMPACTION)),
        {},
    ),
    "what the API has compacted has been dropped": (
        edited(GOOD, put("input", [COMPACTION, *GOOD["input"][7:]])),
        {"previous": [edited(GOOD, put("input", [*GOOD["input"][:7], COMPACTION, *GOOD["input"][7:9]]))]},
    ),
    "two messages of one reply": (
        edited(GOOD, insert("input", 8, {**GOOD["input"][8], "id": "msg_0", "phase": "commentary"})),
        {},
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_it_takes(name):
    request, options = TAKEN[name]
    assert problems(request, **options) == []


def test_reasoning_that_is_new_is_bound_to_the_newest_earlier_request():
    asked = edited(GOOD, *(drop("input", at) for at in (9, 8, 7)))
    folded = edited(GOOD, put("input", 1, "content", "Summary."), drop("input", 3, "id"), drop("input", 2))
    found = [
        problem.path for problem in problems(folded, previous=[asked]) if problem.code == "reasoning_prefix_changed"
    ]
    assert found == ["$.input[6]"]


def test_a_change_behind_what_the_api_has_compacted_is_found():
    compacted = edited(GOOD, insert("input", 2, COMPACTION))
    changed = edited(compacted, put("input", 6, "output", "x = 2"))
    found = [problem.path for problem in problems(changed, previous=[compacted])]
    assert found == ["$.input[8]"]
