"""Recall mode: the model looks back in the middle of its answer, and the client sees one answer."""

import json

import pytest

from pageturn.apps.gateway.decoding import EventReader
from pageturn.formats import anthropic, openai_chat, openai_responses
from pageturn.journal.reader import SessionReader, sessions
from pageturn.values.messages import Thinking
from tests.apps.gateway.agent import ANTHROPIC, CHAT, ITEMS, RESPONSES, Agent, Provider, large
from tests.apps.gateway.upstream import Reply

PATHS = [ANTHROPIC, CHAT, RESPONSES]
FORMATS = {ANTHROPIC: anthropic, CHAT: openai_chat, RESPONSES: openai_responses}
ROOM = 6_000
EVENTS, JSON = [("content-type", "text/event-stream")], [("content-type", "application/json")]


def response(path, parts, id_, tokens=(1000, 7)):
    """A whole response of these parts."""
    if path == ANTHROPIC:
        content = []
        for kind, *told in parts:
            if kind == "thinking":
                content.append({"type": "thinking", "thinking": told[0], "signature": f"sig-{told[0]}-{'x' * 40}"})
            elif kind == "text":
                content.append({"type": "text", "text": told[0]})
            else:
                content.append({"type": "tool_use", "id": told[0], "name": told[1], "input": json.loads(told[2])})
        calls = any(kind == "call" for kind, *_ in parts)
        return {
            "id": id_, "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": content,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
        }  # fmt: skip
    if path == CHAT:
        message = {"role": "assistant", "content": "".join(told[0] for kind, *told in parts if kind == "text") or None}
        calls = [told for kind, *told in parts if kind == "call"]
        if calls:
            message["tool_calls"] = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]  # fmt: skip
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return {"id": id_, "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice], "usage": usage}  # fmt: skip
    items = []
    for at, (kind, *told) in enumerate(parts):
        if kind == "thinking":
            items.append({"type": "reasoning", "id": f"rs_{id_}{at}", "summary": [], "encrypted_content": f"enc-{told[0]}-{'x' * 40}"})  # fmt: skip
        elif kind == "text":
            content = [{"type": "output_text", "text": told[0], "annotations": []}]
            items.append({"type": "message", "id": f"msg_{id_}{at}", "status": "completed", "role": "assistant", "content": content})  # fmt: skip
        else:
            items.append({"type": "function_call", "id": f"fc_{id_}{at}", "call_id": told[0], "name": told[1], "arguments": told[2], "status": "completed"})  # fmt: skip
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
    return {"id": f"resp_{id_}", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed", "output": items, "usage": usage}  # fmt: skip


def stream(path, parts, id_, tokens=(1000, 7)):
    """The same as the bytes of a stream."""
    whole = response(path, parts, id_, tokens)
    made = []
    if path == ANTHROPIC:
        made.append({"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}})  # fmt: skip
        made.append({"type": "ping"})
        for index, block in enumerate(whole["content"]):
            start, deltas = _anthropic(block)
            made.append({"type": "content_block_start", "index": index, "content_block": start})
            made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            made.append({"type": "content_block_stop", "index": index})
        made.append({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": tokens[1]}})  # fmt: skip
        made.append({"type": "message_stop"})
        return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in made]
    if path == CHAT:
        return _chat(whole, parts, tokens)
    made.append(
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    )
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        made.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress", **({"content": []} if "content" in item else {}), **({"arguments": ""} if "arguments" in item else {})}})  # fmt: skip
        if item["type"] == "message":
            text = item["content"][0]["text"]
            made.append({"type": "response.content_part.added", **at, "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}})  # fmt: skip
            made += [{"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece} for piece in (text[:3], text[3:])]  # fmt: skip
            made.append({"type": "response.output_text.done", **at, "content_index": 0, "text": text})
        elif item["type"] == "function_call":
            made.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
            made.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        made.append({"type": "response.output_item.done", "output_index": index, "item": item})
    made.append({"type": "response.completed", "response": whole})
    return [f"event: {each['type']}\ndata: {json.dumps({**each, 'sequence_number': n})}\n\n".encode() for n, each in enumerate(made)]  # fmt: skip


def _anthropic(block):
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in (block["text"][:3], block["text"][3:])]  # fmt: skip
    if block["type"] == "thinking":
        told = [{"type": "thinking_delta", "thinking": block["thinking"]}, {"type": "signature_delta", "signature": block["signature"]}]  # fmt: skip
        return {"type": "thinking", "thinking": "", "signature": ""}, told
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def _chat(whole, parts, tokens):
    base = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}
    deltas, calls = [{"role": "assistant"}], 0
    for kind, *told in parts:
        if kind == "thinking":
            deltas.append({"reasoning_content": told[0]})
        elif kind == "text":
            deltas += [{"content": told[0][:3]}, {"content": told[0][3:]}]
        else:
            deltas.append({"tool_calls": [{"index": calls, "id": told[0], "type": "function", "function": {"name": told[1], "arguments": ""}}]})  # fmt: skip
            deltas.append({"tool_calls": [{"index": calls, "function": {"arguments": told[2]}}]})
            calls += 1
    made = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    made.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}]})
    made.append({**base, "choices": [], "usage": whole["usage"]})
    return [f"data: {json.dumps(each)}\n\n".encode() for each in made] + [b"data: [DONE]\n\n"]


class Script(Provider):
    """Plays rounds, each a list of parts; strict on what it is asked."""

    def __init__(self, path, *rounds, streams=True):
        super().__init__(path, streams=streams)
        self.rounds = [*rounds]
        self.seen = 0

    def reply(self, asked, body):
        if not self.rounds:
            self.calls += 1
            self.rounds.append([("text", f"Step {self.calls}."), ("call", f"toolu_{self.calls:016}", "read_file", json.dumps({"path": f"f{self.calls}.py"}))])  # fmt: skip
        parts = self.rounds.pop(0)
        self.seen += 1
        tokens = (1000 + self.seen, 7)
        if isinstance(parts, Reply):
            return parts
        if self.streams:
            return Reply(stream(self.path, parts, f"r{self.seen}", tokens), headers=EVENTS)
        return Reply([json.dumps(response(self.path, parts, f"r{self.seen}", tokens)).encode()], headers=JSON)


class Reader(Agent):
    """An agent that reads streams, as strictly as it can."""

    def turn(self, ask, gateway, **headers):
        answered = ask(gateway, "POST", self.path, self.body(), {**self.headers, **headers})
        self.raw = answered.read()
        self.answers.append(answered)
        assert answered.status == 200, self.raw
        if not (answered.getheader("content-type") or "").startswith("text/event-stream"):
            reply = json.loads(self.raw)
        else:
            reply = self._read(self.raw)
        self.take(reply)
        return reply

    def _read(self, raw):
        events = [*EventReader().feed(raw)]
        self.events = [json.loads(data) for data in events if data != b"[DONE]"]
        made = FORMATS[self.path].Stream()
        for data in events:
            made.feed(data)
        assert made.is_finished, raw
        (item, *more) = [each for each in FORMATS[self.path].dump([made.message])[ITEMS[self.path]] if each.get("role") != "user"]  # fmt: skip
        self.check_events(events)
        if self.path == ANTHROPIC:
            return {"content": item["content"]}
        return {"choices": [{"message": item}]} if self.path == CHAT else {"output": [item, *more]}

    def check_events(self, events):
        if self.path == ANTHROPIC:
            kinds = [each["type"] for each in self.events]
            assert kinds.count("message_start") == kinds.count("message_delta") == kinds.count("message_stop") == 1
            assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
            starts = [each["index"] for each in self.events if each["type"] == "content_block_start"]
            stops = [each["index"] for each in self.events if each["type"] == "content_block_stop"]
            assert starts == stops == [*range(len(starts))]
        elif self.path == CHAT:
            assert events[-1] == b"[DONE]"
            assert len({each["id"] for each in self.events}) == 1
            finishes = [each["choices"][0]["finish_reason"] for each in self.events if each["choices"]]
            assert [each for each in finishes if each] == [finishes[-1]]
        else:
            assert [each["sequence_number"] for each in self.events] == [*range(len(self.events))]
            kinds = [each["type"] for each in self.events]
            assert kinds.count("response.created") == kinds.count("response.completed") == 1
            added = [each["output_index"] for each in self.events if each["type"] == "response.output_item.added"]
            assert added == [*range(len(added))]
            last = self.events[-1]["response"]
            done = [each["item"] for each in self.events if each["type"] == "response.output_item.done"]
            assert last["output"] == done
            assert last["id"] == self.events[0]["response"]["id"]


def recall(number, **arguments):
    return ("call", f"toolu_recall{number:010}", "recall", json.dumps(arguments))


def talk(path):
    agent = Reader(path, {"x-pageturn-session": "s"}, stream=True)
    if path == CHAT:
        agent.fields["stream_options"] = {"include_usage": True}
    agent.says("The code word is lily. Remember it.")
    return agent


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_the_model_recalls_and_the_client_sees_one_answer(started, ask, upstream, store, path, streams):
    hidden = [("thinking", "Hidden thought."), ("text", "Let me look."), recall(1, query="lily")]
    final = [("thinking", "Seen thought."), ("text", "It is lily.")]
    upstream.answer = script = Script(path, [("text", "I will.")], hidden, final, [("text", "Yes.")], streams=streams)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
        agent.says("What was the word?")
        agent.turn(ask, gateway)
        raw = agent.raw
        agent.says("Sure?")
        agent.turn(ask, gateway)
        tally = gateway.mode.tally()
    assert script.problems == []
    assert b"recall" not in raw
    assert b"Hidden thought" not in raw
    assert "Let me look." in json.dumps(agent.history)
    assert tally.turns == 3
    names = [tool.get("name") or tool["function"]["name"] for tool in script.bodies[0]["tools"]]
    assert names == ["read_file", "recall"]
    asked = json.dumps(script.bodies[2])
    assert "The code word is lily" in asked
    assert "toolu_recall" in asked
    # The next request brings back what the model really said, in order.
    last = json.dumps(script.bodies[3])
    assert last.count("toolu_recall0000000001") == 2
    places = [last.index(each) for each in ("Let me look.", "toolu_recall", "It is lily.", "Sure?")]
    assert places == sorted(places)
    if path != CHAT:
        assert "Hidden thought" in last
    ((info,),) = (sessions(str(store)),)
    reader = SessionReader.open(str(store), info.id)
    assert len(reader.turns()) == 4
    usages = [turn.usage.output_tokens for turn in reader.turns()]
    assert usages == [7, 7, 7, 7]


@pytest.mark.parametrize("path", PATHS)
def test_the_client_sees_the_last_rounds_input_and_all_output(started, ask, upstream, path):
    upstream.answer = Script(path, [recall(1, query="a")], [recall(2, query="b")], [("text", "Done.")])
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
        tally = gateway.mode.tally()
    made = FORMATS[path].Stream()
    for data in EventReader().feed(agent.raw):
        made.feed(data)
    assert (made.message.usage.input_tokens, made.message.usage.output_tokens) == (1003, 21)
    assert (tally.usage.input_tokens, tally.usage.output_tokens) == (1001 + 1002 + 1003, 21)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_a_recall_beside_the_clients_own_calls_joins_their_results(started, ask, upstream, path, streams):
    own = ("call", "toolu_own0000000001", "read_file", '{"path": "a.py"}')
    both = [("thinking", "T."), ("text", "Both."), recall(1, query="lily"), own]
    upstream.answer = script = Script(path, both, [("text", "Done.")], [("text", "Yes.")], streams=streams)
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        reply = agent.turn(ask, gateway)
        assert agent.calls(reply) == ["toolu_own0000000001"]
        assert b"toolu_recall" not in agent.raw
        agent.brings("toolu_own0000000001", "the file")
        agent.turn(ask, gateway)
        agent.says("Sure?")
        agent.turn(ask, gateway)
    assert script.problems == []
    for body in script.bodies[1:]:
        told = json.dumps(body)
        assert told.count("toolu_recall0000000001") == told.count("toolu_own0000000001") == 2
        assert "The code word is lily" in told


@pytest.mark.parametrize("path", PATHS)
def test_pointers_are_redeemed_over_many_turns(started, ask, upstream, path):
    """Folds, recalls by handle, and restarts in between."""
    upstream.answer = script = Script(path)
    agent = talk(path)
    for number in range(30):
        with started(mode="recall", room=ROOM) as gateway:
            if number and number % 6 == 0:
                told = json.dumps(script.bodies[-1])
                at = told.find("<page ")
                handle = told[at:].partition(" ")[2].partition(" ")[0].strip('">\\') if at >= 0 else ""
                script.rounds.append([("text", "Looking back."), recall(number, handle=handle, query="file")])
            reply = agent.turn(ask, gateway)
            for call in agent.calls(reply):
                agent.brings(call, large(len(agent.history)))
    assert script.problems == []
    assert "managed" in agent.answers[-1].getheader("x-pageturn")
    assert b"recall" not in json.dumps(agent.history).encode()


@pytest.mark.parametrize("path", PATHS)
def test_a_model_that_recalls_without_end_is_told_so(started, ask, upstream, path):
    script = Script(path)
    script.reply = lambda asked, body: Reply(stream(path, [recall(len(script.bodies), query="a")], "r"), headers=EVENTS)
    upstream.answer = script
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body(), agent.headers)
        raw = answered.read()
    assert answered.status == 200
    assert len(script.bodies) == 11
    assert "no more can be recalled" in json.dumps(script.bodies[-1])
    assert "no more can be recalled" not in json.dumps(script.bodies[7])
    assert b"toolu_recall" not in raw
    made = FORMATS[path].Stream()
    for data in EventReader().feed(raw):
        made.feed(data)
    assert made.is_finished
    assert script.problems == []


def test_an_answer_whose_content_is_a_mere_text_is_read_as_words(started, ask, upstream):
    body = json.dumps({"id": "m", "type": "message", "role": "assistant", "content": "Just words."}).encode()
    upstream.answer = Script(ANTHROPIC, Reply([body], headers=JSON))
    agent = talk(ANTHROPIC)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", ANTHROPIC, agent.body(), agent.headers)
        assert answered.status == 200
        assert json.loads(answered.read())["content"] == [{"type": "text", "text": "Just words."}]
        gateway.mode.close()
        assert gateway.mode.tally().turns == 1


def test_an_answer_with_half_a_character_is_counted_as_not_understood(started, ask, upstream):
    half = json.dumps({"choices": [{"delta": {"role": "assistant", "content": "a \ud83d"}, "finish_reason": "stop"}]})
    upstream.answer = Script(CHAT, Reply([f"data: {half}\n\ndata: [DONE]\n\n".encode()], headers=EVENTS))
    agent = talk(CHAT)
    with started(mode="manage", room=ROOM) as gateway:
        ask(gateway, "POST", CHAT, agent.body(), agent.headers).read()
        gateway.mode.close()
        assert dict(gateway.mode.tally().passed) == {"not understood: chat/completions text": 1}


@pytest.mark.parametrize("path", PATHS)
def test_an_error_before_anything_was_shown_is_told_as_one(started, ask, upstream, path):
    error = Reply([b'{"error": {"type": "overloaded_error"}}'], 529, headers=JSON)
    upstream.answer = script = Script(path, [("thinking", "T."), recall(1, query="a")], error, [("text", "Now.")])
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body(), agent.headers)
        assert (answered.status, answered.read()) == (529, error.pieces[0])
        agent.turn(ask, gateway)  # the same again
    assert script.problems == []
    assert "Now." in json.dumps(agent.history[-1])


@pytest.mark.parametrize("path", PATHS)
def test_an_error_after_something_was_shown_is_a_cut(started, ask, upstream, path):
    error = Reply([b"{}"], 500, headers=JSON)
    upstream.answer = Script(path, [("text", "Let me look."), recall(1, query="a")], error, [("text", "Now.")])
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body(), agent.headers)
        with pytest.raises(Exception, match="IncompleteRead"):
            answered.read()
        agent.turn(ask, gateway)
    assert "Now." in json.dumps(agent.history[-1])


