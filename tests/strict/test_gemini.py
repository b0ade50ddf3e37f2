"""The reader of Gemini's requests: what it refuses, one minimal case a kind, and what it takes."""

import base64

import pytest

from tests.strict.edits import PDF, PNG, add, both, drop, edited, insert, kind, put, swap
from tests.strict.gemini import CODES, problems

OLDER = "gemini-2.5-pro"
SCHEMA = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": PNG}}
FILE = {"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}}
SIGNATURE = base64.b64encode(b"signed").decode()


def call(id_, path):
    return {"functionCall": {"id": id_, "name": "read", "args": {"path": path}}}


def response(id_, words):
    return {"functionResponse": {"id": id_, "name": "read", "response": {"output": words}}}


GOOD = {
    "systemInstruction": {"parts": [{"text": "You are an engineer."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Hello."}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Hi.", "thoughtSignature": SIGNATURE}]},
        {"role": "user", "parts": [{"text": "What is in a.py and b.py?"}, IMAGE, FILE]},
        {"role": "model", "parts": [{**call("c1", "a.py"), "thoughtSignature": SIGNATURE}, call("c2", "b.py")]},
        {"role": "user", "parts": [response("c1", "x = 1"), response("c2", "y = 2")]},
        {"role": "model", "parts": [{**call("c3", "c.py"), "thoughtSignature": SIGNATURE}]},
        {"role": "user", "parts": [response("c3", "z = 3"), {"text": "Go on."}]},
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "read", "description": "Reads.", "parameters": SCHEMA},
                {"name": "list", "description": "Lists.", "parametersJsonSchema": {"type": "object"}},
            ]
        },
        {"googleSearch": {}},
    ],
}
ASKED, CALLS, RESULTS = (("contents", at, "parts") for at in (2, 3, 4))
CALL, RESULT = (*CALLS, 0, "functionCall"), (*RESULTS, 0, "functionResponse")
DECLARED = ("tools", 0, "functionDeclarations", 0)
PICTURE = {**response("c1", "see")["functionResponse"], "parts": [IMAGE]}
CALLING = ("toolConfig", "functionCallingConfig")
NEXT = [{"role": "model", "parts": [{"text": "Three."}]}, {"role": "user", "parts": [{"text": "Thank you."}]}]


def configured(**fields):
    return put("toolConfig", {"functionCallingConfig": fields})


