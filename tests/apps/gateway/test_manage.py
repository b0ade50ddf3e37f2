"""Manage mode: as the client wrote it until the first fold, and derived from then on."""

import asyncio
import gc
import json
import threading
import weakref

import pytest

import pageturn as pt
from pageturn.apps.gateway.endpoints import endpoint_of
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.manage import Manage
from pageturn.apps.gateway.recalling import Recalling
from pageturn.journal.reader import SessionReader, sessions
from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent, Provider, large

PATHS = [ANTHROPIC, CHAT, RESPONSES]
ROOM = 6_000


def note(answer):
    told = answer.getheader("x-pageturn")
    return dict(part.partition("=")[::2] for part in told.split("; "))


@pytest.mark.parametrize("path", PATHS)
def test_an_agent_works_on_while_what_it_sends_stays_small(started, ask, upstream, store, path):
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug in module 7, and never push to main.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 40)
    assert provider.problems == []
    notes = [note(answer) for answer in agent.answers]
    first = next(at for at, each in enumerate(notes) if "managed" in each)
    assert all("whole" in each for each in notes[:first])
    assert all("managed" in each for each in notes[first:])
    assert any(each["fold"] == "yes" for each in notes[first:])
    assert sum(each["fold"] == "no" for each in notes[first:]) > 10  # mostly the prefix stays
    assert max(int(each["sent"]) for each in notes[first:]) < ROOM + 2_000
    assert int(notes[-1]["in"]) > 3 * ROOM
    # Everything that is not a message went out as it came.
    for body in provider.bodies:
        items = body.pop("messages", None) or body.pop("input")
        assert {name: agent.fields[name] for name in body} == body
        assert len(items) > 0
    assert "Find the bug in module 7" in json.dumps(items)
    ((info,),) = (sessions(str(store)),)
    reader = SessionReader.open(str(store), info.id)
    calls = [call.id for message in reader.messages(internal=True) for call in message.tool_calls]
    assert len(calls) == len(set(calls)) == 40


@pytest.mark.parametrize("path", PATHS)
def test_until_the_first_fold_bytes_pass(started, ask, upstream, path):
    upstream.answer = provider = Provider(path)
    agent = Agent(path)
    agent.says("Hello.")
    sent = []
    with started(mode="manage", room=ROOM) as gateway:
        for _ in range(5):
            sent.append(agent.body())
            agent.works(ask, gateway, 1, 200)
    assert [asked.body for asked in upstream.asked] == sent
    assert provider.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_a_restart_between_any_two_requests_changes_no_byte(started, ask, upstream, tmp_path, path):
    def bodies(store, every):
        upstream.forget()
        upstream.answer = Provider(path, thinks=True)
        agent = Agent(path, {"x-pageturn-session": "s"})
        agent.says("Find the bug.")
        turns = 24
        while turns:
            with started(mode="manage", room=ROOM, store=str(tmp_path / store)) as gateway:
                agent.works(ask, gateway, min(every, turns))
            turns -= min(every, turns)
        assert upstream.answer.problems == []
        return [asked.body for asked in upstream.asked]

    assert bodies("a.db", 100) == bodies("b.db", 1) == bodies("c.db", 3)


@pytest.mark.parametrize("path", [ANTHROPIC, RESPONSES])
def test_reasoning_stands_only_behind_what_it_was_made_on(started, ask, upstream, path):
    upstream.answer = provider = Provider(path, thinks=True)
    agent = Agent(path)
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 30)
    assert provider.problems == []
    folded = [at for at, answer in enumerate(agent.answers) if note(answer).get("fold") == "yes"]
    after = json.dumps(provider.bodies[folded[0] + 2])
    assert ("thinking" if path == ANTHROPIC else 'encrypted_content": "enc') in after  # made since, and sent back


