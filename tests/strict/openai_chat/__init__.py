"""A strict reader of requests to OpenAI's Chat Completions API."""

from collections.abc import Mapping
from typing import Any

from tests.strict.findings import Problem, Requests, told
from tests.strict.openai_chat import calls, content, tools, turns
from tests.strict.openai_chat.codes import CODES
from tests.strict.openai_chat.reading import Reading

RULES = [rule for concept in (turns, content, calls, tools) for rule in concept.RULES]


def problems(
    request: Mapping[str, Any],
    *,
    model: str | None = None,
    previous: Requests | None = None,
    whole: bool = False,
    template: bool = False,
) -> list[Problem]:
    """What the API would refuse in a request.

    `template`: also what the chat templates of many open models refuse (one system message, at the beginning; user and
    assistant in turns). `whole`: the request must also have what stands beside the conversation. Nothing here depends on the
    model or on earlier requests: this format carries no reasoning.
    """
    reading = Reading(request, whole, template)
    return told((found for rule in RULES for found in rule(reading)), CODES)


__all__ = ["CODES", "problems"]
