"""A trial against a real server on loopback: what is asked, recorded, compared, limited and gone on with."""

import json
import re

import pytest

from pageturn.formats import anthropic
from pageturn.lab.trial.analysis import Paired, Share, outcome
from pageturn.lab.trial.endpoint import EndpointFailed, LiveModel
from pageturn.lab.trial.facts import facts_task
from pageturn.lab.trial.managing import METHODS, trimmed
from pageturn.lab.trial.results import read_runs
from pageturn.lab.trial.running import Plan, priced, run_trial
from pageturn.values.messages import ToolCall, assistant, system, tool_result, user
from pageturn.values.model_prices import ModelPrice
from pageturn.values.prompt import Prompt
from tests.apps.cli.command import run
from tests.lab.trial.scripted_model import anthropic_answers, openai_answers, served

PRICE = ModelPrice("scripted", 1.0, 2.0, 0.1, 1.25)
TASK = facts_task(1, tokens=6_000, questions=10)


def plan(**changed):
    made = Plan(
        [TASK], ("everything", "trim", "paged", "paged-without-recall"), "scripted", PRICE, 2_500, limit_dollars=50.0
    )
    return made._replace(**changed)


@pytest.mark.parametrize(("dialect", "answers"), [("openai", openai_answers), ("anthropic", anthropic_answers)])
def test_every_way_gets_the_same_tasks_and_is_judged_alike(dialect, answers, tmp_path):
    with served(answers) as (url, requests):
        ended = run_trial(plan(), LiveModel(url, "scripted", key="secret", dialect=dialect), tmp_path / "out.jsonl")
    assert (ended.left, ended.reason, len(ended.runs)) == (0, "", 4)
    found = {row.method: row for row in outcome(ended.runs, plan().methods).methods}
    assert found["everything"].done.value == 1.0
    assert found["trim"].done.value < found["paged"].done.value > found["paged-without-recall"].done.value
    assert found["paged"].recalls > 0 == found["paged-without-recall"].recalls
    assert found["trim"].against.only_ours == 0 < found["trim"].against.only_theirs
    header = {"openai": ("authorization", "Bearer secret"), "anthropic": ("x-api-key", "secret")}[dialect]
    assert all(header in each["headers"].items() for each in requests)
    assert not any(
        method in json.dumps(each["body"]) for method in plan().methods for each in requests if method != "everything"
    )


def test_what_a_run_took_is_what_the_model_said(tmp_path):
    with served(anthropic_answers) as (url, requests):
        ended = run_trial(
            plan(methods=("trim",)), LiveModel(url, "scripted", dialect="anthropic"), tmp_path / "out.jsonl"
        )
    (only,) = ended.runs
    calls = len(requests)
    assert (only.calls, only.input_tokens, only.cache_read_tokens) == (calls, 157 * calls, 100 * calls)
    assert only.dollars == pytest.approx(calls * (50 * 1.0 + 100 * 0.1 + 7 * 1.25 + 9 * 2.0) / 1e6)


def test_a_trial_goes_on_where_it_stopped_and_never_above_its_limit(tmp_path):
    out = tmp_path / "out.jsonl"
    with served(openai_answers) as (url, requests):
        model = LiveModel(url, "scripted", dialect="openai")
        short = run_trial(plan(limit_dollars=0.05), model, out)
        assert short.left > 0
        assert "limit of $0.05" in short.reason
        asked = len(requests)
        again = run_trial(plan(limit_dollars=0.05), model, out)
        assert len(requests) == asked  # nothing more is asked once it is spent
        assert again.left == short.left
        out.write_bytes(out.read_bytes() + b'{"task":"cut o')
        whole = run_trial(plan(), model, out)
    final = [each for each in read_runs(out) if each.final]
    assert (whole.left, len(final), len({each.key for each in final})) == (0, 4, 4)
    fresh = tmp_path / "fresh.jsonl"
    with served(openai_answers) as (url, _):
        run_trial(plan(), LiveModel(url, "scripted", dialect="openai"), fresh)
    steps = [{each.key: each.steps for each in read_runs(path) if each.final} for path in (out, fresh)]
    assert steps[0] == steps[1]


