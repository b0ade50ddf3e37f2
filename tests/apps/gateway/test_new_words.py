"""What a person says is seen in full once, whatever the room; or the client is told."""

import json

import pytest

from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent, Provider
from tests.apps.gateway.test_recalling import Script, recall
from tests.apps.gateway.test_recalling import talk as streamed_talk
from tests.apps.gateway.test_too_long import ERRORS
from tests.apps.gateway.upstream import Reply

PATHS = [ANTHROPIC, CHAT, RESPONSES]
REASONING = {ANTHROPIC: {"thinking": {"type": "adaptive"}}, CHAT: {}, RESPONSES: {}}
JSON = [("content-type", "application/json")]
ROOM = 6_000


def paste(lines):
    """Words of a person, of about 20 tokens a line."""
    return "\n".join(
        f"{at}. On day {at * 7} the crew of ship {at * 31} found {at * 3} crates of tea." for at in range(lines)
    )


def talk(path, **fields):
    return Agent(path, **{**REASONING[path], **fields})


def told(agent):
    return agent.answers[-1].getheader("x-pageturn")


def is_in(text, body):
    return json.dumps(text)[1:-1] in json.dumps(body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_a_first_message_larger_than_the_room_goes_out_whole(started, ask, upstream, path, mode):
    upstream.answer = provider = Provider(path)
    agent, words = talk(path), paste(700)
    agent.says(words)
    with started(mode=mode, room=ROOM) as gateway:
        agent.works(ask, gateway, 1)
        assert "over=new words" in told(agent)
        assert is_in(words, provider.bodies[0])
        if mode == "manage":
            assert upstream.asked[0].body == agent_body(agent, path)
        agent.works(ask, gateway, 3)  # what was seen is folded like anything else
        assert "managed" in told(agent)
        assert "over" not in told(agent)
        assert gateway.mode.tally().new_words == {"sent beyond the room": 1}
    assert provider.problems == []


def agent_body(agent, path):
    first = talk(path)
    first.history = agent.history[:1]
    return first.body()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_new_words_in_a_conversation_that_was_shortened_are_seen_in_full(started, ask, upstream, path, mode):
    upstream.answer = provider = Provider(path, thinks=True)
    agent, words = talk(path), paste(700)
    agent.says("Find the bug.")
    with started(mode=mode, room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        assert "managed" in told(agent)
        agent.says(words)
        agent.works(ask, gateway, 1)
        assert "over=new words" in told(agent)
        assert is_in(words, provider.bodies[-1])
        agent.works(ask, gateway, 5)
        assert "over" not in told(agent)
    assert provider.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_with_new_words_a_restart_changes_no_byte(started, ask, upstream, tmp_path, path):
    def bodies(store, every):
        upstream.forget()
        upstream.answer = Provider(path, thinks=True)
        agent = Agent(path, {"x-pageturn-session": "s"}, **REASONING[path])
        for at in range(18):
            if at % every == 0:
                gateway = started(mode="manage", room=ROOM, store=str(tmp_path / store))
                running = gateway.__enter__()
            if at in (0, 6, 12):
                agent.says(paste(300 + 100 * at))
            agent.works(ask, running, 1)
            if (at + 1) % every == 0:
                gateway.__exit__(None, None, None)
        assert upstream.answer.problems == []
        return [asked.body for asked in upstream.asked]

    assert bodies("a.db", 18) == bodies("b.db", 1)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_words_that_no_model_takes_are_the_providers_to_refuse(started, ask, upstream, path, mode):
    error = json.dumps(ERRORS[path]).encode()
    provider = Provider(path)
    upstream.answer = lambda asked: Reply([error], 400, headers=JSON) if len(asked.body) > 500_000 else provider(asked)
    agent = talk(path, model="gpt-5" if path != ANTHROPIC else "claude-haiku-5-5")
    agent.says(paste(16_000))
    with started(mode=mode, room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body())
        assert (answered.status, answered.read()) == (400, error)
        assert answered.getheader("x-pageturn").startswith("new words; whole")
        assert gateway.mode.tally().new_words == {"sent with all of the history": 1}
        agent.history.clear()
        agent.says("Then only this.")
        agent.works(ask, gateway, 2)
    assert told(agent).startswith("whole")
    assert provider.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_words_that_the_provider_finds_too_long_are_not_cut_behind_the_clients_back(started, ask, upstream, path):
    error = json.dumps(ERRORS[path]).encode()
    provider = Provider(path)
    upstream.answer = lambda asked: Reply([error], 400, headers=JSON) if len(asked.body) > 40_000 else provider(asked)
    agent = talk(path)
    agent.says(paste(700))
    with started(mode="manage", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body())
        assert (answered.status, answered.read()) == (400, error)
    assert provider.bodies == []


@pytest.mark.parametrize("path", PATHS)
def test_new_words_stay_while_the_model_recalls(started, ask, upstream, path):
    upstream.answer = script = Script(path)
    agent, words = streamed_talk(path), paste(700)
    with started(mode="recall", room=ROOM) as gateway:
        agent.works(ask, gateway, 12)
        script.rounds += [[("thinking", "Hm."), recall(1, query="lily")], [("text", "It is lily.")]]
        agent.says(words)
        agent.turn(ask, gateway)
    assert script.problems == []
    assert [is_in(words, body) for body in script.bodies[-2:]] == [True, True]


@pytest.mark.parametrize("path", PATHS)
def test_words_that_are_cut_in_a_conversation_that_was_shortened_are_said_to_be(started, ask, upstream, path):
    """Its client does not have all of it, so that nothing else can be sent."""
    upstream.answer = provider = Provider(path)
    agent = talk(path, model="gpt-5" if path != ANTHROPIC else "claude-haiku-5-5")
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 12)
        agent.says(paste(16_000))
        agent.works(ask, gateway, 1)
        assert told(agent).startswith("managed")
        assert "new words=cut" in told(agent)
        assert gateway.mode.tally().new_words == {"cut": 1}
    assert provider.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_words_of_half_a_window_are_seen_in_full_too(started, ask, upstream, path):
    """Behind a derived history, or where none shows them with all of the client's own, and then without its reasoning."""
    upstream.answer = provider = Provider(path, thinks=True)
    agent, words = talk(path, model="gpt-5" if path != ANTHROPIC else "claude-haiku-5-5"), paste(4_400)
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 12)
        agent.says(words)
        agent.works(ask, gateway, 1)
        assert "new words" in told(agent)
        assert is_in(words, provider.bodies[-1])
        agent.works(ask, gateway, 3)
        assert told(agent).startswith("managed")
    assert provider.problems == []
