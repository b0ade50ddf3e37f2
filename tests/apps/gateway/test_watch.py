"""Watch mode writes down each conversation once, in its own session, and never touches what passes."""

import json
import stat
import threading

import pytest

import pageturn as pt
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.watch import Watch
from pageturn.journal.doctor import examine
from pageturn.journal.reader import SessionReader, sessions
from pageturn.routing.stored_state import examine_beliefs
from pageturn.stores import open_store
from pageturn.values.errors import Busy, Damaged, StoreError
from tests.apps.gateway.agent import wait_for_turns
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, events, reply, request, result, said
from tests.apps.gateway.upstream import WAIT, Reply

PATHS = [ANTHROPIC, CHAT, RESPONSES]
CALL = ("call_1", "read_file", '{"path": "a.py"}')
CLAUDE = {"x-claude-code-session-id": "s-1"}


@pytest.fixture
def talk(ask, upstream):
    """Send a request, and have it answered with this text or call."""

    def talk_(gateway, path, body, text, call=None, headers=(), id_="r1"):
        upstream.answer = lambda asked: reply(asked, text, call, id_=id_)
        answered = ask(gateway, "POST", path, json.dumps(body).encode(), headers)
        return answered, answered.read()

    return talk_


def written(store):
    """What each session says, by its id: roles with their words or calls."""
    return {info.id: [*map(told, SessionReader.open(store, info.id).messages())] for info in sessions(store)}


def told(message):
    calls = [f"{call.name}({call.arguments})" for call in message.tool_calls]
    results = [each.content for each in message.tool_results]
    return " ".join(filter(None, (str(message.role), message.text, *calls, *results)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_conversation_is_written_once_turn_by_turn(started, store, talk, path, is_stream):
    with started() as gateway:
        history = ["What does a.py do?"]
        answered, _ = talk(gateway, path, request(path, history, stream=is_stream), "Let me look.", CALL)
        assert answered.getheader("x-pageturn") == "watching"
        history += [*said(path, "Let me look.", CALL), result(path, CALL, "print(1)")]
        talk(gateway, path, request(path, history, stream=is_stream), "It prints 1.")
        history += [*said(path, "It prints 1."), "Thanks."]
        talk(gateway, path, request(path, history, stream=is_stream), "You are welcome.")
    ((id_, pages),) = written(store).items()
    call = f"{CALL[1]}({CALL[2]})" if path != ANTHROPIC else f"{CALL[1]}({json.dumps(json.loads(CALL[2]))})"
    assert [each.replace('":"', '": "') for each in pages] == [
        "system Be brief.",
        "user What does a.py do?",
        f"assistant Let me look. {call}",
        "tool print(1)",
        "assistant It prints 1.",
        "user Thanks.",
        "assistant You are welcome.",
    ]
    reader = SessionReader.open(store, id_)
    assert reader.model == "model-1"
    usages = [turn.usage for turn in reader.turns()]
    assert [(each.input_tokens, each.cache_read_tokens, each.output_tokens) for each in usages] == [(1000, 900, 7)] * 3
    tally = gateway.mode.tally()
    assert (tally.turns, tally.sessions, tally.passed) == (3, {id_}, {})
    assert (tally.usage.input_tokens, tally.usage.cache_read_tokens, tally.usage.output_tokens) == (3000, 2700, 21)


def test_a_gateway_that_is_started_again_goes_on_with_the_session(started, store, talk):
    history = ["One."]
    for number in range(3):
        with started() as gateway:
            talk(gateway, CHAT, request(CHAT, history), f"Answer {number}.")
        history += [*said(CHAT, f"Answer {number}."), f"And {number}?"]
    ((_, pages),) = written(store).items()
    assert len(pages) == 1 + 6


def test_what_a_client_writes_otherwise_is_no_other_conversation(started, store, talk):
    call = ("toolu_0123456789", "read_file", '{ "path":"a.py" }')
    mark = {"cache_control": {"type": "ephemeral"}}
    billing = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=1;"}
    system = [billing, {"type": "text", "text": "Be brief."}]
    with started() as gateway:
        first = {"role": "user", "content": [{"type": "text", "text": "One.", **mark}]}
        talk(gateway, ANTHROPIC, request(ANTHROPIC, [first], system=system), "Let me look.", call, CLAUDE)
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
        again = {
            "role": "assistant",
            "content": [thought, {"type": "tool_use", "id": call[0], "name": "read_file", "input": {"path": "a.py"}}],
        }
        history = ["One.", again, result(ANTHROPIC, call, "x")]
        other = [{**billing, "text": billing["text"].replace("cch=1", "cch=2")}, system[1]]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history, system=other), "Done.", headers=CLAUDE)
    ((id_, pages),) = written(store).items()
    assert id_ == "claude-code-s-1"
    assert len(pages) == 1 + 4


