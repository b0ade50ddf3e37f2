"""Expressions that are not linear on every text, each with the bound on what it reads; and how those are made that no module holds."""

from collections.abc import Callable, Iterable
from types import ModuleType

BOUNDED: dict[str, str] = {
    "identifiers:_NAMES_OF_RUNS": "runs of at most 400 letters, one a line: a path begins anew behind each slash",
    "identifiers:_ASCII_NAMES_OF_RUNS": "the same",
    "relevance:_EXTENSION": "paths of at most 400 characters: an ending may begin at each letter",
    "renditions.content:_FILE": "the first 600 characters of a command: a path may begin at each letter",
}

BUILT: dict[str, dict[str, Callable[[ModuleType], Iterable[str]]]] = {
    "pageturn.profiles": {"_PROFILES": lambda module: [row[0] for row in module._PROFILES]},  # noqa: SLF001
    "pageturn.reasoning": {"_RULES": lambda module: [row[0] for row in module._RULES]},  # noqa: SLF001
    "pageturn.recall": {"terms of a query": lambda _: ["needle|login|src/auth", "a|aa|aaa"]},
    "pageturn.formats.calls": {"names of tools": lambda _: [r"[a-zA-Z0-9_-]{1,64}"]},
    "pageturn.encodings.portable": {"_PATTERNS": lambda module: module._PATTERNS.values()},  # noqa: SLF001
    "pageturn.identifiers": {},
}
