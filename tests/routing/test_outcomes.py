"""Outcomes that come late, weak, wrong or in numbers; what is declared before any, and what is forgotten after."""

import random
from datetime import timedelta

import pytest

import pageturn as pt
from pageturn.routing import MODES, Declared, read_declared
from pageturn.routing.evaluation import differing, replay
from pageturn.routing.skills import setting
from pageturn.stores import MemoryStore
from tests.routing.test_router import AGENTS, EASY, Clock, router

WHERE = setting("model_call", EASY)


def record(made, agent="a"):
    found = made.beliefs.posterior(agent, WHERE)
    return found.alpha - 1.0, found.beta - 1.0, found.n


def decided(made, agent="a"):
    return made.choose([agent], "model_call", EASY)


def consistent(made):
    beliefs = made.beliefs
    log = list(beliefs.log())
    again = list(
        replay(log, MemoryStore(), beliefs.config, MODES["mean"], declared=beliefs.state, forgotten=beliefs.forgotten())
    )
    return len(again) == len(log) and differing(again) == []


def test_weak_evidence_counts_a_quarter_and_a_strong_outcome_replaces_it():
    made = router()
    decision = decided(made)
    assert made.observe(decision, False, is_weak=True)
    assert record(made) == (0.0, 0.25, 1)
    assert made.observe(decision, True)
    assert record(made) == (1.0, 0.0, 1)
    assert not made.observe(decision, False, is_weak=True)
    assert record(made) == (1.0, 0.0, 1)


def test_results_of_tool_calls_are_weak_unless_somebody_says_otherwise():
    made = router()
    result = pt.tool_result("c", "no", is_error=True)
    made.observe(decided(made), [result])
    made.observe(decided(made), [result], is_weak=False)
    made.observe(decided(made), True, weight=0.5)
    assert record(made) == (0.5, 1.25, 3)


@pytest.mark.parametrize("lambda_", [1.0, 0.9])
def test_a_correction_leaves_what_the_right_outcome_would_have_left(lambda_):
    wrong, right = (router(config=pt.DelegationConfig(lambda_=lambda_, enabled=True)) for _ in range(2))
    verdicts = [True, False, True, True, False]
    decisions = [decided(wrong) for _ in verdicts]
    for at, verdict in enumerate(verdicts):
        wrong.observe(decisions[at], verdict if at != 2 else False, retries=1)
        right.observe(decided(right), verdict, retries=1)
    with pytest.raises(pt.InvalidInput, match="or a correction that is named as such"):
        wrong.observe(decisions[2], True, retries=1)
    assert wrong.observe(decisions[2], True, retries=1, is_correction=True)
    assert not wrong.observe(decisions[2], True, retries=1, is_correction=True)
    assert record(wrong) == pytest.approx(record(right))


def test_a_log_with_corrections_says_what_was_known_when():
    made = router(seed=4)
    rng = random.Random(4)
    decisions = []
    for _ in range(40):
        decisions.append(made.choose(AGENTS, "model_call", EASY))
        made.observe(decisions[-1], rng.random() < 0.5, is_weak=rng.random() < 0.5)
        if rng.random() < 0.5:
            made.observe(rng.choice(decisions).id, rng.random() < 0.5, is_correction=True)
    assert any(entry.former for _, entry in made.beliefs.log())
    assert consistent(made)


def test_an_unknown_decision_is_refused():
    with pytest.raises(pt.InvalidInput, match="decision: expected a decision, or the id of one that was written"):
        router().observe("01890000-0000-7000-8000-000000000000", True)


def test_many_outcomes_at_once_are_looked_at_before_any_is_counted():
    made = router()
    decisions = [decided(made) for _ in range(3)]
    with pytest.raises(pt.InvalidInput, match="outcome"):
        made.observe_all([(decisions[0], True), (decisions[1], "maybe")])
    assert made.beliefs.state.beliefs == {}
    assert made.observe_all([(decisions[0], True), (decisions[1].id, 0.5), (decisions[0], True)]) == 2
    assert record(made) == (1.5, 0.5, 2)
    assert made.pending == (decisions[2],)
    made.flush()
    assert made.pending == (decisions[2],)


