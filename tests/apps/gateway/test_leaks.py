"""The recall tool is the gateway's own affair: whatever form an answer has, its client sees nothing of it, and gets all of the rest."""

import gzip
import json
import re
import threading

import pytest
import zstandard

from pageturn.apps.gateway import exchange, passage, projected_answer
from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent, Provider, large
from tests.apps.gateway.test_recalling import EVENTS, JSON, Script, recall, response, stream, talk
from tests.apps.gateway.upstream import Reply

PATHS = [ANTHROPIC, CHAT, RESPONSES]
ROOM = 6_000
HANDLE = re.compile(r"\bp\d+-[0-9a-z]{4,}")


def tools_of(asked):
    return [tool.get("name") or tool["function"]["name"] for tool in json.loads(asked.body).get("tools", [])]


@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_a_packed_request_that_is_derived_goes_out_plain_and_says_so(started, ask, upstream, mode):
    provider = Provider(RESPONSES)

    def answer(asked):
        body = asked.body
        if asked.header("content-encoding") == "zstd":
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        return provider(asked._replace(body=body))

    upstream.answer = answer
    agent = Agent(RESPONSES, {"thread-id": "t"})
    agent.says("Find the bug.")
    with started(mode=mode, room=4_000) as gateway:
        for number in range(20):
            body = zstandard.compress(agent.body())
            answered = ask(gateway, "POST", RESPONSES, body, {**agent.headers, "content-encoding": "zstd"})
            reply = json.loads(answered.read())
            assert answered.status == 200
            agent.take(reply)
            for call in agent.calls(reply):
                agent.brings(call, large(number))
        off = ask(gateway, "POST", RESPONSES, body, {**agent.headers, "content-encoding": "zstd", "x-pageturn": "off"})
        off.read()
    assert off.status == 200
    assert "managed" in answered.getheader("x-pageturn")
    assert provider.problems == []


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_an_answer_that_is_packed_though_nobody_asked_for_that(started, ask, upstream, path, streams):
    script = Script(
        path, [("text", "Let me look."), recall(1, query="lily")], [("text", "It is lily.")], streams=streams
    )

    def answer(asked):
        reply = script(asked)
        packed = gzip.compress(b"".join(reply.pieces))
        pieces = [packed[at : at + 50] for at in range(0, len(packed), 50)]
        return reply._replace(pieces=pieces, headers=[*reply.headers, ("content-encoding", "gzip")])

    upstream.answer = answer
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
    assert agent.answers[-1].getheader("content-encoding") is None
    assert b"recall" not in agent.raw
    assert "It is lily." in json.dumps(agent.history[-1])


def test_an_answer_that_is_packed_in_a_way_that_nobody_knows_passes_as_it_is(started, ask, upstream):
    upstream.answer = lambda _: Reply([b"\x01\x02\x03"], headers=[*JSON, ("content-encoding", "unheard-of")])
    agent = talk(CHAT)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", CHAT, agent.body())
        assert (answered.read(), answered.getheader("content-encoding")) == (b"\x01\x02\x03", "unheard-of")


@pytest.mark.parametrize("headers", [[("content-type", "text/plain")], [], JSON])
@pytest.mark.parametrize("path", PATHS)
def test_a_stream_under_a_wrong_name_is_one(started, ask, upstream, path, headers):
    rounds = [stream(path, [("text", "I look."), recall(1, query="x")], "r1"), stream(path, [("text", "Done.")], "r2")]
    upstream.answer = lambda _: Reply(rounds.pop(0), headers=headers)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body())
        raw = answered.read()
    assert b"toolu_recall" not in raw
    assert b"Don" in raw
    assert rounds == []


@pytest.mark.parametrize("path", PATHS)
def test_an_object_in_the_place_of_a_stream_is_one(started, ask, upstream, path):
    rounds = [response(path, [recall(1, query="x")], "r1"), response(path, [("text", "Done.")], "r2")]
    upstream.answer = lambda _: Reply([json.dumps(rounds.pop(0)).encode()], headers=EVENTS)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        raw = ask(gateway, "POST", path, agent.body()).read()
    assert b"toolu_recall" not in raw
    assert b"Done." in raw


