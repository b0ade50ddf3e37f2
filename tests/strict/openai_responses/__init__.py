"""A strict reader of requests to OpenAI's Responses API."""

from collections.abc import Mapping
from typing import Any

from tests.strict.findings import Problem, Requests, told
from tests.strict.openai_responses import calls, items, messages, reasoning, tools
from tests.strict.openai_responses.codes import CODES
from tests.strict.openai_responses.reading import Reading

RULES = [rule for concept in (items, messages, calls, reasoning, tools) for rule in concept.RULES]


def problems(
    request: Mapping[str, Any],
    *,
    model: str | None = None,
    previous: Requests | None = None,
    whole: bool = False,
) -> list[Problem]:
    """What the API would refuse in a request, or silently drop from it.

    The model is the one given, else the request's, else the newest. `previous` are the earlier requests of the same
    conversation, oldest first: only with them can be said whether reasoning still stands behind what it was made on.
    `whole`: the request must also have what stands beside the conversation.
    """
    reading = Reading(request, str(model or request.get("model") or reasoning.NEWEST), previous or (), whole)
    return told((found for rule in RULES for found in rule(reading)), CODES)


__all__ = ["CODES", "problems"]
