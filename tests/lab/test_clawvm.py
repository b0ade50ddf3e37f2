"""ClawVM's selector as published, and what structure and scoring each contribute on our workloads."""

from itertools import pairwise
from statistics import fmean

import pytest

from pageturn.lab.clawvm import ABLATIONS, CLAWVM, POLICIES, SWEEP, Selector, Upgrade, Weights
from pageturn.lab.synthetic_workloads import BUDGETS, Demand, PageSpec, Pin, Turn, adversaries, families
from pageturn.values.pages import PageKind, ResidencyLevel

FULL, COMPRESSED, STRUCTURED, POINTER = ResidencyLevel
SEEDS = (1, 2, 3)
PAGED = ("clawvm", "lru", "oracle_h3")
NAMED = {policy.name: policy for policy in POLICIES}


def page(id, sizes=(4, 20, 40, 80), *, kind=PageKind.EVIDENCE, pin=Pin.SOFT, utility=5.0, recompute=8.0):
    tokens = dict(zip((POINTER, STRUCTURED, COMPRESSED, FULL), sizes, strict=True))
    return PageSpec(id, kind, pin, POINTER, tokens, utility, recompute)


def choose(*pages, selector=CLAWVM.chooser, required=None, recency=None, budget=1_000, future=()):
    return selector.choose(
        pages, required=required or {}, demands=(), recency=recency or {}, budget_tokens=budget, future=future
    )


# The selector, step by step.


def test_requirements_go_in_by_pin_then_kind_then_utility():
    plain = Selector(Upgrade.NOTHING, prefetches=False)
    soft = page("soft", utility=99)
    hard = page("hard", pin=Pin.HARD)
    rule = page("rule", pin=Pin.HARD, kind=PageKind.CONSTRAINT)
    opening = page("opening", pin=Pin.HARD, kind=PageKind.BOOTSTRAP, utility=0)
    useful = page("useful", pin=Pin.HARD, utility=6)
    pages = (soft, hard, useful, rule, opening)
    required = {each.id: STRUCTURED for each in pages}
    fitting = [set(choose(*pages, selector=plain, required=required, budget=20 * n)) for n in range(6)]
    order = [(later - earlier).pop() for earlier, later in pairwise(fitting)]
    assert order == ["opening", "rule", "useful", "hard", "soft"]


def test_a_requirement_that_does_not_fit_is_skipped_and_smaller_ones_follow():
    plain = Selector(Upgrade.NOTHING, prefetches=False)
    large, small = page("large", utility=6), page("small")
    required = {"large": FULL, "small": STRUCTURED}
    assert choose(large, small, selector=plain, required=required, budget=50) == {"small": STRUCTURED}


def test_pointers_go_first_to_what_is_dear_to_compute_again():
    plain = Selector(Upgrade.NOTHING)
    cheap, dear, useful = page("cheap", recompute=6), page("dear", recompute=12), page("useful", recompute=6, utility=6)
    assert set(choose(cheap, dear, useful, selector=plain, budget=4)) == {"dear"}
    assert set(choose(cheap, dear, useful, selector=plain, budget=8)) == {"dear", "useful"}


def test_upgrades_go_by_worth_for_each_token():
    near, far = page("near"), page("far")
    assert choose(near, far, recency={"near": 1.0}, budget=8 + 16) == {"near": STRUCTURED, "far": POINTER}
    assert choose(near, far, recency={"far": 1.0}, budget=8 + 16) == {"near": POINTER, "far": STRUCTURED}


def test_ties_go_to_the_later_name():
    assert choose(page("a"), page("b"), budget=8 + 16) == {"a": POINTER, "b": STRUCTURED}


@pytest.mark.parametrize(
    ("upgrade", "worth"),
    [
        (Upgrade.NOTHING, 0.0),
        (Upgrade.LRU, 2.0),
        (Upgrade.RECENCY, 5 + 0.9 * 2 + 0.1 * 8),
        (Upgrade.WORTH, 5 + 0.6 + 0.6 * 2 + 0.4 * 8),
        (Upgrade.FORESIGHT, 5 + 0.6 + 0.6 * 2 + 0.4 * 8 + 2.2 * 3),
    ],
)
def test_worth_is_as_published(upgrade, worth):
    assert Selector(upgrade).worth(page("e"), recency=2.0, coming=3) == pytest.approx(worth)


