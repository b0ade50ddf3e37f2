"""How sure a difference is."""

import pytest

import pageturn as pt
from pageturn.lab.bootstrap import paired, pooled_share


def mean(values):
    return sum(values) / len(values)


def test_a_difference_that_every_session_shows_is_sure():
    found = paired([3.0, 5.0, 9.0], [2.0, 4.0, 8.0], mean)
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))
    assert found.is_sure


def test_a_difference_that_one_session_made_is_not_sure():
    found = paired([0.0, 0.0, 0.0, 8.0], [0.0, 0.0, 0.0, 0.0], mean)
    assert found.value == 2
    assert found.low == 0 < found.value < found.high
    assert not found.is_sure


def test_sessions_are_drawn_in_pairs():
    sizes = [1.0, 100.0, 10_000.0, 5.0]
    found = paired([size + 1 for size in sizes], sizes, mean)
    assert found.high - found.low < 1e-6, "drawn apart, the sizes would drown the difference"


def test_the_same_seed_gives_the_same_interval():
    ours, theirs = [1.0, 4.0, 2.0, 8.0], [2.0, 3.0, 3.0, 5.0]
    assert paired(ours, theirs, mean, seed=7) == paired(ours, theirs, mean, seed=7)
    assert len({paired(ours, theirs, mean, seed=seed, rounds=40) for seed in range(5)}) > 1


def test_the_narrower_the_sessions_the_narrower_the_interval():
    def width(values):
        found = paired(values, [0.0] * len(values), mean)
        return found.high - found.low

    assert width([1.0, 2.0, 3.0] * 20) < width([1.0, 2.0, 3.0])


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_sets_that_do_not_match_are_refused(ours, theirs):
    with pytest.raises(pt.InvalidInput, match="the same sessions"):
        paired(ours, theirs, mean)


def test_a_share_is_that_of_all_sessions_together():
    share = pooled_share([1.0, 30.0], [10.0, 50.0])
    assert share.value == pytest.approx(31 / 60)
    assert (share.low, share.high) == pytest.approx((0.1, 0.6))


def test_a_share_that_every_session_has_is_sure():
    assert pooled_share([1, 2, 3], [2, 4, 6]) == pytest.approx((0.5, 0.5, 0.5))


def test_a_share_of_one_session_or_of_nothing_has_no_interval():
    assert pooled_share([3], [4]) == (0.75, 0.75, 0.75)
    assert pooled_share([0, 0], [0, 0]) == (1, 1, 1)


def test_the_interval_of_a_share_holds_most_of_what_is_drawn():
    parts, wholes = list(range(20)), [20] * 20
    wide = pooled_share(parts, wholes)
    around = 1.96 * (399 / 12) ** 0.5 / 20 / 20**0.5  # as a textbook has it, for values spread evenly
    assert (wide.low, wide.high) == pytest.approx((wide.value - around, wide.value + around), abs=0.02)
    assert wide == pooled_share(parts, wholes)
    assert len({pooled_share(parts, wholes, seed=seed, rounds=40) for seed in range(5)}) > 1
    many = pooled_share(parts * 20, wholes * 20)
    assert many.high - many.low < (wide.high - wide.low) / 3


def test_no_session_has_no_share():
    with pytest.raises(pt.InvalidInput, match="at least one"):
        pooled_share([], [])
