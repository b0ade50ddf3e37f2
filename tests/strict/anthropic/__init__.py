"""A strict reader of requests to Anthropic's Messages API."""

from collections.abc import Mapping
from typing import Any

from tests.strict.anthropic import blocks, caching, calls, media, thinking, tools, turns
from tests.strict.anthropic.codes import CODES
from tests.strict.anthropic.models import NEWEST
from tests.strict.anthropic.reading import Reading
from tests.strict.findings import Problem, Requests, told

RULES = [rule for concept in (turns, blocks, calls, thinking, caching, media, tools) for rule in concept.RULES]


def problems(
    request: Mapping[str, Any],
    *,
    model: str | None = None,
    previous: Requests | None = None,
    whole: bool = False,
) -> list[Problem]:
    """What the API would refuse in a request, or silently drop from it.

    The model is the one given, else the request's, else the newest. `previous` are the earlier requests of the same
    conversation, oldest first: only with them can be said whether reasoning still stands behind what it was made on (its
    signatures must be distinct). `whole`: the request must also have what stands beside the conversation.
    """
    reading = Reading(request, str(model or request.get("model") or NEWEST), previous or (), whole)
    return told((found for rule in RULES for found in rule(reading)), CODES)


__all__ = ["CODES", "problems"]