def test_a_hard_pin_is_worth_two_and_none_nothing():
    hard, none = (Selector().worth(page("e", pin=pin), recency=0, coming=0) for pin in (Pin.HARD, Pin.NONE))
    assert hard - none == pytest.approx(2.0)


def test_the_oracle_looks_three_turns_ahead():
    oracle = NAMED["oracle_h3"].chooser
    idle = [Turn(())] * 2
    soon = [*idle, Turn((Demand("a", FULL),))]
    late = [*idle, Turn(()), Turn((Demand("a", FULL),))]
    pages = (page("a"), page("b"))
    assert choose(*pages, selector=oracle, future=soon, budget=8 + 16)["a"] is STRUCTURED
    assert choose(*pages, selector=oracle, future=late, budget=8 + 16)["a"] is POINTER
    assert choose(*pages, future=soon, budget=8 + 16)["a"] is POINTER


# Its defects, kept on purpose.


def test_the_single_pass_stalls_below_a_cheap_step_and_leaves_the_budget_unused():
    stalled = page("e", (10, 60, 80, 90))  # steps of 10, 50, 20 and 10 tokens: each upper one is cheaper
    chosen = choose(stalled, budget=1_000)
    assert chosen == {"e": STRUCTURED}
    assert 1_000 - stalled.tokens[chosen["e"]] == 940


def test_a_level_as_large_as_the_one_below_it_bars_the_way():
    assert choose(page("e", (10, 20, 20, 80))) == {"e": STRUCTURED}
    assert choose(page("e", (10, 20, 40, 80))) == {"e": FULL}


def test_a_demand_above_the_floor_can_push_out_the_floor_of_another_rule():
    first = page("first", pin=Pin.HARD, kind=PageKind.BOOTSTRAP)
    second = page("second", pin=Pin.HARD, kind=PageKind.CONSTRAINT)
    assert choose(first, second, required={"first": STRUCTURED, "second": STRUCTURED}, budget=90).keys() == {
        "first",
        "second",
    }
    assert choose(first, second, required={"first": FULL, "second": STRUCTURED}, budget=90) == {
        "first": FULL,
        "second": POINTER,
    }


# The tables.


def test_the_policies_are_as_published():
    rows = {
        policy.name: (
            policy.harness.pins_floors,
            policy.chooser.prefetches,
            policy.harness.saves_at_compaction,
            policy.harness.saves_at_reset,
            policy.chooser.upgrade,
            policy.harness.resolves,
            policy.harness.multi_session_scale,
        )
        for policy in POLICIES
    }
    assert rows == {
        "retrieval_only": (False, False, False, False, "nothing", False, 0.78),
        "retrieval_only_cached": (False, False, False, False, "nothing", True, 0.78),
        "compaction_hybrid": (False, True, True, False, "recency", True, 0.85),
        "clawvm": (True, True, True, True, "worth", True, 1.0),
        "lru": (True, True, True, True, "lru", True, 1.0),
        "oracle_h3": (True, True, True, True, "foresight", True, 1.0),
    }


def test_each_ablation_takes_away_one_thing():
    for policy in ABLATIONS:
        changed = [
            name for name, value in policy.harness._asdict().items() if value != getattr(CLAWVM.harness, name)
        ] + [name for name, value in policy.chooser._asdict().items() if value != getattr(CLAWVM.chooser, name)]
        assert len(changed) == 1, policy.name


def test_the_sweep_has_84_points_and_spans_the_published_ranges():
    weights = [policy.chooser.weights for policy in SWEEP]
    assert len(set(weights)) == 84
    assert Weights() in weights
    for name, ends in (("pin", (0.5, 4.0)), ("recency", (0.1, 1.2)), ("recompute", (0.0, 1.2))):
        values = [getattr(each, name) for each in weights]
        assert (min(values), max(values)) == ends


@pytest.fixture(scope="module")
def tallies():
    workloads = [workload for seed in SEEDS for workload in families(seed)]
    return {
        (policy.name, budget): [policy.run(workload, budget) for workload in workloads]
        for policy in POLICIES
        for budget in BUDGETS
    }


def mean_faults(tallies, name):
    return fmean(len(tally.faults) for budget in BUDGETS for tally in tallies[name, budget])


