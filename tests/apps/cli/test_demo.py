"""The demo, run as a user runs it: once, into a pipe; and with a session of the user's own."""

import fcntl
import json
import os
import re
import socket
import subprocess
from io import StringIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

import pageturn as pt
from pageturn.apps.cli import demo as shown_by
from pageturn.apps.demo import own_session
from pageturn.apps.demo.model import RECALL, ScriptedModel
from pageturn.apps.demo.play import Play
from pageturn.apps.demo.provider import Provider, listening
from pageturn.apps.demo.strict import rejection
from pageturn.apps.demo.turns import Event
from pageturn.formats import anthropic
from pageturn.journal.reader import SessionReader, sessions
from pageturn.lab.demo_session import ANSWER, FACT, QUESTION, RULE, demo_session
from pageturn.lab.synthetic_coding import coding_session
from pageturn.values.prompt import Prompt
from tests.apps.cli.command import run
from tests.apps.cli.test_main import PAGETURN
from tests.strict import openai_chat as strict_reader
from tests.test_dependencies import without
from tools import demo_picture, pictures

NOT_FOLLOWED = {"PAGETURN_MODE": "watch", "http_proxy": "http://127.0.0.1:9", "ANTHROPIC_BASE_URL": "nowhere"}
WAYS = ["Paged", "send everything", "rolling trim", "observation masking", "summary reset"]
BAR = re.compile(r"^ *(\d+)  █+░* +([\d,]+) of +([\d,]+)", re.MULTILINE)
FOLD = re.compile(r"▲ fold at (\d+)$", re.MULTILINE)


def number(text):
    return int(text.replace(",", ""))


# -- the generated session: what was printed, and what the store says of it


