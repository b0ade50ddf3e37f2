"""A strict reader of requests to Gemini's generateContent."""

from collections.abc import Mapping
from typing import Any

from tests.strict.findings import Problem, Requests, told
from tests.strict.gemini import calls, parts, reading, signatures, tools, turns
from tests.strict.gemini.codes import CODES
from tests.strict.gemini.reading import NEWEST, Reading

RULES = [rule for concept in (reading, turns, parts, calls, signatures, tools) for rule in concept.RULES]


def problems(
    request: Mapping[str, Any],
    *,
    model: str | None = None,
    previous: Requests | None = None,
    whole: bool = False,
) -> list[Problem]:
    """What the API would refuse in a request, in the wire's JSON or as the client library takes it.

    The model is the one given, else the request's, else the newest. `previous` are the earlier requests of the same
    conversation, oldest first: with them a signature that has changed is found. `whole`: the request must also have what
    stands beside the conversation.
    """
    read = Reading.of(request, str(model or request.get("model") or NEWEST), previous or (), is_whole=whole)
    return told((found for rule in RULES for found in rule(read)), CODES)


__all__ = ["CODES", "problems"]