KINDS = [
    kind("request_field_missing", "generateContent, model", whole=True),
    kind("request_field_type", "generateContent, model", put("model", 3), whole=True),
    kind("request_extra_field", "generateContent, body", put("messages", [])),
    kind("spelled_twice", "ProtoJSON, field names", put(*CALLS, 0, "function_call", {"name": "read"})),
    kind("contents_missing", "generateContent, contents", drop("contents")),
    kind("contents_empty", "generateContent, contents", put("contents", [])),
    kind("content_not_object", "Content", put("contents", 0, "Hello.")),
    kind("content_extra_field", "Content", put("contents", 0, "content", "Hello.")),
    kind(
        "cached_with_rest",
        "Context caching",
        put("cachedContent", "cachedContents/1"),
    ),
    kind(
        "thinking_level_and_budget",
        "Thinking",
        put("generationConfig", {"thinkingConfig": {"thinkingLevel": "high", "thinkingBudget": 1024}}),
    ),
    kind("role_missing", "Content, role", drop("contents", 0, "role")),
    kind("role_unknown", "Content, role", put("contents", 0, "role", "assistant")),
    kind("role_unknown", "Content, role", insert("contents", 0, {"role": "system", "parts": [{"text": "x"}]})),
    kind("first_not_user", "Multi-turn conversations", drop("contents", 0)),
    kind("roles_repeat", "Multi-turn conversations", insert("contents", 0, GOOD["contents"][0])),
    kind("last_not_user", "Multi-turn conversations", add("contents", NEXT[0])),
    kind("parts_missing", "Content, parts", drop("contents", 0, "parts")),
    kind("parts_empty", "Content, parts", put("contents", 0, "parts", [])),
    kind("system_type", "generateContent, systemInstruction", put("systemInstruction", ["x"])),
    kind("system_parts_empty", "generateContent, systemInstruction", put("systemInstruction", "parts", [])),
    kind("system_part_kind", "generateContent, systemInstruction", put("systemInstruction", "parts", 0, IMAGE)),
    kind("system_text_empty", "generateContent, systemInstruction", put("systemInstruction", "parts", 0, "text", "")),
    kind("part_not_object", "Part", put(*ASKED, 0, "x")),
    kind("part_empty", "Part, data", put(*ASKED, 0, {})),
    kind("part_two_kinds", "Part, data", put(*ASKED, 1, "text", "See.")),
    kind("part_extra_field", "Part", put(*ASKED, 0, "type", "text")),
    kind("part_field_type", "Part", put(*ASKED, 0, "text", ["x"])),
    kind("text_empty", "Errors, empty text parameter", put(*ASKED, 0, "text", "")),
    kind("thought_role", "Thinking", put(*ASKED, 0, "thought", True)),
    kind("call_role", "Function calling", add(*ASKED, call("c9", "a.py"))),
    kind("call_field_missing", "FunctionCall, name", drop(*CALL, "name")),
    kind("call_field_type", "FunctionCall, name", put(*CALL, "name", 1)),
    kind("call_extra_field", "FunctionCall", put(*CALL, "arguments", "{}")),
    kind("call_name_pattern", "FunctionDeclaration, name", put(*CALL, "name", "1read")),
    kind("call_name_length", "FunctionDeclaration, name", put(*CALL, "name", "r" * 129)),
    kind("call_args_type", "FunctionCall, args", put(*CALL, "args", '{"path": "a.py"}')),
    kind("call_id_empty", "FunctionCall, id", put(*CALL, "id", "")),
    kind("call_id_repeated", "FunctionCall, id", put(*CALLS, 1, "functionCall", "id", "c1")),
    kind("call_unanswered", "Errors, function response turn", put("contents", 4, GOOD["contents"][0])),
    kind("response_role", "Function calling", add("contents", 1, "parts", response("c1", "x"))),
    kind("response_field_missing", "FunctionResponse, name", drop(*RESULT, "name")),
    kind("response_field_type", "FunctionResponse, id", put(*RESULT, "id", 1)),
    kind("response_extra_field", "FunctionResponse", put(*RESULT, "content", "x")),
    kind("response_type", "FunctionResponse, response", put(*RESULT, "response", "x = 1")),
    kind("response_orphan", "Errors, function response turn", put("contents", 3, NEXT[0])),
    kind("response_count", "Errors, number of function response parts", drop(*RESULTS, 1)),
    kind("response_name", "FunctionResponse, name", put(*RESULT, "name", "list")),
    kind("response_id_missing", "FunctionResponse, id", drop(*RESULT, "id")),
    kind("response_id_unknown", "FunctionResponse, id", put(*RESULT, "id", "c9")),
    kind("response_repeated", "FunctionResponse, id", put(*RESULTS, 1, "functionResponse", "id", "c1")),
    kind("response_not_first", "Function calling, parallel", swap("contents", 6, "parts", 0)),
    kind("response_parts_unsupported", "Multimodal function responses", put(*RESULT, PICTURE), model=OLDER),
    kind("response_part_kind", "Multimodal function responses", put(*RESULT, {**PICTURE, "parts": [{"text": "x"}]})),
    kind(
        "response_media_type",
        "Multimodal function responses",
        put(*RESULT, {**PICTURE, "parts": [{"inlineData": {"mimeType": "video/mp4", "data": PNG}}]}),
    ),
    kind("signature_missing", "Thought signatures", drop(*CALLS, 0, "thoughtSignature")),
    kind("signature_missing", "Thought signatures", drop("contents", 5, "parts", 0, "thoughtSignature")),
    kind("signature_encoding", "Thought signatures", put(*CALLS, 0, "thoughtSignature", "not base64!")),
    kind("signature_role", "Thought signatures", put(*ASKED, 0, "thoughtSignature", SIGNATURE)),
    kind("signature_modified", "Thought signatures", put(*CALLS, 0, "thoughtSignature", PDF), previous=[GOOD]),
    kind("inline_field_missing", "Blob", drop(*ASKED, 1, "inlineData", "mimeType")),
    kind("inline_field_type", "Blob", put(*ASKED, 1, "inlineData", "data", 5)),
    kind("inline_extra_field", "Blob", put(*ASKED, 1, "inlineData", "url", "x")),
    kind(
        "inline_media_type", "Image understanding, formats", put(*ASKED, 1, "inlineData", "mimeType", "image/svg+xml")
    ),
    kind("inline_data", "Blob, data", put(*ASKED, 1, "inlineData", "data", "not base64!")),
    kind("inline_data_empty", "Blob, data", put(*ASKED, 1, "inlineData", "data", "")),
    kind("file_field_missing", "FileData", drop(*ASKED, 2, "fileData", "fileUri")),
    kind("file_field_type", "FileData", put(*ASKED, 2, "fileData", "mimeType", 1)),
    kind("file_extra_field", "FileData", put(*ASKED, 2, "fileData", "data", PDF)),
    kind("file_uri_empty", "FileData", put(*ASKED, 2, "fileData", "fileUri", "")),
    kind("tool_not_object", "Tool", put("tools", 0, "read")),
    kind("tool_empty", "Tool", put("tools", 1, {})),
    kind("tool_extra_field", "Tool", put("tools", 1, {"type": "function"})),
    kind("declarations_empty", "Tool", put("tools", 0, "functionDeclarations", [])),
    kind("declaration_field_missing", "FunctionDeclaration", drop(*DECLARED, "name")),
    kind("declaration_field_type", "FunctionDeclaration", put(*DECLARED, "description", 1)),
    kind("declaration_extra_field", "FunctionDeclaration", put(*DECLARED, "strict", True)),
    kind("declaration_name_pattern", "FunctionDeclaration, name", put(*DECLARED, "name", "read file")),
    kind("declaration_name_length", "FunctionDeclaration, name", put(*DECLARED, "name", "r" * 129)),
    kind("declaration_name_repeated", "Errors, duplicate function declaration", put(*DECLARED, "name", "list")),
    kind(
        "declaration_two_schemas",
        "FunctionDeclaration, parameters",
        put(*DECLARED, "parametersJsonSchema", {"type": "object"}),
    ),
    kind("schema_not_object_type", "FunctionDeclaration, parameters", put(*DECLARED, "parameters", {"type": "STRING"})),
    kind("schema_extra_field", "Schema", put(*DECLARED, "parameters", "additionalProperties", False)),
    kind("schema_extra_field", "Schema", put(*DECLARED, "parameters", "$schema", "http://json-schema.org/")),
    kind("schema_type_unknown", "Schema, type", put(*DECLARED, "parameters", "properties", "path", "type", "PATH")),
    kind(
        "schema_properties_empty",
        "Schema, properties",
        put(*DECLARED, "parameters", {"type": "OBJECT", "properties": {}}),
    ),
    kind("schema_required_unknown", "Schema, required", put(*DECLARED, "parameters", "required", ["name"])),
    kind(
        "schema_items_missing", "Schema, items", put(*DECLARED, "parameters", "properties", "path", {"type": "ARRAY"})
    ),
    kind(
        "schema_enum_type",
        "Schema, enum",
        put(*DECLARED, "parameters", "properties", "path", {"type": "INTEGER", "enum": ["1"]}),
    ),
    kind("mode_unknown", "FunctionCallingConfig", configured(mode="REQUIRED")),
    kind("allowed_mode", "FunctionCallingConfig", configured(mode="AUTO", allowedFunctionNames=["read"])),
    kind("allowed_unknown", "FunctionCallingConfig", configured(mode="ANY", allowedFunctionNames=["write"])),
]