def test_another_system_prompt_in_the_same_conversation_is_said(started, store, talk):
    with started() as gateway:
        talk(gateway, ANTHROPIC, request(ANTHROPIC, ["One."]), "1", headers=CLAUDE)
        history = ["One.", *said(ANTHROPIC, "1"), "Two."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history, system="Be long."), "2", headers=CLAUDE)
    ((id_, pages),) = written(store).items()
    assert "system Be long." in pages
    with pt.Session.open(store, id=id_) as session:
        assert session.derive().messages[0].text == "Be long."


def test_instructions_in_the_middle_are_nobodys_rule(started, store, talk):
    history = ["One.", {"role": "system", "content": "900 tokens left"}, {"role": "system", "content": []}]
    with started() as gateway:
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history), "1", headers=CLAUDE)
        history = [*history, *said(ANTHROPIC, "1"), "Two."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history), "2", headers=CLAUDE)
    ((id_, _),) = written(store).items()
    reader = SessionReader.open(store, id_)
    middle = [*reader.messages(internal=True)][2]
    assert (middle.role, middle.synthetic, middle.text) == (pt.Role.USER, True, "900 tokens left")
    assert reader.kind(reader.pages()[2]) is pt.PageKind.CONVERSATION
    assert gateway.mode.tally().passed == {}


@pytest.mark.parametrize(
    ("headers", "id_"),
    [
        ({"x-pageturn-session": "my agent"}, "my-agent-"),
        (CLAUDE, "claude-code-s-1"),
        ({**CLAUDE, "x-claude-code-agent-id": "a-2"}, "claude-code-s-1-a-2"),
        ({"thread-id": "t-1", "session-id": "s-1"}, "codex-t-1"),
        ({"x-session-id": "o-1"}, "opencode-o-1"),
    ],
)
def test_the_clients_own_id_names_the_session(started, store, talk, upstream, headers, id_):
    with started() as gateway:
        talk(gateway, RESPONSES, request(RESPONSES, ["One."], prompt_cache_key="k"), "1", headers=headers)
    ((found, _),) = written(store).items()
    assert found.startswith(id_)
    assert [name for name, _ in upstream.asked[0].headers if name.startswith("x-pageturn")] == []


def test_conversations_with_other_ids_are_never_mixed(started, store, talk):
    with started() as gateway:
        for thread in ("a", "b", "a"):
            body = request(RESPONSES, ["One."], prompt_cache_key="same")
            talk(gateway, RESPONSES, body, f"Answer for {thread}.", headers={"thread-id": thread})
    pages = written(store)
    assert pages["codex-a"][2:] == ["assistant Answer for a."]
    assert pages["codex-b"][2:] == ["assistant Answer for b."]
    assert gateway.mode.tally().turns == 2  # the third was sent twice and answered alike


def test_calls_beside_a_conversation_are_sessions_of_their_own(started, store, talk):
    form = {"output_config": {"format": {"type": "json_schema", "schema": {}}}}
    with started() as gateway:
        talk(gateway, ANTHROPIC, request(ANTHROPIC, ["One."]), "1", headers=CLAUDE)
        talk(gateway, ANTHROPIC, request(ANTHROPIC, ["One."], **form), '{"title": "x"}', headers=CLAUDE)
        talk(gateway, ANTHROPIC, request(ANTHROPIC, ["One."], tools=[]), "A title", headers=CLAUDE)
        history = ["One.", *said(ANTHROPIC, "1"), "Two."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history), "2", headers=CLAUDE)
    pages = written(store)
    assert len(pages.pop("claude-code-s-1")) == 1 + 4
    assert sorted(each[-1] for each in pages.values()) == ["assistant A title", 'assistant {"title": "x"}']


