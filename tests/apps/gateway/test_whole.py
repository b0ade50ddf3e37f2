"""A conversation that was derived goes out whole: switched off, for a summary of the client's own, or while somebody watches."""

import json

import pytest

import pageturn as pt
from pageturn.values.errors import Busy, StoreError
from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent, Provider
from tests.apps.gateway.test_recalling import Script, recall, talk

PATHS = [ANTHROPIC, CHAT, RESPONSES]
REASONING = {ANTHROPIC: {"thinking": {"type": "adaptive"}}, CHAT: {}, RESPONSES: {}}
ROOM = 4_000


def breaks(*_, **__):
    raise StoreError("gone")


def thinking(path, provider_of=Provider, **headers):
    agent = Agent(path, headers, **REASONING[path])
    agent.says("Find the bug.")
    return agent, provider_of(path, thinks=True)


def made_elsewhere(body, numbers):
    """Of these answers, those whose reasoning is in a request."""
    return [each for each in numbers if any(f"{word}-{each}-x" in json.dumps(body) for word in ("sig", "enc"))]


@pytest.mark.parametrize("path", [ANTHROPIC, RESPONSES])
def test_off_leaves_out_reasoning_of_a_derived_history_and_derives_again_later(started, ask, upstream, path):
    agent, provider = thinking(path)
    upstream.answer = provider
    elsewhere = []
    with started(mode="manage", room=2 * ROOM) as gateway:
        agent.works(ask, gateway, 20)
        for _ in range(3):
            for _ in range(2):
                reply = agent.turn(ask, gateway, **{"x-pageturn": "off"})
                assert "reasoning=dropped" in agent.answers[-1].getheader("x-pageturn")
                assert "enc-" not in json.dumps(provider.bodies[-1])
                assert "sig-" not in json.dumps(provider.bodies[-1])
                del provider.bodies[-1]
                elsewhere.append(provider.calls)
                for call in agent.calls(reply):
                    agent.brings(call, "a result")
            agent.works(ask, gateway, 2, 100)
            assert "fold=no" in agent.answers[-1].getheader("x-pageturn")
    assert provider.problems == []
    assert made_elsewhere(provider.bodies[-1], elsewhere) == []


@pytest.mark.parametrize("path", [ANTHROPIC, RESPONSES])
def test_a_summary_of_a_derived_history_is_asked_for_without_its_reasoning(started, ask, upstream, path):
    agent, upstream.answer = thinking(path)
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        if path == ANTHROPIC:
            agent.history[-1]["content"].append({"type": "text", "text": "CRITICAL: Respond with TEXT ONLY"})
        else:
            agent.says("CONTEXT CHECKPOINT COMPACTION")
        agent.turn(ask, gateway)
    assert agent.answers[-1].getheader("x-pageturn").startswith("compaction; whole")
    assert upstream.answer.problems == []


@pytest.mark.parametrize("path", [ANTHROPIC, RESPONSES])
def test_what_is_said_while_somebody_watches_a_derived_session_stands_there_without_its_reasoning(
    started, ask, upstream, path
):
    agent, provider = thinking(path)
    upstream.answer = provider
    elsewhere = []
    with started(mode="manage", room=2 * ROOM) as gateway:
        agent.works(ask, gateway, 20)
    for _ in range(3):
        with started(mode="watch") as gateway:  # which edits nothing, so that the provider may refuse what it gets
            agent.works(ask, gateway, 1, 300)
        provider.problems.clear()
        del provider.bodies[-1]
        elsewhere.append(provider.calls)
        with started(mode="manage", room=2 * ROOM) as gateway:
            agent.works(ask, gateway, 1, 300)
        assert "fold=no" in agent.answers[-1].getheader("x-pageturn")
        assert provider.problems == []
    assert made_elsewhere(provider.bodies[-1], elsewhere) == []


@pytest.mark.parametrize("path", PATHS)
def test_off_is_off_when_the_store_fails(started, ask, upstream, monkeypatch, path):
    agent, upstream.answer = thinking(path)
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        monkeypatch.setattr(gateway.mode._sessions, "locate", breaks)
        agent.turn(ask, gateway, **{"x-pageturn": "off"})
    note = agent.answers[-1].getheader("x-pageturn")
    assert note.startswith("off; the store cannot be read")
    assert "without what was recalled" in note
    assert upstream.answer.problems == []
    assert len(upstream.asked[-1].body) > 20_000