def test_the_order_is_drawn_from_the_seed():
    several = plan(tasks=[facts_task(seed, tokens=2_000, questions=5) for seed in (1, 2, 3)])
    orders = [[key for _, key in several._replace(seed=seed).runs()] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not(tmp_path):
    busy = iter([429, 503])

    def sometimes(body):
        status = next(busy, 200)
        return openai_answers(body) if status == 200 else (status, {"error": "later"})

    waits = []
    prompt = Prompt(messages=(user("Which tool?"),))
    with served(sometimes) as (url, requests):
        assert LiveModel(url, "m", dialect="openai", sleep=waits.append).ask(prompt).text == "Done."
    assert (len(requests), len(waits)) == (3, 2)
    with served(lambda _: (401, {"error": "who are you"})) as (url, requests):
        with pytest.raises(EndpointFailed, match="HTTP 401"):
            LiveModel(url, "m", dialect="openai", sleep=waits.append).ask(prompt)
        assert len(requests) == 1
        ended = run_trial(plan(), LiveModel(url, "m", dialect="openai"), tmp_path / "out.jsonl")
    assert ended.left == 4
    assert "the endpoint fails: HTTP 401" in ended.reason
    assert not any(each.final for each in ended.runs)


@pytest.mark.parametrize("answer", [{"choices": []}, {"hello": 1}, []])
def test_an_answer_that_is_no_reply_is_said_to_be_none(answer):
    with served(lambda _: (200, answer)) as (url, _), pytest.raises(EndpointFailed):
        LiveModel(url, "m", dialect="openai", sleep=lambda _: None).ask(Prompt(messages=(user("?"),)))


def test_a_price_before_anything_is_run():
    rows = {row.method: row for row in priced(plan())}
    assert all(row.dollars > 0 for row in rows.values())
    assert rows["paged"].tokens < rows["everything"].tokens
    known = [key for _, key in plan().runs()]
    assert [row.dollars for row in priced(plan(), known)] == [0.0] * 4


def test_trimming_leaves_no_result_without_its_call():
    call = ToolCall(id="c", name="t", arguments="{}")
    messages = [system("s"), user("u" * 400), assistant(call), tool_result(call, "r" * 400), user("last")]
    for budget in range(0, 300, 5):
        shown = trimmed(messages, budget)
        assert shown[0].role == "system"
        assert shown[-1] is messages[-1]
        results = {result.tool_call_id for message in shown for result in message.tool_results}
        assert results <= {call.id for message in shown for call in message.tool_calls}


def test_every_way_that_is_offered_makes_a_request():
    for make in METHODS.values():
        managed = make(4_000)
        for message in (system("s"), user("hello")):
            managed.append(message)
        assert [message.text for message in managed.prompt(()).messages][-1] == "hello"


def test_every_method_asks_for_the_cache_where_it_has_to_be_asked_for():
    for make in METHODS.values():
        managed = make(4_000)
        for message in TASK.history():
            managed.append(message)
        managed.append(user("And now?"))
        body = anthropic.dump(managed.prompt(TASK.tools))
        assert "cache_control" in body["messages"][-1]["content"][-1]
        assert "cache_control" in body["system"][-1]


def test_intervals_and_the_paired_test_are_the_textbooks():
    assert Share.of(8, 10) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert Share.of(0, 0) == (0.0, 0.0, 1.0)
    assert Paired(1, 9).p == pytest.approx(22 / 1024)
    assert (Paired(0, 0).p, Paired(5, 5).p) == (1.0, 1.0)


def test_the_command_prices_runs_reports_and_goes_on(tmp_path):
    out, page = tmp_path / "trial.jsonl", tmp_path / "trial.md"
    some = ("--task", "facts", "--count", 1, "--questions", 5, "--tokens", 3_000, "--budget", 1_500, "--out", out)
    methods = ("--method", "everything", "--method", "paged")
    unknown = run("trial", "--model", "scripted", *some, "--dry-run")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "price unknown: 'scripted'" in unknown.stderr
    dry = run("trial", "--model", "scripted", "--price", "1,2", *some, *methods, "--dry-run")
    assert (dry.returncode, dry.stderr) == (0, "")
    assert re.search(r"^all +\$0\.\d+$", dry.stdout, re.MULTILINE)
    assert not out.exists()
    with served(openai_answers) as (url, requests):
        told = ("trial", "--model", "scripted", "--price", "1,2", "--url", url, *some, *methods)
        poor = run(*told, "--limit", 0.000001)
        assert poor.returncode == 1
        assert "runs are left: the limit of $1e-06 is reached; the same command continues" in poor.stderr
        done = run(*told, "--report", page)
        assert (done.returncode, done.stderr) == (0, "")
        asked = len(requests)
        assert run(*told).returncode == 0
        assert len(requests) == asked
    assert "5 steps" in done.stdout
    assert "100.0% [56.6%, 100.0%]" in done.stdout
    assert "McNemar" in page.read_text()
    assert "| everything | 100.0%" in page.read_text()