def test_marks_are_the_clients_on_tools_and_system_and_ours_in_messages(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    agent = Agent(ANTHROPIC, system=[{"type": "text", "text": "A."}, {"type": "text", "text": "B.", **mark}])
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        for _ in range(20):
            last = agent.history[-1]
            plain = last["content"]
            blocks = [{"type": "text", "text": plain}] if isinstance(plain, str) else plain
            last["content"] = [*blocks[:-1], {**blocks[-1], **mark}]
            reply = agent.turn(ask, gateway)
            last["content"] = plain
            for call in agent.calls(reply):
                agent.brings(call, large(len(agent.history)))
    assert provider.problems == []
    last = provider.bodies[-1]
    assert last["system"] == agent.fields["system"]
    marks = [
        block["cache_control"] for item in last["messages"] for block in item["content"] if "cache_control" in block
    ]
    assert marks in ([mark["cache_control"]] * 2, [mark["cache_control"]] * 3)
    assert "cache_control" in last["messages"][-1]["content"][-1]


@pytest.mark.parametrize("others", [1, 2, 3, 4])
def test_marks_for_an_hour_stand_before_others_and_there_are_four_at_most(started, ask, upstream, others):
    upstream.answer = provider = Provider(ANTHROPIC)
    hour, short = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}, {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": f"Rule {at}.", **(hour if at < others else {})} for at in range(4)]
    agent = Agent(ANTHROPIC, system=system)
    agent.says("Find the bug.")
    agent.history[0]["content"] = [{"type": "text", "text": "Find the bug.", **(hour if others < 3 else {})}]
    with started(mode="manage", room=ROOM) as gateway:
        for _ in range(20):
            last = agent.history[-1]
            plain = last["content"]
            last["content"] = [*plain[:-1], {**plain[-1], **(short if others < 4 else {})}]
            reply = agent.turn(ask, gateway)
            last["content"] = plain
            for call in agent.calls(reply):
                agent.brings(call, large(len(agent.history)))
    assert "managed" in note(agent.answers[-1])
    assert provider.problems == []
    last = provider.bodies[-1]
    marks = [block["cache_control"] for item in last["messages"] for block in item["content"] if "cache_control" in block]  # fmt: skip
    assert marks == [short["cache_control"]] * min(len(marks), 4 - others)
    assert bool(marks) is (others < 4)
    assert last["system"] == system


def test_a_client_without_marks_gets_none(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC)
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
    assert "managed" in note(agent.answers[-1])
    assert "cache_control" not in json.dumps(provider.bodies)


def test_edits_that_the_client_wants_of_the_provider_are_off_once_it_is_derived(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    edits = [{"type": "clear_thinking_20251015", "keep": "all"}, {"type": "clear_tool_uses_20250919"}]
    agent = Agent(ANTHROPIC, context_management={"edits": edits})
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
    assert provider.bodies[0]["context_management"] == {"edits": edits}
    assert provider.bodies[-1]["context_management"] == {"edits": edits[:1]}
    assert note(agent.answers[-1])["edits"] == "off"
    assert "edits" not in note(agent.answers[0])


def test_pictures_and_blocks_that_nobody_knows_fold_with_their_unit(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC)
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    agent.history.append({"role": "user", "content": [picture, {"type": "text", "text": "What is this?"}]})
    with started(mode="manage", room=ROOM) as gateway:
        for number in range(20):
            reply = agent.turn(ask, gateway)
            (call,) = agent.calls(reply)
            content = [{"type": "text", "text": large(number)}, picture]
            agent.history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": content}]})  # fmt: skip
    assert provider.problems == []
    last = provider.bodies[-1]["messages"]
    assert "managed" in note(agent.answers[-1])
    results = [block for item in last for block in item["content"] if block["type"] == "tool_result"]
    assert picture in results[-1]["content"]


def test_what_is_too_long_is_sent_once_more_and_tighter(started, ask, upstream):
    """A client whose provider refuses what nobody thought too long: it sees an answer."""
    provider = Provider(ANTHROPIC)
    refused = []

    def answer(asked):
        size = len(asked.body)
        if size > 12_000:
            refused.append(size)
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 3000 maximum"}}  # fmt: skip
            from tests.apps.gateway.upstream import Reply  # noqa: PLC0415

            return Reply([json.dumps(error).encode()], 400, headers=[("content-type", "application/json")])
        return provider(asked)

    upstream.answer = answer
    agent = Agent(ANTHROPIC)
    agent.says("Find the bug.")
    with started(mode="manage", room=60_000) as gateway:
        agent.works(ask, gateway, 12)
    assert refused
    assert provider.problems == []
    assert "managed" in note(agent.answers[-1])


def test_a_refusal_of_ours_has_the_vendors_form_and_says_what_to_set(started, ask, upstream):
    upstream.answer = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC, headers={"x-pageturn-session": "s"})
    with started(mode="manage", room=4_000) as gateway:
        for number in range(60):
            agent.history.append({"role": "system", "content": [{"type": "tool_addition", "tool": {"name": f"x{number}", "description": "y" * 600}}]})  # fmt: skip
        agent.says("Go.")
        answered = ask(gateway, "POST", ANTHROPIC, agent.body(), agent.headers)
        body = json.loads(answered.read())
    assert answered.status == 400
    assert body["type"] == "error"
    assert "--room" in body["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_off_sends_a_derived_session_whole(started, ask, upstream, path):
    upstream.answer = provider = Provider(path)
    agent = Agent(path)
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        body = agent.body()
        agent.turn(ask, gateway, **{"x-pageturn": "off"})
        gateway.mode.is_on = False
        for call in agent.calls(json.loads(json.dumps({"content": [], "output": [], "choices": [{"message": {}}]}))):
            agent.brings(call, "x")
    assert upstream.asked[-1].body == body
    assert agent.answers[-1].getheader("x-pageturn").startswith("off; whole")
    assert provider.bodies[-1]


def test_a_side_call_passes_and_is_no_part_of_the_session(started, ask, upstream, store):
    upstream.answer = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC, {"x-claude-code-session-id": "s"})
    agent.says("Find the bug.")
    title = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Title?"}]}).encode()
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 2)
        answered = ask(gateway, "POST", ANTHROPIC, title, agent.headers)
        answered.read()
        agent.works(ask, gateway, 2)
    assert answered.getheader("x-pageturn") == "aside"
    assert len([each for each in sessions(str(store)) if each.id.startswith("claude-code")]) == 1


