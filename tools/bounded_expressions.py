"""Expressions that are not linear on every text, each with the bound on what it reads; and how those are made that no module holds."""

from collections.abc import Callable, Iterable
from types import ModuleType

BOUNDED: dict[str, str] = {
    "values.identifiers:_NAMES_OF_RUNS": "runs of at most 400 letters, one a line: a path begins anew behind each slash",
    "values.identifiers:_ASCII_NAMES_OF_RUNS": "the same",
    "values.relevance:_EXTENSION": "paths of at most 400 characters: an ending may begin at each letter",
    "context.renditions.content:_FILE": "the first 600 characters of a command: a path may begin at each letter",
}

BUILT: dict[str, dict[str, Callable[[ModuleType], Iterable[str]]]] = {
    "pageturn.tokens.families": {
        "_PROFILES": lambda module: [row[0] for rows in module._PROFILES.values() for row in rows]  # noqa: SLF001
    },
    "pageturn.recall.search": {"terms of a query": lambda _: ["needle|login|src/auth", "a|aa|aaa"]},
    "pageturn.formats.calls": {"names of tools": lambda _: [r"[a-zA-Z0-9_-]{1,64}"]},
    "pageturn.tokens.encodings.portable": {"_PATTERNS": lambda module: module._PATTERNS.values()},  # noqa: SLF001
    "pageturn.values.identifiers": {},
}
