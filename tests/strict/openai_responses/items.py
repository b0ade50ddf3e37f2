"""Which items there are, what fields they have, and their ids."""

from tests.strict.findings import Finds, Found
from tests.strict.openai_responses.reading import Reading
from tests.strict.shapes import ANY, LIST, OBJECT, TEXT, Shape, fits, listed

_LONGEST_ID = 64
_ANYWHERE = {
    "type": TEXT,
    "id": TEXT,
    "status": TEXT,
    "internal_chat_message_metadata_passthrough": OBJECT,
}  # the last by Codex
_CALL = {**_ANYWHERE, "caller": OBJECT, "namespace": TEXT}

SHAPES = {
    "message": Shape(must={"role": TEXT, "content": ANY}, may=_ANYWHERE | {"phase": TEXT}),
    "function_call": Shape(must={"call_id": TEXT, "name": TEXT, "arguments": TEXT}, may=_CALL),
    "function_call_output": Shape(must={"call_id": TEXT, "output": ANY}, may=_CALL | {"name": TEXT}),
    "custom_tool_call": Shape(must={"call_id": TEXT, "name": TEXT, "input": TEXT}, may=_CALL),
    "custom_tool_call_output": Shape(must={"call_id": TEXT, "output": ANY}, may=_CALL),
    "reasoning": Shape(
        must={"summary": LIST}, may=_ANYWHERE | {"content": LIST, "encrypted_content": TEXT, "namespace": TEXT}
    ),
    "item_reference": Shape(must={"id": TEXT}, may={"type": TEXT}),
    "compaction": Shape(must={"encrypted_content": TEXT}, may=_ANYWHERE | {"created_by": TEXT}),
}

# Items of the vendor's own tools: their types are known, their fields are not looked at.
_OPEN = frozenset(
    "file_search_call computer_call computer_call_output web_search_call tool_search_call tool_search_output "
    "additional_tools configuration_update image_generation_call code_interpreter_call local_shell_call "
    "local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output mcp_list_tools "
    "mcp_approval_request mcp_approval_response mcp_call compaction_trigger program program_output agent_message".split()
)
_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fc",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctc",
    "reasoning": "rs",
}
_REQUEST = Shape(
    may=dict.fromkeys(
        "model input instructions tools tool_choice parallel_tool_calls previous_response_id conversation reasoning text "
        "include store stream stream_options temperature top_p top_logprobs max_output_tokens max_tool_calls metadata "
        "background prompt prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier service_tier "
        "truncation user context_management client_metadata moderation".split(),
        ANY,
    )
)
_WHOLE = Shape(must={"model": TEXT}, may=_REQUEST.may)
_INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)


def request(reading: Reading) -> Finds:
    yield from (_WHOLE if reading.is_whole else _REQUEST).faults(reading.raw, "$", "request_")
    given = reading.raw.get("input")
    if given is None and not reading.is_continued and "prompt" not in reading.raw:
        yield Found("input_missing", "$.input")
    elif given is not None and not isinstance(given, str | list):
        yield Found("input_type", "$.input")
    elif given in ("", []):
        yield Found("input_empty", "$.input")
    if not isinstance(reading.raw.get("instructions") or "", str):
        yield Found("instructions_type", "$.instructions")
    if reading.raw.get("previous_response_id") and reading.raw.get("conversation"):
        yield Found("previous_with_conversation", "$.conversation")
    for index, name in enumerate(listed(reading.raw.get("include"))):
        if name not in _INCLUDABLE:
            yield Found("include_unknown", f"$.include[{index}]")


def shapes(reading: Reading) -> Finds:
    for index, item in enumerate(listed(reading.raw.get("input"))):
        if not isinstance(item, dict):
            yield Found("item_not_object", f"$.input[{index}]")
    for item in reading.items:
        shape = SHAPES.get(item.type or "")
        if shape is not None:
            yield from shape.faults(item.raw, item.path, "item_")
            if item.raw.get("status") not in (None, "in_progress", "completed", "incomplete"):
                yield Found("item_status", f"{item.path}.status")
        elif item.type not in _OPEN:
            yield Found("item_type_unknown", f"{item.path}.type")


def ids(reading: Reading) -> Finds:
    seen: set[str] = set()
    for item in reading.items:
        id_, path = item.raw.get("id"), f"{item.path}.id"
        if not isinstance(id_, str):
            continue
        if not fits(r"[a-zA-Z0-9_-]+", id_):
            yield Found("item_id_pattern", path)
        elif not id_.startswith(_PREFIXES.get(item.type or "", "")):
            yield Found("item_id_prefix", path)
        if len(id_) > _LONGEST_ID:
            yield Found("item_id_length", path)
        if id_ in seen:
            yield Found("item_id_repeated", path)
        seen.add(id_)
        if item.type == "item_reference" and reading.raw.get("store") is False:
            yield Found("item_unstored", path)


RULES = (request, shapes, ids)