def test_what_it_took_is_in_the_log():
    made = router()
    made.observe(decided(made), True, seconds=2.5, money=0.01)
    (entry,) = [entry for _, entry in made.beliefs.log()]
    assert (entry.seconds, entry.money) == (2.5, 0.01)
    with pytest.raises(pt.InvalidInput, match="seconds"):
        made.observe(decided(made), True, seconds=-1.0)


def test_time_halves_what_is_known():
    clock = Clock()
    made = pt.Router.open(MemoryStore(), clock=clock, half_life=timedelta(days=7), rng=1)
    for _ in range(40):
        made.observe(decided(made), True)
    before = decided(made).candidates[0]
    clock.now += timedelta(days=70)
    after = decided(made).candidates[0]
    assert after.mean < before.mean
    assert after.deviation > 2 * before.deviation
    made.observe(decided(made), False)
    assert record(made) == pytest.approx((40 / 1024, 1.0, 41))
    with pytest.raises(pt.InvalidInput, match="half_life"):
        pt.Router.open(half_life=7)


def test_an_agent_whose_model_changed_is_forgotten_in_part_or_whole_and_nobody_else():
    made = router()
    for agent in ("a", "b"):
        for _ in range(10):
            made.observe(decided(made, agent), True)
    assert made.beliefs.forget("a", keep=0.2) == 1
    assert record(made) == pytest.approx((2.0, 0.0, 10))
    assert made.beliefs.forget("a") == 1
    assert record(made) == (0.0, 0.0, 0)
    assert record(made, "b") == (10.0, 0.0, 10)
    assert made.beliefs.forget("unknown") == 0
    made.observe(made.choose(["a", "b"], "model_call", EASY), False)
    assert consistent(made)


def test_declared_scores_begin_a_posterior_with_the_strength_of_their_source():
    made = router()
    table = read_declared(
        "agent, score, source, skill, bucket\na, 0.9, ours\nb, 0.4, vendor\nc, 0.5,,model_call@domain=sql\n",
        {"ours": 20.0, "vendor": 2.0},
    )
    assert [(each.agent, each.score, each.strength) for each in table] == [
        ("a", 0.9, 20.0), ("b", 0.4, 2.0), ("c", 0.5, 12.0),
    ]  # fmt: skip
    assert made.declare(table) == 3
    assert made.declare(table) == 0
    decision = made.choose(["b", "a", "new"], "model_call")
    means = {each.agent: each.mean for each in decision.candidates}
    assert means["a"] > means["new"] > means["b"]
    deviations = {each.agent: each.deviation for each in decision.candidates}
    assert deviations["a"] < deviations["b"]
    made.observe(decision, True)
    made.observe(made.choose(["b", "a", "new"], "model_call"), False)
    assert consistent(made)


@pytest.mark.parametrize(
    "text", ["agent\na\n", "agent,score,colour\na,.5,red\n", "agent,score\na,high\n", "agent,score\na,1.5\n", " "]
)
def test_a_table_that_is_none_is_refused(text):
    with pytest.raises(pt.InvalidInput):
        read_declared(text)
    with pytest.raises(pt.InvalidInput, match="scores: expected Declared scores"):
        router().declare([("a", 0.5)])
    with pytest.raises(pt.InvalidInput, match="score"):
        Declared("a", 1.5)


def test_settings_that_differ_from_the_default_are_used():
    assert pt.Router.open(config=pt.DelegationConfig(lambda_=0.95)).choose(AGENTS).mode == "thompson"
    assert pt.Router.open(config=pt.DelegationConfig(lambda_=0.95), enabled=False).choose(AGENTS).mode == "disabled"
    assert pt.Router.open(config=pt.DelegationConfig(enabled=False)).choose(AGENTS).mode == "disabled"
    assert pt.Router.open(enabled=False).choose(AGENTS).mode == "disabled"