def test_tools_that_codex_has_among_its_messages_are_tools(started, store, talk):
    tools = {"type": "additional_tools", "tools": [{"type": "function", "name": "exec"}]}
    body = request(RESPONSES, [tools, "One."], system=None)
    del body["tools"]
    with started() as gateway:
        talk(gateway, RESPONSES, body, "1", headers={"thread-id": "t"})
    assert [*written(store)] == ["codex-t"]


def test_a_history_that_was_changed_is_another_session_and_the_first_one_stays(started, store, talk):
    with started() as gateway:
        talk(gateway, ANTHROPIC, request(ANTHROPIC, ["One."]), "1", headers=CLAUDE)
        history = ["One.", *said(ANTHROPIC, "1"), "Two."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history), "2", headers=CLAUDE)
        edited = ["One.", *said(ANTHROPIC, "1"), "Another two."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, edited), "other", headers=CLAUDE)
        edited += [*said(ANTHROPIC, "other"), "Three."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, edited), "3", headers=CLAUDE)
        talk(gateway, ANTHROPIC, request(ANTHROPIC, [*history, *said(ANTHROPIC, "2"), "On."]), "on", headers=CLAUDE)
    pages = written(store)
    assert [each.split()[-1] for each in pages["claude-code-s-1"]] == ["brief.", "One.", "1", "Two.", "2", "On.", "on"]
    assert [each.split()[-1] for each in pages["claude-code-s-1.2"]] == [
        "brief.",
        "One.",
        "1",
        "two.",
        "other",
        "Three.",
        "3",
    ]
    assert len(pages) == 2


def test_an_answer_that_is_named_is_gone_on_with(started, store, talk):
    with started() as gateway:
        talk(gateway, RESPONSES, request(RESPONSES, ["One."]), "1", id_="resp_1")
        follow = request(RESPONSES, ["Two."], previous_response_id="resp_1", system=None)
        talk(gateway, RESPONSES, follow, "2", id_="resp_2")
    ((_, pages),) = written(store).items()
    assert pages == ["system Be brief.", "user One.", "assistant 1", "user Two.", "assistant 2"]


def test_what_follows_an_answer_that_nobody_saw_is_in_no_session(started, store, talk):
    """Half a conversation would be taken for all of it."""
    with started() as gateway:
        follow = request(RESPONSES, ["Two."], previous_response_id="resp_0", system=None)
        talk(gateway, RESPONSES, follow, "2", id_="resp_1")
        more = request(RESPONSES, ["Three."], previous_response_id="resp_1", system=None)
        talk(gateway, RESPONSES, more, "3", id_="resp_2")
    assert written(store) == {}
    assert sum(gateway.mode.tally().passed.values()) == 2


@pytest.mark.parametrize("path", PATHS)
def test_a_reply_that_broke_off_is_left_to_the_client(started, store, ask, upstream, talk, path):
    """What it keeps of it comes with its next request; what it does not keep, nobody said."""
    pieces = events(path, "Half an answer")[: 2 if path == CHAT else 4]
    upstream.answer = lambda _: Reply(pieces, headers=[("content-type", "text/event-stream")], is_cut=True)
    body = request(path, ["One."], stream=True)
    with started() as gateway:
        with pytest.raises(Exception, match="IncompleteRead"):
            ask(gateway, "POST", path, json.dumps(body).encode()).read()
        talk(gateway, path, body, "All of it.")
    ((_, pages),) = written(store).items()
    assert pages == ["system Be brief.", "user One.", "assistant All of it."]
    assert gateway.mode.tally().passed == {"the provider broke off its reply": 1}


