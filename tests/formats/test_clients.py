"""The official clients against a local server: they send what `dump` makes, and `load_reply` takes what they return."""

import msgspec
import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.messages import Text, Thinking
from tests.formats import examples
from tests.formats.for_model import dump_for

ARGUMENTS = '{"path":"a.py"}'


# -- OpenAI, chat

CHAT_ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "I look.",
                "refusal": None,
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}},
                    {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}},
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 90,
        "completion_tokens": 10,
        "total_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 64},
    },
}


def chat_chunk(delta, **more):
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}
    return None, {
        **base,
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}] if delta is not None else [],
        **more,
    }


CHAT_EVENTS = [
    chat_chunk({"role": "assistant", "content": "I "}),
    chat_chunk({"content": "look."}),
    chat_chunk(
        {
            "tool_calls": [
                {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": ""}}
            ]
        }
    ),
    chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"path":'}}]}),
    chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"a.py"}'}}]}),
    chat_chunk(
        {
            "tool_calls": [
                {"index": 1, "id": "call_2", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}}
            ]
        }
    ),
    chat_chunk(None, usage=CHAT_ANSWER["usage"]),
]


def expected_answer(*, first="call_1", second="call_2", **fields):
    return pt.assistant(
        "I look.",
        pt.ToolCall(id=first, name="read", arguments=ARGUMENTS),
        pt.ToolCall(id=second, name="read", arguments=ARGUMENTS),
        **fields,
    )


def bare(message):
    """A message without what its vendor said beside it."""
    parts = [
        Text(text=part.text)
        if isinstance(part, Text)
        else pt.ToolCall(id=part.id, name=part.name, arguments=part.arguments)
        for part in message.content
    ]
    return pt.assistant(*parts)


def counted(message):
    return msgspec.structs.replace(message.usage, extra=None)


def streamed(vendor, events):
    stream = vendor.Stream()
    for event in events:
        stream.feed(event)
    return stream.message


def test_openai_chat(server, openai):
    server.answer = CHAT_ANSWER
    request = dump_for(openai_chat, openai_chat.load_request(examples.OPENAI_CHAT).messages, "gpt-5")
    reply = openai.chat.completions.create(model="gpt-5", **request)
    assert server.requests[0]["messages"] == examples.OPENAI_CHAT["messages"]
    message = openai_chat.load_reply(reply)
    assert bare(message) == expected_answer()
    assert counted(message) == pt.Usage(input_tokens=90, output_tokens=10, cache_read_tokens=64, model="gpt-5")
    assert message.usage.extra == {"openai_chat": {"total_tokens": 100}}
    assert message.metadata["response"]["finish_reason"] == "tool_calls"


def test_openai_chat_as_a_stream(server, openai):
    server.events = CHAT_EVENTS
    request = openai_chat.dump([pt.user("hi")])
    chunks = list(openai.chat.completions.create(model="gpt-5", stream=True, **request))
    message = streamed(openai_chat, chunks)
    assert bare(message) == expected_answer()
    assert message.usage.input_tokens == 90
    assert streamed(openai_chat, chunks) == message  # feeding changes nothing
    with openai.chat.completions.stream(model="gpt-5", **request) as stream:
        final = openai_chat.load_reply(stream.get_final_completion())
    assert bare(final) == expected_answer()
    assert "parsed" not in str(openai_chat.dump([final]))


# -- OpenAI, responses

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": ARGUMENTS},
        {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "read", "arguments": ARGUMENTS},
    ],
    "usage": {
        "input_tokens": 90,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 100,
    },
}


def test_openai_responses(server, openai):
    server.answer = RESPONSE
    request = openai_responses.dump(openai_responses.load_request(examples.OPENAI_RESPONSES))
    message = openai_responses.load_reply(openai.responses.create(model="gpt-5", **request))
    assert {name: server.requests[0][name] for name in request} == examples.OPENAI_RESPONSES
    assert message.content[0] == Thinking(
        text="", redacted="gAAAA", extra={"openai_responses": {"id": "rs_1", "summary": []}}
    )
    assert bare(pt.assistant(*message.content[1:])) == expected_answer()
    assert counted(message) == pt.Usage(input_tokens=90, output_tokens=10, cache_read_tokens=64, model="gpt-5")
    assert message.usage.extra["openai_responses"]["output_tokens_details"] == {"reasoning_tokens": 4}
    assert openai_responses.dump([pt.user("hi"), message])["input"][1:] == RESPONSE["output"]


def test_openai_responses_as_a_stream(server, openai):
    server.events = [
        (
            "response.created",
            {"type": "response.created", "sequence_number": 0, "response": {**RESPONSE, "output": []}},
        ),
        ("response.completed", {"type": "response.completed", "sequence_number": 1, "response": RESPONSE}),
    ]
    events = list(openai.responses.create(model="gpt-5", stream=True, **openai_responses.dump([pt.user("hi")])))
    whole = streamed(openai_responses, events)
    assert openai_responses.dump([pt.user("hi"), whole])["input"][1:] == RESPONSE["output"]
    assert openai_responses.load_reply(events[-1].response) == whole


# -- Anthropic

ANTHROPIC_ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-6",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": "Two.", "signature": "sig=="},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}},
        {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "a.py"}},
    ],
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 64,
        "cache_creation_input_tokens": 16,
        "output_tokens": 10,
    },
}


