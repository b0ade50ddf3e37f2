"""`pageturn run` and `pageturn serve`, as a user runs them, with clients that are a few lines of Python."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.running import run_client, start_store
from pageturn.apps.gateway.server import Gateway
from pageturn.apps.gateway.watch import Watch
from pageturn.values.errors import InvalidInput
from tests.apps.gateway.answers import ANTHROPIC, reply, request
from tests.apps.gateway.upstream import WAIT

PAGETURN = str(Path(sys.executable).parent / "pageturn")
UNRECORDED = "calls of a model came through, but none was both answered and recorded, for the reasons above"
TALKING = f"""
import os, sys, urllib.request
body = {json.dumps(request(ANTHROPIC, ["One."]))!r}.encode()
headers = {{"x-claude-code-session-id": "s-1", "x-api-key": "canary"}}
url = os.environ["ANTHROPIC_BASE_URL"]
answer = urllib.request.urlopen(urllib.request.Request(url + "/v1/messages", body, headers))
answer.read()
print(answer.status, answer.headers["x-pageturn"], sys.argv[1:])
print("on stderr", file=sys.stderr)
sys.exit(int(sys.stdin.read()))
"""


@pytest.fixture
def client(tmp_path):
    """The command of a client that runs this code."""

    def client_(code, name="claude"):
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!{sys.executable}\n{code}")
        script.chmod(0o755)
        return str(script)

    return client_


def run(*arguments, upstream=None, input="", **environ):
    more = {"ANTHROPIC_BASE_URL": upstream.url} if upstream is not None else {}
    return subprocess.run(
        [PAGETURN, "run", *arguments],
        input=input,
        capture_output=True,
        text=True,
        timeout=WAIT * 2,
        check=False,
        env={**os.environ, **more, **environ},
    )


@contextmanager
def running(*command, **options):
    """A process in a group of its own, of which nobody outlives the test, whatever fails."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_client_runs_behind_the_gateway_and_its_exit_code_is_ours(client, upstream, tmp_path):
    upstream.answer = lambda asked: reply(asked, "1")
    command = client(TALKING)
    ran = run("--", command, "-p", "--store", "x", upstream=upstream, input="7")
    assert ran.returncode == 7
    assert ran.stdout == "200 watching ['-p', '--store', 'x']\n"
    assert upstream.asked[0].header("x-api-key") == "canary"
    store = tmp_path / "data" / "pageturn" / "gateway.db"
    first, how, own, turns, tokens, closer = ran.stderr.splitlines()
    assert own == "on stderr"
    assert str(store) in first
    assert "--store none" in how
    assert turns == "pageturn: watched 1 turn of claude in 1 session"
    counted = "pageturn: the provider counted 1,000 tokens in (900 of them from its cache) and 7 out"
    assert tokens.startswith(f"{counted}; managed it would have taken about ")
    assert tokens.endswith("tokens in (an estimate)")  # and no price, which nobody knows of this model
    assert closer == f"pageturn: to look closer: pageturn savings {store}, or pageturn sessions {store}"
    assert "canary" not in ran.stdout + ran.stderr
    listed = subprocess.run([PAGETURN, "sessions", str(store)], capture_output=True, text=True, check=True)
    assert "claude-code-s-1" in listed.stdout
    again = run("--", command, upstream=upstream, input="0")
    assert again.returncode == 0
    assert again.stderr.splitlines()[0] == "on stderr"  # only the first run explains


def test_nothing_is_stored_for_those_who_want_that(client, upstream, tmp_path):
    upstream.answer = lambda asked: reply(asked, "1")
    ran = run("--store", "none", client(TALKING), upstream=upstream, input="0")
    assert ran.stderr.splitlines()[1] == "pageturn: watched 1 turn of claude, none of them stored"
    assert not (tmp_path / "data").exists()


def test_a_client_that_went_elsewhere_is_told_so(client):
    ran = run("--store", "none", client("print('hello')", "my-agent"))
    assert ran.stdout == "hello\n"
    assert "no call of a model came through; does a setting of my-agent's own name another address?" in ran.stderr


