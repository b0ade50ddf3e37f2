"""Evaluation: which agents drifted, what another mode would have earned, and whether a log agrees with its outcomes."""

import random

import msgspec
import pytest

import pageturn as pt
from pageturn.routing import MODES, Thompson
from pageturn.routing.evaluation import compare, differing, drifts, replay
from pageturn.routing.modes import Aim
from pageturn.stores import MemoryStore, Slot

RATES = {"good": 0.8, "fair": 0.5, "poor": 0.2}


def logged(tasks=200, *, mode=None, rates=RATES, two=False, seed=1):
    """The router after that many tasks; with two routers on one store, whose decisions and outcomes interleave."""
    store = MemoryStore()
    routers = [pt.Router.open(store, mode=mode, rng=random.Random(seed + at)) for at in range(1 + two)]
    rng = random.Random(seed)
    waiting = []
    for at in range(tasks):
        made = routers[at % len(routers)]
        waiting.append((made, made.choose(list(rates), "model_call", rng.choice(["sql", "web"]))))
        if len(waiting) > 2 or not two:
            made, decision = waiting.pop(rng.randrange(len(waiting)))
            made.observe(decision, rng.random() < rates[decision.choice])
    return routers[0].beliefs


def replayed(beliefs, mode):
    return list(replay(list(beliefs.log()), MemoryStore(), beliefs.config, MODES[mode]))


@pytest.mark.parametrize("two", [False, True])
def test_a_log_gives_every_decision_the_estimates_that_it_rested_on(two):
    again = replayed(logged(two=two), "thompson")
    assert len(again) > 190
    assert differing(again) == []
    for was, now in again:
        assert [each.centre for each in was.decision.candidates] == pytest.approx(
            [each.centre for each in now.candidates]
        )


def test_a_log_that_was_tampered_with_is_told():
    beliefs = logged()
    _, entry = list(beliefs.log())[50]
    forged = msgspec.structs.replace(entry, verdict=1.0 - entry.verdict)
    slot = Slot("decisions/default", entry.decision.id)
    kept = [document for _, document in beliefs._store.sidecar("decisions/default").documents.items()]
    assert len(kept) == 200
    log = [(version, forged if each == entry else each) for version, each in beliefs.log()]
    assert differing(replay(log, MemoryStore(), beliefs.config, MODES["mean"])) != []
    assert slot.key == forged.decision.id


def test_the_same_mode_would_have_come_to_what_it_came_to():
    found = compare(replayed(logged(), "thompson"), "thompson")
    assert found.decisions == 200
    assert found.estimated == pytest.approx(found.observed, abs=0.02)
    assert found.effective == pytest.approx(200, rel=0.1)


def test_a_worse_mode_is_seen_to_be_worse():
    class Worst(Thompson):
        name = "worst"

        def aim(self, agent, view):
            centre, spread = super().aim(agent, view)
            return Aim(-centre, spread)

    beliefs = logged(400, mode=Thompson(0.0, 1.5))
    log = list(beliefs.log())
    worst = compare(replay(log, MemoryStore(), beliefs.config, Worst()), "worst")
    best = compare(replay(log, MemoryStore(), beliefs.config, MODES["thompson"]), "thompson")
    assert worst.estimated < worst.observed < best.estimated
    assert worst.effective < best.effective


def test_a_log_without_outcomes_compares_nothing():
    assert compare([], "mean").effective == 0.0


def test_an_agent_that_falls_is_named_and_one_that_holds_is_not():
    made = pt.Router.open(MemoryStore())
    for at in range(80):
        made.observe(made.choose(["falls"]), at < 50)
        made.observe(made.choose(["holds"]), at % 2 == 0)
    (drift,) = drifts(made.beliefs.log())
    assert (drift.agent, drift.before, drift.recent, drift.outcomes) == ("falls", 50 / 60, 0.0, 80)
    assert str(drift) == "falls at model_call easy isolated: 0.83 before, 0.00 in the last 20"
