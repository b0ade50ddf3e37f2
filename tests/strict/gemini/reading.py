"""A request as this reader's rules see it.

The client library takes a config and snake_case, the wire has neither; both are read, as the wire has it. Paths are the
wire's. Bytes are base64 there.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.strict.findings import Finds, Found, Requests
from tests.strict.shapes import listed, objects, word

NEWEST = "gemini-4-argon"
SENTINELS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")

# Of these the vendor does not know the names inside.
_FREE = frozenset("args response parametersJsonSchema responseJsonSchema partMetadata properties defs labels".split())
_SCHEMAS = frozenset("properties defs".split())


def is_third(model: str) -> bool:
    """Whether a model is of the third generation or later, or not known here."""
    version = re.search(r"gemini-(\d+)", model)
    return version is None or int(version[1]) >= 3


@dataclass(frozen=True)
class Part:
    path: str
    raw: dict[str, Any]
    role: str | None

    def get(self, name: str) -> dict[str, Any] | None:
        value = self.raw.get(name)
        return value if isinstance(value, dict) else None


@dataclass(frozen=True)
class Content:
    path: str
    raw: dict[str, Any]

    @property
    def role(self) -> str | None:
        return word(self.raw.get("role"))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(path, raw, self.role) for path, raw in objects(self.raw.get("parts"), f"{self.path}.parts"))

    def of(self, name: str) -> list[Part]:
        return [part for part in self.parts if part.get(name) is not None]


@dataclass(frozen=True)
class Reading:
    raw: dict[str, Any]
    model: str
    previous: Requests = ()
    is_whole: bool = False
    spelled_twice: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, request: Mapping[str, Any], model: str, previous: Requests = (), *, is_whole: bool = False
    ) -> "Reading":
        twice: list[str] = []
        given = {name: value for name, value in request.items() if name != "config"}
        config = request.get("config")
        wire = _wire({**given, **(config if isinstance(config, Mapping) else {})}, "$", twice)
        if isinstance(system := wire.get("systemInstruction"), str):
            wire["systemInstruction"] = {"parts": [{"text": system}]}
        if isinstance(contents := wire.get("contents"), str):
            wire["contents"] = [{"role": "user", "parts": [{"text": contents}]}]
        return cls(wire, model, previous, is_whole, twice)

    @cached_property
    def contents(self) -> tuple[Content, ...]:
        return tuple(Content(path, raw) for path, raw in objects(self.raw.get("contents"), "$.contents"))

    @property
    def parts(self) -> Iterator[Part]:
        for content in self.contents:
            yield from content.parts

    @property
    def tools(self) -> list[tuple[str, dict[str, Any]]]:
        return list(objects(self.raw.get("tools"), "$.tools"))

    @property
    def declarations(self) -> list[tuple[str, dict[str, Any]]]:
        return [
            each
            for path, tool in self.tools
            for each in objects(listed(tool.get("functionDeclarations")), f"{path}.functionDeclarations")
        ]


def spelling(reading: Reading) -> Finds:
    yield from (Found("spelled_twice", path) for path in reading.spelled_twice)


def _wire(value: Any, path: str, twice: list[str]) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [_wire(each, f"{path}[{index}]", twice) for index, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    wire: dict[str, Any] = {}
    for name, each in value.items():
        camel = re.sub(r"_([a-z])", lambda found: found[1].upper(), name)
        if camel in wire:
            twice.append(f"{path}.{camel}")
        if camel in _SCHEMAS and isinstance(each, Mapping):
            wire[camel] = {key: _wire(inner, f"{path}.{camel}.{key}", twice) for key, inner in each.items()}
        else:
            wire[camel] = each if camel in _FREE else _wire(each, f"{path}.{camel}", twice)
    return wire


RULES = (spelling,)
