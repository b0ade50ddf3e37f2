"""The reader of Chat Completions requests: what it refuses, one minimal case a kind, and what it takes."""

import pytest

from tests.strict.edits import JPEG, PDF, PNG, add, drop, edited, insert, kind, put, swap
from tests.strict.openai_chat import CODES, problems

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": JPEG, "format": "wav"}}
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
REFUSAL = {"type": "refusal", "refusal": "No."}


def text(words):
    return {"type": "text", "text": words}


def call(id_, name="read", arguments='{"path": "a.py"}'):
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


GOOD = {
    "messages": [
        {"role": "system", "content": "You are an engineer."},
        {"role": "user", "content": [text("What is in a.py and b.py?"), IMAGE, AUDIO, FILE], "name": "Ann"},
        {"role": "assistant", "content": None, "tool_calls": [call("call_1"), call("call_2")]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x = 1"},
        {"role": "tool", "tool_call_id": "call_2", "content": [text("y = 2")]},
        {"role": "assistant", "content": "Two numbers."},
        {"role": "user", "content": "Thank you."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA, "strict": True},
        },
        {"type": "custom", "custom": {"name": "patch"}},
    ],
}
SAID = ("messages", 1, "content")
CALL = ("messages", 2, "tool_calls", 0)
READ = ("tools", 0, "function")
LATE = {"role": "system", "content": "In French."}
LOOSE = put(*READ, "strict", False)

