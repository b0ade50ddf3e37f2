"""Modes: where scores lie, and how likely a choice was."""

import math
import random
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.routing.modes import MODES, Aim, mode_of, probabilities
from pageturn.routing.pooling import Estimate

aims = st.lists(st.builds(Aim, st.floats(0, 1), st.sampled_from([0.0, 0.02, 0.05, 0.2])), min_size=1, max_size=6)


class View:
    """Two agents: one that is well known, and one that is not."""

    estimates: ClassVar = {"known": Estimate(0.6, 0.05), "new": Estimate(0.5, 0.25)}
    cost = {"known": 0.4, "new": 0.1}.__getitem__
    value = 2.0
    usual = 0.5
    outcomes = math.inf

    def estimate(self, agent):
        return self.estimates[agent]

    def cell_score(self, agent):
        return {"known": 0.55, "new": 0.0}[agent]

    def warmed_score(self, agent):
        return {"known": 0.55, "new": 0.4}[agent]


def aim(mode, agent):
    return MODES[mode].aim(agent, View())


def test_each_mode_scores_as_it_says():
    assert aim("cadmas", "new") == (0.0, 0.0)
    assert aim("lcb", "new") == (0.4, 0.0)
    assert aim("mean", "known") == (0.6, 0.0)
    new = View.estimates["new"]
    assert aim("ucb", "new") == (new.at(1.1), 0.0)
    assert (
        0.5 < new.at(1.1) == pytest.approx(1.0 / (1.0 + math.exp(-1.1)))
    )  # a deviation of .25 at one half is 1 in log-odds
    centre, spread = aim("thompson", "new")
    assert (centre, spread) == pytest.approx((new.at(1.1), (new.at(1.35) - new.at(0.85)) / 2.0))
    assert aim("cost", "new") == pytest.approx((2.0 * centre - 0.1, 2.0 * spread))


def test_hope_is_greater_at_the_beginning_and_for_those_who_are_not_better_than_usual():
    late, early = View(), View()
    early.outcomes = 0.0
    assert MODES["ucb"].aim("new", early).centre > MODES["ucb"].aim("new", late).centre
    easy, hard = View(), View()
    easy.usual, hard.usual = 0.9, 0.1
    assert MODES["ucb"].aim("new", easy).centre > MODES["ucb"].aim("new", hard).centre > 0.5


@given(st.floats(-1, 2), st.floats(0, 1), st.floats(-50, 50))
def test_what_may_be_hoped_for_is_a_rate(mean, deviation, deviations):
    assert 0.0 < Estimate(mean, deviation).at(deviations) < 1.0
    assert Estimate(mean, deviation).at(0.0) == pytest.approx(min(max(mean, 0.0), 1.0), abs=4e-4)


def test_only_those_that_look_for_more_try_what_is_new():
    preferred = {mode: max(View.estimates, key=lambda agent, mode=mode: aim(mode, agent).centre) for mode in MODES}
    assert preferred == {"cadmas": "known", "lcb": "known", "mean": "known", "ucb": "new", "thompson": "new", "cost": "new"}  # fmt: skip


def test_an_unknown_mode_is_refused():
    with pytest.raises(pt.InvalidInput, match="mode: expected one of cadmas, lcb"):
        mode_of("best")


@given(aims)
def test_probabilities_are_shares(given_aims):
    shares = probabilities(given_aims)
    assert sum(shares) == pytest.approx(1.0)
    assert all(0.0 <= share <= 1.0 for share in shares)


def test_probabilities_are_those_of_draws():
    given_aims = [Aim(0.5, 0.1), Aim(0.55, 0.05), Aim(0.3, 0.2), Aim(0.0, 0.01), Aim(0.45), Aim(0.3, 0.2)]
    rng = random.Random(7)
    wins = [0] * len(given_aims)
    for _ in range(20_000):
        draw = rng.gauss(0.0, 1.0)
        scores = [each.at(draw) for each in given_aims]
        wins[rng.choice([at for at, score in enumerate(scores) if score == max(scores)])] += 1
    shares = probabilities(given_aims)
    assert min(wins[0], wins[1], wins[2], wins[5]) > 100
    for at, won in enumerate(wins):
        assert shares[at] == pytest.approx(won / 20_000, abs=0.015)


def test_of_equal_ones_without_chance_the_first_is_certain():
    assert probabilities([Aim(0.2), Aim(0.7), Aim(0.7)]) == [0.0, 1.0, 0.0]


def test_of_equal_ones_with_chance_all_have_the_same():
    assert probabilities([Aim(0.7, 0.1), Aim(0.1, 0.1), Aim(0.7, 0.1)]) == [0.5, 0.0, 0.5]
