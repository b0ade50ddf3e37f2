"""Definitions of tools, and which of them is to be called."""

from typing import Any

from tests.strict import schemas
from tests.strict.findings import Finds, Found
from tests.strict.openai_chat.reading import Reading
from tests.strict.shapes import FLAG, OBJECT, TEXT, Shape, fits, listed

_MOST = 128
_SHAPES = {
    "function": Shape(must={"type": TEXT, "function": OBJECT}),
    "custom": Shape(must={"type": TEXT, "custom": OBJECT}),
}
_BODIES = {
    "function": Shape(must={"name": TEXT}, may={"description": TEXT, "parameters": OBJECT, "strict": FLAG}),
    "custom": Shape(must={"name": TEXT}, may={"description": TEXT, "format": OBJECT}),
}


def definitions(reading: Reading) -> Finds:
    tools = reading.raw.get("tools")
    if tools == []:
        yield Found("tools_empty", "$.tools")
    if len(listed(tools)) > _MOST:
        yield Found("tools_too_many", "$.tools")
    for index, tool in enumerate(listed(tools)):
        if not isinstance(tool, dict):
            yield Found("tool_not_object", f"$.tools[{index}]")
    names: set[str] = set()
    for path, tool in reading.tools:
        type_ = tool.get("type")
        if type_ not in ("function", "custom"):
            yield Found("tool_type_unknown", f"{path}.type")
            continue
        yield from _SHAPES[type_].faults(tool, path, "tool_")
        if isinstance(body := tool.get(type_), dict):
            yield from _BODIES[type_].faults(body, f"{path}.{type_}", "tool_")
            yield from _body(body, f"{path}.{type_}", names)


def _body(body: dict[str, Any], path: str, names: set[str]) -> Finds:
    name, description = body.get("name"), body.get("description")
    if isinstance(name, str):
        if not fits(r"[a-zA-Z0-9_-]{1,64}", name):
            yield Found("tool_name_pattern", f"{path}.name")
        if name in names:
            yield Found("tool_name_repeated", f"{path}.name")
        names.add(name)
    if isinstance(description, str) and len(description) > 1024:
        yield Found("tool_description_length", f"{path}.description")
    yield from schemas.openai(body.get("parameters"), f"{path}.parameters", is_strict=body.get("strict") is True)


def choice(reading: Reading) -> Finds:
    chosen = reading.raw.get("tool_choice")
    if chosen is not None and not reading.tools:
        yield Found("tool_choice_without_tools", "$.tool_choice")
    elif isinstance(chosen, dict) and (type_ := chosen.get("type")) in ("function", "custom"):
        names = [
            body.get("name") for _, tool in reading.tools if isinstance(body := tool.get(str(tool.get("type"))), dict)
        ]
        if isinstance(body := chosen.get(type_), dict) and body.get("name") not in names:
            yield Found("tool_choice_unknown", f"$.tool_choice.{type_}.name")
    if "parallel_tool_calls" in reading.raw and not reading.tools:
        yield Found("parallel_without_tools", "$.parallel_tool_calls")


RULES = (definitions, choice)
