"""What OpenAI demands of the schema of a function, in both of its formats."""

from collections.abc import Iterator
from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.shapes import listed


def openai(schema: Any, path: str, *, is_strict: bool) -> Finds:
    """Faults of a schema; in strict mode every object is closed and requires all that it has."""
    if not isinstance(schema, dict) or not schema:
        return  # a function without parameters
    if schema.get("type") != "object":
        yield Found("tool_schema_type", f"{path}.type")
    for name in ("oneOf", "anyOf", "allOf", "enum", "not"):
        if name in schema:
            yield Found("tool_schema_union", f"{path}.{name}")
    for place, each in _schemas(schema, path):
        types = each.get("type")
        types = types if isinstance(types, list) else [types]
        if "array" in types and "items" not in each:
            yield Found("tool_schema_items", place)
        if is_strict and "object" in types:
            if each.get("additionalProperties") is not False:
                yield Found("tool_strict_additional", place)
            if set(_named(each.get("properties"))) != set(map(str, listed(each.get("required")))):
                yield Found("tool_strict_required", place)


def _schemas(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for group in ("properties", "$defs", "definitions"):
        for name, inner in _named(schema.get(group)).items():
            if isinstance(inner, dict):
                yield from _schemas(inner, f"{path}.{group}.{name}")
    if isinstance(items := schema.get("items"), dict):
        yield from _schemas(items, f"{path}.items")
    for index, inner in enumerate(listed(schema.get("anyOf"))):
        if isinstance(inner, dict):
            yield from _schemas(inner, f"{path}.anyOf[{index}]")


def _named(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
