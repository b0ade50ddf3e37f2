"""Which blocks there are, what fields they have, and who may speak them."""

from tests.strict.anthropic.reading import Block, Reading, inside
from tests.strict.findings import Finds, Found
from tests.strict.shapes import ANY, FLAG, LIST, OBJECT, TEXT, Shape

_CACHED = {"cache_control": OBJECT}
_RESULT_OF_SERVER_TOOL = Shape(
    must={"type": TEXT, "tool_use_id": TEXT, "content": ANY}, may=_CACHED | {"caller": OBJECT}
)

SHAPES = {
    "text": Shape(must={"type": TEXT, "text": TEXT}, may=_CACHED | {"citations": LIST}),
    "image": Shape(must={"type": TEXT, "source": OBJECT}, may=_CACHED | {"transformations": OBJECT}),
    "document": Shape(
        must={"type": TEXT, "source": OBJECT}, may=_CACHED | {"citations": OBJECT, "context": TEXT, "title": TEXT}
    ),
    "search_result": Shape(
        must={"type": TEXT, "content": LIST, "source": TEXT, "title": TEXT}, may=_CACHED | {"citations": OBJECT}
    ),
    "thinking": Shape(must={"type": TEXT, "thinking": TEXT, "signature": TEXT}),
    "redacted_thinking": Shape(must={"type": TEXT, "data": TEXT}),
    "tool_use": Shape(
        must={"type": TEXT, "id": TEXT, "name": TEXT, "input": ANY},
        may=_CACHED | {"caller": OBJECT, "toolset_name": TEXT},
    ),
    "tool_result": Shape(
        must={"type": TEXT, "tool_use_id": TEXT},
        may=_CACHED | {"content": (str, list), "is_error": FLAG, "toolset_name": TEXT},
    ),
    "tool_reference": Shape(must={"type": TEXT, "tool_name": TEXT}, may=_CACHED),
    "server_tool_use": Shape(
        must={"type": TEXT, "id": TEXT, "name": TEXT, "input": OBJECT}, may=_CACHED | {"caller": OBJECT}
    ),
    "web_search_tool_result": _RESULT_OF_SERVER_TOOL,
    "web_fetch_tool_result": _RESULT_OF_SERVER_TOOL,
    "code_execution_tool_result": _RESULT_OF_SERVER_TOOL,
    "bash_code_execution_tool_result": _RESULT_OF_SERVER_TOOL,
    "text_editor_code_execution_tool_result": _RESULT_OF_SERVER_TOOL,
    "tool_search_tool_result": _RESULT_OF_SERVER_TOOL,
}

# Beta blocks whose fields change from version to version: their types are known, their fields are not looked at.
_OPEN = (
    "container_upload",
    "mcp_tool_use",
    "mcp_tool_result",
    "compaction",
    "tool_addition",
    "tool_removal",
    "fallback",
)
_OPEN_TOO = ("browser_state", "mcp_tool_listing", "advisor_tool_result")

_USER_ONLY = ("container_upload", "search_result")
_ASSISTANT_ONLY = ("server_tool_use", "mcp_tool_use", "mcp_tool_result", "compaction", "fallback")
_IN_RESULTS = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
_OWN_ROLE_CODES = {
    ("tool_use", "user"): "call_role",
    ("tool_result", "assistant"): "result_role",
    ("thinking", "user"): "thinking_role",
    ("redacted_thinking", "user"): "thinking_role",
    ("image", "assistant"): "image_role",
    ("document", "assistant"): "document_role",
}


def _all_blocks(reading: Reading):
    for path, raw in reading.system:
        yield Block(path, raw, "system")
    for block in reading.blocks:
        yield block
        if block.type == "tool_result":
            yield from inside(block)


def shapes(reading: Reading) -> Finds:
    for block in _all_blocks(reading):
        shape = SHAPES.get(block.type or "")
        if shape is not None:
            yield from shape.faults(block.raw, block.path, "block_")
        elif block.type not in _OPEN + _OPEN_TOO:
            yield Found("block_type_unknown", f"{block.path}.type")


def roles(reading: Reading) -> Finds:
    for block in reading.blocks:
        if (code := _OWN_ROLE_CODES.get((block.type, block.role))) is not None:
            yield Found(code, block.path)
        elif (block.role == "assistant" and block.type in _USER_ONLY) or (
            block.role == "user" and (block.type in _ASSISTANT_ONLY or _is_server_result(block.type))
        ):
            yield Found("block_role", block.path)


def _is_server_result(type_: str | None) -> bool:
    return (type_ or "").endswith("_tool_result")


def texts(reading: Reading) -> Finds:
    for block in _all_blocks(reading):
        text = block.raw.get("text")
        if block.type != "text" or not isinstance(text, str):
            continue
        is_shorthand = block.path.endswith(".content")  # an empty string: an empty message, or a result without words
        if text == "":
            if not is_shorthand:
                yield Found("text_empty", block.path)
        elif not text.strip() and not (is_shorthand and ".content[" in block.path):
            yield Found("text_blank", block.path)


def results(reading: Reading) -> Finds:
    for block in reading.blocks:
        if block.type != "tool_result":
            continue
        for inner in inside(block):
            if inner.type in SHAPES and inner.type not in _IN_RESULTS:
                yield Found("result_block_type", inner.path)
            if block.raw.get("is_error") is True and inner.type not in ("text", "tool_reference"):
                yield Found("result_error_media", inner.path)


RULES = (shapes, roles, texts, results)