def test_a_tool_of_the_client_by_the_same_name_keeps_it(started, ask, upstream):
    tools = [{"name": "recall", "description": "Mine.", "input_schema": {"type": "object", "properties": {}}}]
    call = ("call", "toolu_0123456789ab", "recall", "{}")
    upstream.answer = script = Script(ANTHROPIC, [call])
    agent = Reader(ANTHROPIC, tools=tools, stream=True)
    agent.says("Hello.")
    with started(mode="recall", room=ROOM) as gateway:
        reply = agent.turn(ask, gateway)
    assert agent.calls(reply) == ["toolu_0123456789ab"]
    assert [tool["name"] for tool in script.bodies[0]["tools"]] == ["recall", "recall_page"]


def test_codex_has_the_tool_among_its_items(started, ask, upstream):
    upstream.answer = script = Script(RESPONSES, [("text", "Hm."), recall(1, query="a")], [("text", "Done.")])
    agent = Reader(RESPONSES, {"thread-id": "t"}, stream=True)
    tools = agent.fields.pop("tools")
    agent.history.append({"type": "additional_tools", "role": "developer", "tools": tools})
    agent.says("Hello.")
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
    for body in script.bodies:
        assert "tools" not in body
        assert [tool["name"] for tool in body["input"][0]["tools"]] == ["read_file", "recall"]
    assert b"recall" not in agent.raw