def test_what_goes_wrong_on_the_way_is_said_at_the_end_and_not_into_the_clients_terminal(client):
    asking = TALKING.split("answer.read()", maxsplit=1)[0]
    code = asking.replace("answer = urllib", "import urllib.error\ntry:\n  answer = urllib")
    code += "except urllib.error.HTTPError as error:\n  print(error.code)\n"
    ran = run("--store", "none", "--anthropic", "http://127.0.0.1:1", client(code))
    assert ran.stdout == "502\n"
    turns, tokens = ran.stderr.splitlines()
    assert turns.endswith("none of them stored; passed over: the provider gave no answer (1)")
    assert tokens == "pageturn: " + UNRECORDED


@pytest.mark.parametrize("mode", ["watch", "manage"])
def test_calls_that_passed_beside_a_broken_store_are_not_said_to_have_gone_elsewhere(client, upstream, tmp_path, mode):
    upstream.answer = lambda asked: reply(asked, "1")
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"not a store" * 1_000)
    ran = run("--mode", mode, "--store", str(broken), client(TALKING), upstream=upstream, input="0")
    assert ran.stdout.startswith("200 ")
    assert f"pageturn: {UNRECORDED}" in ran.stderr.splitlines()
    assert "another address" not in ran.stderr


def test_settings_for_others_than_one_client_do_not_hold_for_one(client, upstream):
    upstream.answer = lambda asked: reply(asked, "1")
    settings = {"PAGETURN_HOST": "0.0.0.0", "PAGETURN_TOKEN": "secret", "PAGETURN_PORT": "1"}
    ran = run("--store", "none", client(TALKING), upstream=upstream, input="0", **settings)
    assert ran.stdout.startswith("200 watching")


def test_an_option_that_does_not_exist_is_refused(client):
    ran = run("--stroe", "none", client("print('ran')"))
    assert (ran.returncode, ran.stdout) == (2, "")


def test_a_gateway_that_failed_says_how_to_go_on_without_it(client, monkeypatch):
    said = []
    command = [client("raise SystemExit(5)", "my agent"), "-p", "two words"]
    config = load_config({"store": "none"}, None, {})

    def fail(*_, **__):
        raise OSError

    monkeypatch.setattr(uvicorn.Server, "run", fail)
    assert run_client(config, command, said.append) == 1  # the client was not started
    assert said[0] == f"the gateway failed (OSError); to go on without it: {shlex.join(command)}"


ASKING_UNTIL_IT_FAILS = f"""
import os, urllib.request
body = {json.dumps(request(ANTHROPIC, ["One."]))!r}.encode()
answered = 0
try:
    while answered < 1000:
        urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, 30).read()
        answered += 1
except OSError as error:
    print(answered > 0, type(error).__name__, flush=True)
"""


def test_a_gateway_that_dies_in_the_middle_of_a_run_leaves_clean_errors_and_says_how_to_go_on(
    client, upstream, monkeypatch, capfd
):
    gateways, said = [], []
    begin = Gateway.__init__

    def noticed(self, *arguments, **options):
        begin(self, *arguments, **options)
        gateways.append(self)

    def answer(asked):
        if len(upstream.asked) == 3:
            gateways[0]._server.should_exit = True
        return reply(asked, "1")

    monkeypatch.setattr(Gateway, "__init__", noticed)
    upstream.answer = answer
    config = load_config({"store": "none", "anthropic": upstream.url}, None)
    code = run_client(config, [client(ASKING_UNTIL_IT_FAILS)], said.append)
    assert code == 0
    assert capfd.readouterr().out.splitlines() in (["True URLError"], ["True ConnectionResetError"])
    assert "the gateway failed" in said[0]
    assert "to go on without it:" in said[0]
    assert any("watched" in line for line in said)


