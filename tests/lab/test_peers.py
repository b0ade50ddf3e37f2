"""Other libraries, asked in processes of their own: what they answer is scored, and what is no answer is refused."""

import json
import sys
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.lab.conformance import CASES
from pageturn.lab.peers import Peer, Request, read_commands, write_commands
from pageturn.lab.replay import Recording
from pageturn.lab.traces import Trace, estimated_tokens

RELAY = Path(__file__).parents[2] / "benchmarks" / "peers"
LAST_TWO = f"""
import sys
sys.path.insert(0, {str(RELAY)!r})
from relay import given, send
session = given()
print("a warning of the library")
for turn in session.turns:
    send([0, *range(max(1, turn - 2), turn)])
"""
CALL = pt.ToolCall(id="c1", name="read", arguments='{"path": "src/app/main.py"}')
TRACE = Trace(
    "t",
    "s",
    (
        pt.system("You are careful."),
        pt.user("Look at src/app/main.py, please."),
        pt.assistant("I read it.", CALL),
        pt.tool_result(CALL, "def main_loop(): ..."),
        pt.assistant("It is empty."),
        pt.user("Thank you."),
        pt.assistant("You are welcome."),
    ),
)


@pytest.fixture
def runner(tmp_path):
    """A peer whose runner is this script."""

    def of(script, **options):
        path = tmp_path / "runner.py"
        path.write_text(script)
        return Peer("fake", [sys.executable, path], 1_000, **options)

    return of


def telling(*lines):
    return f"for line in {list(lines)!r}: print(line)"


def test_what_a_runner_sends_is_scored_like_any_other_way(runner):
    fake = runner(LAST_TWO)
    messages = TRACE.messages
    expected = [messages[:2], (messages[0], *messages[2:4]), (messages[0], *messages[4:6])]
    assert [tuple(seen) for seen in fake(TRACE)] == expected
    assert Recording(TRACE).score(fake) == Recording(TRACE).score(lambda _: expected)


def test_a_request_may_hold_messages_that_were_never_said(runner):
    made = {"role": "user", "content": [{"type": "text", "text": "Summary: nothing."}]}
    line = json.dumps({"request": [0, made], "recalled": {"1": "Look"}})
    first, *_ = runner(telling(line, line, line)).requests(TRACE)
    assert first == Request((TRACE.messages[0], pt.user("Summary: nothing.")), {1: "Look"})


def test_a_turn_may_be_refused(runner):
    lines = ['{"request": [0]}', '{"refused": "too small"}', '{"request": [0]}']
    score = Recording(TRACE).score(runner(telling(*lines)))
    assert (score.turns, score.refused) == (3, 1)


def test_a_runner_is_told_the_budget_and_the_pins(runner):
    script = """
import json, sys
opening, *messages = map(json.loads, sys.stdin)
print(json.dumps({"request": [{"role": "user", "content": [{"type": "text", "text": json.dumps(opening)}]}]}))
print('{"request": []}\\n{"request": []}')
"""
    first, *_ = runner(script, pinned=(1,)).requests(TRACE)
    assert json.loads(first.messages[0].text) == {"budget_tokens": 1_000, "pinned": [1]}


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (telling("{", "{", "{"), "fake, turn 1: expected a request as a line of JSON, got b'{'"),
        (telling('{"request": [0]}'), "fake: expected 3 requests, one a turn, got 1"),
        ("", "fake: expected 3 requests, one a turn, got 0"),
        ("import sys; sys.exit('no such model')", "fake: expected a runner that succeeds, got status 1: no such model"),
        (telling("{}", "{}", "{}"), "fake, turn 1: expected either a request or why it is refused"),
        (telling(*3 * ['{"request": [0], "refused": "no"}']), "expected either a request or why it is refused"),
        (telling(*3 * ['{"request": [2]}']), "fake, turn 1: expected the place of one of 2 messages before it, got 2"),
        (telling(*3 * ['{"request": [-1]}']), "expected the place of one of 2 messages before it, got -1"),
        (telling(*3 * ['{"request": [{"role": "nobody"}]}']), "fake, turn 1: expected messages, got"),
        (telling(*3 * ['{"request": [0], "cost": 3}']), "fake, turn 1: expected a request as a line of JSON"),
    ],
)
def test_what_is_no_answer_is_refused(runner, script, complaint):
    with pytest.raises(pt.InvalidInput) as error:
        runner(script).requests(TRACE)
    assert complaint in str(error.value)


def test_a_runner_that_hangs_is_ended(runner):
    hanging = runner("import threading; threading.Event().wait()", seconds=1)
    with pytest.raises(pt.InvalidInput, match="fake: expected an end within 1 seconds, got none"):
        hanging.requests(TRACE)


def test_a_runner_that_is_not_there_is_told(tmp_path):
    with pytest.raises(pt.InvalidInput, match="fake: expected a command that can be run, got"):
        Peer("fake", [tmp_path / "python"], 1_000).requests(TRACE)


def test_runners_count_as_the_lab_does(monkeypatch):
    monkeypatch.syspath_prepend(RELAY)
    import relay  # noqa: PLC0415

    messages = [message for case in CASES for message in case.trace.messages]
    assert [relay.tokens(json.loads(pt.to_json(message))) for message in messages] == list(
        map(estimated_tokens, messages)
    )


def test_a_file_of_commands_reads_back_as_it_was_written(tmp_path):
    write_commands(tmp_path / "peers.json", {"one": ["python", tmp_path / "runner.py"], "another": ["runner"]})
    assert read_commands(tmp_path / "peers.json") == {
        "one": ["python", str(tmp_path / "runner.py")],
        "another": ["runner"],
    }


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"one": "python runner.py"}', '{"one": []}', '{"": ["python"]}', "\xff"]
)
def test_a_file_that_names_no_commands_is_refused_with_its_name(tmp_path, text):
    path = tmp_path / "peers.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(pt.InvalidInput, match=r"peers\.json: expected"):
        read_commands(path)