KINDS = [
    kind("request_field_missing", "Chat API, model", whole=True),
    kind("request_field_type", "Chat API, model", put("model", 5), whole=True),
    kind("request_extra_field", "Chat API, body", put("system", "You are.")),
    kind("messages_missing", "Chat API, messages", drop("messages")),
    kind("messages_empty", "Chat API, messages", put("messages", [])),
    kind("message_not_object", "Chat API, messages", put("messages", 6, "Thank you.")),
    kind("message_field_missing", "Chat API, user message", drop("messages", 6, "content")),
    kind("message_field_missing", "Chat API, tool message", drop("messages", 3, "tool_call_id")),
    kind("message_field_type", "Chat API, tool message", put("messages", 3, "tool_call_id", 1)),
    kind("message_extra_field", "Chat API, assistant message", put("messages", 5, "reasoning_content", "Hm.")),
    kind("message_extra_field", "Chat API, user message", put("messages", 6, "cache_control", {"type": "ephemeral"})),
    kind("role_unknown", "Chat API, roles", put("messages", 6, "role", "human")),
    kind("role_deprecated", "Chat API, function message", put("messages", 6, "role", "function")),
    kind("roles_repeat", "Chat templates, alternation", add("messages", {"role": "user", "content": "Bye."})),
    kind(
        "roles_repeat", "Chat templates, alternation", insert("messages", 5, {"role": "assistant", "content": "Well."})
    ),
    kind("name_pattern", "Chat API, name", put("messages", 1, "name", "Ann Lee")),
    kind("name_length", "Chat API, name", put("messages", 1, "name", "A" * 65)),
    kind("content_type", "Chat API, content", put("messages", 6, "content", {"text": "x"})),
    kind("content_null", "Chat API, content", put("messages", 6, "content", None)),
    kind("content_empty", "Chat API, content", put("messages", 6, "content", "")),
    kind("content_parts_empty", "Chat API, content", put("messages", 6, "content", [])),
    kind("assistant_empty", "Chat API, assistant message", put("messages", 5, "content", None)),
    kind("assistant_empty", "Chat API, assistant message", put("messages", 5, "content", "")),
    kind("part_not_object", "Chat API, content parts", put(*SAID, 0, "x")),
    kind("part_type_unknown", "Chat API, content parts", put(*SAID, 0, "type", "input_text")),
    kind("part_field_missing", "Chat API, content parts", drop(*SAID, 0, "text")),
    kind("part_field_type", "Chat API, content parts", put(*SAID, 1, "image_url", f"data:image/png;base64,{PNG}")),
    kind("part_extra_field", "Chat API, content parts", put(*SAID, 0, "cache_control", {"type": "ephemeral"})),
    kind("text_empty", "Chat API, content parts", put(*SAID, 0, "text", "")),
    kind("image_role", "Images and vision", put("messages", 5, "content", [IMAGE])),
    kind("image_role", "Images and vision", put("messages", 0, "content", [IMAGE])),
    kind("audio_role", "Audio", put("messages", 0, "content", [AUDIO])),
    kind("file_role", "File inputs", put("messages", 5, "content", [FILE])),
    kind("refusal_role", "Chat API, content parts", add(*SAID, REFUSAL)),
    kind("tool_content_part", "Chat API, tool message", add("messages", 4, "content", IMAGE)),
    kind("image_url_scheme", "Images and vision", put(*SAID, 1, "image_url", "url", "file:///a.png")),
    kind(
        "image_media_type", "Images and vision", put(*SAID, 1, "image_url", "url", f"data:image/svg+xml;base64,{PNG}")
    ),
    kind("image_data", "Images and vision", put(*SAID, 1, "image_url", "url", "data:image/png;base64,not base64!")),
    kind("image_detail", "Images and vision", put(*SAID, 1, "image_url", "detail", "medium")),
    kind("image_extra_field", "Images and vision", put(*SAID, 1, "image_url", "width", 5)),
    kind("image_field_missing", "Images and vision", drop(*SAID, 1, "image_url", "url")),
    kind("image_field_type", "Images and vision", put(*SAID, 1, "image_url", "url", ["x"])),
    kind("audio_format", "Audio", put(*SAID, 2, "input_audio", "format", "ogg")),
    kind("audio_data", "Audio", put(*SAID, 2, "input_audio", "data", "")),
    kind("file_source", "File inputs", put(*SAID, 3, "file", "file_id", "file-1")),
    kind("file_name_missing", "File inputs", drop(*SAID, 3, "file", "filename")),
    kind("tool_calls_role", "Chat API, user message", put("messages", 6, "tool_calls", [call("call_3")])),
    kind("tool_calls_empty", "Chat API, tool_calls", put("messages", 5, "tool_calls", [])),
    kind("call_not_object", "Chat API, tool_calls", put(*CALL, "read")),
    kind("call_field_missing", "Chat API, tool_calls", drop(*CALL, "function", "arguments")),
    kind("call_field_type", "Chat API, tool_calls", put(*CALL, "function", "arguments", {"path": "a.py"})),
    kind("call_extra_field", "Chat API, tool_calls", put(*CALL, "index", 0)),
    kind("call_type_unknown", "Chat API, tool_calls", put(*CALL, "type", "tool")),
    kind("call_id_empty", "Chat API, tool_calls", put(*CALL, "id", "")),
    kind("call_id_length", "Chat API, tool_calls", put(*CALL, "id", "c" * 41)),
    kind("call_id_repeated", "Chat API, tool_calls", put("messages", 2, "tool_calls", 1, "id", "call_1")),
    kind("call_name_pattern", "Function calling, name", put(*CALL, "function", "name", "files.read")),
    kind("call_name_length", "Function calling, name", put(*CALL, "function", "name", "r" * 65)),
    kind("call_arguments_json", "Function calling, arguments", put(*CALL, "function", "arguments", "{oh")),
    kind("call_arguments_json", "Function calling, arguments", put(*CALL, "function", "arguments", "[1]")),
    kind("call_unanswered", "Function calling, tool messages", drop("messages", 4)),
    kind("call_unanswered", "Function calling, tool messages", swap("messages", 4)),
    kind("result_orphan", "Function calling, tool messages", put("messages", 3, "tool_call_id", "call_9")),
    kind("result_orphan", "Function calling, tool messages", drop("messages", 2)),
    kind("result_repeated", "Function calling, tool messages", put("messages", 4, "tool_call_id", "call_1")),
    kind("result_id_length", "Chat API, tool message", put("messages", 3, "tool_call_id", "c" * 41)),
    kind("tools_empty", "Chat API, tools", put("tools", [])),
    kind(
        "tools_too_many",
        "Chat API, tools",
        put("tools", [{"type": "custom", "custom": {"name": f"t{i}"}} for i in range(129)]),
    ),
    kind("tool_not_object", "Chat API, tools", put("tools", 0, "read")),
    kind("tool_type_unknown", "Chat API, tools", put("tools", 0, "type", "web_search")),
    kind("tool_field_missing", "Chat API, tools", drop(*READ, "name")),
    kind("tool_field_type", "Chat API, tools", put(*READ, "parameters", "none")),
    kind("tool_extra_field", "Chat API, tools", put(*READ, "input_schema", SCHEMA)),
    kind("tool_name_pattern", "Function calling, name", put(*READ, "name", "files.read")),
    kind("tool_name_repeated", "Function calling, name", put("tools", 1, "custom", "name", "read")),
    kind("tool_description_length", "Errors, string too long", put(*READ, "description", "x" * 1025)),
    kind("tool_schema_type", "Function calling, parameters", LOOSE, put(*READ, "parameters", {"type": "string"})),
    kind("tool_schema_union", "Structured outputs, limits", LOOSE, put(*READ, "parameters", "anyOf", [SCHEMA])),
    kind(
        "tool_schema_items",
        "Function calling, parameters",
        put(*READ, "parameters", "properties", "path", {"type": "array"}),
    ),
    kind("tool_strict_additional", "Structured outputs, limits", drop(*READ, "parameters", "additionalProperties")),
    kind("tool_strict_required", "Structured outputs, limits", put(*READ, "parameters", "required", [])),
    kind("tool_choice_without_tools", "Chat API, tool_choice", drop("tools"), put("tool_choice", "auto")),
    kind(
        "tool_choice_unknown",
        "Chat API, tool_choice",
        put("tool_choice", {"type": "function", "function": {"name": "write"}}),
    ),
    kind("parallel_without_tools", "Chat API, parallel_tool_calls", drop("tools"), put("parallel_tool_calls", False)),
    kind("template_role", "Chat templates", put("messages", 0, "role", "developer"), template=True),
    kind("template_system_repeated", "Chat templates", insert("messages", 1, LATE), template=True),
    kind("template_system_late", "Chat templates", drop("messages", 0), insert("messages", 5, LATE), template=True),
    kind("template_first_not_user", "Chat templates", drop("messages", 1), template=True),
    kind("template_alternation", "Chat templates", add("messages", {"role": "user", "content": "Bye."}), template=True),
    kind(
        "template_alternation",
        "Chat templates",
        insert("messages", 5, {"role": "user", "content": "Look."}),
        template=True,
    ),
    kind("template_last_assistant", "Chat templates", drop("messages", 6), template=True),
]


