"""What clients do besides talking: they ask for summaries in several ways, add tools, and send roles and items that nobody knows."""

import json
import re

import pytest

from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent, Provider, large
from tests.apps.gateway.test_recalling import Script, recall, talk

PATHS = [ANTHROPIC, CHAT, RESPONSES]
ROOM = 4_000
HANDLE = re.compile(r"\bp\d+-[0-9a-z]{4,}")
TRIGGER = {"type": "compaction_trigger"}
ASKING = [
    (ANTHROPIC, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."),
    (RESPONSES, "You are performing a CONTEXT CHECKPOINT COMPACTION."),
    (RESPONSES, None),
    (CHAT, "First, reason in your scratchpad. Then, generate the <state_snapshot>."),
]


@pytest.mark.parametrize(("path", "words"), ASKING)
def test_a_clients_compaction_gets_all_of_a_history_that_was_shortened(started, ask, upstream, path, words):
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        before = len(agent.history)
        agent.says(words) if words is not None else agent.history.append(TRIGGER)
        agent.turn(ask, gateway)
        del agent.history[before:]  # it is no part of what goes on
        agent.works(ask, gateway, 2)
    notes = [answer.getheader("x-pageturn") for answer in agent.answers]
    assert notes[20].startswith("compaction; whole")
    assert all(note.startswith("managed") for note in (notes[19], *notes[21:]))
    sent = json.dumps(provider.bodies[20])
    assert all(f"Step {number}." in sent for number in range(1, 21))


class Billed(Agent):
    """Claude Code as it was when the first block of its instructions was another one at every request."""

    def body(self):
        line = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1; cch={len(self.answers)};"}
        body = json.loads(super().body())
        return json.dumps({**body, "system": [line, *body["system"]]}).encode()


@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_a_line_that_defeats_the_caches_of_other_servers_is_dropped_where_somebody_says_so(
    started, ask, upstream, mode
):
    upstream.answer = provider = Provider(ANTHROPIC)
    agent = Billed(ANTHROPIC)
    agent.says("Find the bug.")
    with started(mode=mode, room=4_000, billing_line="drop") as gateway:
        agent.works(ask, gateway, 20)
        assert "managed" in agent.answers[-1].getheader("x-pageturn")
        assert "billing" not in json.dumps(provider.bodies)
        assert provider.problems == []
        assert len(gateway.mode.tally().sessions) <= 1
        agent.turn(ask, gateway, **{"x-pageturn": "off"})
        assert "billing" in json.dumps(provider.bodies[-1])


def test_a_line_that_changes_is_kept_where_nobody_says_so(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    agent = Billed(ANTHROPIC)
    agent.says("Find the bug.")
    with started(mode="manage", room=4_000) as gateway:
        agent.works(ask, gateway, 20)
        assert len(gateway.mode.tally().sessions) <= 1
    assert all("cch=" in json.dumps(body["system"][0]) for body in provider.bodies)


@pytest.mark.parametrize("path", PATHS)
def test_manage_names_no_page_since_nobody_could_ask_for_one(started, ask, upstream, path):
    upstream.answer = provider = Provider(path)
    agent = Agent(path)
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 25)
    assert "managed" in agent.answers[-1].getheader("x-pageturn")
    assert [at for at, body in enumerate(provider.bodies) if HANDLE.search(json.dumps(body))] == []


@pytest.mark.parametrize("path", PATHS)
def test_what_was_recalled_is_seen_at_full_once(started, ask, upstream, path):
    """The answer of the tool is not shortened again before the model has read it."""
    upstream.answer = script = Script(path)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        first = 3 if path == RESPONSES else 2
        words = large(first)
        script.rounds += [[recall(1, query=f"module_{first} file_7 value_{first}_7")], [("text", "I see.")]]
        agent.turn(ask, gateway)
    answers = [each for each in (json.dumps(body) for body in script.bodies) if "toolu_recall0000000001" in each]
    assert len(answers) == 1
    assert words.splitlines()[7] in answers[0]
    assert script.problems == []


@pytest.mark.parametrize("mode", ["manage", "recall"])
@pytest.mark.parametrize("path", PATHS)
def test_tools_may_grow_in_the_middle(started, ask, upstream, path, mode):
    upstream.answer = provider = Provider(path)
    agent = Agent(path)
    agent.says("Find the bug.")
    with started(mode=mode, room=ROOM) as gateway:
        for number in range(24):
            if number % 8 == 7:
                (first, *others) = agent.fields["tools"]
                more = json.loads(json.dumps(first).replace("read_file", f"tool_{number}"))
                agent.fields["tools"] = [first, more, *others]
            agent.works(ask, gateway, 1)
    sent = [tool.get("name") or tool["function"]["name"] for tool in provider.bodies[-1]["tools"]]
    assert sent == ["read_file", "tool_23", "tool_15", "tool_7", *(["recall"] if mode == "recall" else [])]
    assert provider.problems == []
    assert {answer.getheader("x-pageturn").partition(";")[0] for answer in agent.answers} == {"whole", "managed"}


def test_items_that_nobody_knows_stay_in_their_place_and_fold_with_their_step(started, ask, upstream):
    upstream.answer = provider = Provider(RESPONSES)
    agent = Agent(RESPONSES)
    agent.says("Find the bug.")
    odd = {"type": "quantum_item", "payload": {"x": [1, 2, 3]}, "id": "q_1"}
    with started(mode="manage", room=ROOM) as gateway:
        for number in range(20):
            reply = agent.turn(ask, gateway)
            agent.history += [odd] if number == 17 else []
            for call in agent.calls(reply):
                agent.brings(call, large(number))
        shown = [body["input"] for body in provider.bodies[18:]]
        agent.works(ask, gateway, 12)
    assert "managed" in agent.answers[18].getheader("x-pageturn")
    assert all(odd in items for items in shown)
    assert "passed" not in " ".join(answer.getheader("x-pageturn") for answer in agent.answers)