def test_a_client_that_left_leaves_a_session_that_goes_on(started, store, ask, upstream, talk):
    never = threading.Event()
    pieces = [*events(ANTHROPIC, "Half an answer")[:4], never]
    upstream.answer = lambda _: Reply(pieces, headers=[("content-type", "text/event-stream")])
    body = request(ANTHROPIC, ["One."], stream=True)
    with started() as gateway:
        answered = ask(gateway, "POST", ANTHROPIC, json.dumps(body).encode())
        came = b""
        while b"Hal" not in came:
            came += answered.read1() or pytest.fail(f"it ended with {came!r}")
        answered.connection.close()
        answered.close()
        assert upstream.was_left.wait(WAIT)
        never.set()
    with started() as gateway:
        history = ["One.", *said(ANTHROPIC, "Half"), "Go on."]
        talk(gateway, ANTHROPIC, request(ANTHROPIC, history), "an answer")
    ((_, pages),) = written(store).items()
    assert pages[1:] == ["user One.", "assistant Half", "user Go on.", "assistant an answer"]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_client_that_left_with_all_of_its_answer_had_a_turn(started, store, ask, upstream, is_stream, is_chunked):
    """Clients hang up when they have seen the end of an answer, which may be before the gateway has."""
    never = threading.Event()
    body = request(ANTHROPIC, ["One."], stream=is_stream)

    def answer(asked):
        whole = reply(asked, "1")
        size = sum(map(len, whole.pieces))
        return whole._replace(pieces=[*whole.pieces, never], is_chunked=is_chunked, length=size)

    upstream.answer = answer
    with started() as gateway:
        answered = ask(gateway, "POST", ANTHROPIC, json.dumps(body).encode())
        came = b""
        while not came.endswith((b'"message_stop"}\n\n', b"}}")):
            came += answered.read1()
        answered.connection.close()
        answered.close()
        if is_chunked:  # or else the gateway saw that this was all
            assert upstream.was_left.wait(WAIT)
        never.set()
    tally = gateway.mode.tally()
    assert (tally.turns, tally.passed) == (1, {})
    ((_, pages),) = written(store).items()
    assert pages[-1] == "assistant 1"


def test_an_error_inside_a_stream_is_no_reply(started, store, ask, upstream):
    pieces = [
        *events(ANTHROPIC, "Half")[:4],
        b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
    ]
    upstream.answer = lambda _: Reply(pieces, headers=[("content-type", "text/event-stream")])
    with started() as gateway:
        body = json.dumps(request(ANTHROPIC, ["One."], stream=True)).encode()
        assert ask(gateway, "POST", ANTHROPIC, body).read() == b"".join(pieces)
    ((_, pages),) = written(store).items()
    assert pages == ["system Be brief.", "user One."]
    assert gateway.mode.tally().passed == {"a reply without an end": 1}


@pytest.mark.parametrize("status", [400, 429, 529])
def test_an_error_is_passed_and_counted(started, store, ask, upstream, status):
    upstream.answer = lambda _: Reply([b"{}"], status)
    with started() as gateway:
        ask(gateway, "POST", CHAT, json.dumps(request(CHAT, ["One."])).encode()).read()
    assert gateway.mode.tally().passed == {f"status {status}": 1}
    assert not store.exists()


@pytest.mark.parametrize(
    "body", [b"no json", b"[]", b'{"messages": 3}', b'{"messages": [{"role": "nobody"}]}', b"\xff" * 9]
)
@pytest.mark.parametrize("answered", [b"no json", b'{"choices": 4}', b""])
def test_what_nobody_understands_passes(started, store, ask, upstream, body, answered):
    upstream.answer = lambda _: Reply([answered] if answered else [], headers=[("content-type", "application/json")])
    with started() as gateway:
        assert ask(gateway, "POST", CHAT, body).read() == answered
    assert upstream.asked[0].body == body
    assert sum(gateway.mode.tally().passed.values()) == 1


def test_a_request_can_be_kept_out(started, store, ask, upstream):
    upstream.answer = lambda asked: reply(asked, "1")
    with started() as gateway:
        body = json.dumps(request(CHAT, ["One."])).encode()
        answered = ask(gateway, "POST", CHAT, body, {"x-pageturn": "off"})
        answered.read()
    assert answered.getheader("x-pageturn") == "off"
    assert not store.exists()


def test_no_key_is_stored_or_logged(started, store, talk, caplog, capfd, tmp_path):
    canary = "sk-canary-0123456789"
    headers = {"Authorization": f"Bearer {canary}", "x-api-key": canary, "Cookie": canary, "chatgpt-account-id": canary}
    with started() as gateway:
        for path in PATHS:
            talk(gateway, f"{path}?key={canary}", request(path, ["One."]), "1", headers={**CLAUDE, **headers})
        assert canary not in repr(gateway.__dict__)
    with started(openai="http://127.0.0.1:1/v1") as gateway:
        talk(gateway, f"{CHAT}?key={canary}", request(CHAT, ["One."]), "1", headers={"Authorization": canary})
    assert "gave no answer" in caplog.text  # the log is not empty, and yet
    assert canary not in caplog.text + "".join(capfd.readouterr())
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert store in files
    assert not [file for file in files if canary.encode() in file.read_bytes()]