def test_a_store_that_fails_lets_others_pass_and_refuses_what_was_shortened(started, ask, upstream, monkeypatch):
    from pageturn.values.errors import StoreError  # noqa: PLC0415

    upstream.answer = Provider(CHAT)
    agent, other = Agent(CHAT), Agent(CHAT)
    agent.says("Find the bug.")
    other.says("Hello.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        monkeypatch.setattr(gateway.mode._sessions, "locate", lambda _: (_ for _ in ()).throw(StoreError("gone")))
        passed = ask(gateway, "POST", CHAT, other.body())
        refused = ask(gateway, "POST", CHAT, agent.body())
        assert (passed.status, refused.status) == (200, 503)
        assert "the store cannot be read or written" in json.loads(refused.read())["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_a_reply_that_was_not_written_before_a_crash_belongs_to_its_context(started, ask, upstream, tmp_path, path):
    """As if the gateway had stopped with the last byte: the next request brings the reply, and the bytes are the same."""

    def bodies(store, *, forgets):
        upstream.forget()
        upstream.answer = Provider(path)
        agent = Agent(path, {"x-pageturn-session": "s"})
        agent.says("Find the bug.")
        for number in range(20):
            with started(mode="manage", room=ROOM, store=str(tmp_path / store)) as gateway:
                if forgets and number % 2:
                    gateway.mode._recorded = lambda *_: None
                agent.works(ask, gateway, 1)
        return [len(asked.body) for asked in upstream.asked]

    whole, torn = bodies("a.db", forgets=False), bodies("b.db", forgets=True)
    assert whole[-1] == torn[-1]
    assert whole == torn


@pytest.mark.parametrize("path", PATHS)
def test_the_same_request_again_is_the_same_bytes(started, ask, upstream, path):
    """Retries, also after the first was answered: a fork derives what was derived then."""
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 20)
        body = agent.body()
        for _ in range(3):
            ask(gateway, "POST", path, body, agent.headers).read()
        sent = [asked.body for asked in upstream.asked[-3:]]
        assert sent[0] == sent[1] == sent[2] != body
        agent.works(ask, gateway, 3)
    assert provider.problems == []


@pytest.mark.parametrize("path", PATHS)
def test_an_edit_in_a_derived_history_is_derived_too(started, ask, upstream, path):
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 24)
        del agent.history[-6:]
        while agent.history[-1].get("role") == "assistant" or agent.history[-1].get("type") in (
            "message",
            "function_call",
        ):
            agent.history.pop()
        agent.says("Rather look elsewhere.")
        agent.works(ask, gateway, 4)
    assert provider.problems == []
    assert "managed" in note(agent.answers[-1])
    assert "Rather look elsewhere." in json.dumps(provider.bodies[-1])


