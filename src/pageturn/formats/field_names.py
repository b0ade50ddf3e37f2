"""Field names: those of Gemini's wire, `functionCall`, as those of its Python client, `function_call`."""

import re
from functools import lru_cache
from typing import Any

from pageturn.errors import InvalidInput, show
from pageturn.formats.fields import plain

_NOT_OURS = ("args", "response", "part_metadata", "partMetadata")  # whose names are the tools' and the host's
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


def snake(value: Any) -> Any:
    """A value with the client's names for the wire's, except inside what tools say and hear."""
    value = plain(value)
    if type(value) is list:
        return [snake(each) for each in value]
    if type(value) is not dict:
        return value
    return {
        snake_name(name): each if type(each) is str or name in _NOT_OURS else snake(each)
        for name, each in value.items()
    }


@lru_cache(maxsize=1_024)
def snake_name(name: str) -> str:
    """One name."""
    if not isinstance(name, str):
        raise InvalidInput("$", expected="fields with texts for names", got=show(name))
    return _HUMP.sub(lambda found: f"_{found[1].lower()}", name)
