"""Definitions of tools, and which of them is to be called."""

from typing import Any

from tests.strict import schemas
from tests.strict.findings import Finds, Found
from tests.strict.openai_responses.reading import Reading
from tests.strict.shapes import ANY, FLAG, LIST, OBJECT, TEXT, Shape, fits, listed, word

_SHAPES = {
    "function": Shape(
        must={"type": TEXT, "name": TEXT},
        may={
            "description": TEXT,
            "parameters": OBJECT,
            "strict": FLAG,
            "defer_loading": FLAG,
            "allowed_callers": LIST,
            "output_schema": OBJECT,
        },
    ),
    "custom": Shape(
        must={"type": TEXT, "name": TEXT},
        may={"description": TEXT, "format": OBJECT, "defer_loading": FLAG, "allowed_callers": LIST},
    ),
    "namespace": Shape(must={"type": TEXT, "name": TEXT, "tools": LIST}, may={"description": TEXT, "id": ANY}),
}
_OPEN = frozenset(
    "file_search computer computer_use_preview web_search web_search_preview web_search_2025_08_26 "
    "web_search_preview_2025_03_11 mcp code_interpreter programmatic_tool_calling image_generation local_shell shell "
    "apply_patch tool_search".split()
)


def definitions(reading: Reading) -> Finds:
    for index, tool in enumerate(listed(reading.raw.get("tools"))):
        if not isinstance(tool, dict):
            yield Found("tool_not_object", f"$.tools[{index}]")
    names: set[str] = set()
    for path, tool in reading.tools:
        yield from _tool(tool, path, names)


def _tool(tool: dict[str, Any], path: str, names: set[str]) -> Finds:
    type_ = word(tool.get("type")) or ""
    shape = _SHAPES.get(type_)
    if shape is None:
        if type_ not in _OPEN:
            yield Found("tool_type_unknown", f"{path}.type")
        return
    if isinstance(tool.get("function"), dict):
        yield Found("tool_nested", f"{path}.function")
        return
    yield from shape.faults(tool, path, "tool_")
    name = tool.get("name")
    if isinstance(name, str):
        if not fits(r"[a-zA-Z0-9_-]{1,64}", name):
            yield Found("tool_name_pattern", f"{path}.name")
        if name in names:
            yield Found("tool_name_repeated", f"{path}.name")
        names.add(name)
    if type_ == "function":
        yield from schemas.openai(tool.get("parameters"), f"{path}.parameters", is_strict=tool.get("strict") is True)


def choice(reading: Reading) -> Finds:
    chosen = reading.raw.get("tool_choice")
    names = [tool.get("name") for _, tool in reading.tools]
    match chosen:
        case dict() | "required" if not reading.tools:
            yield Found("tool_choice_without_tools", "$.tool_choice")
        case {"type": "function" | "custom", **rest} if rest.get("name") not in names:
            yield Found("tool_choice_unknown", "$.tool_choice.name")


RULES = (definitions, choice)