def test_words_that_were_erased_are_not_sent_though_the_client_has_them(started, ask, upstream, store):
    upstream.answer = provider = Provider(CHAT)
    agent = Agent(CHAT, {"x-pageturn-session": "s"})
    agent.says("The password is lily.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 2, 200)
    with pt.Session.open(str(store), id="s", recall=None) as session:
        session.erase(session.reader.pages()[1])
    agent.says("Go on.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 2, 200)
    assert "lily" in json.dumps(provider.bodies[1])
    assert "lily" not in json.dumps(provider.bodies[2:])
    assert provider.problems == []


REMINDERS = [[], ["<system-reminder>Date A</system-reminder>"], ["<system-reminder>Date B</system-reminder>"]]


@pytest.mark.parametrize("later", REMINDERS)
@pytest.mark.parametrize("first", REMINDERS)
@pytest.mark.parametrize("path", PATHS)
def test_words_that_were_erased_do_not_come_back_beside_other_reminders(
    started, ask, upstream, store, path, first, later
):
    upstream.answer = provider = Provider(path)
    kind = "input_text" if path == RESPONSES else "text"

    def talks(name, reminders):
        agent = Agent(path, {"x-pageturn-session": name})
        agent.says("")
        agent.history[0]["content"] = [{"type": kind, "text": each} for each in (*reminders, "The password is lily.")]
        with started(mode="manage", room=ROOM) as gateway:
            agent.works(ask, gateway, 1, 200)

    talks("s", first)
    with pt.Session.open(str(store), id="s", recall=None) as session:
        session.erase(next(page for page in session.reader.pages() if "lily" in session.reader.message(page).text))
    talks("t", later)
    assert "lily" in json.dumps(provider.bodies[0])
    assert "lily" not in json.dumps(provider.bodies[-1])
    texts = [message.text for message in SessionReader.open(str(store), "t").messages(internal=True)]
    assert "lily" not in json.dumps(texts)


def test_blocks_of_the_vendors_own_tools_are_never_touched(started, ask, upstream):
    upstream.answer = provider = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC)
    agent.says("Find the bug.")
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "bug"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://example.org", "title": "t", "encrypted_content": "x" * 50}]}  # fmt: skip
    tools = [*agent.fields["tools"], {"type": "web_search_20250305", "name": "web_search"}]
    agent.fields["tools"] = tools
    with started(mode="manage", room=ROOM) as gateway:
        for number in range(20):
            reply = agent.turn(ask, gateway)
            agent.history[-1]["content"][0:0] = [search, found] if number == 17 else []
            for call in agent.calls(reply):
                agent.brings(call, large(len(agent.history)))
    assert provider.problems == []
    assert "managed" in note(agent.answers[-1])
    bodies = [body for body, answer in zip(provider.bodies, agent.answers, strict=True) if "managed" in note(answer)]
    shown = [block for body in bodies for item in body["messages"] for block in item["content"]]
    own = [block for block in shown if block["type"] in (search["type"], found["type"])]
    assert own
    assert all(block in (search, found) for block in own)


@pytest.mark.parametrize("path", PATHS)
def test_two_gateways_share_a_derived_session(started, ask, upstream, path):
    upstream.answer = provider = Provider(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as one, started(mode="manage", room=ROOM) as other:
        for number in range(24):
            agent.works(ask, (one, other)[number % 2], 1)
            one.mode._thread.submit(lambda: None).result()
            other.mode._thread.submit(lambda: None).result()
    assert provider.problems == []
    assert "managed" in note(agent.answers[-1])


def test_an_answer_that_is_named_is_gone_on_with_whole(started, ask, upstream):
    """Responses with `previous_response_id`: where the history is derived, all of it is sent, and the id is not."""
    upstream.answer = provider = Provider(RESPONSES)
    agent = Agent(RESPONSES, store=True)
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        for _ in range(20):
            reply = agent.turn(ask, gateway)
            agent.history = []
            agent.fields["previous_response_id"] = reply["id"]
            for call in agent.calls(reply):
                agent.brings(call, large(int(reply["id"][1:])))
            gateway.mode._thread.submit(lambda: None).result()
    assert "previous_response_id" in provider.bodies[1]
    assert len(provider.bodies[1]["input"]) == 1
    assert "previous_response_id" not in provider.bodies[-1]
    assert "Find the bug." in json.dumps(provider.bodies[-1])


def test_counting_tokens_passes_and_touches_nothing(started, ask, upstream, store):
    upstream.answer = Provider(ANTHROPIC)
    agent = Agent(ANTHROPIC, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="manage", room=ROOM) as gateway:
        agent.works(ask, gateway, 2)
        gateway.mode._thread.submit(lambda: None).result()
        before = SessionReader.open(str(store), "s").page_count
        answered = ask(gateway, "POST", "/v1/messages/count_tokens", agent.body(), agent.headers)
        answered.read()
    assert upstream.asked[-1].body == agent.body()
    assert SessionReader.open(str(store), "s").page_count == before


class SlowHeaders(tuple):
    """Headers at which only the thread of the mode waits."""

    __slots__ = ()
    is_read, go_on = threading.Event(), threading.Event()

    def __iter__(self):
        if threading.current_thread() is not threading.main_thread():
            self.is_read.set()
            assert self.go_on.wait(30)
        return super().__iter__()


@pytest.mark.parametrize("kind", [Manage, Recalling])
def test_nothing_is_held_of_a_request_whose_client_left_before_it_was_derived(kind):
    mode = kind(":memory:", "recall" if kind is Recalling else "manage", ROOM)
    agent = Agent(ANTHROPIC)
    agent.says("Hello.")
    SlowHeaders.is_read.clear()
    SlowHeaders.go_on.clear()

    async def leave():
        exchange = Exchange(endpoint_of("POST", ANTHROPIC, (), ""), "POST", "", SlowHeaders(), agent.body())
        waiting = asyncio.ensure_future(mode.before(exchange))
        await asyncio.to_thread(SlowHeaders.is_read.wait, 30)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        exchange.end(Ending.LEFT)
        await mode.after(exchange)
        return weakref.ref(exchange)

    left = asyncio.run(leave())
    SlowHeaders.go_on.set()
    mode.close()
    gc.collect()
    assert left() is None
    assert mode.tally().passed == {"the client left before an answer": 1}