@pytest.mark.parametrize("path", [ANTHROPIC, RESPONSES])
def test_reasoning_of_a_shown_round_reaches_the_client(started, ask, upstream, path):
    call = ("call", "toolu_own0000000001", "read_file", "{}")
    upstream.answer = Script(path, [("thinking", "Seen."), call], [("thinking", "Too."), ("text", "Long. " * 200)])
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        reply = agent.turn(ask, gateway)
        assert "Seen." in json.dumps(reply)
        agent.brings("toolu_own0000000001", "x")
        reply = agent.turn(ask, gateway)
        assert "Too." in json.dumps(reply)
    items = FORMATS[path].load_messages(agent.history)
    assert sum(isinstance(part, Thinking) for message in items for part in message.content) == 2


@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_leaves_in_a_hidden_round_leaves_a_session_that_goes_on(started, ask, upstream, path):
    upstream.answer = script = Script(path, [("text", "Let me look."), recall(1, query="a")], Reply([b"x"], 200, headers=EVENTS, is_cut=True), [("text", "Now.")], [("text", "On.")])  # fmt: skip
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        answered = ask(gateway, "POST", path, agent.body(), agent.headers)
        with pytest.raises(Exception, match="IncompleteRead"):
            answered.read()
        agent.turn(ask, gateway)
        agent.says("Go on.")
        agent.turn(ask, gateway)
    assert script.problems == []
    assert json.dumps(script.bodies[-1]).count("Now.") == 1