@pytest.mark.parametrize("bad", KINDS, ids=str)
def test_it_refuses(bad):
    assert bad.code in {problem.code for problem in problems(edited(GOOD, bad.edit), **bad.options)}


def test_every_code_is_tried():
    assert {bad.code for bad in KINDS} == set(CODES)
    assert len(CODES) >= 40


UNSIGNED = both(*(drop("contents", at, "parts", 0, "thoughtSignature") for at in (3, 5)))
NAMELESS = both(
    *(drop(*CALLS, at, "functionCall", "id") for at in (0, 1)),
    *(drop(*RESULTS, at, "functionResponse", "id") for at in (0, 1)),
)
OF_THE_CLIENT = {
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}, {"inline_data": {"mime_type": "image/png", "data": b"\x89PNG"}}]},
        {
            "role": "model",
            "parts": [
                {
                    "function_call": {"name": "read", "args": {"file_name": "a.py"}},
                    "thought_signature": b"skip_thought_signature_validator",
                }
            ],
        },
        {"role": "user", "parts": [{"function_response": {"name": "read", "response": {"output": "x"}}}]},
    ],
    "config": {"system_instruction": "Be brief.", "tools": [{"function_declarations": []}], "temperature": 0.5},
}
TAKEN = {
    "pictures, files, steps, parallel calls": (GOOD, {}),
    "a whole request": (GOOD | {"model": "gemini-3-pro"}, {"whole": True}),
    "words only": ({"contents": [{"parts": [{"text": "x"}]}]}, {}),
    "as the client takes it": (edited(OF_THE_CLIENT, drop("config", "tools")), {}),
    "no signatures on an older model": (edited(GOOD, UNSIGNED), {"model": OLDER}),
    "no signatures in an earlier turn": (
        edited(GOOD, UNSIGNED, add("contents", NEXT[0]), add("contents", NEXT[1])),
        {},
    ),
    "the word that skips the check": (
        edited(GOOD, put(*CALLS, 0, "thoughtSignature", "skip_thought_signature_validator")),
        {"previous": [GOOD]},
    ),
    "calls without ids": (edited(GOOD, NAMELESS), {}),
    "responses in another order": (edited(GOOD, swap(*RESULTS, 0)), {}),
    "a picture in a response": (edited(GOOD, put(*RESULT, PICTURE)), {}),
    "a signature without words": (
        edited(GOOD, add("contents", 1, "parts", {"text": "", "thoughtSignature": SIGNATURE})),
        {},
    ),
    "unchanged history": (GOOD, {"previous": [GOOD]}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_it_takes(name):
    request, options = TAKEN[name]
    assert problems(request, **options) == []


def test_what_the_client_takes_is_judged_as_the_wire_has_it():
    assert [problem.path for problem in problems(OF_THE_CLIENT)] == ["$.tools[0].functionDeclarations"]


def test_words_of_the_user_beside_responses_do_not_end_the_turn_of_the_calls():
    unsigned = edited(GOOD, drop(*CALLS, 0, "thoughtSignature"))
    assert [problem.path for problem in problems(unsigned)] == ["$.contents[3].parts[0]"]