@pytest.mark.parametrize("path", PATHS)
def test_a_session_with_the_tool_keeps_it_when_the_gateway_starts_in_another_mode(started, ask, upstream, path):
    rounds = [[("text", "I will.")], [("text", "Hm."), recall(1, query="lily")], [("text", "It is lily.")]]
    upstream.answer = script = Script(path, *rounds)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
    agent.says("What?")
    with started(mode="manage", room=ROOM) as gateway:
        agent.turn(ask, gateway)
    assert b"recall" not in agent.raw
    assert "It is lily." in json.dumps(agent.history[-1])
    assert script.problems == []


@pytest.mark.parametrize("streams", [True, False])
def test_a_response_that_repeats_its_tools_does_not_show_ours(started, ask, upstream, streams):
    def answer(asked):
        tools = json.loads(asked.body)["tools"]
        pieces = stream(RESPONSES, [("text", "Hello.")], "r1")
        if not streams:
            return Reply([json.dumps({**response(RESPONSES, [("text", "Hello.")], "r1"), "tools": tools}).encode()], headers=JSON)  # fmt: skip
        events = [json.loads(piece.partition(b"data: ")[2]) for piece in pieces]
        for event in events:
            if "response" in event:
                event["response"]["tools"] = tools
        return Reply(
            [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events], headers=EVENTS
        )

    upstream.answer = answer
    agent = talk(RESPONSES)
    with started(mode="recall", room=ROOM) as gateway:
        raw = ask(gateway, "POST", RESPONSES, agent.body()).read()
    assert "recall" in tools_of(upstream.asked[0])
    assert b"recall" not in raw
    assert raw.count(b'"read_file"') == (2 if streams else 1)


def test_a_response_in_the_background_has_no_tool_that_nobody_could_answer(started, ask, upstream):
    queued = {"id": "resp_b", "object": "response", "created_at": 1, "model": "gpt-5", "status": "queued", "output": [], "background": True}  # fmt: skip
    upstream.answer = lambda _: Reply([json.dumps(queued).encode()], headers=JSON)
    agent = Agent(RESPONSES, {}, background=True, store=True)
    agent.says("Hello.")
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", RESPONSES, agent.body())
        assert json.loads(answered.read()) == queued
    assert upstream.asked[0].body == agent.body()


@pytest.mark.parametrize("streams", [True, False])
def test_several_answers_at_once_come_whole_and_without_the_tool(started, ask, upstream, streams):
    message = [{"role": "assistant", "content": f"answer {number}"} for number in (0, 1)]
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}
    if streams:
        told = [{**base, "choices": [{"index": at, "delta": message[at], "finish_reason": None}]} for at in (0, 1)]
        told += [{**base, "choices": [{"index": at, "delta": {}, "finish_reason": "stop"}]} for at in (0, 1)]
        pieces = [*(f"data: {json.dumps(each)}\n\n".encode() for each in told), b"data: [DONE]\n\n"]
    else:
        choices = [{"index": at, "message": message[at], "finish_reason": "stop"} for at in (0, 1)]
        pieces = [json.dumps({**base, "object": "chat.completion", "choices": choices}).encode()]
    upstream.answer = lambda _: Reply(pieces, headers=EVENTS if streams else JSON)
    agent = Agent(CHAT, {}, n=2, stream=streams)
    agent.says("Hello.")
    with started(mode="recall", room=ROOM) as gateway:
        raw = ask(gateway, "POST", CHAT, agent.body()).read()
    assert raw == b"".join(pieces)
    assert upstream.asked[0].body == agent.body()


def test_several_answers_of_a_conversation_that_was_shortened_are_asked_for_with_all_of_it(started, ask, upstream):
    upstream.answer = provider = Provider(CHAT)
    agent = Agent(CHAT)
    agent.says("Find the bug.")
    with started(mode="recall", room=4_000) as gateway:
        agent.works(ask, gateway, 20)
        agent.fields["n"] = 2
        agent.turn(ask, gateway)
    assert agent.answers[-1].getheader("x-pageturn").startswith("without recall; whole")
    assert tools_of(upstream.asked[-1]) == ["read_file"]
    assert HANDLE.search(json.dumps(provider.bodies[-2]))
    assert not HANDLE.search(json.dumps(provider.bodies[-1]))