def test_what_the_client_compacted_is_found_all_the_same(started, ask, upstream, store):
    upstream.answer = script = Script(ANTHROPIC, [("text", "I see.")], [recall(1, query="lily")], [("text", "Lily.")])
    agent = Reader(ANTHROPIC, {"x-claude-code-session-id": "s"}, stream=True)
    agent.says("The code word is lily.")
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
        agent.history = []
        agent.says(
            "This session is being continued from a previous conversation that ran out of context. A word was said."
        )
        agent.turn(ask, gateway)
    assert script.problems == []
    assert "The code word is lily." in json.dumps(script.bodies[-1]["messages"][-1])
    assert len(sessions(str(store))) == 2


@pytest.mark.parametrize("path", PATHS)
def test_off_brings_back_hidden_rounds_too(started, ask, upstream, path):
    hidden = [("thinking", "Hidden thought."), recall(1, query="lily")]
    upstream.answer = script = Script(path, hidden, [("text", "It is lily.")], [("text", "Yes.")])
    agent = talk(path)
    with started(mode="recall", room=ROOM) as gateway:
        agent.turn(ask, gateway)
        agent.says("Sure?")
        answered = ask(gateway, "POST", path, agent.body(), {**agent.headers, "x-pageturn": "off"})
        raw = answered.read()
    assert answered.getheader("x-pageturn").startswith("off; whole")
    assert json.dumps(script.bodies[-1]).count("toolu_recall0000000001") == 2
    assert script.problems == []
    assert b"Yes" in raw
