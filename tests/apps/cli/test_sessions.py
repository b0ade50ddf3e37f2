"""The list of sessions, and the ids that may be cut: run as a user runs them."""

import json
import re
import sqlite3

import pytest

import pageturn as pt
from pageturn.apps.cli.sessions import shortened
from tests.apps.cli.command import run
from tests.apps.cli.test_terminal import on_terminal
from tests.apps.importing.test_samples import SAMPLES
from tests.sessions import open_session, take_turn

LONG = "019a52f0-0000-7000-8000-00000000000"  # the beginning of ids that differ in the last digit only


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "agent.db")
    for number, scope in ((1, None), (2, None), (3, "team")):
        session = open_session(file, id=f"{LONG}{number}", seed=number, scope=scope, model="gpt-5")
        session.append(pt.user(f"Fix the login of customer {number}, please."))
        take_turn(session, 1)
        session.close()
    return file


def heads(shown):
    return shown.splitlines()[0].split()


def test_a_session_is_listed_with_what_it_is_about(path):
    shown = run("sessions", path).stdout
    assert heads(shown) == "session title client model turns tokens began ended scope faults".split()
    row = next(line for line in shown.splitlines() if line.startswith(f"{LONG}1"))
    assert "Fix the login of customer 1, please." in row
    assert re.search(r"library +gpt-5 +1 +[\d,]+ +2026-01-01 \d\d:\d\d +2026-01-01 \d\d:\d\d +0$", row.rstrip())
    assert next(line for line in shown.splitlines() if line.startswith(f"{LONG}3")).split()[-2:] == ["team", "0"]


def test_the_times_are_those_of_the_messages_not_of_the_import(tmp_path):
    store = str(tmp_path / "mine.db")
    run("import", SAMPLES / "pi.jsonl", "--into", store)
    (line,) = json.loads(run("sessions", store, "--json").stdout)["sessions"]
    said = [json.loads(each).get("timestamp") for each in (SAMPLES / "pi.jsonl").read_text().splitlines()]
    assert line["client"] == "pi"
    assert min(filter(None, said))[:10] <= line["first"][:10] <= line["last"][:10] <= max(filter(None, said))[:10]


def test_ids_are_whole_in_a_pipe_and_cut_on_a_narrow_terminal_only_as_far_as_they_differ(path, tmp_path):
    assert f"{LONG}1" in run("sessions", path).stdout
    file = str(tmp_path / "two.db")
    for id in ("0f3a9c20-aaaa-4000-8000-000000000000", "7b3a9c20-aaaa-4000-8000-000000000000"):
        open_session(file, id=id).close()
    assert "0f3a9c20-aaaa-4000-8000-000000000000" in run("sessions", file).stdout
    narrow = on_terminal("sessions", file, columns=80, term="xterm")
    assert "0f3a9c20" in narrow
    assert "0f3a9c20-" not in narrow
    assert all(len(line.rstrip()) <= 80 for line in narrow.splitlines())
    assert "0f3a9c20-aaaa-4000-8000-000000000000" in on_terminal("sessions", file, columns=200, term="xterm")


def test_shortened_ids_are_different():
    assert shortened(["abcdefghij-1", "abcdefghik-1"]) == ["abcdefghij", "abcdefghik"]
    assert shortened(["abcdefghij-1", "abcdefgxij-1"]) == ["abcdefgh", "abcdefgx"]
    assert shortened(["abcdefghij", "abcdefghij.child"]) == ["abcdefghij", "abcdefghij."]
    assert shortened(["s", "session"]) == ["s", "session"]
    assert shortened([]) == []


def test_a_session_that_cannot_be_read_is_named_and_the_others_are_listed(path):
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM snapshots")
        db.execute(f"UPDATE sessions SET key = x'00' WHERE id = '{LONG}1'")
    done = run("sessions", path)
    assert f"{LONG}2" in done.stdout
    assert "run `pageturn doctor` for details" in done.stderr


def test_the_beginning_of_an_id_names_a_session(path):
    whole = run("show", path, "-s", f"{LONG}2").stdout
    assert "customer 2" in whole
    several = run("show", path, "-s", LONG)
    assert several.returncode == 1
    assert f"expected the beginning of one id only ({LONG}2, {LONG}1)" in several.stderr
    assert run("show", path, "-s", f"{LONG}3").returncode == 1  # it is in a scope
    assert "customer 3" in run("show", path, "-s", f"{LONG[:12]}", "--scope", "team").stdout


def test_the_beginning_of_an_id_names_a_key(path):
    created = [json.loads(run("keys", "create", path, "--scope", "team", "--json").stdout) for _ in range(2)]
    first = created[0]["id"]
    wrong = run("keys", "revoke", path, "zzz")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    length = next(at for at in range(1, 9) if not created[1]["id"].startswith(first[:at]))
    assert run("keys", "revoke", path, first[:length]).returncode == 0
    listed = {key["id"]: key["revoked_at"] for key in json.loads(run("keys", "list", path, "--json").stdout)["keys"]}
    assert [name for name, revoked in listed.items() if revoked] == [first]


def test_no_color_switches_bold_off_too(path):
    plain = on_terminal("recall", path, "customer", term="xterm-256color", no_color="1")
    assert "customer" in plain
    assert "\x1b[" not in plain
    assert "\x1b[1m" in on_terminal("recall", path, "customer", term="xterm-256color", no_color="")