def test_off_is_off_when_nothing_fits_the_room(started, ask, upstream):
    upstream.answer = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    statuses = {}
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 15)
        for number in range(60):
            tool = {"name": f"x{number}", "description": "y" * 600}
            agent.history.append({"role": "system", "content": [{"type": "tool_addition", "tool": tool}]})
        for told in ("on", "off"):
            answered = ask(gateway, "POST", ANTHROPIC, agent.body(), {**agent.headers, "x-pageturn": told})
            answered.read()
            statuses[told] = answered.status
    assert statuses == {"on": 400, "off": 200}


@pytest.mark.parametrize("path", PATHS)
def test_off_with_a_recall_in_the_middle_stays_whole(started, ask, upstream, path):
    upstream.answer = script = Script(path)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        script.rounds += [[("thinking", "Hm."), recall(1, query="lily")], [("text", "It is lily.")]]
        agent.turn(ask, gateway, **{"x-pageturn": "off"})
        whole = len(upstream.asked[-1].body)
        agent.says("Go on.")
        agent.works(ask, gateway, 3)
    assert whole > 25_000
    assert "It is lily." in json.dumps(agent.history)
    assert script.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_a_store_that_cannot_be_written_after_a_restart_refuses_what_was_shortened(
    started, ask, upstream, monkeypatch, path
):
    upstream.answer = Provider(path)
    agent, other = Agent(path), Agent(path)
    agent.says("Find the bug.")
    other.says("Hello.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
    with started(mode="manage", room=ROOM) as gateway:
        monkeypatch.setattr(gateway.mode._sessions, "take", breaks)
        refused, passed = (ask(gateway, "POST", path, each.body()) for each in (agent, other))
        assert (refused.status, passed.status) == (503, 200)
        assert "the store" in json.loads(refused.read())["error"]["message"]


def test_a_locked_store_is_waited_for_once(started, ask, upstream, monkeypatch):
    upstream.answer = Provider(CHAT)
    agent = Agent(CHAT, {"x-pageturn-session": "s"})
    agent.says("Hello.")
    waits = []
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 2)
        sessions = gateway.mode._sessions
        gateway.mode._thread.submit(lambda: None).result()
        at_once, take = sessions.store.at_once, sessions.take

        def noticed():
            waits.append("not")
            return at_once()

        def locked(*_, **__):
            raise Busy("another program writes")

        monkeypatch.setattr(sessions.store, "at_once", noticed)
        monkeypatch.setattr(sessions, "take", locked)
        for _ in range(3):
            ask(gateway, "POST", CHAT, agent.body(), agent.headers).read()
        assert waits == ["not"] * 2
        monkeypatch.setattr(sessions, "take", take)
        for _ in range(2):
            ask(gateway, "POST", CHAT, agent.body(), agent.headers).read()
        gateway.mode._thread.submit(lambda: None).result()
        waits.clear()
        monkeypatch.setattr(sessions, "take", locked)
        ask(gateway, "POST", CHAT, agent.body(), agent.headers).read()
        assert waits == []


def test_a_request_too_large_to_be_read_is_counted_and_refused_where_it_was_shortened(
    started, ask, upstream, monkeypatch
):
    upstream.answer = Provider(ANTHROPIC)
    agent, other = (Agent(ANTHROPIC, {"x-pageturn-session": name}) for name in ("s", "t"))
    agent.says("Find the bug.")
    other.says("Hello.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        monkeypatch.setattr("pageturn.apps.gateway.downstream.MOST_BYTES", 1_000)
        other.says("x" * 2_000)
        refused, passed = (ask(gateway, "POST", ANTHROPIC, each.body(), each.headers) for each in (agent, other))
        told = json.loads(refused.read())
        passed.read()
        assert (refused.status, passed.status) == (413, 200)
        assert "was shortened" in told["error"]["message"]
        assert gateway.mode.tally().passed == {"too large": 2}
    with started(mode="watch") as gateway:
        ask(gateway, "POST", ANTHROPIC, other.body(), other.headers).read()
        assert gateway.mode.tally().passed == {"too large": 1}


def test_words_that_were_erased_do_not_come_back_by_switching_off(started, ask, upstream, store):
    upstream.answer = provider = Provider(CHAT)
    agent = Agent(CHAT, {"x-pageturn-session": "s"})
    agent.says("The password is lily.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 2, 200)
    with pt.Session.open(str(store), id="s", recall=None) as session:
        session.erase(session.reader.pages()[1])
    with started(mode="manage", room=ROOM) as gateway:
        agent.turn(ask, gateway, **{"x-pageturn": "off"})
    assert agent.answers[-1].getheader("x-pageturn").startswith("off; whole")
    assert "lily" not in json.dumps(provider.bodies[-1])
