"""The official SDKs in front of a strict provider, in every mode: thinking, two tools at once, an image, whole and streamed.

They see what they would see without the gateway, and nobody refuses what they send.
"""

import asyncio
import base64

import anthropic
import openai
import pytest

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.running import mode_for
from pageturn.apps.gateway.server import Gateway
from pageturn.journal.reader import SessionReader, sessions
from tests.clients.provider import provider
from tests.clients.views import Call, Said
from tests.long import examples

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000000000200010005fe02fe0000000049454e44ae426082"
    )
).decode()
FILES = {"a.py": "print(1)", "b.py": "print(2)"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SAMPLE = [True, False][: examples(1, whole=2)]  # whole and streamed both by the other client
LAST = "They print 1 and 2."


def read_both(view):
    """A model that reads two files at once, and says what they do when it has seen both."""
    results = [entry.text for entry in view.entries if entry.kind == "result"]
    if all(text in results for text in FILES.values()):
        return Said(LAST, thinking="Both are short.")
    calls = tuple(Call(view.tools["read_file"], {"path": path}) for path in FILES)
    return Said("Let me look at both.", calls, "Two files, so two calls.")


@pytest.fixture
def upstream():
    with provider(read_both) as state:
        yield state
    assert state.refused == []


@pytest.fixture(params=["watch", "manage", "recall"])
def gateway(request, upstream, tmp_path):
    flags = {"mode": request.param, "port": "0", "anthropic": upstream.url, "openai": f"{upstream.url}/v1"}
    config = load_config({**flags, "store": str(tmp_path / "gateway.db")}, None, {})
    with Gateway(config, mode_for(config)) as listening:
        yield listening
    require_journal(tmp_path / "gateway.db")


def require_journal(store):
    """One conversation, in which each call and each result is once."""
    (info,) = sessions(store)
    messages = list(SessionReader.open(store, info.id).messages())
    calls = [call.id for message in messages for call in message.tool_calls]
    results = [part.tool_call_id for message in messages for part in message.content if hasattr(part, "tool_call_id")]
    assert len(calls) == len(set(calls)) == 2
    assert sorted(results) == sorted(calls)


ANTHROPIC = {
    "model": "claude-opus-5-5",
    "max_tokens": 4_000,
    "thinking": {"type": "adaptive"},
    "tools": [{"name": "read_file", "description": "Read.", "input_schema": SCHEMA}],
}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
ASKED = [{"role": "user", "content": [{"type": "text", "text": "What do a.py and b.py do?"}, IMAGE]}]


def after_blocks(message):
    content = [block.model_dump(exclude_none=True) for block in message.content]
    calls = [block for block in content if block["type"] == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": FILES[call["input"]["path"]]} for call in calls
    ]
    return [*ASKED, {"role": "assistant", "content": content}, {"role": "user", "content": results}]


def require_blocks(first, last):
    assert [block.type for block in first.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert [block.input["path"] for block in first.content[2:]] == list(FILES)
    assert [block.type for block in last.content] == ["thinking", "text"]
    assert last.content[1].text == LAST
    assert last.usage.output_tokens > 0


@pytest.mark.parametrize("is_streamed", [False, True])
def test_anthropic(gateway, is_streamed):
    with anthropic.Anthropic(base_url=gateway.url, api_key="canary", max_retries=0) as client:

        def ask(messages):
            if not is_streamed:
                return client.messages.create(messages=messages, **ANTHROPIC)
            with client.messages.stream(messages=messages, **ANTHROPIC) as stream:
                return stream.get_final_message()

        first = ask(ASKED)
        require_blocks(first, ask(after_blocks(first)))


@pytest.mark.parametrize("is_streamed", SAMPLE)
def test_anthropic_async(gateway, is_streamed):
    async def talk():
        async with anthropic.AsyncAnthropic(base_url=gateway.url, api_key="canary", max_retries=0) as client:

            async def ask(messages):
                if not is_streamed:
                    return await client.messages.create(messages=messages, **ANTHROPIC)
                async with client.messages.stream(messages=messages, **ANTHROPIC) as stream:
                    return await stream.get_final_message()

            first = await ask(ASKED)
            require_blocks(first, await ask(after_blocks(first)))

    asyncio.run(talk())


FUNCTION = {"name": "read_file", "description": "Read.", "parameters": SCHEMA}
CHAT = {"model": "gpt-5.1", "tools": [{"type": "function", "function": FUNCTION}]}
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
CHATTED = [{"role": "user", "content": [{"type": "text", "text": "What do a.py and b.py do?"}, PICTURE]}]


def after_message(message):
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": FILES[path]}
        for call, path in zip(message.tool_calls, FILES, strict=True)
    ]
    return [*CHATTED, message.model_dump(exclude_none=True, exclude={"parsed"}), *results]


def require_message(first, last):
    assert [call.function.name for call in first.tool_calls] == ["read_file", "read_file"]
    assert (first.content, last.content) == ("Let me look at both.", LAST)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_openai_chat(gateway, is_streamed):
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="canary", max_retries=0) as client:

        def ask(messages):
            if not is_streamed:
                return client.chat.completions.create(messages=messages, **CHAT).choices[0].message
            with client.chat.completions.stream(messages=messages, **CHAT) as stream:
                return stream.get_final_completion().choices[0].message

        first = ask(CHATTED)
        asked = after_message(first)
        for call in asked[1]["tool_calls"]:
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
        require_message(first, ask(asked))


