"""Which ways are beaten by no other, and which should be the default."""

import pytest

from pageturn.lab.pareto import Point, Points, flip, front
from pageturn.lab.results import OracleGap, Result, Score


def result(policy, cost, coverage, faults=0, *, again=0, budget=8_000, trace="t", own=True, refused=0, oracle=None):
    score = Score(billed=cost, whole=1.0, demanded=100, covered=round(coverage * 100), turns=9, refused=refused)
    settings = {"policy": policy.split(":")[0]} if own else {}
    counts = {"pinned_invariant_miss": faults, "refetch": again}
    return Result(trace, "s", policy, budget, "chars/4", "ideal-cache", score, settings, counts, (), oracle)


def pooled(*results):
    points = Points()
    for one in results:
        points.add(one)
    return points.pooled()


def test_a_point_pools_the_sessions_that_all_ways_have():
    points = pooled(
        result("paged", 0.4, 0.9, 1),
        result("paged", 0.6, 0.7, 2, trace="u"),
        result("paged", 9.0, 0.0, trace="v"),
        result("legacy", 0.5, 0.5),
        result("legacy", 0.5, 0.5, trace="u"),
    )
    assert [(point.policy, point.sessions, point.cost, point.coverage, point.faults) for point in points] == [
        ("paged", 2, 0.5, 0.8, 3),
        ("legacy", 2, 0.5, 0.5, 0),
    ]


def test_sessions_that_not_all_ways_have_tell_nothing_about_any_two():
    points = Points()
    for trace in "tuv":
        points.add(result("paged", 0.4, 0.9, trace=trace))
        points.add(result("legacy", 0.4 if trace == "t" else 0.9, 0.9, trace=trace))
    points.add(result("reset", 0.4, 0.9))
    assert [point.sessions for point in points.pooled()] == [1, 1, 1]
    assert points.versus("paged", "legacy", 8_000).cost.value == 0
    points.add(result("incremental", 0.4, 0.9, trace="w"))
    assert points.pooled() == []
    assert points.versus("paged", "legacy", 8_000) is None


def test_a_gap_is_pooled_where_every_session_has_one_to_the_same_oracle():
    one, other = OracleGap(1, 5, 3, 2), OracleGap(1, 7, 1, 0)
    rows = [result("paged", 0.4, 0.9, oracle=one), result("legacy", 0.4, 0.9, oracle=one)]
    found = pooled(
        *rows,
        result("paged", 0.4, 0.9, trace="u", oracle=other),
        result("legacy", 0.4, 0.9, trace="u"),
        result("paged", 0.4, 0.9, trace="only here", oracle=other),
    )
    assert [point.gap for point in found] == [OracleGap(1, 12, 4, 2), None]
    assert pooled(rows[0], result("paged", 0.4, 0.9, trace="u", oracle=OracleGap(3, 7, 1, 0)))[0].gap is None


def test_the_front_keeps_what_nothing_beats_and_ties_beat_nobody():
    points = pooled(
        result("legacy", 0.5, 0.9),
        result("reset", 0.3, 0.8),
        result("paged", 0.3, 0.9),
        result("incremental", 0.3, 0.9),
        result("keep-last", 0.9, 0.95, own=False),
        result("oracle_replay", 0.1, 1.0),
        result("paged:low=0.1", 0.2, 0.8, budget=99_000),
    )
    assert [point.policy for point in front(points)] == ["paged", "incremental", "keep-last", "paged:low=0.1"]


def test_what_came_again_is_a_fault_for_everybody():
    ours, theirs = pooled(result("paged", 0.3, 0.9, again=2), result("keep-last", 0.3, 0.9, again=2, own=False))
    assert (ours.faults, ours.fetched_again) == (theirs.faults, theirs.fetched_again) == (2, 2)
    assert not ours.dominates(theirs)
    legacy, paged = result("legacy", 0.5, 0.9, again=1), result("paged", 0.3, 0.9, again=2)
    assert flip(pooled(legacy, paged)).elected == "legacy"
    assert flip(pooled(legacy, paged), Point.dominates_if_pointers_are_hits).elected == "paged"


def priced(policy, billed, fetching, *, judged=9):
    score = Score(billed=billed, whole=1.0, demanded=9, covered=9, turns=9, fetching=fetching, missing=1, judged=judged)
    return Result("t", "s", policy, 8_000, "chars/4", "ideal-cache", score, {"policy": policy})


