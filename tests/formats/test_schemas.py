"""What `dump` makes has the types that the vendors publish with their clients, over real sessions where they are there."""

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.formats.test_round_trips import EXAMPLES, FORMATS
from tests.long import examples as number_of

DATA = Path(os.environ.get("PAGETURN_DATA", "../shared/data"))
TRACES = sorted((DATA / "traces").glob("*.jsonl.gz"))


@pytest.fixture(scope="module")
def checks():
    openai_types = pytest.importorskip("openai.types")
    anthropic_types = pytest.importorskip("anthropic.types")
    genai_types = pytest.importorskip("google.genai.types")
    chat = TypeAdapter(list[openai_types.chat.ChatCompletionMessageParam])
    items = TypeAdapter(list[openai_types.responses.ResponseInputItemParam])
    messages = TypeAdapter(list[anthropic_types.MessageParam])
    system = TypeAdapter(str | list[anthropic_types.TextBlockParam])
    contents = TypeAdapter(list[genai_types.Content])
    config = TypeAdapter(genai_types.GenerateContentConfig)
    return {
        openai_chat: lambda request: chat.validate_python(request["messages"]),
        openai_responses: lambda request: items.validate_python(request["input"]),
        anthropic: lambda request: (
            messages.validate_python(request["messages"]),
            system.validate_python(request.get("system", "")),
        ),
        gemini: lambda request: (
            contents.validate_python(request["contents"]),
            config.validate_python(request.get("config", {})),
        ),
    }


def whole(value):
    """Look at all of a value: pydantic checks what a vendor calls an iterable only when somebody does."""
    if isinstance(value, dict):
        for inner in value.values():
            whole(inner)
    elif not isinstance(value, str | bytes) and isinstance(value, Iterable) and not hasattr(value, "model_dump"):
        for inner in value:
            whole(inner)


def test_the_check_looks_all_the_way_down(checks):
    with pytest.raises(ValidationError):
        whole(checks[anthropic]({"messages": [{"role": "user", "content": [{"type": "nonsense"}]}]}))


@pytest.mark.parametrize("origin", FORMATS, ids=lambda vendor: f"from {vendor.VENDOR}")
def test_the_examples_have_the_published_types_with_every_vendor(checks, origin):
    messages = origin.load(EXAMPLES[origin])
    for vendor, check in checks.items():
        whole(check(vendor.dump(messages)))


@pytest.mark.skipif(not TRACES, reason=f"no recorded sessions in {DATA / 'traces'}")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_recorded_sessions_have_the_published_types_and_come_back(checks, path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        sessions = [
            json.loads(line)["messages"] for _, line in zip(range(number_of(2, whole=1_000)), lines, strict=False)
        ]
    for session in sessions:
        messages = openai_chat.load(session)
        for vendor, check in checks.items():
            request = vendor.dump(messages)
            whole(check(request))
            assert vendor.dump(vendor.load(request)) == request
