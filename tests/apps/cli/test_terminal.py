"""On a terminal, text from pages, names and paths is shown and never acted on; in a pipe it is what it was."""

import json
import os
import pty
import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.apps.cli.main import cli
from pageturn.apps.cli.terminal import inert, inert_json
from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.stores import open_store
from pageturn.values.usage import Usage
from tests.apps.cli.test_main import PAGETURN, run
from tests.sessions import open_session

ACTS = "\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b[2J\x1b[H\x07\x08\x0c\r\x9b2J\x9d0;x\x9c\x85\u202eevil\u202c\u2066x\u2069\u200b\u2028\ufeff\U000e0041"
HOSTILE = f"zebra {ACTS} stripes"
ACTING = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]|\r(?!\r?\n)"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A store, a log and results with such text wherever there may be some."""
    folder = tmp_path_factory.mktemp("hostile")
    path = str(folder / "agent.db")
    session = open_session(path, id="s", policy=pt.Paged.thrifty(3_000), scope=HOSTILE)
    page = session.append(pt.user(HOSTILE))
    session.inject(pt.ContextMessage.session(HOSTILE, HOSTILE))
    for number in range(12):
        session.derive()
        call = pt.ToolCall(id=f"c{number}{ACTS}", name=f"read{ACTS}", arguments=json.dumps({"path": f"src/{ACTS}.py"}))
        session.extend([pt.assistant(HOSTILE, call), pt.tool_result(call, f"{HOSTILE}\n" * 30)])
    session.write_back(pt.Proposal(field="pin", value=f"Never use {HOSTILE}.", evidence=(page.handle,)))
    with open_session(path, id="billed", model=f"model{ACTS}") as billed:
        billed.append(pt.user(HOSTILE))
        billed.derive()
        billed.append(pt.assistant(HOSTILE), usage=Usage(input_tokens=10, output_tokens=1))
    router = pt.Router.open(path, HOSTILE)
    router.observe(router.choose(["agent", "other"]), True)
    router.close()
    session.close()
    with closing(open_store(path)) as opened:
        Keys(opened).create(HOSTILE, name=HOSTILE, models=(HOSTILE,))
    default = pt.Router.open(path, rng=1)
    default.observe(default.choose(["agent", "other"]), True)
    default.close()
    log = folder / f"log{ACTS.replace('/', '')}.json"
    log.write_text(json.dumps({"messages": [{"role": HOSTILE, "content": "x"}, {"role": "user", "content": HOSTILE}]}))
    broken = folder / f"broken{ACTS}.json"
    broken.write_text("nothing")
    good = folder / "good.json"
    good.write_text(
        json.dumps({"session_id": "s", "messages": [{"role": "user", "content": HOSTILE}, {"role": HOSTILE}]})
    )
    return {
        "store": path,
        "handle": page.handle,
        "log": str(log),
        "broken": str(broken),
        "good": str(good),
        "out": str(folder / "out.jsonl"),
    }


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home folder with one session of Claude Code, in a file of such a name."""
    said = {"role": "assistant", "id": "m", "type": "message", "model": f"model{ACTS}", "content": HOSTILE}
    common = {"sessionId": HOSTILE, "timestamp": "2026-03-01T10:00:00.000Z"}
    lines = (
        common | {"type": "user", "uuid": "a", "message": {"role": "user", "content": HOSTILE}},
        common | {"type": "assistant", "uuid": "b", "message": said},
    )
    folder = tmp_path / ".claude" / "projects"
    folder.mkdir(parents=True)
    (folder / f"x{ACTS.replace('/', '')}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


SCOPE = ("--scope", HOSTILE)
COMMANDS = {
    "demo": ("demo", "--your-own", "--yes"),
    "sessions": ("sessions", "{store}"),
    "show": ("show", "{store}", *SCOPE),
    "recall": ("recall", "{store}", "zebra", *SCOPE),
    "page show": ("page", "show", "{store}", "{handle}", *SCOPE, "--internal"),
    "context": ("context", "{store}", *SCOPE),
    "context --text": ("context", "{store}", "--text", "--internal", *SCOPE),
    "why": ("why", "{store}", "{handle}", *SCOPE),
    "diff": ("diff", "{store}", *SCOPE),
    "summarize": ("summarize", "{store}", *SCOPE),
    "doctor": ("doctor", "{store}"),
    "vacuum": ("vacuum", "{store}"),
    "export": ("export", "{store}", *SCOPE, "--internal"),
    "import": ("import", "{good}", "{broken}", "{log}", "--into", "{store}"),
    "route explain": ("route", "explain", "{store}"),
    "route stats": ("route", "stats", "{store}"),
    "route report": ("route", "report", "{store}"),
    "route replay": ("route", "replay", "{store}"),
    "route export": ("route", "export", "{store}"),
    "route prune": ("route", "prune", "{store}", "--keep", "100"),
    "route forget": ("route", "forget", "{store}", "nobody"),
    "route import": ("route", "import", "{store}", "{broken}"),
    "inspect": ("inspect", f"/nowhere/{ACTS}"),
    "mcp serve": ("mcp", "serve", "{store}", "--http", "--port", f"x{ACTS}"),
    "mcp install": ("mcp", "install", "--client", f"x{ACTS}"),
    "mcp uninstall": ("mcp", "uninstall", "--client", f"x{ACTS}"),
    "proposals list": ("proposals", "list", "{store}"),
    "proposals approve": ("proposals", "approve", "{store}", f"x{ACTS}"),
    "proposals reject": ("proposals", "reject", "{store}", f"x{ACTS}", "--reason", HOSTILE),
    "keys create": ("keys", "create", "{store}", "--scope", HOSTILE, "--name", HOSTILE),
    "keys list": ("keys", "list", "{store}"),
    "keys revoke": ("keys", "revoke", "{store}", f"x{ACTS}"),
    "retain": ("retain", "{store}", "--older-than", "0d"),
    "backup": ("backup", "{store}", f"/nowhere/{ACTS}"),
    "restore": ("restore", "{broken}", "{out}"),
    "pack": ("pack", "{store}", f"/nowhere/{ACTS}", *SCOPE),
    "unpack": ("unpack", "{broken}", "{out}"),
    "doctor of an installation": ("doctor", "--config", "{broken}"),
    "outcome": ("outcome", "{store}", f"x{ACTS}", "success"),
    "replay": ("replay", "{store}", "--policy", "keep-last"),
    "flip": ("flip", "{broken}"),
    "compactions": ("compactions", "{store}"),
    "report": ("report", "{broken}"),
    "trial": ("trial", "--model", f"x{ACTS}", "--price", "1,2", "--url", f"http://{ACTS}"),
    "completion": ("completion", f"x{ACTS}"),
    "serve": ("serve", "--port", f"x{ACTS}"),
    "savings": ("savings", "{store}"),
    "run": ("run", "--mode", f"x{ACTS}", "--", "nobody"),
    "wrong session": ("show", "{store}", "-s", f"x{ACTS}"),
    "wrong scope": ("show", "{store}", "-s", "s", "--scope", f"x{ACTS}"),
    "wrong store": ("show", f"/nowhere/{ACTS}"),
    "wrong option": ("show", "{store}", f"--{ACTS}"),
    "wrong command": (f"x{ACTS}",),
    "wrong choice": ("page", "show", "{store}", "{handle}", "--level", f"x{ACTS}"),
    "wrong file": ("report", f"/nowhere/{ACTS}"),
}


def on_terminal(*arguments, columns=200, term="dumb", no_color="1"):
    """What a command writes to a terminal; by default one that has no colours, so that nothing of ours looks like a code."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": term, "NO_COLOR": no_color, "COLUMNS": str(columns)}
    command = subprocess.Popen(
        [PAGETURN, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            data = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        written += data
    os.close(ours)
    command.wait()
    return written.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_lets_a_text_act_on_a_terminal(name, files):
    shown = on_terminal(*(word.format(**files) if word.startswith("{") else word for word in COMMANDS[name]))
    assert shown.strip()
    assert "Traceback" not in shown
    found = ACTING.search(shown)
    assert found is None, (found[0], shown[max(0, found.start() - 60) : found.end() + 60])


def test_every_command_is_among_them():
    known = {
        " ".join(words[: 2 if words[0] in ("page", "route", "mcp", "proposals", "keys") else 1])
        for words in COMMANDS.values()
    }
    for name, command in cli.commands.items():
        inner = getattr(command, "commands", None)
        assert {f"{name} {each}" for each in inner} <= known if inner else name in known


@pytest.mark.parametrize("command", ["page show", "export"])
def test_a_pipe_gets_the_words_as_they_are(command, files):
    words = [word.format(**files) if word.startswith("{") else word for word in COMMANDS[command]]
    shown = run(*words).stdout
    assert "\u202eevil" in shown


def test_what_is_exported_to_a_terminal_is_the_same_json():
    message = pt.to_json(pt.user(HOSTILE))
    escaped = inert_json(message)
    assert ACTING.search(escaped.decode()) is None
    assert pt.from_json(pt.Message, escaped) == pt.user(HOSTILE)


def test_words_are_left_alone():
    text = "Grüße, 漢字, مرحبا, \N{ROCKET} e\u0301\n\ttabs and lines"
    assert inert(text) == text
    assert inert("a\x1b[2Jb\u202e") == "a\\x1b[2Jb\\u202e"
    assert inert(inert(ACTS)) == inert(ACTS)


def test_where_a_file_lies_is_shown_inert(tmp_path):
    folder = tmp_path / f"f{ACTS}"
    folder.mkdir()
    path = str(folder / "agent.db")
    Path(path).write_text("no store " * 100)
    for command in ("sessions", "show", "doctor", "export"):
        assert ACTING.search(on_terminal(command, path)) is None
