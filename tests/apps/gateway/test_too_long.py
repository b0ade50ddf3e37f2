"""Prompts that a provider finds too long: the gateway sends a shorter one, also where no client would get an answer any more."""

import json
import threading

import pytest

from pageturn.apps.gateway import passage
from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent, Provider, large
from tests.apps.gateway.answers import events
from tests.apps.gateway.test_recalling import EVENTS, JSON, Script, recall, talk
from tests.apps.gateway.upstream import Reply

PATHS = [ANTHROPIC, CHAT, RESPONSES]
TOO_LONG = "Your input exceeds the context window of this model."
ERRORS = {
    ANTHROPIC: {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 3000 maximum"}},
    CHAT: {"error": {"code": "context_length_exceeded", "message": TOO_LONG, "type": "invalid_request_error"}},
    RESPONSES: {"error": {"code": "context_length_exceeded", "message": TOO_LONG, "type": "invalid_request_error"}},
}  # fmt: skip


def failing_stream(path, code="context_length_exceeded", message=TOO_LONG):
    """A stream that only says that the prompt is too long."""
    error = {"code": code, "message": message}
    if path == CHAT:
        return [f"data: {json.dumps({'error': error})}\n\n".encode()]
    if path == ANTHROPIC:
        return [f"event: error\ndata: {json.dumps(ERRORS[ANTHROPIC])}\n\n".encode()]
    response = {"id": "resp_x", "object": "response", "created_at": 1, "model": "gpt-5", "status": "failed", "output": [], "error": error}  # fmt: skip
    made = [{"type": "response.created", "response": {**response, "status": "in_progress", "error": None}}]
    made += [{"type": "response.in_progress", "response": made[0]["response"]}, {"type": "response.failed", "response": response}]  # fmt: skip
    return [f"event: {each['type']}\ndata: {json.dumps({**each, 'sequence_number': at})}\n\n".encode() for at, each in enumerate(made)]  # fmt: skip


@pytest.mark.parametrize("mode", ["manage", "recall"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_stream_that_only_says_so_is_asked_for_again(started, ask, upstream, path, mode):
    script = Script(path)
    refused = []

    def answer(asked):
        if len(asked.body) > 14_000:
            refused.append(len(asked.body))
            return Reply(failing_stream(path), headers=EVENTS)
        return script(asked)

    upstream.answer = answer
    agent = talk(path)
    with started(mode=mode, room=60_000) as gateway:
        for _ in range(12):
            reply = agent.turn(ask, gateway)
            assert b"context_length" not in agent.raw
            for call in agent.calls(reply):
                agent.brings(call, large(len(agent.history)))
    assert refused
    assert script.problems == []
    assert "managed" in agent.answers[-1].getheader("x-pageturn")


@pytest.mark.parametrize("mode", ["manage", "recall"])
@pytest.mark.parametrize("path", PATHS)
def test_a_stream_that_fails_for_another_reason_is_the_clients(started, ask, upstream, path, mode):
    pieces = failing_stream(path, "server_error", "Try again later.") if path != ANTHROPIC else [b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n']  # fmt: skip
    upstream.answer = lambda _: Reply(pieces, headers=EVENTS)
    agent = talk(path)
    with started(mode=mode, room=60_000) as gateway:
        raw = ask(gateway, "POST", path, agent.body()).read()
    told = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith(b"data: ")]
    meant = [json.loads(line[6:]) for line in b"".join(pieces).splitlines() if line.startswith(b"data: ")]
    assert told == meant
    assert len(upstream.asked) == 1


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_stream_is_the_providers_own_bytes_once_the_model_says_something(started, ask, upstream, path):
    pieces, more = events(path, "Hello there."), threading.Event()
    upstream.answer = lambda _: Reply([*pieces[:4], more, *pieces[4:]], headers=EVENTS)
    agent = talk(path)
    with started(mode="manage", room=60_000) as gateway:
        answered = ask(gateway, "POST", path, agent.body())
        begun = answered.read(len(pieces[0]))  # before all of it has come
        more.set()
        assert begun + answered.read() == b"".join(pieces)


def test_a_stream_that_says_nothing_for_long_is_let_go(started, ask, upstream, monkeypatch):
    monkeypatch.setattr(passage, "_LONGEST_HOLD", 0.0)
    pieces, more = events(RESPONSES, "Hello there."), threading.Event()
    upstream.answer = lambda _: Reply([pieces[0], more, *pieces[1:]], headers=EVENTS)
    agent = talk(RESPONSES)
    with started(mode="manage", room=60_000) as gateway:
        answered = ask(gateway, "POST", RESPONSES, agent.body())
        begun = answered.read(len(pieces[0]))
        more.set()
        assert begun + answered.read() == b"".join(pieces)


@pytest.mark.parametrize("path", PATHS)
def test_a_call_beside_a_derived_conversation_is_shortened_where_it_does_not_fit(started, ask, upstream, path):
    """As some clients ask for a summary: all of a history that they never saw grow, and no tools."""
    provider = Provider(path)
    error = Reply([json.dumps(ERRORS[path]).encode()], 400, headers=JSON)
    upstream.answer = lambda asked: error if len(asked.body) > 25_000 else provider(asked)
    agent = Agent(path, {"x-session-id": "s"})
    agent.says("Find the bug.")
    with started(mode="manage", room=4_000) as gateway:
        agent.works(ask, gateway, 25)
        sessions = gateway.mode.tally().sessions
        del agent.fields["tools"]
        agent.says("Summarise all of this.")
        agent.turn(ask, gateway)
        assert gateway.mode.tally().sessions >= sessions
    assert agent.answers[-1].getheader("x-pageturn").startswith("aside; shortened")
    assert "Summarise all of this." in json.dumps(provider.bodies[-1])
    assert "Find the bug." in json.dumps(provider.bodies[-1])


@pytest.mark.parametrize("path", PATHS)
def test_what_is_too_long_twice_is_told_in_the_providers_words(started, ask, upstream, path):
    error = json.dumps(ERRORS[path]).encode()
    upstream.answer = lambda _: Reply([error], 400, headers=JSON)
    agent, aside = Agent(path), Agent(path)
    agent.says("Hello.")
    aside.says("Title?")
    del aside.fields["tools"]
    with started(mode="manage", room=60_000) as gateway:
        for each in (agent, aside):
            answered = ask(gateway, "POST", path, each.body())
            assert (answered.status, answered.read()) == (400, error)
    assert len(upstream.asked) <= 4


@pytest.mark.parametrize("path", PATHS)
def test_a_recall_that_makes_a_request_too_long_ends_as_an_error(started, ask, upstream, path):
    error = json.dumps(ERRORS[path]).encode()
    rounds = [Reply([error], 400, headers=JSON)]
    upstream.answer = script = Script(path, [("thinking", "Hm."), recall(1, query="lily")], *rounds)
    agent = talk(path)
    with started(mode="recall", room=60_000) as gateway:
        answered = ask(gateway, "POST", path, agent.body())
        assert (answered.status, answered.read()) == (400, error)
    assert script.problems == []
