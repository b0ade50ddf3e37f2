"""Definitions of tools, and which of them is to be called."""

from tests.strict.anthropic.calls import NAME
from tests.strict.anthropic.reading import Reading
from tests.strict.findings import Finds, Found
from tests.strict.shapes import FLAG, LIST, OBJECT, TEXT, Shape, fits, listed

_TOOL = Shape(
    must={"name": TEXT, "input_schema": OBJECT},
    may={
        "type": TEXT,
        "description": TEXT,
        "cache_control": OBJECT,
        "defer_loading": FLAG,
        "allowed_callers": LIST,
        "eager_input_streaming": FLAG,
        "input_examples": LIST,
        "strict": FLAG,
    },
)


def definitions(reading: Reading) -> Finds:
    for index, tool in enumerate(listed(reading.raw.get("tools"))):
        if not isinstance(tool, dict):
            yield Found("tool_not_object", f"$.tools[{index}]")
    names: set[str] = set()
    for path, tool in reading.tools:
        name = tool.get("name")
        if isinstance(name, str):
            if not fits(NAME, name):
                yield Found("tool_name_pattern", f"{path}.name")
            if name in names:
                yield Found("tool_name_repeated", f"{path}.name")
            names.add(name)
        if tool.get("type") in (None, "custom"):  # the vendor's own tools have other fields
            yield from _TOOL.faults(tool, path, "tool_")
            yield from _schema(tool.get("input_schema"), f"{path}.input_schema")
    if reading.tools and all(tool.get("defer_loading") is True for _, tool in reading.tools):
        yield Found("tool_all_deferred", "$.tools")


def _schema(schema: object, path: str) -> Finds:
    if not isinstance(schema, dict):
        return
    if schema.get("type") != "object":
        yield Found("tool_schema_type", f"{path}.type")
    for name in ("oneOf", "allOf", "anyOf"):
        if name in schema:
            yield Found("tool_schema_union", f"{path}.{name}")
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if not fits(r"[a-zA-Z0-9_.-]{1,64}", name):
            yield Found("tool_property_name", f"{path}.properties.{name}")


def choice(reading: Reading) -> Finds:
    chosen = reading.raw.get("tool_choice")
    if isinstance(chosen, dict):
        if not reading.tools:
            yield Found("tool_choice_without_tools", "$.tool_choice")
        elif chosen.get("type") == "tool" and chosen.get("name") not in [tool.get("name") for _, tool in reading.tools]:
            yield Found("tool_choice_unknown", "$.tool_choice.name")
    has_calls = any(block.type in ("tool_use", "tool_result") for block in reading.blocks)
    if reading.is_whole and has_calls and not reading.tools:
        yield Found("tools_undefined", "$.tools")


RULES = (definitions, choice)
