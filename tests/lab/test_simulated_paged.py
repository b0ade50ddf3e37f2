"""Paged loses nothing on the synthetic sessions that the budget does not take from it."""

import pytest

from pageturn.lab.clawvm import CLAWVM
from pageturn.lab.simulated_paged import PagedChooser
from pageturn.lab.simulation import simulate
from pageturn.lab.synthetic_workloads import BUDGETS, adversaries, families
from tests.long import examples

SEEDS = range(1, examples(3, whole=11))


@pytest.mark.parametrize("budget", BUDGETS)
def test_no_fault_that_a_policy_could_avoid_where_the_floors_fit(budget):
    for seed in SEEDS:
        for workload in families(seed):
            tally = simulate(workload, budget, PagedChooser())
            assert tally.floors_fit
            assert tally.faults == ()
            assert tally.hits > 0


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_store_is_asked_about_as_often_as_with_clawvm(budget):
    ours = theirs = 0
    for seed in SEEDS:
        for workload in families(seed):
            ours += simulate(workload, budget, PagedChooser()).recalls
            theirs += simulate(workload, budget, CLAWVM.chooser).recalls
    assert ours <= 1.15 * theirs, f"{ours} recalls, {theirs} with ClawVM"


def test_the_hostile_three():
    starvation, churn, cascade = adversaries(1)
    starved = simulate(starvation, 40, PagedChooser())
    assert not starved.floors_fit
    assert starved.faults == ()
    assert starved.unmet_floors > 0
    for workload in (churn, cascade):
        assert simulate(workload, 180, PagedChooser()).faults == ()
