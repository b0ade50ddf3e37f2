"""Defines the recall tool as the model sees it. Its calls are answered in `recall.tool`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pageturn.values.checks import require_finite, require_text
from pageturn.values.errors import InvalidInput
from pageturn.values.json import Closed

_DESCRIPTION = (
    "Get back earlier parts of this conversation. Messages in <page> tags stand for them in short; each begins with a handle such "
    "as p12-abcd, or a range such as p3-abcd..p9-efgh. Give the handle or range to read the original, with start to go on "
    "where it broke off; or a query to search all that was said, with filters: "
    '{"query": "why login fails", "tool": "bash", "turns": [3, 20]}. What '
    "only looks like a handle or tag of ours has one extra backslash."
)

LEAST_BYTES = 200  # the longest useful answer


class RecallTool(Closed):
    """The recall tool as the model sees it, and the size of its answers."""

    name: str = "recall"
    most_bytes: int = 12_000

    def __post_init__(self) -> None:
        require_text("$.name", self.name)
        require_finite("$.most_bytes", self.most_bytes, at_least=LEAST_BYTES)

    @property
    def description(self) -> str:
        """What the model is told about it."""
        return _DESCRIPTION

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "p12-abcd or p3-abcd..p9-efgh"},
                "query": {"type": "string"},
                "start": {"type": "integer", "minimum": 0, "description": "bytes of a page, pages of a range"},
                "role": {"type": "string", "enum": ["user", "assistant", "tool"]},
                "tool": {"type": "string"},
                "path": {"type": "string"},
                "turns": {"type": "array", "items": {"type": "integer"}},
            },
        }

    @property
    def definition(self) -> dict[str, Any]:
        """The whole definition, in the form that tokens are counted in."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def require_own_name(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Raise `InvalidInput` if a tool of the host has the same name: calls would be ambiguous."""
        for index, tool in enumerate(tools):
            if self.name in _names(tool):
                others = f"no {self.name!r}, which is the recall tool (RecallTool(name=...) calls it something else)"
                raise InvalidInput("tools", expected=others, got=f"a tool of that name at tools[{index}]")


def _names(tool: Mapping[str, Any]) -> Iterator[Any]:
    """The names in a tool definition of any vendor: at the top, beside its type, or in a list of functions."""
    declared = [tool.get("function_declarations"), tool.get("functionDeclarations")]
    listed = (each for declarations in declared if isinstance(declarations, list | tuple) for each in declarations)
    for fields in (tool, tool.get("function"), tool.get("custom"), *listed):
        if isinstance(fields, Mapping):
            yield fields.get("name")