@pytest.mark.parametrize("bad", KINDS, ids=str)
def test_it_refuses(bad):
    assert bad.code in {problem.code for problem in problems(edited(GOOD, bad.edit), **bad.options)}


def test_every_code_is_tried():
    assert {bad.code for bad in KINDS} == set(CODES)
    assert len(CODES) >= 40


CUSTOM = {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
TAKEN = {
    "pictures, sounds, files, parallel calls": (GOOD, {}),
    "a strict template": (GOOD, {"template": True}),
    "a whole request": (GOOD | {"model": "gpt-5"}, {"whole": True}),
    "words only": ({"messages": [{"role": "user", "content": "x"}]}, {}),
    "instructions anywhere": (
        edited(GOOD, insert("messages", 1, {"role": "developer", "content": "d"}), insert("messages", 6, LATE)),
        {},
    ),
    "results in another order": (edited(GOOD, swap("messages", 3)), {}),
    "a custom tool": (edited(GOOD, put("messages", 2, "tool_calls", 1, CUSTOM)), {}),
    "an empty result": (edited(GOOD, put("messages", 3, "content", "")), {}),
    "a refusal": (edited(GOOD, put("messages", 5, "content", [text("Hm."), REFUSAL])), {}),
    "what was said aloud": (edited(GOOD, put("messages", 5, {"role": "assistant", "audio": {"id": "audio_1"}})), {}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_it_takes(name):
    request, options = TAKEN[name]
    assert problems(request, **options) == []


def test_pictures_of_results_follow_their_batch_and_join_what_the_user_says():
    shown = {"role": "user", "content": [IMAGE]}
    assert problems(edited(GOOD, insert("messages", 5, shown))) == []
    assert problems(edited(GOOD, insert("messages", 4, shown)))
