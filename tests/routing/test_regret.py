"""Regret that is estimated from a log: the truth lies in its interval, and what the log cannot tell is not told."""

import random
from datetime import UTC, datetime

import pytest

import pageturn as pt
from pageturn.routing import Decision, Logged, Scored
from pageturn.routing.modes import Aim, probabilities
from pageturn.routing.regret import regrets
from pageturn.values.json import Instant

NOW = Instant.of(datetime(2026, 4, 20, tzinfo=UTC))
EASY = pt.Bucket(pt.Difficulty.EASY, pt.Dependency.ISOLATED, pt.ToolUse.NO)
RATES = {"good": 0.8, "fair": 0.6, "poor": 0.3}


def log_of(aims, decisions, seed, rates=RATES):
    """Decisions by these aims, and their outcomes."""
    rng = random.Random(seed)
    shares = dict(zip(aims, probabilities(list(aims.values())), strict=True))
    made = []
    for at in range(decisions):
        draw = rng.gauss(0.0, 1.0)
        choice = max(aims, key=lambda agent: aims[agent].at(draw))
        scored = tuple(Scored(agent, 0.5, 0.1, *aims[agent], aims[agent].at(draw)) for agent in aims)
        decision = Decision(f"{at}", NOW, "model_call", EASY, "thompson", choice, scored)
        made.append(Logged(decision, shares[choice], float(rng.random() < rates[choice])))
    return made, sum(share * rates[agent] for agent, share in shares.items())


MIXED = {"good": Aim(0.5, 0.1), "fair": Aim(0.52, 0.02), "poor": Aim(0.42, 0.2)}


def test_the_truth_lies_in_the_interval_nearly_always():
    held = 0
    for seed in range(200):
        log, expected = log_of(MIXED, 300, seed)
        (found,) = regrets(log)
        assert found.unknown == ()
        held += found.interval.low <= max(RATES.values()) - expected <= found.interval.high
    assert held >= 188  # 95 % of them are 190


def test_an_interval_gets_narrower_with_more_decisions():
    widths = [each.interval.high - each.interval.low for n in (200, 3_200) for each in regrets(log_of(MIXED, n, 1)[0])]
    assert widths[1] < widths[0] / 2


@pytest.mark.parametrize("aims", [{"good": Aim(0.9), "fair": Aim(0.1)}, {"good": Aim(0.9, 0.1), "fair": Aim(0.1, 0.1)}])
def test_of_whom_was_never_chosen_the_log_cannot_tell(aims):
    log, _ = log_of(aims, 100, 1)
    (found,) = regrets(log)
    assert (found.best, found.unknown) == ("good", ("fair",))


def test_a_few_decisions_and_none_tell_nothing():
    (found,) = regrets(log_of(MIXED, 12, 1)[0])
    assert (found.best, found.interval, found.decisions) == (None, None, 12)
    assert regrets([]) == []