@pytest.mark.parametrize("path", PATHS)
def test_a_request_without_tools_in_a_shortened_conversation_has_the_one_that_its_handles_are_for(
    started, ask, upstream, path
):
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="recall", room=4_000) as gateway:
        agent.works(ask, gateway, 20)
        del agent.fields["tools"]
        agent.turn(ask, gateway)
    assert HANDLE.search(json.dumps(provider.bodies[-1]))
    assert tools_of(upstream.asked[-1]) == ["recall"]
    assert provider.problems == []


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_too_large_to_be_looked_at_reaches_the_client(started, ask, upstream, monkeypatch, streams):
    for module in (exchange, projected_answer):
        monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    parts = [("text", "x" * 200_000)]
    body = json.dumps(response(ANTHROPIC, parts, "r")).encode()
    pieces = stream(ANTHROPIC, parts, "r") if streams else [body[at : at + 9_000] for at in range(0, len(body), 9_000)]
    upstream.answer = lambda _: Reply(pieces, headers=EVENTS if streams else JSON)
    agent = Agent(ANTHROPIC)
    agent.says("Hello.")
    with started(mode="recall", room=ROOM) as gateway:
        raw = ask(gateway, "POST", ANTHROPIC, agent.body()).read()
    assert raw.count(b"x") >= 200_000
    assert streams or raw == body


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_of_an_unknown_form_passes_as_it_came(started, ask, upstream, path):
    pieces = [b'data: {"type": "message_start", "message": [1], "choices": 7, "response": "x"}\n\n', b"data: {]\n\n"]
    upstream.answer = lambda _: Reply(pieces, headers=EVENTS)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body())
        assert (answered.status, answered.read()) == (200, b"".join(pieces))


def test_an_answer_that_says_nothing_has_its_end(started, ask, upstream):
    pieces = stream(ANTHROPIC, [], "r1")
    upstream.answer = lambda _: Reply(pieces, headers=EVENTS)
    agent = talk(ANTHROPIC)
    with started(mode="recall", room=ROOM) as gateway:
        raw = ask(gateway, "POST", ANTHROPIC, agent.body()).read()
    assert b"message_start" in raw
    assert b"message_stop" in raw


def test_a_tool_of_the_clients_that_comes_later_by_our_name_keeps_it(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC)
    agent.says("Find the bug.")
    own = {"name": "recall", "description": "Mine.", "input_schema": {"type": "object"}}
    with started(mode="recall", room=4_000) as gateway:
        agent.works(ask, gateway, 20)
        agent.fields["tools"] = [*agent.fields["tools"], own]
        agent.works(ask, gateway, 3)
    with started(mode="recall", room=4_000) as gateway:
        agent.works(ask, gateway, 1)
    assert tools_of(upstream.asked[-1]) == ["read_file", "recall", "recall_page"]
    assert tools_of(upstream.asked[-2]) == ["read_file", "recall", "recall_page"]
    assert provider.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_a_client_sees_that_there_is_an_answer_although_its_model_still_thinks(
    started, ask, upstream, monkeypatch, path
):
    monkeypatch.setattr(passage, "_LONGEST_HOLD", 0.0)
    thinks, comments, speaks = threading.Event(), threading.Event(), threading.Event()
    pieces = stream(path, [("thinking", "hmm"), ("text", "All right.")], "r1")
    cut = next(at for at, piece in enumerate(pieces) if b"hmm" in piece)
    ping = b'event: ping\ndata: {"type": "ping"}\n\n' if path == ANTHROPIC else b": still there\n\n"
    told = [*pieces[:cut], thinks, ping, comments, pieces[cut], speaks, *pieces[cut + 1 :]]
    upstream.answer = lambda _: Reply(told, headers=EVENTS)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body())  # which waits for the head
        begun = answered.readline()
        assert begun
        thinks.set()
        line = answered.readline()
        while not (b"ping" in line or b"still there" in line):
            line = answered.readline()
        comments.set()
        speaks.set()
        rest = answered.read()
    assert b"right" in rest
