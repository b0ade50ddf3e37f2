"""Converts the ids, names and arguments of tool calls to a form that the vendor accepts."""

import re
from collections import defaultdict, deque
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from pageturn.formats.fields import as_json
from pageturn.values.fillers import NOT_AN_OBJECT
from pageturn.values.messages import ToolCall


class CallIds:
    """The ids of the calls of one request: valid for the vendor, and each used for one call only."""

    def __init__(self, pattern: str, *, prefix: str = "call_", digits: int = 24) -> None:
        self._fits = re.compile(pattern).fullmatch
        self._prefix, self._digits = prefix, digits  # for an id that replaces one that is not valid
        self._used: set[str] = set()
        # How many replacements of an id were tried; those are used.
        self._tries: defaultdict[str, int] = defaultdict(int)
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)
        self._answered: dict[str, str] = {}

    def of_call(self, id_: str) -> str:
        """The id under which a call is sent."""
        shown = id_
        while not self._fits(shown) or shown in self._used:
            self._tries[id_] += 1
            name = f"{self._tries[id_]}:{id_}".encode("utf-8", "surrogatepass")
            shown = self._prefix + blake2b(name, digest_size=12).hexdigest()[: self._digits]
        self._used.add(shown)
        self._open[id_].append(shown)
        return shown

    def of_result(self, id_: str) -> str:
        """The id of the call that a result answers: the oldest one without a result, else the last that was answered."""
        waiting = self._open[id_]
        if waiting:
            self._answered[id_] = waiting.popleft()
        elif id_ not in self._answered:
            self._answered[id_] = self.of_call(id_)
            waiting.clear()
        return self._answered[id_]


class _Names(NamedTuple):
    longest: int
    also: str = ""  # the characters allowed in a name besides letters, digits, _ and -


_NAMES = {
    "openai_chat": _Names(64),
    "openai_responses": _Names(64),
    "anthropic": _Names(128),
    "gemini": _Names(128, ".:"),
}


@lru_cache(maxsize=1_024)
def fitting_name(name: str, vendor: str) -> str:
    """The name of a tool without anything that a vendor would reject.

    A host whose tool names a vendor rejects must offer the tools under these names.
    """
    longest, also = _NAMES[vendor]
    fitting = re.sub(rf"[^a-zA-Z0-9_{re.escape(also)}-]", "_", name) or "_"
    # Vendors that allow more inside a name allow less at its beginning.
    if also and not re.match(r"[a-zA-Z_]", fitting):
        fitting = f"_{fitting}"
    if len(fitting) <= longest:
        return fitting
    return f"{fitting[: longest - 9]}_{blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def as_object(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call for a vendor that requires an object; other text is wrapped under a key of ours."""
    parsed = call.parsed if call.arguments.strip() else {}
    return parsed if isinstance(parsed, dict) else unparsed(call.arguments)


def unparsed(arguments: str) -> dict[str, Any]:
    """Arguments that are not an object, wrapped in one for a vendor that requires it; `from_object` restores the text."""
    return {NOT_AN_OBJECT: arguments}


def from_object(arguments: dict[str, Any], path: str) -> str:
    """The arguments of a call from a vendor that sends an object, as text; `path` is their place in the input."""
    text = arguments.get(NOT_AN_OBJECT) if len(arguments) == 1 else None
    return text if isinstance(text, str) else as_json(arguments, path)