def test_the_cost_is_the_priced_bill():
    points = Points()
    for one in (priced("legacy", 0.3, 0.3), priced("paged", 0.4, 0.1), priced("reset", 0.2, 0.5)):
        points.add(one)
    assert points.is_priced
    assert [point.cost for point in points.pooled()] == pytest.approx([0.6, 0.5, 0.7])
    assert points.versus("paged", "legacy", 8_000).cost.value == pytest.approx(-0.1)
    assert flip(points.pooled()).elected == "paged"


def test_lines_from_before_misses_were_priced_are_compared_as_they_were():
    """With one such line nothing has a priced bill: two measures are never compared."""
    points = Points()
    for one in (priced("legacy", 0.3, 0.3), priced("paged", 0.4, 0.0, judged=0)):
        points.add(one)
    assert not points.is_priced
    assert [point.cost for point in points.pooled()] == pytest.approx([0.3, 0.4])


def test_more_faults_are_worse():
    quiet, loud = pooled(result("paged", 0.3, 0.9), result("reset", 0.3, 0.9, faults=1))
    assert quiet.dominates(loud)
    assert not loud.dominates(quiet)
    assert not quiet.dominates(quiet)


def test_the_cheapest_that_dominates_legacy_is_elected():
    legacy = result("legacy", 0.5, 0.8)
    assert flip(pooled(legacy, result("paged", 0.4, 0.9), result("incremental", 0.3, 0.8))).elected == "incremental"
    # Cheaper, but it shows less than legacy.
    assert flip(pooled(legacy, result("paged", 0.4, 0.9), result("reset", 0.1, 0.7))).elected == "paged"
    assert flip(pooled(legacy, result("paged", 0.4, 0.9), result("keep-last", 0.2, 0.9, own=False))).elected == "paged"


@pytest.mark.parametrize("others", [[], [result("paged", 0.4, 0.7)], [result("paged", 0.5, 0.8)]])
def test_where_nobody_dominates_legacy_it_stays(others):
    assert flip(pooled(result("legacy", 0.5, 0.8), *others)).elected == "legacy"


def test_without_legacy_there_is_nothing_to_flip():
    assert flip(pooled(result("paged", 0.1, 1.0))) == ("legacy", {}, [])


def test_it_must_dominate_at_every_budget():
    found = flip(
        pooled(
            result("legacy", 0.5, 0.8),
            result("paged", 0.4, 0.9),
            result("legacy", 0.5, 0.8, budget=4_000),
            result("paged", 0.6, 0.9, budget=4_000),
        )
    )
    assert (found.elected, found.dominating, found.budgets) == ("legacy", {"paged": [8_000]}, [4_000, 8_000])


def test_a_budget_that_nothing_fits_into_compares_nobody():
    refused = [result(policy, 0.0, 0.0, budget=10, refused=9) for policy in ("legacy", "paged")]
    baseline = result("keep-last", 0.9, 0.5, budget=10, own=False)
    points = pooled(*refused, baseline, result("legacy", 0.5, 0.8), result("paged", 0.4, 0.9))
    assert flip(points) == ("paged", {"paged": [8_000]}, [8_000])
    assert [(point.policy, point.budget_tokens) for point in front(points)] == [("keep-last", 10), ("paged", 8_000)]
    assert flip(pooled(*refused)).elected == "legacy"
    partly = [result("legacy", 0.0, 0.0, refused=8), result("paged", 0.0, 0.1, refused=8)]
    assert flip(pooled(*partly)).elected == "paged"


def test_a_fault_more_by_chance_does_not_count_where_only_what_is_sure_does():
    points = Points()
    for at in range(12):
        points.add(result("legacy", 0.5, 0.8, faults=2 + at % 3, trace=str(at)))
        points.add(
            result(
                "paged",
                0.4 + 0.01 * (at % 2),
                0.8 + 0.01 * (at % 3),
                faults=2 + (at + 1) % 3 + (at == 0),
                trace=str(at),
            )
        )
        points.add(result("reset", 0.3, 0.6, faults=2 + at % 3, trace=str(at)))
    found = points.versus("paged", "legacy", 8_000)
    assert found.cost.is_sure
    assert found.cost.value < 0 < found.faults.value
    assert not found.faults.is_sure
    assert found.dominates
    assert not points.versus("reset", "legacy", 8_000).dominates  # it surely shows less
    assert not points.versus("legacy", "legacy", 8_000).dominates
    assert points.versus("paged", "nobody", 8_000) is None
    assert flip(points.pooled()).elected == "legacy"
    sure = flip(points.pooled(), lambda ours, legacy: points.versus(ours.policy, legacy.policy, 8_000).dominates)
    assert sure.elected == "paged"
