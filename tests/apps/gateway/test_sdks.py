"""The official clients through the gateway: sync and async, whole and streamed, with tools. They see what they would see without it."""

import asyncio
import json

import anthropic
import openai
import pytest

from pageturn.journal.reader import SessionReader, sessions
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, TOOLS, reply
from tests.apps.gateway.upstream import Reply

CALL = ("call_1", "read_file", '{"path": "a.py"}')
ASKED = [{"role": "user", "content": "What does a.py do?"}]


@pytest.fixture
def talking(started, upstream, store):
    """A gateway whose upstream calls a tool once, and then says what it read."""

    def answer(asked):
        body = json.loads(asked.body)
        has_result = "print(1)" in json.dumps(body.get("messages") or body.get("input"))
        return reply(asked, "It prints 1.") if has_result else reply(asked, "Let me look.", CALL)

    upstream.answer = answer
    return started


def pages(store):
    (info,) = sessions(store)
    return [(str(each.role), each.text, len(each.tool_calls)) for each in SessionReader.open(store, info.id).messages()]


WRITTEN = [
    ("user", ASKED[0]["content"], 0),
    ("assistant", "Let me look.", 1),
    ("tool", "", 0),
    ("assistant", "It prints 1.", 0),
]


def of_anthropic(gateway, kind=anthropic.Anthropic):
    return kind(base_url=gateway.url, api_key="canary", max_retries=0)


def of_openai(gateway, kind=openai.OpenAI):
    return kind(base_url=f"{gateway.url}/v1", api_key="canary", max_retries=0)


ANTHROPIC_CALL = {"model": "model-1", "max_tokens": 9, "tools": TOOLS[ANTHROPIC]}


def with_result(message):
    content = [block.model_dump(exclude_none=True) for block in message.content]
    result = {"type": "tool_result", "tool_use_id": message.content[1].id, "content": "print(1)"}
    return [*ASKED, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]


def test_anthropic(talking, store):
    with talking() as gateway, of_anthropic(gateway) as client:
        first = client.messages.create(messages=ASKED, **ANTHROPIC_CALL)
        assert (first.content[0].text, first.content[1].input, first.usage.output_tokens) == (
            "Let me look.",
            {"path": "a.py"},
            7,
        )
        assert client.messages.create(messages=with_result(first), **ANTHROPIC_CALL).content[0].text == "It prints 1."
    assert pages(store) == WRITTEN


def test_anthropic_streamed(talking, store):
    with talking() as gateway, of_anthropic(gateway) as client:
        with client.messages.stream(messages=ASKED, **ANTHROPIC_CALL) as stream:
            first = stream.get_final_message()
        assert first.content[1].input == {"path": "a.py"}
        with client.messages.stream(messages=with_result(first), **ANTHROPIC_CALL) as stream:
            assert "".join(stream.text_stream) == "It prints 1."
    assert pages(store) == WRITTEN


def test_anthropic_async_streamed(talking, store):
    async def talk(gateway):
        async with of_anthropic(gateway, anthropic.AsyncAnthropic) as client:
            async with client.messages.stream(messages=ASKED, **ANTHROPIC_CALL) as stream:
                first = await stream.get_final_message()
            return await client.messages.create(messages=with_result(first), **ANTHROPIC_CALL)

    with talking() as gateway:
        assert asyncio.run(talk(gateway)).content[0].text == "It prints 1."
    assert pages(store) == WRITTEN


def test_anthropic_counts_tokens_and_lists_models_and_nothing_is_written(started, upstream, store):
    counted = b'{"input_tokens": 12}'
    listed = b'{"data": [], "has_more": false, "first_id": null, "last_id": null}'
    upstream.answer = lambda asked: Reply(
        [counted if "count" in asked.target else listed], headers=[("content-type", "application/json")]
    )
    with started() as gateway, of_anthropic(gateway) as client:
        assert client.messages.count_tokens(model="model-1", messages=ASKED).input_tokens == 12
        assert client.models.list().data == []
    assert [asked.target.partition("?")[0] for asked in upstream.asked] == ["/v1/messages/count_tokens", "/v1/models"]
    assert not store.exists()


def test_errors_reach_the_client_in_its_own_classes(started, upstream):
    body = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}).encode()
    upstream.answer = lambda _: Reply([body], 429, [("content-type", "application/json"), ("retry-after", "3")])
    with started() as gateway, of_anthropic(gateway) as client:
        with pytest.raises(anthropic.RateLimitError, match="slow down") as error:
            client.messages.create(messages=ASKED, **ANTHROPIC_CALL)
        assert error.value.response.headers["retry-after"] == "3"


def after_call(choice):
    return [
        *ASKED,
        choice.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": "call_1", "content": "print(1)"},
    ]


def test_openai_chat(talking, store):
    with talking() as gateway, of_openai(gateway) as client:
        first = client.chat.completions.create(model="model-1", messages=ASKED, tools=TOOLS[CHAT])
        message = first.choices[0].message
        assert (message.content, message.tool_calls[0].function.arguments) == ("Let me look.", CALL[2])
        again = client.chat.completions.create(model="model-1", messages=after_call(message), tools=TOOLS[CHAT])
        assert again.choices[0].message.content == "It prints 1."
    assert pages(store) == WRITTEN


def test_openai_chat_streamed_in_both_kinds_of_client(talking, store):
    async def talk(gateway, message):
        async with of_openai(gateway, openai.AsyncOpenAI) as client:
            given = {"model": "model-1", "messages": after_call(message), "tools": TOOLS[CHAT], "stream": True}
            stream = await client.chat.completions.create(**given)
            return [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]

    with talking() as gateway, of_openai(gateway) as client:
        with client.chat.completions.stream(model="model-1", messages=ASKED, tools=TOOLS[CHAT]) as stream:
            message = stream.get_final_completion().choices[0].message
        assert "".join(asyncio.run(talk(gateway, message))) == "It prints 1."
    assert pages(store) == WRITTEN


RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "print(1)"}


@pytest.mark.parametrize("is_stored", [False, True])
def test_openai_responses(talking, store, is_stored):
    with talking() as gateway, of_openai(gateway) as client:
        given = {"model": "model-1", "tools": TOOLS[RESPONSES], "store": is_stored}
        first = client.responses.create(input=ASKED, **given)
        assert (first.output_text, first.output[1].arguments) == ("Let me look.", CALL[2])
        if is_stored:
            again = client.responses.create(input=[RESULT], previous_response_id=first.id, **given)
        else:
            again = client.responses.create(input=[*ASKED, *first.output, RESULT], **given)
        assert again.output_text == "It prints 1."
    assert pages(store) == WRITTEN


def test_openai_responses_streamed_in_both_kinds_of_client(talking, store):
    async def talk(gateway, output):
        async with of_openai(gateway, openai.AsyncOpenAI) as client:
            given = {"model": "model-1", "tools": TOOLS[RESPONSES], "input": [*ASKED, *output, RESULT], "stream": True}
            stream = await client.responses.create(**given)
            return [event.response.output_text async for event in stream if event.type == "response.completed"]

    with talking() as gateway, of_openai(gateway) as client:
        with client.responses.stream(model="model-1", input=ASKED, tools=TOOLS[RESPONSES]) as stream:
            output = stream.get_final_response().output
        given = [
            {name: value for name, value in item.model_dump().items() if name != "parsed_arguments"} for item in output
        ]
        assert asyncio.run(talk(gateway, given)) == ["It prints 1."]
    assert pages(store) == WRITTEN
