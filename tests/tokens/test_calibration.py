"""Calibration: what a session learns from reported usage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.tokens.calibration import Calibration


def test_a_fresh_calibration_changes_nothing():
    assert (Calibration().factor, Calibration().hidden_tokens) == (1.0, 0)
    assert Calibration().expected(1_000) == Calibration().room(1_000) == 1_000


def test_one_report_gives_the_plain_ratio():
    learned = Calibration().observe(counted=1_000, reported=1_300)
    assert (learned.factor, learned.hidden_tokens) == (1.3, 0)


def test_old_reports_fade():
    learned = Calibration()
    for size in range(1_000, 41_000, 1_000):
        learned = learned.observe(counted=size, reported=2 * size)
    for size in range(1_000, 201_000, 1_000):
        learned = learned.observe(counted=size, reported=size)
    assert learned.factor == pytest.approx(1.0, abs=0.02)


def test_prompts_of_one_size_give_the_ratio():
    learned = Calibration()
    for jitter in (0, 1, 2, 0):
        learned = learned.observe(counted=10_000 + jitter, reported=13_000 + 40 * jitter)
    assert learned.factor == pytest.approx(1.3, abs=0.01)


def test_a_calibration_without_counts_changes_nothing():
    assert pt.from_json(Calibration, b'{"weight":1,"y":5}').factor == 1.0


@given(
    factor=st.floats(0.7, 2.5),
    hidden=st.integers(0, 40_000),
    start=st.integers(500, 20_000),
    steps=st.lists(st.integers(200, 4_000), min_size=8, max_size=40),
    noise=st.floats(-0.01, 0.01),
)
def test_a_growing_session_teaches_factor_and_hidden_tokens(factor, hidden, start, steps, noise):
    learned, counted = Calibration(), start
    for index, step in enumerate(steps):
        counted += step
        reported = round(hidden + factor * counted * (1 + noise * (-1) ** index))
        learned = learned.observe(counted=counted, reported=reported)
    truth = hidden + factor * counted
    assert abs(learned.expected(counted) - truth) <= 0.05 * truth


@given(st.lists(st.tuples(st.integers(1, 500_000), st.integers(1, 900_000)), max_size=20), st.integers(0, 10**6))
def test_the_room_is_the_largest_count_that_stays_within_the_budget(usage, budget):
    learned = Calibration()
    for counted, reported in usage:
        learned = learned.observe(counted=counted, reported=reported)
    room = learned.room(budget)
    assert room == 0 or learned.expected(room) <= budget
    assert learned.expected(room + 3) > budget


@pytest.mark.parametrize("hundredths", range(50, 401))
def test_room_and_what_is_expected_of_it_agree_to_the_token(hundredths):
    """Where the budget is a whole number of times the factor, floats would be one token off."""
    learned = Calibration().observe(counted=100_000, reported=hundredths * 1_000)
    for counted in (1, 7, 300, 4_100, 684_073, 1_000_000):
        budget = learned.expected(counted)
        assert counted <= learned.room(budget) <= counted + 1
        assert learned.expected(learned.room(budget)) <= budget


@pytest.mark.parametrize(("counted", "reported"), [(0, 5), (5, 0), (-1, 1)])
def test_usage_without_tokens_is_refused(counted, reported):
    with pytest.raises(pt.InvalidInput, match=r"\$\.usage: expected token counts above 0"):
        Calibration().observe(counted=counted, reported=reported)


def test_the_room_stays_within_the_budget_where_a_quotient_is_rounded():
    learned = Calibration()
    for counted, reported in ((106, 59), (113, 107), (107, 55)):
        learned = learned.observe(counted=counted, reported=reported)
    assert learned.expected(learned.room(1_887)) <= 1_887