def test_structure_decides_retrieval_over_cache_over_hybrid_over_nothing(tallies):
    retrieval, cached, hybrid = (
        mean_faults(tallies, name) for name in ("retrieval_only", "retrieval_only_cached", "compaction_hybrid")
    )
    assert retrieval > 5 * cached
    assert cached > 3 * hybrid
    assert hybrid > 0
    assert all(tally.floors_fit for each in tallies.values() for tally in each)
    assert {mean_faults(tallies, name) for name in PAGED} == {0}


def test_hybrid_loses_at_every_budget_and_less_with_more(tallies):
    lost = [sum(len(tally.faults) for tally in tallies["compaction_hybrid", budget]) for budget in BUDGETS]
    assert min(lost) > 0
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > lost[-1]


def test_thrash_is_in_the_same_order_and_not_zero_without_faults(tallies):
    thrash = {
        policy.name: fmean(tally.thrash for budget in BUDGETS for tally in tallies[policy.name, budget])
        for policy in POLICIES
    }
    assert thrash["retrieval_only"] > thrash["retrieval_only_cached"] > thrash["compaction_hybrid"] > thrash["clawvm"]
    assert thrash["clawvm"] == thrash["lru"] == thrash["oracle_h3"] > 0


def test_what_scoring_changes_is_how_often_the_store_is_asked(tallies):
    asked = {name: [sum(t.recalls for t in tallies[name, budget]) for budget in BUDGETS] for name in PAGED}
    for name in PAGED:
        assert asked[name] == sorted(asked[name], reverse=True)
    assert asked["oracle_h3"][-1] < asked["clawvm"][-1] < asked["lru"][-1]


def test_without_the_handicap_the_order_is_the_same(tallies):
    workloads = [workload for seed in SEEDS for workload in families(seed)]
    means = []
    for name in ("retrieval_only", "retrieval_only_cached", "compaction_hybrid"):
        policy = NAMED[name].without_handicap
        means.append(fmean(len(policy.run(workload, budget).faults) for budget in BUDGETS for workload in workloads))
        assert means[-1] <= mean_faults(tallies, name)
    retrieval, cached, hybrid = means
    assert retrieval > 5 * cached
    assert cached > 3 * hybrid > 0
    assert retrieval < mean_faults(tallies, "retrieval_only")  # it does cost something


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ablation_puts_pointers_before_write_back_before_pins_before_nothing(seed):
    lost = {
        policy.name: sum(len(policy.run(workload, 180).faults) for workload in families(seed)) for policy in ABLATIONS
    }
    assert lost["no pointer resolution"] > 5 * lost["no write-back at compaction"]
    assert lost["no write-back at compaction"] > lost["no auto-pin"] > lost["no write-back at reset"] > 0
    assert lost["no upgrade scoring"] == lost["no prefetch"] == 0


def test_the_ablations_lose_what_they_took_away():
    codes = {policy.name: set() for policy in ABLATIONS}
    for policy in ABLATIONS:
        for workload in families(1):
            codes[policy.name] |= set(policy.run(workload, 180).by_code)
    assert codes == {
        "no pointer resolution": {"refetch", "duplicate_tool"},
        "no write-back at compaction": {"flush_miss"},
        "no auto-pin": {"post_compaction_bootstrap"},
        "no write-back at reset": {"flush_miss"},
        "no upgrade scoring": set(),
        "no prefetch": set(),
    }


def test_the_weights_change_no_fault_and_no_thrash():
    tallies = [[policy.run(workload, 180) for workload in families(1)] for policy in SWEEP]
    assert len({tuple((tally.faults, tally.thrash) for tally in each) for each in tallies}) == 1
    assert not any(tally.faults for tally in tallies[0])
    assert len({sum(tally.recalls for tally in each) for each in tallies}) > 1  # they do change the context


@pytest.mark.parametrize("seed", SEEDS)
def test_starvation_is_insufficiency_churn_and_cascade_are_nothing(seed):
    starving, churning, cascading = adversaries(seed)
    for policy in POLICIES:
        tally = policy.run(starving, 40)
        assert (tally.floors_fit, tally.faults, tally.unmet_floors) == (False, (), 10)
        assert policy.run(starving, 60).unmet_floors == 0
    for name in PAGED:
        assert not NAMED[name].run(churning, 180).faults
        assert not NAMED[name].run(cascading, 180).faults
    assert len(NAMED["retrieval_only"].run(churning, 180).faults) > 100
    assert NAMED["compaction_hybrid"].run(cascading, 180).by_code["flush_miss"] == 7
