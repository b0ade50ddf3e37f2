"""The commands about decisions, run as a user runs them."""

import json
import random

import pytest

import pageturn as pt
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