def test_health_says_how_often_a_gateway_was_started(started, ask, upstream, tmp_path):
    upstream.answer = lambda asked: reply(asked, "1")
    config = load_config({"store": str(tmp_path / "a.db")}, None)
    said = []
    assert [start_store(config, said.append) for _ in range(3)] == [1, 2, 3]
    assert [line.partition(":")[0] for line in said] == ["first run", "keys are never kept; to keep nothing at all"]
    with started(mode="manage", store=str(tmp_path / "a.db")) as gateway:
        ask(gateway, "POST", ANTHROPIC, json.dumps(request(ANTHROPIC, ["One."])).encode()).read()
        gateway.mode._thread.submit(lambda: None).result()
        told = json.loads(ask(gateway, "GET", "/healthz").read())
    assert told == {"status": "ok", "starts": 1, "turns": 1, "sessions": 1, "passed": {}}
    assert len(upstream.asked) == 1
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"x" * 5_000)
    assert start_store(load_config({"store": str(broken)}, None), said.append) == 1
    assert said[2] == f"{broken} cannot be used: the store is damaged"


def test_a_store_that_is_removed_meanwhile_is_told(client, upstream, tmp_path):
    upstream.answer = lambda asked: reply(asked, "1")
    store = tmp_path / "gone.db"
    removed = f"""import json, pathlib, time
while json.load(urllib.request.urlopen(url + "/healthz"))["turns"] == 0: time.sleep(0.05)
for each in pathlib.Path({str(tmp_path)!r}).glob("gone.db*"): each.unlink()
sys.exit"""
    ran = run("--store", str(store), client(TALKING.replace("sys.exit", removed)), upstream=upstream, input="0")
    assert ran.stdout.startswith("200 watching")
    assert f"{store} is gone, and with it what was kept" in ran.stderr
    assert "to look closer" not in ran.stderr


def test_a_client_that_is_not_there(tmp_path):
    ran = run("--", "no-such-client-here")
    assert (ran.returncode, ran.stderr) == (127, "pageturn: there is no command 'no-such-client-here'\n")


