"""Converts tool definitions from one vendor's form to another's.

A function has a name, a description and a schema of its arguments with every vendor. A vendor's own tools, such as its web search, have
no counterpart elsewhere and are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pageturn.formats.calls import fitting_name
from pageturn.values.prompt import Prompt
from pageturn.values.recall_tool import RecallTool

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai_chat", "openai_responses", "anthropic", "gemini"

_ONE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_DECLARATIONS = ("function_declarations", "functionDeclarations")


class Function(NamedTuple):
    """The common content of a definition in any vendor's form."""

    name: str
    description: str | None
    parameters: Mapping[str, Any]  # a JSON Schema
    is_strict: bool = False


def tools_for(prompt: Prompt, vendor: str) -> list[dict[str, Any]]:
    """The tools of a prompt in a vendor's form: its own unchanged, functions of others translated, the recall tool last.

    If another vendor's format read the request, tools that are not functions are left out; tools that a host gives with a context are
    passed on as they are.
    """
    shown: list[dict[str, Any]] = []
    for tool in prompt.host_tools:
        functions = [] if vendor in (prompt.vendor, _form_of(tool)) else list(_functions_in(tool))
        if functions:
            shown += [_WRITTEN[vendor](_renamed(function, vendor)) for function in functions]
        elif prompt.vendor in (None, vendor):
            shown.append(dict(tool))
    if prompt.recall_tool is not None:
        shown.append(recall_definition(prompt.recall_tool, vendor))
    return shown


def _renamed(function: Function, vendor: str) -> Function:
    return function._replace(name=fitting_name(function.name, vendor))


def recall_definition(tool: RecallTool, vendor: str) -> dict[str, Any]:
    """The recall tool in a vendor's form."""
    if vendor == GEMINI:  # whose own schemas can express all that this one needs
        return {"function_declarations": [tool.definition]}
    return _WRITTEN[vendor](Function(tool.name, tool.description, tool.parameters))


def _form_of(tool: Mapping[str, Any]) -> str | None:
    """The vendor whose form a definition of functions has; None if it has none."""
    match tool:
        case {"function": Mapping()} | {"custom": Mapping()}:
            return CHAT
        case {"type": "function" | "custom", "name": str()} if "input_schema" not in tool:
            return RESPONSES
        case {"name": str(), "input_schema": Mapping()}:
            return ANTHROPIC
        case _ if any(isinstance(tool.get(name), list | tuple) for name in _DECLARATIONS):
            return GEMINI
        case _:
            return None


def _functions_in(tool: Mapping[str, Any]) -> Iterator[Function]:
    """The functions in a definition of any vendor's form."""
    match _form_of(tool):
        case "openai_chat":
            inner = tool.get("function")
            yield from _function(inner, "parameters") if isinstance(inner, Mapping) else _function(tool["custom"], None)
        case "openai_responses":
            yield from _function(tool, "parameters" if tool["type"] == "function" else None)
        case "anthropic":
            yield from _function(tool, "input_schema")
        case "gemini":
            declared = next(tool[name] for name in _DECLARATIONS if isinstance(tool.get(name), list | tuple))
            for declaration in declared:
                if isinstance(declaration, Mapping):
                    named = {name: declaration[name] for name in declaration if name not in _SCHEMAS}
                    yield from _function({**named, "parameters": _schema(declaration)}, "parameters")


def _function(fields: Mapping[str, Any], schema: str | None) -> Iterator[Function]:
    """The function that these fields describe; one that takes plain text gets a parameter for it."""
    name, description = fields.get("name"), fields.get("description")
    parameters = fields.get(schema) if schema is not None else _ONE_TEXT
    if isinstance(name, str):
        yield Function(
            name,
            description if isinstance(description, str) else None,
            parameters if isinstance(parameters, Mapping) else {"type": "object", "properties": {}},
            is_strict=fields.get("strict") is True,
        )


_SCHEMAS = ("parameters", "parameters_json_schema", "parametersJsonSchema")


def _schema(declaration: Mapping[str, Any]) -> Any:
    """The JSON Schema of a declaration of Gemini's, whose own schemas write types in capitals."""
    given = [declaration[name] for name in reversed(_SCHEMAS) if isinstance(declaration.get(name), Mapping)]
    return _with_small_types(given[0]) if given else None


def _with_small_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_small_types(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    inner = {name: _with_small_types(each) for name, each in schema.items()}
    return inner | ({"type": inner["type"].lower()} if isinstance(inner.get("type"), str) else {})


# -- out


def _chat(function: Function) -> dict[str, Any]:
    return {"type": "function", "function": _described(function, "parameters") | _strict(function)}


def _responses(function: Function) -> dict[str, Any]:
    # Without `strict`, the vendor would make every argument required.
    return {"type": "function", **_described(function, "parameters"), "strict": function.is_strict}


def _anthropic(function: Function) -> dict[str, Any]:
    return _described(function, "input_schema") | _strict(function)


def _gemini(function: Function) -> dict[str, Any]:
    # The client makes one list of all declarations.
    return {"function_declarations": [_described(function, "parameters_json_schema")]}


def _described(function: Function, schema: str) -> dict[str, Any]:
    described = {"description": function.description} if function.description is not None else {}
    return {"name": function.name, **described, schema: dict(function.parameters)}


def _strict(function: Function) -> dict[str, Any]:
    return {"strict": True} if function.is_strict else {}


_WRITTEN: Mapping[str, Callable[[Function], dict[str, Any]]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
}
