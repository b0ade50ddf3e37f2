"""What the vendors publish: the types of their requests, and their clients with a local server to talk to."""

from collections.abc import Iterable

import pytest
from pydantic import TypeAdapter

from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.formats.upstream import upstream


@pytest.fixture(scope="session")
def checks():
    """For each vendor, what refuses a request that does not have the published types."""
    openai_types = pytest.importorskip("openai.types")
    anthropic_types = pytest.importorskip("anthropic.types")
    genai_types = pytest.importorskip("google.genai.types")
    fields = {
        openai_chat: {
            "messages": list[openai_types.chat.ChatCompletionMessageParam],
            "tools": list[openai_types.chat.ChatCompletionToolUnionParam],
        },
        openai_responses: {
            "input": list[openai_types.responses.ResponseInputItemParam],
            "instructions": str,
            "tools": list[openai_types.responses.ToolParam],
        },
        anthropic: {
            "messages": list[anthropic_types.MessageParam],
            "system": str | list[anthropic_types.TextBlockParam],
            "tools": list[anthropic_types.ToolUnionParam],
        },
        gemini: {"contents": list[genai_types.Content], "config": genai_types.GenerateContentConfig},
    }
    return {vendor: checked({name: TypeAdapter(kind) for name, kind in of.items()}) for vendor, of in fields.items()}


def checked(adapters):
    def check(request):
        for name, value in request.items():
            look_through(adapters[name].validate_python(value))

    return check


def look_through(value):
    """Look at all of a value: pydantic checks what a vendor calls an iterable only when somebody does."""
    if isinstance(value, dict):
        for inner in value.values():
            look_through(inner)
    elif not isinstance(value, str | bytes) and isinstance(value, Iterable) and not hasattr(value, "model_dump"):
        for inner in value:
            look_through(inner)


@pytest.fixture
def server():
    with upstream() as running:
        yield running


@pytest.fixture
def openai(server):
    client = pytest.importorskip("openai")
    return client.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
