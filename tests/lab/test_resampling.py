"""How sure a difference is."""

import pytest

import pageturn as pt
from pageturn.lab.resampling import paired


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
