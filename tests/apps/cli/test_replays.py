"""The commands of the lab, run as a user runs them."""

import gzip
import json
import os
import re
import subprocess
import sys

import pytest

import pageturn as pt
from pageturn.apps.cli.replays import Selection, traces
from pageturn.lab.synthetic_coding import coding_session
from tests.apps.cli.command import run
from tests.apps.cli.test_main import PAGETURN
from tests.lab.test_results import EXAMPLE
from tests.sessions import open_session, take_turn

SMALL = ("--generated", "2", "--turns", "12", "--budget", "1500", "--budget", "3000")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a small sweep with the oracle, and what was printed."""
    out = tmp_path_factory.mktemp("replays") / "results.jsonl"
    shown = run("replay", *SMALL, "--oracle", 1, "--out", out)
    assert (shown.returncode, shown.stderr) == (0, "")
    return out, shown.stdout


def test_a_replay_prints_a_table_for_each_budget_and_who_is_elected(results):
    _, shown = results
    assert "budget 1,500, 2 sessions, tokens counted as chars/4" in shown
    assert "budget 3,000, 2 sessions" in shown
    for row in ("paged", "legacy", "reset", "incremental", "keep-last", "oracle, 1 ahead"):
        assert sum(line.startswith(row) for line in shown.splitlines()) >= 2
    assert "default selected by the flip rule: " in shown
    assert "if re-fetches through a pointer were not counted as faults: " in shown
    assert all(
        word in shown
        for word in (
            "at 2,000 a miss",
            "at 20,000 a miss",
            "with re-fetches",
            "coverage",
            "oracle",
            "bound",
        )
    )
    heads = next(line for line in shown.splitlines() if "priced bill" in line)
    assert re.split(r"\s{2,}", heads.strip())[:7] == [
        "priced bill",
        "dollars",
        "bill",
        "coverage",
        "verbatim",
        "turns that miss",
        "folds",
    ]
    last = shown.splitlines()[-1]
    assert re.fullmatch(
        r"These 2 sessions cost \$[\d.]+ as they ran; with Paged at [13],[05]00 tokens they would have cost \$[\d.]+, "
        r"re-fetches included \(prices of claude-sonnet-5, 2026-11-18\)\.",
        last,
    ), last


def test_one_session_is_sure_of_nothing():
    one = ("replay", "--generated", 1, "--turns", 12, "--budget", 3_000, "--policy", "paged", "--policy", "legacy")
    shown = run(*one).stdout
    assert "one session is too few for confidence intervals" in shown
    assert "resampling" not in shown


def test_a_budget_that_nothing_fits_into_is_named():
    shown = run(
        "replay", *SMALL[:4], "--budget", 10, "--budget", 3_000, "--policy", "paged", "--policy", "legacy"
    ).stdout
    assert "nothing was sent under paged, legacy: the required pages do not fit into 10 tokens" in shown
    assert shown.count("nothing was sent") == 1
    rows = [line.split() for line in shown.splitlines() if line.startswith("paged ")]
    assert [row[5] for row in rows[:1]] == ["0.000"]  # the bill; what the turns demanded is priced all the same
    assert [row[1] for row in rows[1:]] == ["*", "3,000"]
    assert "selected by the flip rule: paged" in shown


def test_no_figure_is_cut_off_on_a_narrow_screen(results):
    out, shown = results
    narrow = subprocess.run(
        [PAGETURN, "flip", str(out)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "50"},
    )
    tables = [line for line in shown.splitlines() if line.startswith(("paged", "legacy", "beside"))]
    assert set(tables) <= set(narrow.stdout.splitlines())


def test_an_interrupted_replay_goes_on_and_ends_with_the_same_bytes(results, tmp_path):
    whole, shown = results
    cut = tmp_path / "cut.jsonl"
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 * 2 * 7
    cut.write_bytes(b"".join(lines[:5]) + lines[5][:100])
    command = [PAGETURN, "replay", *SMALL, "--oracle", "1", "--jobs", "2", "--out", cut]  # which would fork the tests
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert cut.read_bytes() == whole.read_bytes()
    assert again.stdout == shown


def test_other_libraries_are_compared_with_ours_by_the_commands_of_their_runners(tmp_path):
    runner, peers, out = tmp_path / "runner.py", tmp_path / "peers.json", tmp_path / "results.jsonl"
    runner.write_text(
        "import json, sys\n"
        "_, *messages = map(json.loads, sys.stdin)\n"
        "for place, message in enumerate(messages):\n"
        "    if message['role'] == 'assistant':\n"
        "        print(json.dumps({'request': list(range(place))}))\n"
    )
    peers.write_text(json.dumps({"sends all, always": [sys.executable, str(runner)]}))
    shown = run("replay", *SMALL, "--policy", "legacy", "--policy", "everything", "--peers", peers, "--out", out)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert sum(line.startswith("sends all, always") for line in shown.stdout.splitlines()) == 2
    results = [json.loads(line) for line in out.read_text().splitlines()]
    scores = {
        name: [each["score"] for each in results if each["policy"] == name]
        for name in ("everything", "sends all, always")
    }
    assert scores["sends all, always"] == scores["everything"]

    runner.write_text("raise SystemExit('no licence')")
    refused = run("replay", *SMALL, "--policy", "legacy", "--peers", peers)
    assert refused.returncode == 1
    assert "sends all, always: expected a runner that succeeds, got status 1: no licence" in refused.stderr
    counting = run("replay", *SMALL, "--policy", "legacy", "--peers", peers, "--counter", "gpt-5")
    assert "sends all, always, which counts characters" in counting.stderr


def test_flip_shows_what_was_written_down(results):
    out, shown = results
    assert run("flip", out).stdout == shown


def test_results_of_earlier_versions_are_shown_as_they_were():
    shown = run("flip", EXAMPLE)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "some results were written before misses were priced: replay them again to get a priced bill" in shown.stdout
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith(("paged", "legacy"))]
    assert any(row.count("-") == 5 for row in rows)
    assert "priced bill," not in shown.stdout


def test_traces_stores_and_logs_can_be_replayed(tmp_path):
    raw = {
        "id": "recorded",
        "source": "somebody",
        "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello"}] * 3,
    }
    with gzip.open(tmp_path / "some.jsonl.gz", "wt") as file:
        file.write(json.dumps(raw) + "\n")
    with pt.Session.open(tmp_path / "own.db", id="own") as session:
        for message in coding_session(1, 5).messages:
            session.append(message)
    said = [("user", "hello"), ("assistant", "hello")]
    log = [
        {
            "type": role,
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "sessionId": "logged",
            "timestamp": f"2026-01-01T00:0{at}:00Z",
            "message": {"role": role, "content": text},
        }
        for at, (role, text) in enumerate(said)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in log))
    out = tmp_path / "results.out"
    paths = (tmp_path / name for name in ("some.jsonl.gz", "own.db", "log.jsonl"))
    shown = run("replay", *paths, "--policy", "paged", "--out", out)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "3 sessions" in shown.stdout
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["source"] for one in found] == ["somebody", "own.db", "log"]
    assert found[0]["trace"] == "recorded"


def test_long_sessions_only_and_a_few_of_each_file(tmp_path):
    raw = {"source": "s", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}]}
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps({"id": str(n), **raw}) + "\n" for n in range(5)))
    assert "3 sessions" in run("replay", file, "--policy", "paged", "--sessions", 3).stdout
    assert "no session to replay: none is as long" in run("replay", file, "--policy", "paged", "--long").stdout


def test_compactions_are_compared_with_as_many_tokens_of_others(tmp_path):
    trace = coding_session(1, 30)
    messages = [
        {"role": "user", "content": f"look at src/some/file_{n}.py " + "and think about it " * 40} for n in range(9)
    ]
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"path": "src/some/file_2.py"}'}}
    messages += [
        {"role": "user", "content": "a summary that says nothing " * 60},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "there"},
    ]
    raw = {"id": trace.id, "source": "s", "messages": messages, "annotations": {"compactions": [{"index": 9}]}}
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(raw) + "\n")
    shown = run("compactions", file)
    assert shown.returncode == 0
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["the", "recorded", "summary", "0.000"] in rows
    assert ["paged", "1.000"] in rows
    assert run("compactions").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("replay", "nowhere.jsonl"), "which does not exist"),
        (("replay", "--policy", "nobody"), "one of paged, legacy"),
        (("replay", "--policy", "paged:miss_tokens=x"), "settings as name=number"),
        (("replay", "--vendor", "nobody"), "Invalid value"),
        (("flip", "nowhere.jsonl"), "does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused_without_a_traceback(arguments, said):
    wrong = run(*arguments)
    assert wrong.returncode != 0
    assert said in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_file_that_is_no_recording_is_named(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("just words\n")
    wrong = run("replay", file)
    assert wrong.returncode == 1
    assert "notes.txt" in wrong.stderr


def test_an_out_file_of_another_vendor_is_kept_apart(results, tmp_path):
    out = tmp_path / "two.jsonl"
    out.write_bytes(results[0].read_bytes())
    ours = ("replay", "--generated", 1, "--turns", 12, "--budget", 1_500, "--policy", "paged", "--policy", "legacy")
    alone = run(*ours, "--vendor", "openai")
    beside = run(*ours, "--vendor", "openai", "--out", out)
    assert beside.stdout == alone.stdout
    both = run("flip", out).stdout
    assert both.endswith(alone.stdout)
    assert both.removesuffix(alone.stdout) == results[1]


def test_rows_that_share_no_session_are_not_compared(results, tmp_path):
    halves = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    lines = results[0].read_bytes().splitlines(keepends=True)
    first, *_, last = (json.loads(line)["trace"] for line in lines)
    chosen = ((first, "paged"), (last, "legacy"))
    for half, (trace, policy) in zip(halves, chosen, strict=True):
        told = [line for line in lines if (json.loads(line)["trace"], json.loads(line)["policy"]) == (trace, policy)]
        half.write_bytes(b"".join(told))
    shown = run("flip", *halves)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "budget 1,500: no session was replayed under every policy" in shown.stdout
    assert "the flip rule has nothing to compare" in shown.stdout
    assert "selected by" not in shown.stdout


@pytest.mark.parametrize("policies", [("paged", "reset"), ("legacy",)])
def test_the_flip_rule_says_when_it_has_nothing_to_compare(policies):
    shown = run("replay", *SMALL, *(word for policy in policies for word in ("--policy", policy))).stdout
    assert "the flip rule has nothing to compare" in shown
    assert "selected by" not in shown


@pytest.mark.parametrize(
    "content", ["one line of mine", "two\nof them", '{"id": "a session", "messages": []}', "line\n"]
)
def test_a_file_that_holds_something_else_is_not_written_to(tmp_path, content):
    out = tmp_path / "mine.jsonl"
    out.write_text(content)
    refused = run("replay", *SMALL, "--out", out)
    assert refused.returncode == 1
    assert "expected a result of a replay" in refused.stderr
    assert out.read_text() == content


def test_the_folder_of_an_out_file_is_made(tmp_path):
    out = tmp_path / "not" / "yet" / "results.jsonl"
    assert run("replay", *SMALL, "--policy", "paged", "--out", out).returncode == 0
    assert len(out.read_text().splitlines()) == 4


def test_results_that_are_none_are_said_to_be(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    wrong = run("flip", empty)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "expected at least one result of a replay, got none" in wrong.stderr


def test_two_results_of_one_thing_that_differ_are_refused(results, tmp_path):
    out, shown = results
    assert run("flip", out, out).stdout == shown
    changed = tmp_path / "changed.jsonl"
    first = json.loads(out.read_text().splitlines()[0])
    first["score"]["billed"] += 1
    changed.write_text(json.dumps(first) + "\n")
    wrong = run("flip", out, changed)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert (
        f"expected one result of {first['trace']} under everything at 1,500 tokens, got two that differ" in wrong.stderr
    )


@pytest.mark.parametrize("name", ["paged", "paged:miss_tokens=0", "keep-last"])
def test_another_library_cannot_take_the_name_of_a_method_of_ours(tmp_path, name):
    peers = tmp_path / "peers.json"
    peers.write_text(json.dumps({name: ["cat"]}))
    wrong = run("replay", *SMALL, "--peers", peers)
    assert wrong.returncode == 1
    assert f"expected names that no method of ours has, got '{name}'" in wrong.stderr


def test_whoever_kills_a_replay_leaves_none_of_its_processes(tmp_path):
    out = tmp_path / "results.jsonl"
    command = [PAGETURN, "replay", "--generated", "60", "--turns", "12", "--policy", "paged", "--jobs", "2", "--out"]
    with subprocess.Popen([*command, str(out)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as replaying:
        while not out.exists():
            assert replaying.poll() is None
        replaying.kill()
        replaying.communicate(timeout=60)  # until nobody is left who could write


ONE = ("replay", "--generated", 1, "--turns", 12, "--budget", 3_000, "--policy", "paged")


def test_dollars_are_of_the_model_that_is_named(tmp_path):
    at_list = run(*ONE, "--model", "claude-opus-5.5", "--vendor", "ideal-cache").stdout
    given = run(*ONE, "--model", "claude-opus-5.5", "--vendor", "ideal-cache", "--price", "8,40,0.4,10").stdout
    spent = [float(re.search(r"would have cost \$([\d.]+)", shown)[1]) for shown in (at_list, given)]
    assert spent[1] == pytest.approx(2 * spent[0], rel=0.06)
    assert "billed as claude-opus-5-5, cache as ideal-cache" in at_list
    assert "$4 in, $20 out, $0.2 cached, $5 written to the cache, per million tokens as of 2026-11-18" in at_list
    own = tmp_path / "prices.toml"
    own.write_text("[mine]\ninput = 8\noutput = 40\ncached_read = 0.4\ncache_write = 10\n")
    out = tmp_path / "results.jsonl"
    mine = run(*ONE, "--prices", own, "--vendor", "ideal-cache", "--out", out).stdout
    assert run("flip", out).stdout == mine
    assert float(re.search(r"would have cost \$([\d.]+)", mine)[1]) == spent[1]


def test_a_price_that_is_not_known_is_never_nothing():
    unknown = run(*ONE, "--model", "nobody-knows")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "price unknown: 'nobody-knows'" in unknown.stderr
    assert "give --price" in unknown.stderr
    shown = run(*ONE, "--vendor", "openai").stdout
    assert "dollars: price unknown, give --model or --price" in shown
    assert "$" not in shown


def test_progress_has_a_total_from_the_first_session_on(tmp_path):
    store = str(tmp_path / "a.db")
    for name in ("one", "two"):
        with open_session(store, id=name) as session:
            take_turn(session, 1)
    told = []
    found = list(traces(Selection([tmp_path / "a.db"], generated=2, turns=5), lambda *each: told.append(each)))
    assert len(found) == 4
    assert {total for _, total in told} == {4}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert (told[0], told[-1]) == ((0, 4), (4, 4))
    told.clear()
    list(traces(Selection([tmp_path / "a.db"], most=1), lambda *each: told.append(each)))
    assert told[-1] == (1, 1)