def anthropic_events():
    start = {**ANTHROPIC_ANSWER, "content": [], "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(ANTHROPIC_ANSWER["content"]):
        empty, deltas = {
            "thinking": lambda b: (
                {**b, "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": b["thinking"]},
                    {"type": "signature_delta", "signature": b["signature"]},
                ],
            ),
            "text": lambda b: ({**b, "text": ""}, [{"type": "text_delta", "text": piece} for piece in ("I ", "look.")]),
            "tool_use": lambda b: ({**b, "input": {}}, [{"type": "input_json_delta", "partial_json": ARGUMENTS}]),
        }[block["type"]](block)
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": "tool_use", "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield "message_stop", {"type": "message_stop"}


def test_anthropic(server):
    client = pytest.importorskip("anthropic").Anthropic(base_url=server.url, api_key="k", max_retries=0)
    server.answer, server.events = ANTHROPIC_ANSWER, list(anthropic_events())
    request = dump_for(anthropic, anthropic.load_request(examples.ANTHROPIC).messages, "claude-opus-5")
    message = anthropic.load_reply(client.messages.create(model="claude-opus-4-6", max_tokens=99, **request))
    assert {name: server.requests[0][name] for name in request} == examples.ANTHROPIC
    assert message.content[0] == Thinking(text="Two.", signature="sig==", extra={"anthropic": {}})
    assert bare(pt.assistant(*message.content[1:])) == expected_answer(first="toolu_1", second="toolu_2")
    assert message.usage == pt.Usage(
        input_tokens=90, output_tokens=10, cache_read_tokens=64, cache_write_tokens=16, model="claude-opus-4-6"
    )
    assert message.metadata["response"]["stop_reason"] == "tool_use"
    assert anthropic.dump([pt.user("hi"), message])["messages"][1]["content"] == ANTHROPIC_ANSWER["content"]
    with client.messages.stream(model="claude-opus-4-6", max_tokens=99, **request) as stream:
        again = anthropic.load_reply(stream.get_final_message())
    assert again.content == message.content
    assert again.usage == message.usage


# -- Gemini

GEMINI_ANSWER = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Two.", "thought": True},
                    {"text": "I look."},
                    {
                        "functionCall": {"id": "c1", "name": "read", "args": {"path": "a.py"}},
                        "thoughtSignature": "c2lnLTE=",
                    },
                    {"functionCall": {"id": "c2", "name": "read", "args": {"path": "a.py"}}},
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "modelVersion": "gemini-3-flash",
    "usageMetadata": {
        "promptTokenCount": 90,
        "candidatesTokenCount": 6,
        "thoughtsTokenCount": 4,
        "cachedContentTokenCount": 64,
        "totalTokenCount": 100,
    },
}


def gemini_events():
    parts = GEMINI_ANSWER["candidates"][0]["content"]["parts"]
    pieces = [[parts[0]], [{"text": "I "}], [{"text": "look."}], parts[2:]]
    for piece in pieces[:-1]:
        yield None, {"candidates": [{"content": {"role": "model", "parts": piece}}]}
    yield None, {**GEMINI_ANSWER, "candidates": [{"content": {"role": "model", "parts": pieces[-1]}}]}


def test_gemini(server):
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": server.url})
    server.answer, server.events = GEMINI_ANSWER, list(gemini_events())
    request = gemini.dump(gemini.load_request(examples.GEMINI))
    message = gemini.load_reply(client.models.generate_content(model="gemini-3-flash", **request))
    sent = {"contents": server.requests[0]["contents"], "system_instruction": server.requests[0]["systemInstruction"]}
    assert gemini.dump(gemini.load_request(sent))["contents"] == examples.GEMINI["contents"]
    assert message.content[0] == Thinking(text="Two.", extra={"gemini": {}})
    assert bare(pt.assistant(*message.content[1:])) == expected_answer(first="c1", second="c2")
    assert message.content[2].thought_signature == "c2lnLTE="
    assert counted(message) == pt.Usage(input_tokens=90, output_tokens=10, cache_read_tokens=64, model="gemini-3-flash")
    chunks = list(client.models.generate_content_stream(model="gemini-3-flash", **request))
    again = streamed(gemini, chunks)
    assert again.content == message.content
    assert again.usage == message.usage


def test_objects_of_a_client_may_stand_anywhere_in_a_request(server, openai):
    anthropic_types = pytest.importorskip("anthropic.types")
    block = anthropic_types.TextBlock(type="text", text="said", citations=None)
    (message,) = anthropic.load_messages([{"role": "assistant", "content": [block]}])
    assert message == pt.assistant("said")
    server.answer = RESPONSE
    reply = openai.responses.create(model="gpt-5", **openai_responses.dump([pt.user("hi")]))
    messages = openai_responses.load_request({"input": [{"role": "user", "content": "hi"}, *reply.output]}).messages
    assert openai_responses.dump(messages)["input"][1:] == RESPONSE["output"]
    server.answer = CHAT_ANSWER
    said = openai.chat.completions.create(model="gpt-5", **openai_chat.dump([pt.user("hi")])).choices[0].message
    assert (
        bare(openai_chat.load_request({"messages": [{"role": "user", "content": "hi"}, said]}).messages[1])
        == expected_answer()
    )