def test_a_mode_that_does_not_exist_is_refused(client):
    ran = run("--mode", "shrink", "--", client("print('ran')"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "--mode: expected one of watch, manage, recall" in ran.stderr


def test_nothing_is_derived_without_a_store(client):
    ran = run("--mode", "manage", "--store", "none", "--", client("print('ran')"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "store: expected one, since manage derives from it" in ran.stderr


WAITING = """
import os, signal, sys
def stop(number, frame):
    os.write(1, f"got {{number}}\\n".encode())  # a print may be interrupted within another
    sys.exit(3)
signal.signal(signal.{name}, stop)
print("ready", flush=True)
while True:
    signal.pause()
"""


INTERRUPTED_TWICE = """
import os, signal, sys
def last(number, frame):
    sys.exit(4)
def first(number, frame):
    signal.signal(signal.SIGINT, last)  # before we say that we are ready for it
    os.write(1, b"got 2\\n")
signal.signal(signal.SIGINT, first)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_us_is_the_clients(client, name):
    command = [PAGETURN, "run", "--store", "none", "--", client(WAITING.format(name=name))]
    number = getattr(signal, name)
    with running(*command, stdout=subprocess.PIPE) as ran:
        assert ran.stdout.readline() == "ready\n"
        ran.send_signal(number)
        assert ran.stdout.readline() == f"got {int(number)}\n"
        assert "watched 0 turns" in ran.communicate(timeout=WAIT)[1]
        assert ran.returncode == 3


def test_an_interrupt_of_the_terminal_is_the_clients_to_answer(client):
    """It goes to the whole group: a client that goes on after it keeps its gateway."""
    command = [PAGETURN, "run", "--store", "none", "--", client(INTERRUPTED_TWICE)]
    with running(*command, stdout=subprocess.PIPE) as ran:
        assert ran.stdout.readline() == "ready\n"
        os.killpg(ran.pid, signal.SIGINT)
        assert ran.stdout.readline() == "got 2\n"
        os.killpg(ran.pid, signal.SIGINT)
        ran.communicate(timeout=WAIT)
        assert ran.returncode == 4


def test_a_client_that_died_of_a_signal(client):
    ran = run("--store", "none", client("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"))
    assert ran.returncode == 128 + signal.SIGKILL


def test_a_bad_setting_is_one_line_with_its_place(tmp_path, client):
    file = tmp_path / "c.toml"
    file.write_text("[gateway]\nport = 70000\n")
    ran = run("--config", str(file), "--", client("print('ran')"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"pageturn: {file}:2 (port): expected a port")


def test_serve_prints_its_settings():
    said = subprocess.run(
        [PAGETURN, "serve", "--print-config", "--port", "0"], capture_output=True, text=True, check=True
    )
    assert "[gateway]" in said.stdout
    assert "port = 0  #" in said.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_listens_until_it_is_told_to_stop(upstream, tmp_path, number):
    upstream.answer = lambda asked: reply(asked, "1")
    store = tmp_path / "s.db"
    command = [PAGETURN, "serve", "--port", "0", "--store", str(store), "--anthropic", upstream.url]
    with running(*command) as ran:
        said = [ran.stderr.readline() for _ in range(4)]
        url = said[2].split("watch mode at ")[1].split(";")[0]
        body = json.dumps(request(ANTHROPIC, ["One."])).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/messages", body)) as answer:
            assert answer.headers["x-pageturn"] == "watching"
            answer.read()
        ran.send_signal(number)
        rest = ran.communicate(timeout=WAIT)[1]
    assert "Traceback" not in rest
    assert "watched 1 turn in 1 session" in rest
    assert store.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="there is no such signal here")
def test_a_signal_switches_management_off_and_on(upstream, tmp_path):
    upstream.answer = lambda asked: reply(asked, "1")
    command = [PAGETURN, "serve", "--mode", "manage", "--port", "0", "--store", str(tmp_path / "s.db"), "--anthropic", upstream.url]  # fmt: skip

    def told(url):
        body = json.dumps(request(ANTHROPIC, ["One."])).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/messages", body)) as answer:
            answer.read()
            return answer.headers["x-pageturn"].partition(";")[0]

    with running(*command) as ran:
        said = [ran.stderr.readline() for _ in range(4)]
        url = said[2].split("manage mode at ")[1].split(";")[0]
        assert told(url) == "whole"
        ran.send_signal(signal.SIGUSR2)
        assert ran.stderr.readline() == "pageturn: management is off\n"
        assert told(url) == "off"
        ran.send_signal(signal.SIGUSR2)
        assert ran.stderr.readline() == "pageturn: management is on\n"
        assert told(url) == "whole"
        ran.send_signal(signal.SIGTERM)
        assert "managed 2 turns in 2 sessions" in ran.communicate(timeout=WAIT)[1]


def test_a_port_that_is_taken_and_an_address_of_another_machine_are_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = load_config({"port": port, "store": "none"}, None, {})
        with pytest.raises(InvalidInput) as error:
            Gateway(refused, Watch(Journaling(None)))
    assert str(error.value) == f"port: expected a port that is free and open to you (0 picks one), got {port} (address already in use)"  # fmt: skip
    elsewhere = load_config({"host": "192.0.2.1", "token": "t", "port": 0, "store": "none"}, None, {})
    with pytest.raises(
        InvalidInput, match=r"^host: expected an address of this machine, got 192\.0\.2\.1 \(cannot assign"
    ):
        Gateway(elsewhere, Watch(Journaling(None)))


def test_serve_does_not_ask_itself():
    wrong = subprocess.run(
        [PAGETURN, "serve", "--port", "18787", "--store", "none"],
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT,
        env={**os.environ, "OPENAI_BASE_URL": "http://localhost:18787/v1"},
    )
    assert wrong.returncode == 1
    assert "another address than the gateway's own" in wrong.stderr
