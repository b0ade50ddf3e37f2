"""Declarations of functions in the vendor's dialect of schemas, and which may be called."""

from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.gemini.calls import LONGEST_NAME, NAME
from tests.strict.gemini.reading import Reading
from tests.strict.shapes import ANY, OBJECT, TEXT, Shape, fits, listed

_TOOLS = Shape(
    may=dict.fromkeys(
        "functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext computerUse fileSearch googleMaps "
        "retrieval enterpriseWebSearch mcpServers parallelAiSearch exaAiSearch".split(),
        ANY,
    )
)
_DECLARATION = Shape(
    must={"name": TEXT, "description": TEXT},
    may={
        "parameters": OBJECT,
        "parametersJsonSchema": ANY,
        "response": OBJECT,
        "responseJsonSchema": ANY,
        "behavior": TEXT,
    },
)
_SCHEMA = frozenset(
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength "
    "maxLength pattern example anyOf propertyOrdering default items minimum maximum".split()
)
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED")


def tools(reading: Reading) -> Finds:
    for index, tool in enumerate(listed(reading.raw.get("tools"))):
        if not isinstance(tool, dict):
            yield Found("tool_not_object", f"$.tools[{index}]")
    for path, tool in reading.tools:
        yield from _TOOLS.faults(tool, path, "tool_")
        if not tool:
            yield Found("tool_empty", path)
        if tool.get("functionDeclarations") == []:
            yield Found("declarations_empty", f"{path}.functionDeclarations")


def declarations(reading: Reading) -> Finds:
    names: set[str] = set()
    for path, declared in reading.declarations:
        yield from _DECLARATION.faults(declared, path, "declaration_")
        name = declared.get("name")
        if isinstance(name, str):
            if not fits(NAME, name):
                yield Found("declaration_name_pattern", f"{path}.name")
            if len(name) > LONGEST_NAME:
                yield Found("declaration_name_length", f"{path}.name")
            if name in names:
                yield Found("declaration_name_repeated", f"{path}.name")
            names.add(name)
        yield from _parameters(declared, path)


def _parameters(declared: dict[str, Any], path: str) -> Finds:
    given, other = declared.get("parameters"), declared.get("parametersJsonSchema")
    if given is not None and other is not None:
        yield Found("declaration_two_schemas", f"{path}.parametersJsonSchema")
    if isinstance(other, dict) and other.get("type") != "object":
        yield Found("schema_not_object_type", f"{path}.parametersJsonSchema.type")
    if isinstance(given, dict):
        if str(given.get("type")).upper() != "OBJECT":
            yield Found("schema_not_object_type", f"{path}.parameters.type")
        yield from _schema(given, f"{path}.parameters")


def _schema(schema: dict[str, Any], path: str) -> Finds:
    type_ = str(schema.get("type", "TYPE_UNSPECIFIED")).upper()
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    for name in schema.keys() - _SCHEMA:
        yield Found("schema_extra_field", f"{path}.{name}")
    if type_ not in _TYPES:
        yield Found("schema_type_unknown", f"{path}.type")
    if type_ == "OBJECT" and not properties:
        yield Found("schema_properties_empty", f"{path}.properties")
    for index, name in enumerate(listed(schema.get("required"))):
        if str(name) not in properties:
            yield Found("schema_required_unknown", f"{path}.required[{index}]")
    if type_ == "ARRAY" and not isinstance(schema.get("items"), dict):
        yield Found("schema_items_missing", f"{path}.items")
    if "enum" in schema and type_ != "STRING":
        yield Found("schema_enum_type", f"{path}.enum")
    inner = {f"{path}.properties.{name}": each for name, each in properties.items()} | {
        f"{path}.items": schema.get("items")
    }
    for place, each in inner.items():
        if isinstance(each, dict):
            yield from _schema(each, place)


def choice(reading: Reading) -> Finds:
    config = reading.raw.get("toolConfig")
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if not isinstance(calling, dict):
        return
    path, mode = "$.toolConfig.functionCallingConfig", calling.get("mode", "AUTO")
    if mode not in ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"):
        yield Found("mode_unknown", f"{path}.mode")
    allowed = listed(calling.get("allowedFunctionNames"))
    if allowed and mode not in ("ANY", "VALIDATED"):
        yield Found("allowed_mode", f"{path}.allowedFunctionNames")
    names = [declared.get("name") for _, declared in reading.declarations]
    for index, name in enumerate(allowed):
        if name not in names:
            yield Found("allowed_unknown", f"{path}.allowedFunctionNames[{index}]")


RULES = (tools, declarations, choice)
