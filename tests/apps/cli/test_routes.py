"""The commands about decisions, run as a user runs them."""

import json
import random
import re

import pytest

import pageturn as pt
from pageturn.apps.cli.answers import OutcomeCounted, RouteDecision, RouteReplay, RouteReport, RouteStats
from pageturn.routing import Price
from pageturn.values.json import from_json
from tests.apps.cli.command import run


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of a store in which forty decisions were made, thirty-nine of them with an outcome."""
    file = str(tmp_path_factory.mktemp("routes") / "agent.db")
    made = pt.Router.open(file, rng=random.Random(2))
    for at in range(40):
        decision = made.choose(["openai/[b]gpt", "anthropic/claude"], "model_call", {"domain": "sql"})
        if at:
            made.observe(decision, decision.choice.startswith("anthropic") or at % 4 == 0)
    made.flush()
    return file


def test_explain_shows_the_newest_decision_or_the_one_that_is_named(path):
    shown = run("route", "explain", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "model_call@domain=sql easy isolated no" in " ".join(shown.stdout.split())
    assert "openai/[b]gpt" in shown.stdout
    assert "by thompson" in shown.stdout
    made = pt.Router.open(path)
    first = next(entry for _, entry in made.beliefs.log() if not entry.is_settled)
    named = run("route", "explain", path, first.decision.id)
    assert first.decision.id in named.stdout
    assert "outcome: none yet" in named.stdout


def test_stats_counts_cells_decisions_and_what_is_waiting(path):
    shown = run("route", "stats", path).stdout
    assert "anthropic/claude" in shown
    assert "thompson: 39 decisions with an outcome" in shown
    assert "40 decisions in the log" in shown
    assert "1 without an outcome yet" in shown


def test_replay_compares_modes_and_finds_the_log_sound(path):
    shown = run("route", "replay", path)
    assert shown.returncode == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()[1:6]] == ["cadmas", "lcb", "mean", "ucb", "thompson"]
    assert "40 decisions are consistent with the log" in shown.stdout
    assert len(run("route", "replay", path, "--mode", "ucb").stdout.splitlines()) == 3


def test_replay_reports_decisions_that_the_log_does_not_support(tmp_path):
    file = str(tmp_path / "agent.db")
    made = pt.Router.open(file)
    made.beliefs.update("a", "model_call", pt.Bucket("easy", "isolated", "no"), True)
    made.observe(made.choose(["a", "b"]), True)
    shown = run("route", "replay", file)
    assert shown.returncode == 1
    assert "1 decisions are based on estimates that the log does not support" in " ".join(shown.stdout.split())


def test_prune_drops_old_decisions_and_the_rest_is_sound(tmp_path):
    file = str(tmp_path / "agent.db")
    with pt.Router.open(file, rng=random.Random(2)) as made:
        waiting = made.choose(["a", "b"])
        made.flush()
        for at in range(20):
            made.observe(made.choose(["a", "b"]), at % 3 > 0)
        before = made.beliefs.state
    shown = run("route", "prune", file, "--keep", "5")
    assert (shown.returncode, shown.stdout) == (0, "pruned 15 decisions; the posteriors did not change\n")
    assert "15 older decisions were pruned" in run("route", "stats", file).stdout
    replayed = run("route", "replay", file)
    assert replayed.returncode == 0
    assert "5 decisions are consistent with the log" in " ".join(replayed.stdout.split())
    assert "1 more were not checked: they predate the outcomes of pruned" in " ".join(replayed.stdout.split())
    assert run("route", "prune", file, "--days", "1").stdout.startswith("pruned 0 decisions")
    assert run("route", "prune", file, "--days", "1e15").stdout.startswith("pruned 0 decisions")
    assert run("route", "prune", file, "--days", "0", "--abandoned").stdout.startswith("pruned 6 decisions")
    with pt.Router.open(file) as made:
        assert made.beliefs.state == before
        assert list(made.beliefs.log()) == []
        with pytest.raises(pt.InvalidInput, match="the id of one that was written"):
            made.observe(waiting.id, True)


def test_a_state_is_exported_and_imported_as_json(path, tmp_path):
    exported = run("route", "export", path).stdout
    state = pt.from_json(pt.DelegationState, exported.strip())
    assert json.loads(exported)["beliefs"].keys() == state.beliefs.keys()
    other, file = str(tmp_path / "other.db"), tmp_path / "state.json"
    pt.Router.open(other)
    file.write_text(exported)
    took = run("route", "import", other, str(file))
    assert took.stdout == f"merged {len(state.beliefs)} posteriors into scope default\n"
    assert pt.Router.open(other).beliefs.state == state


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["explain", "{path}", "no-such"], "pageturn: decision: expected the id, or its beginning, of one of 40 decisions, got 'no-such'\n"),
        (["stats", "{path}", "--scope", "../x"], "pageturn: id: expected 1 to 128 letters"),
        (["stats", "nowhere.db"], "pageturn: store: expected the path of an existing store"),
        (["prune", "{path}"], "pageturn: keep: expected a number of decisions to keep, or a moment before which they go, got None\n"),
        (["prune", "{path}", "--keep", "3", "--days", "3"], "pageturn: keep: expected a number of decisions to keep, or a moment before which they go, got both\n"),
        (["import", "{path}", "{path}"], "pageturn: $: expected JSON in UTF-8"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(path, arguments, complaint):
    wrong = run("route", *(each.format(path=path) for each in arguments))
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(complaint)
    assert len(wrong.stderr.splitlines()) == 1


def test_commands_about_a_store_without_decisions_say_so(tmp_path):
    file = str(tmp_path / "agent.db")
    pt.Session.open(file, id="s").append(pt.user("hello"))
    for command in ("replay", "report"):
        shown = run("route", command, file)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "no decisions in scope default yet" in shown.stdout
        assert "nan" not in shown.stdout


def test_replay_of_decisions_without_an_outcome_says_so(tmp_path):
    file = str(tmp_path / "agent.db")
    with pt.Router.open(file) as made:
        made.choose(["a", "b"])
    shown = run("route", "replay", file).stdout
    assert "no outcomes yet" in shown
    assert "nan" not in shown


def test_report_shows_shares_money_and_regret_or_that_the_log_cannot_tell(tmp_path):
    file = str(tmp_path / "agent.db")
    rng = random.Random(5)
    with pt.Router.open(file, rng=random.Random(5)) as made:
        for _ in range(300):  # two that are alike, so that both are chosen
            decision = made.choose(["a", "b"], "model_call", {"domain": "sql"})
            made.observe(decision, rng.random() < 0.5, money=0.25)
        prices = {"a": Price(money=0.5), "b": Price(money=5.0)}
        for _ in range(10):
            made.observe(made.choose(["a", "b"], "model_call", {"domain": "web"}, prices=prices, value=2.0), True)
    lines = [" ".join(line.split()) for line in run("route", "report", file).stdout.splitlines()]
    sql, web = (next(at for at, line in enumerate(lines) if f"domain={name}" in line) for name in ("sql", "web"))
    assert "300 decisions, success 0." in lines[sql]
    assert lines[sql + 1].startswith("money: 75.0000, 0.5")
    assert re.fullmatch(
        r"regret a task: -?0\.\d{3} \(-0\.\d{3} to 0\.\d{3}\) against [ab](; too little support for [ab])?",
        lines[sql + 2],
    )
    assert "10 decisions, success 1.000" in lines[web]
    assert lines[web + 1 : web + 3] == ["money: 5.0000, 0.5000 a success", "regret a task: too little support"]
    assert any(line.startswith("a 10 100%") for line in lines)


def test_an_outcome_is_reported_once_and_corrected_when_said_so(tmp_path):
    file = str(tmp_path / "agent.db")
    with pt.Router.open(file) as made:
        decision = made.choose(["a"])
    assert run("outcome", file, decision.id, "failure", "--weak").stdout == "counted 0\n"
    assert run("outcome", file, decision.id, "success", "--money", "0.5").stdout == "counted 1\n"
    assert run("outcome", file, decision.id, "success").stdout.startswith("nothing changed")
    refused = run("outcome", file, decision.id, "0.5")
    assert refused.returncode == 1
    assert "or a correction that is named as such" in refused.stderr
    assert run("outcome", file, decision.id, "0.5", "--correct").stdout == "counted 0.5\n"
    for wrong in ("perhaps", "2", "nan"):
        assert "expected success, failure or a grade" in run("outcome", file, decision.id, wrong).stderr
    assert run("outcome", file, "unknown", "success").returncode == 1
    assert run("route", "replay", file).returncode == 0


def test_forget_drops_what_was_learned_of_an_agent_and_nothing_else(tmp_path):
    file = str(tmp_path / "agent.db")
    with pt.Router.open(file, rng=1) as made:
        for _ in range(20):
            decision = made.choose(["old/model", "other/model"])
            made.observe(decision, decision.choice == "old/model")
        known = {agent: evidence(made, agent) for agent in ("old/model", "other/model")}
    shown = run("route", "forget", file, "old/model", "--keep", "0.5")
    assert shown.stdout == "forgot the outcomes of old/model in 1 cells; 50% of what they counted stays\n"
    with pt.Router.open(file) as made:
        assert evidence(made, "old/model") == pytest.approx(known["old/model"] / 2)
        assert evidence(made, "other/model") == known["other/model"]
    assert run("route", "forget", file, "old/model").returncode == 0
    with pt.Router.open(file) as made:
        assert evidence(made, "old/model") == 0
    assert "route stats" in run("route", "forget", file, "nobody").stderr


def evidence(router, agent):
    """How many outcomes of an agent count."""
    return sum(each.known(1.0).trials for key, each in router.beliefs.state.beliefs.items() if key.startswith(agent))


def test_the_beginning_of_an_id_names_a_decision(tmp_path):
    file = str(tmp_path / "agent.db")
    with pt.Router.open(file, rng=random.Random(2)) as made:
        ids = [made.choose(["a", "b"]).id for _ in range(20)]
    common = next(each[:at] for each in ids for at in (1, 2) if sum(one.startswith(each[:at]) for one in ids) > 1)
    several = run("route", "explain", file, common)
    assert several.returncode == 1
    assert "expected the beginning of one id only (" in several.stderr
    assert from_json(RouteDecision, run("route", "explain", file, ids[3][:-1], "--json").stdout.encode()).id == ids[3]
    counted = from_json(OutcomeCounted, run("outcome", file, ids[3][:-1], "success", "--json").stdout.encode())
    assert (counted.decision, counted.is_counted) == (ids[3], True)
    assert from_json(RouteDecision, run("route", "explain", file, ids[3], "--json").stdout.encode()).outcome == 1.0
    assert run("outcome", file, ids[3], "success", "--quiet").stdout == ""


def test_json_has_the_figures_of_the_tables(path):
    stats = from_json(RouteStats, run("route", "stats", path, "--json").stdout.encode())
    assert (stats.decisions, stats.waiting) == (40, 1)
    report = from_json(RouteReport, run("route", "report", path, "--json").stdout.encode())
    assert sum(choice.chosen for setting in report.settings for choice in setting.choices) == 40
    replayed = from_json(RouteReplay, run("route", "replay", path, "--json").stdout.encode())
    assert [mode.mode for mode in replayed.modes] == ["cadmas", "lcb", "mean", "ucb", "thompson"]
    assert replayed.inconsistent == ()
