"""Places on a drawing: scales, round ticks, labels moved apart, and which of many values are drawn."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.lab.report.scales import Scale, around, by_ratio, compact, from_nothing, kept, percent, spread, times

FINITE = st.floats(-1e9, 1e9)


@given(st.lists(FINITE, min_size=1), st.integers(1, 12))
def test_a_scale_around_values_holds_all_of_them_and_its_ticks(values, most):
    scale = around(values, 10, 300)
    assert all(10 <= scale(value) <= 300 for value in values)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert ticks == sorted(set(ticks))
    assert all(10 - 1e-6 <= scale(tick) <= 300 + 1e-6 for tick in ticks)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1), st.integers(3, 12))
def test_a_scale_by_ratio_keeps_the_order_and_has_ticks(values, most):
    scale = by_ratio(values, 10, 300)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(10 <= place <= 300 for place in places)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert all(10 - 1e-3 <= scale(tick) <= 300 + 1e-3 for tick in ticks)


def test_far_values_are_placed_by_ratio_and_near_ones_are_not():
    far = by_ratio([0.1, 10], 0, 100)
    assert far(1) == pytest.approx(50)
    assert not by_ratio([1, 2], 0, 100).is_log
    assert not by_ratio([0, 10], 0, 100).is_log, "nothing has no ratio"


def test_ticks_are_round():
    assert Scale(0, 103, 0, 1).ticks(5) == [0, 25, 50, 75, 100]
    assert Scale(0.71, 1.0, 0, 1).ticks(4) == [0.8, 0.9, 1.0]
    assert Scale(0.15, 2, 0, 1, is_log=True).ticks(5) == [0.2, 0.3, 0.5, 1, 2]


def test_a_scale_from_nothing_of_nothing_is_still_one():
    assert from_nothing(0, 100, 0)(0) == 100


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.5, 30))
def test_labels_are_moved_apart_and_stay_inside_in_their_order(places, gap):
    moved = spread(places, gap, 0, 100)
    gap = min(gap, 100 / max(len(places) - 1, 1))
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in moved)
    assert all(second - first >= gap - 1e-6 for first, second in pairwise(sorted(moved)))
    order = sorted(range(len(places)), key=lambda at: (places[at], at))
    assert order == sorted(range(len(places)), key=lambda at: moved[at])


@given(st.lists(st.floats(5.001, 12), min_size=1, max_size=8), st.randoms())
def test_labels_that_are_apart_stay_where_they_are(gaps, chance):
    places = list(accumulate(gaps))
    chance.shuffle(places)
    assert spread(places, 5, 0, 100) == pytest.approx(places)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=400), st.integers(4, 60))
def test_of_many_values_the_ends_and_the_extremes_of_every_stretch_are_kept(values, most):
    chosen = kept(values, most)
    assert len(chosen) <= max(most, 4)
    assert chosen == sorted(set(chosen))
    assert {0, len(values) - 1} <= set(chosen)
    drawn = [values[at] for at in chosen]
    assert (min(drawn), max(drawn)) == (min(values), max(values))
    if len(values) <= most:
        assert drawn == values


def test_numbers_are_as_short_as_a_reader_needs_them():
    assert [compact(value) for value in (0, 950, 999.9, 8_000, 12_345, 1_250_000, 3e9)] == [
        "0", "950", "1k", "8k", "12.3k", "1.25M", "3G",
    ]  # fmt: skip
    assert (times(0.4251), times(2), percent(0.995), percent(1)) == ("0.425×", "2×", "99.5 %", "100 %")