@pytest.mark.parametrize("is_streamed", SAMPLE)
def test_openai_chat_async(gateway, is_streamed):
    async def talk():
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="canary", max_retries=0) as client:

            async def ask(messages):
                if not is_streamed:
                    return (await client.chat.completions.create(messages=messages, **CHAT)).choices[0].message
                async with client.chat.completions.stream(messages=messages, **CHAT) as stream:
                    return (await stream.get_final_completion()).choices[0].message

            first = await ask(CHATTED)
            asked = after_message(first)
            for call in asked[1]["tool_calls"]:
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
            require_message(first, await ask(asked))

    asyncio.run(talk())


RESPONSES = {
    "model": "gpt-6.1-sol",
    "tools": [{"type": "function", "strict": False, **FUNCTION}],
    "reasoning": {"effort": "low"},
}
INPUT = [
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What do a.py and b.py do?"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
        ],
    }
]


def following(response, *, is_stored):
    """What is sent next: only what is new where the provider keeps the rest."""
    calls = [item for item in response.output if item.type == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call.call_id, "output": FILES[path]}
        for call, path in zip(calls, FILES, strict=True)
    ]
    if is_stored:
        return {"input": results, "previous_response_id": response.id, "store": True}
    kept = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
    for item in kept:
        for part in item.get("content") or ():
            part.pop("parsed", None)
    return {"input": [*INPUT, *kept, *results], "store": False, "include": ["reasoning.encrypted_content"]}


def require_items(first, last):
    assert [item.type for item in first.output] == ["reasoning", "message", "function_call", "function_call"]
    assert last.output_text == LAST


def first_given(*, is_stored):
    return {"input": INPUT, "store": is_stored, **({} if is_stored else {"include": ["reasoning.encrypted_content"]})}


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_openai_responses(gateway, is_stored, is_streamed):
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="canary", max_retries=0) as client:

        def ask(given):
            if not is_streamed:
                return client.responses.create(**RESPONSES, **given)
            with client.responses.stream(**RESPONSES, **given) as stream:
                return stream.get_final_response()

        first = ask(first_given(is_stored=is_stored))
        require_items(first, ask(following(first, is_stored=is_stored)))


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("is_streamed", SAMPLE)
def test_openai_responses_async(gateway, is_stored, is_streamed):
    async def talk():
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="canary", max_retries=0) as client:

            async def ask(given):
                if not is_streamed:
                    return await client.responses.create(**RESPONSES, **given)
                async with client.responses.stream(**RESPONSES, **given) as stream:
                    return await stream.get_final_response()

            first = await ask(first_given(is_stored=is_stored))
            require_items(first, await ask(following(first, is_stored=is_stored)))

    asyncio.run(talk())