@pytest.fixture(scope="module")
def home_of_demo(tmp_path_factory):
    """A home folder, one for all processes of a parallel run."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "home of the demo"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="module")
def demo(home_of_demo):
    """What the demo prints into a pipe of 100 columns, with settings that it should not follow; it runs once."""
    printed = home_of_demo / "printed"
    with (home_of_demo / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not printed.exists():
            ours = {**os.environ, "HOME": str(home_of_demo), "COLUMNS": "100", **NOT_FOLLOWED}
            ours.pop("XDG_CACHE_HOME", None)
            shown = subprocess.run([PAGETURN, "demo"], capture_output=True, text=True, check=False, env=ours)
            assert (shown.returncode, shown.stderr) == (0, "")
            printed.write_text(shown.stdout, encoding="utf-8")
    return printed.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def store(demo, home_of_demo):
    """The store that the last line names."""
    return home_of_demo / re.search(r"pageturn inspect ~/(\S+)$", demo.rstrip())[1]


def test_the_demo_shows_what_each_request_sent_and_would_have_sent(demo):
    bars = [tuple(map(number, found)) for found in BAR.findall(demo)]
    assert [turn for turn, _, _ in bars] == list(range(5, 121, 5))
    assert max(sent for _, sent, _ in bars) < 17_000 < bars[-1][2] / 4
    assert len(FOLD.findall(demo)) > 5
    assert "\x1b" not in demo  # no colours in a pipe


def test_the_demo_tells_the_crash_the_recall_and_the_rules(demo):
    told = " ".join(demo.split())
    assert f'a rule comes with the first task: "{RULE}"' in told
    assert re.search(r"kill -9.* it sends the same [\d,]+ bytes", told)
    assert re.search(r"no longer shows it: the model calls recall .*, and the gateway finds it", told)
    assert re.search(rf'the model answers, 9\d turns after it was read: "{ANSWER}"', told)
    assert "the rule and the preference are word for word in the last request" in told
    assert "NO" not in demo.replace("NOT", "NO")


def test_the_table_compares_five_ways_and_names_the_prices(demo):
    rows = re.findall(r"^(\w.*?\w)  +([\d.]+) +\$([\d.]+) +([\d.]+) +([\d.]+) +(\d+)% +(\d+)$", demo, re.MULTILINE)
    table = {name: list(map(float, figures)) for name, *figures in rows}
    assert list(table) == WAYS
    bill, dollars, coverage, _, rules, rejected = table["Paged"]
    assert bill < 0.5 < table["send everything"][0] == 1.0 < table["rolling trim"][0]
    assert dollars < table["send everything"][1]
    assert coverage > max(table[name][2] for name in WAYS[2:])
    assert (rules, rejected) == (100, 0)
    assert table["rolling trim"][4] < 50  # it loses the rule
    assert table["rolling trim"][5] > 0  # a result without its call
    assert "gpt-6-sol as of 2026-11-18" in " ".join(demo.split())


def test_the_figures_are_what_the_provider_reported(demo, store):
    with SessionReader.open(store, "demo") as reader:
        asked = [turn.usage.input_tokens for turn in reader.turns()]
        folds = reader.folds
    recalled = 111  # a turn with two requests; its line would show the last of them
    for turn, sent, _ in (tuple(map(number, found)) for found in BAR.findall(demo)):
        assert asked[turn - 1 if turn < recalled else turn] == sent
    assert len(asked) == 121
    shown = [int(turn) for turn in FOLD.findall(demo)]
    assert shown == [turn if turn < recalled else turn - 1 for turn in folds]


def test_the_picture_has_the_folds_of_the_session(demo, store):
    drawn = demo.partition("Pages over turns")[2].splitlines()[1:]
    rows = [line[11:] for line in drawn if re.match(r" *\d+(-\d+)?  ", line)]
    assert set("".join(rows)) == set(" █▓▒░")
    assert len(rows) == 14
    marks = next(line[11:] for line in drawn if line.strip(" ▲") == "" and "▲" in line)
    with SessionReader.open(store, "demo") as reader:
        assert [at for at, mark in enumerate(marks) if mark == "▲"] == [(turn - 1) // 2 for turn in reader.folds]


def test_the_store_is_kept_for_the_inspector_and_the_user_alone(store):
    (session,) = sessions(store)
    assert session.id == "demo"
    assert store.parent.stat().st_mode & 0o077 == 0
    assert [file.name for file in store.parent.iterdir()] == ["demo.db"]


def test_the_demo_takes_a_screen_and_a_half(demo):
    lines = [line.rstrip() for line in demo.splitlines()]
    assert len(lines) <= 72
    assert max(map(len, lines)) <= 120  # the first and the last are not wrapped
    assert sum(len(line) > 100 for line in lines) <= 2


def test_the_picture_of_the_docs_says_what_the_demo_says(demo):
    """Its figures change with every improvement of a policy, so it is drawn again with a release; its words do not."""
    kept = (pictures.FOLDER / f"{demo_picture.NAME}.svg").read_text(encoding="utf-8")
    assert "http" not in kept.replace("http://www.w3.org", "")
    drawn = re.sub(r"\s+", " ", " ".join(ET.fromstring(kept).itertext())).split("make demo")[-1]
    words = [set(re.sub(r"[^a-zA-Z]+", " ", text).split()) for text in (drawn, demo)]
    assert words[0] - {"folds"} == words[1] - {"folds"}, "run: make pictures"


# -- its provider and its model


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "messages: empty"),
        ([{"role": "user", "content": ""}], "messages[0].content: empty"),
        ([{"role": "nobody", "content": "a"}], "messages[0].role: 'nobody'"),
        ([{"role": "user", "content": "a"}] * 2, "messages[1].role: user twice in a row"),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "messages[1].role: nothing to answer"),
        ([{"role": "tool", "tool_call_id": "c1", "content": "a"}], "messages[0].tool_call_id: no call c1 before it"),
        ([{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}]}, {"role": "user", "content": "a"}], "messages[1]: no result of c1 before it"),
        ([{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{"}}]}, {"role": "tool", "tool_call_id": "c1", "content": ""}], "messages[0].tool_calls: c1"),
    ],
)  # fmt: skip
def test_the_provider_rejects_what_a_strict_reader_rejects(messages, why):
    assert rejection(messages) == why
    assert strict_reader.problems({"model": "gpt-5", "messages": messages}) or why.endswith("nothing to answer")


def test_a_rejected_request_is_counted_and_not_answered():
    provider = Provider(ScriptedModel(demo_session()))
    body = json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": ""}]}).encode()
    with listening(provider) as url, pytest.raises(HTTPError, match="400") as error:
        urlopen(Request(f"{url}/chat/completions", body))
    error.value.close()
    assert (len(provider.rejected), provider.requests) == (1, [])


def test_the_model_answers_from_what_it_sees_and_from_nothing_else():
    model = ScriptedModel(demo_session())
    asked = pt.user(QUESTION)
    (call,) = model.reply([asked], [RECALL]).tool_calls
    assert call.name == RECALL
    found, nothing = (pt.tool_result(call, text) for text in (f"<page>\n{FACT}\n</page>", "no_match"))
    assert model.reply([asked, pt.assistant(call), found], [RECALL]).text == ANSWER
    assert "I do not know" in model.reply([asked, pt.assistant(call), nothing], [RECALL]).text
    assert "I do not know" in model.reply([asked], []).text
    assert model.reply([pt.user(FACT), pt.assistant("Noted."), asked], [RECALL]).text == ANSWER


@pytest.mark.parametrize("is_kept", [True, False])
def test_it_exits_with_1_if_something_did_not_go_as_promised(is_kept, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(Play, "turns", lambda _: iter([Event(1, "it recalls", is_kept), Event(2, "it goes on")]))
    monkeypatch.setattr(Play, "played", None)
    monkeypatch.setattr(shown_by, "_show_result", lambda *_: None)
    shown = run("demo")
    assert (shown.returncode, "it goes on" in shown.stdout) == (0 if is_kept else 1, True)


# -- a session of the user's own


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder for the command, with neither sessions nor settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def claude_code_log(path, turns=40):
    """A generated session in a file as Claude Code writes it."""
    said = anthropic.dump(Prompt(messages=coding_session(5, turns).messages[1:], model="claude-sonnet-5"))["messages"]
    common = {"isSidechain": False, "sessionId": "bee00000-0000-4000-8000-000000000001", "cwd": "/home/ada/bees"}
    lines = []
    for at, message in enumerate(said):
        if message["role"] == "assistant":
            message |= {"id": f"msg_{at}", "type": "message", "model": "claude-sonnet-5"}
        when = f"2026-03-01T10:{at // 60:02}:{at % 60:02}.000Z"
        line = {"type": message["role"], "uuid": f"u-{at}", "parentUuid": None, "timestamp": when, "message": message}
        lines.append(json.dumps(common | line))
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines))
    return path


def test_a_session_of_ones_own_is_replayed_beside_a_copy_and_without_a_network(home, monkeypatch):
    log = claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl")
    before = log.read_bytes()
    monkeypatch.setattr(socket, "socket", None)
    shown = run("demo", "--your-own", "--yes")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [line.split("  ")[0] for line in shown.stdout.splitlines() if "  $" in line or " $" in line] == WAYS
    assert "claude-sonnet-5 as of" in " ".join(shown.stdout.split())
    assert FOLD.search(shown.stdout)
    assert "Pages over turns" in shown.stdout
    assert "pageturn inspect ~/.cache/pageturn/your-own.db" in shown.stdout
    copy, replayed = sorted(sessions(home / ".cache" / "pageturn" / "your-own.db"), key=lambda each: len(each.id))
    assert replayed.id == f"{copy.id}-paged"
    assert log.read_bytes() == before
    again = run("demo", "--your-own", "--yes").stdout
    assert again == shown.stdout  # also on what the first run left


def test_the_newest_of_all_sessions_is_taken(home):
    old = claude_code_log(home / ".claude" / "projects" / "bees" / "old.jsonl", 12)
    new = claude_code_log(home / ".codex" / "sessions" / "2026" / "new.jsonl", 12)
    os.utime(old, (1, 1))
    assert str(new) in " ".join(run("demo", "--your-own", "--yes").stdout.split())


def test_it_asks_first(home, monkeypatch):
    claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl", 12)
    for answer, is_done in (("", False), ("y\n", True)):
        asked = subprocess.run(
            [PAGETURN, "demo", "--your-own"], input=answer, capture_output=True, text=True, check=False
        )
        assert "Nothing leaves this machine." in asked.stdout
        assert (asked.returncode == 0) is is_done
        assert (home / ".cache").exists() is is_done
        assert ("pageturn inspect" in asked.stdout) is is_done


def test_without_a_session_it_says_where_it_looked(home):
    shown = run("demo", "--your-own")
    assert shown.returncode == 1
    assert shown.stderr.count("\n") == 1
    assert f"{home}/.claude/projects" in shown.stderr
    assert f"{home}/.codex/sessions" in shown.stderr


def test_a_file_without_an_answer_is_one_line(home):
    log = home / ".claude" / "projects" / "bees" / "empty.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"type": "summary"}\n')
    shown = run("demo", "--your-own", "--yes")
    assert (shown.returncode, shown.stderr.count("\n")) == (1, 1)
    assert f"{log}: expected a session in which a model answered" in shown.stderr


def test_a_terminal_without_our_letters_gets_others(home):
    claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl", 40)
    ours = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run([PAGETURN, "demo", "--your-own", "--yes"], capture_output=True, check=False, env=ours)
    assert shown.returncode == 0
    assert b"####" in shown.stdout
    assert b"^ fold" in shown.stdout
    assert b"?" not in shown.stdout


def test_a_long_session_is_replayed_in_part_and_that_is_said(home, monkeypatch):
    monkeypatch.setattr(own_session, "MOST_TURNS", 9)
    claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl", 12)
    shown = run("demo", "--your-own", "--yes").stdout
    recorded = int(re.search(r"Your session: 9 turns \(the first of (\d+)\)", shown)[1])
    assert recorded >= 12
    assert [int(turn) for turn, _, _ in BAR.findall(shown)] == list(range(1, 10))


def test_on_a_terminal_one_line_moves(home):
    log = claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl", 40)
    shown = StringIO()
    shown_by.show_own(Console(file=shown, width=100, force_terminal=True, force_interactive=True), log)
    lines = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown.getvalue()).replace("\r", "\n").splitlines()
    turns = [int(found[1]) for line in lines if (found := re.match(r" *(\d+)  █+░* +[\d,]+ of", line))]
    assert set(turns) == set(range(1, max(turns) + 1))
    assert "\x1b[?25h" in shown.getvalue()  # the cursor is shown again


def test_without_the_packages_of_the_gateway_it_says_which_to_install(home):
    program = "import sys; sys.argv[1:] = {!r}; from pageturn.__main__ import main; main()"
    lacking = ("aiohttp", "uvicorn", "starlette")
    shown = without(*lacking, code=program.format(["demo"]))
    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == "pageturn: the demo needs more packages: pip install 'pageturn[gateway]'\n"
    assert not (home / ".cache").exists()
    claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl", 12)
    assert "pageturn inspect" in without(*lacking, code=program.format(["demo", "--your-own", "--yes"])).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_one_line(home):
    claude_code_log(home / ".claude" / "projects" / "bees" / "session.jsonl", 12)
    with Path("/dev/full").open("w") as full:
        command = [PAGETURN, "demo", "--your-own", "--yes"]
        wrong = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (1, "pageturn: [Errno 28] No space left on device\n")