def test_the_store_is_its_owners_alone(started, store, talk):
    with started() as gateway:
        talk(gateway, CHAT, request(CHAT, ["One."]), "1")
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


class Failing(Journaling):
    """A journal whose store fails."""

    def __init__(self, error):
        super().__init__(":memory:")
        self.error = error

    def record(self, seen):
        raise self.error


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (StoreError("the disk is full"), "the store cannot be read or written"),
        (Busy("x"), "another program has locked the store"),
        (Damaged("x"), "the store is damaged"),
        (MemoryError(), "an error of ours, MemoryError"),
        (ValueError("a mistake of ours"), "an error of ours, ValueError"),
    ],
)
def test_a_store_that_fails_touches_no_traffic(started, talk, error, why):
    with started(Watch(Failing(error))) as gateway:
        for _ in range(3):
            answered, body = talk(gateway, CHAT, request(CHAT, ["One."]), "1")
            assert (answered.status, b'"1"' in body) == (200, True)
    assert gateway.mode.tally().passed == {f"not stored: {why}": 3}


def test_a_store_that_cannot_be_opened_touches_no_traffic(started, talk, tmp_path):
    with started(store=str(tmp_path / "no" / "folder" / "x.db")) as gateway:
        answered, _ = talk(gateway, CHAT, request(CHAT, ["One."]), "1")
        assert answered.status == 200
    assert sum(gateway.mode.tally().passed.values()) == 1


def test_a_store_that_hangs_touches_no_traffic_and_what_waits_is_bounded(started, talk, monkeypatch):
    monkeypatch.setattr("pageturn.apps.gateway.watch._MOST_WAITING", 10_000)
    goes_on = threading.Event()

    class Hanging(Journaling):
        def record(self, seen):
            assert goes_on.wait(WAIT)
            return super().record(seen)

    with started(Watch(Hanging(None))) as gateway:
        for number in range(20):
            answered, _ = talk(gateway, CHAT, request(CHAT, [f"{number}" + "x" * 1_000]), "1")
            assert answered.status == 200
        goes_on.set()
    tally = gateway.mode.tally()
    dropped = tally.passed["too much waits to be written"]
    assert 0 < dropped < 20
    assert tally.turns == 20 - dropped


def test_without_a_store_turns_are_counted_and_nothing_is_kept(started, store, talk, tmp_path):
    with started(store="none") as gateway:
        talk(gateway, ANTHROPIC, request(ANTHROPIC, ["One."]), "1")
    tally = gateway.mode.tally()
    assert (tally.turns, tally.sessions, tally.usage.input_tokens) == (1, frozenset(), 1000)
    assert [*tmp_path.rglob("*")] == []


def test_what_another_program_wrote_meanwhile_is_not_gone_on_with(started, store, talk):
    """So that a crash between a session and what is known of it never writes a message twice into one session."""
    with started() as gateway:
        talk(gateway, CHAT, request(CHAT, ["One."]), "1", headers={"x-pageturn-session": "s"})
    with pt.Session.open(store, id="s") as session:
        session.append(pt.user("Two."))
    with started() as gateway:
        history = ["One.", *said(CHAT, "1"), "Two."]
        talk(gateway, CHAT, request(CHAT, history), "2", headers={"x-pageturn-session": "s"})
    pages = written(store)
    assert [len(pages["s"]), len(pages["s.2"])] == [4, 5]


def test_two_gateways_share_a_store(started, store, talk):
    with started() as one, started() as other:
        history = ["One."]
        for number in range(6):
            talk(
                (one, other)[number % 2], CHAT, request(CHAT, history), f"{number}", headers={"x-pageturn-session": "s"}
            )
            history += [*said(CHAT, f"{number}"), f"And {number}?"]
            wait_for_turns(number + 1, one, other)
    ((_, pages),) = written(store).items()
    assert len(pages) == 1 + 12


def test_the_doctor_finds_nothing(started, store, talk):
    with started() as gateway:
        talk(gateway, CHAT, request(CHAT, ["One."]), "1")
    opened = open_store(str(store))
    try:
        assert [*examine(opened, also=[examine_beliefs])] == []
    finally:
        opened.close()
