"""The official clients' streams from a local server, raw and through their helpers: `Stream` takes what they yield."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from tests.formats.stream_events import CITATION
from tests.formats.test_clients import ANTHROPIC_ANSWER, CHAT_ANSWER, CHAT_EVENTS, GEMINI_ANSWER, RESPONSE
from tests.formats.test_clients import anthropic_events as wire_events
from tests.formats.test_clients import gemini_events as wire_chunks
from tests.formats.test_streams import ended, fed, input_json, start, stop

HI = [pt.user("hi")]
FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def chat_wire():
    """The chunks of `CHAT_EVENTS`, with their end before the usage."""
    base = {name: CHAT_ANSWER[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    return [*CHAT_EVENTS[:-1], (None, base | FINISH), CHAT_EVENTS[-1]]


def test_chunks_of_a_chat_raw_and_through_the_helper(server, openai):
    server.events = chat_wire()
    whole = openai_chat.load_reply(CHAT_ANSWER)
    request = openai_chat.dump(HI)
    raw = fed(openai_chat, openai.chat.completions.create(model="gpt-5", stream=True, **request))
    assert (raw.message, raw.is_finished) == (whole, True)
    with openai.chat.completions.stream(model="gpt-5", **request) as helper:
        assert fed(openai_chat, helper).message == whole


def response_wire():
    opened = {**RESPONSE, "status": "in_progress", "output": [], "usage": None}
    events = [{"type": "response.created", "response": opened}]
    for index, item in enumerate(RESPONSE["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empty = {**item, "content": []} if item["type"] == "message" else {**item, "arguments": ""}
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if item["type"] == "message":
            (part,) = item["content"]
            events.append(
                {"type": "response.content_part.added", **at, "content_index": 0, "part": {**part, "text": ""}}
            )
            for piece in ("I ", "look."):
                more = {"content_index": 0, "logprobs": []}
                events.append({"type": "response.output_text.delta", **at, **more, "delta": piece})
        if item["type"] == "function_call":
            pieces = (item["arguments"][:4], item["arguments"][4:])
            name = "response.function_call_arguments.delta"
            events += [{"type": name, **at, "delta": piece} for piece in pieces]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": RESPONSE})
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)]


def test_events_of_a_response_raw_and_through_the_helper(server, openai):
    server.events = response_wire()
    whole = openai_responses.load_reply(RESPONSE)
    request = openai_responses.dump(HI)
    raw = list(openai.responses.create(model="gpt-5", stream=True, **request))
    assert fed(openai_responses, raw).message == whole
    cut = fed(openai_responses, raw[:-1])
    assert cut.message.content == whole.content  # every item was done
    assert not cut.is_finished
    with openai.responses.stream(model="gpt-5", **request) as helper:
        assert fed(openai_responses, helper).message == whole


@pytest.fixture
def anthropic_client(server):
    return pytest.importorskip("anthropic").Anthropic(base_url=server.url, api_key="k", max_retries=0)


SERVER_TOOL = [
    {"type": "message_start", "message": {**ANTHROPIC_ANSWER, "content": [], "stop_reason": None}},
    start(0, type="redacted_thinking", data="opaque"),
    stop(0),
    start(1, type="server_tool_use", id="srvtoolu_1", name="web_search", input={}),
    input_json(1, '{"query": '),
    input_json(1, '"pep 8"}'),
    stop(1),
    start(2, type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[]),
    stop(2),
    start(3, type="text", text="", citations=[]),
    {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "Found."}},
    {"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta", "citation": CITATION}},
    stop(3),
    ended("end_turn"),
    {"type": "message_stop"},
]


def test_events_of_anthropic_raw_and_through_the_helper(server, anthropic_client):
    first, *rest = wire_events()
    server.events = [first, ("ping", {"type": "ping"}), *rest]
    whole = anthropic.load_reply(ANTHROPIC_ANSWER)
    request = {"model": "claude-opus-4-6", "max_tokens": 99, **anthropic.dump(HI)}
    raw = fed(anthropic, anthropic_client.messages.create(stream=True, **request))
    assert (raw.message, raw.is_finished) == (whole, True)
    with anthropic_client.messages.stream(**request) as helper:
        yielded = list(helper)
    assert {"text", "input_json", "thinking", "signature"} <= {event.type for event in yielded}  # which repeat
    assert fed(anthropic, yielded).message == whole


def test_what_only_anthropic_understands_comes_back_from_a_stream_as_it_was(server, anthropic_client):
    server.events = [(event["type"], event) for event in SERVER_TOOL]
    request = {"model": "claude-opus-4-6", "max_tokens": 99, **anthropic.dump(HI)}
    blocks = [
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "pep 8"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "Found.", "citations": [CITATION]},
    ]
    raw = fed(anthropic, anthropic_client.messages.create(stream=True, **request)).message
    with anthropic_client.messages.stream(**request) as helper:
        through_helper = fed(anthropic, helper).message
    assert raw == through_helper
    assert anthropic.dump([pt.user("hi"), raw])["messages"][1]["content"] == blocks


def test_chunks_of_gemini(server):
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": server.url})
    last = {"candidates": [{"finishReason": "STOP"}], "modelVersion": "gemini-3-flash"}
    server.events = [*wire_chunks(), (None, {**last, "usageMetadata": GEMINI_ANSWER["usageMetadata"]})]
    stream = fed(gemini, client.models.generate_content_stream(model="gemini-3-flash", **gemini.dump(HI)))
    assert stream.message == gemini.load_reply(GEMINI_ANSWER)
    assert stream.is_finished


def test_a_connection_that_is_lost_leaves_what_came(server, openai):
    server.events = chat_wire()[:4]
    stream = fed(openai_chat, openai.chat.completions.create(model="gpt-5", stream=True, **openai_chat.dump(HI)))
    with pt.Session.open() as session:
        session.append(pt.user("hi"))
        session.append(stream.message)
        assert session.pending() == ()
        assert [message.text for message in session.reader.messages()] == ["hi", "I look."]
    assert [call["id"] for call in stream.incomplete] == ["call_1"]
