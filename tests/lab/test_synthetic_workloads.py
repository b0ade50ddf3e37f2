"""Made-up sessions: the same for the same seed, and about what they say they are."""

import os
import subprocess
import sys
from hashlib import blake2b
from itertools import pairwise

import pytest

from pageturn.lab.synthetic_workloads import (
    BUDGETS,
    Boundary,
    Demand,
    Pin,
    Turn,
    Workload,
    adversaries,
    churn,
    families,
)
from pageturn.values.pages import PageKind

SEEDS = range(20)
DIGEST = """
from hashlib import blake2b
from pageturn.lab.synthetic_workloads import adversaries, families
print(blake2b(repr((families(3), adversaries(3))).encode()).hexdigest())
"""


def digest_under(hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_workloads_do_not_depend_on_the_hash_seed():
    here = blake2b(repr((families(3), adversaries(3))).encode()).hexdigest()
    assert digest_under("1") == digest_under("2") == here


def test_another_seed_is_another_session_of_the_same_family():
    for one, other in zip(families(1), families(2), strict=True):
        assert one.name == other.name
        assert len(one.turns) == len(other.turns)
        assert one.turns != other.turns
        assert one.pages != other.pages


@pytest.mark.parametrize("seed", SEEDS)
def test_a_workload_names_only_pages_that_its_session_may_show(seed):
    for workload in (*families(seed), *adversaries(seed)):
        ids = [page.id for page in workload.pages]
        assert len(ids) == len(set(ids))
        for turn in workload.turns:
            visible = {page.id: page for page in workload.pages_in(turn.session)}
            assert {*turn.dirty, *(demand.page for demand in turn.demands)} <= visible.keys()
            assert all(demand.level in visible[demand.page].tokens for demand in turn.demands)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_page_has_the_levels_of_its_kind_and_grows_with_each(seed):
    for workload in (*families(seed), *adversaries(seed)):
        for page in workload.pages:
            assert tuple(sorted(page.tokens, reverse=True)) == page.kind.degradation_path
            sizes = [page.tokens[level] for level in sorted(page.tokens)]
            assert sizes == sorted(set(sizes))
            assert page.floor >= page.kind.min_fidelity


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_are_asked_for_at_their_floor_and_fit_every_budget(seed):
    for workload in families(seed):
        hard = {page.id: page.floor for page in workload.pages if page.pin is Pin.HARD}
        assert {page.kind for page in workload.pages if page.id in hard} >= {PageKind.BOOTSTRAP, PageKind.CONSTRAINT}
        asked = [demand for turn in workload.turns for demand in turn.demands if demand.page in hard]
        assert all(demand.level is hard[demand.page] for demand in asked)
        assert workload.floor_tokens <= min(BUDGETS)


def boundaries(workload, kind):
    return [at for at, turn in enumerate(workload.turns) if turn.boundary is kind]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_families_are_about_what_they_say(seed):
    evidence, plan, preferences, sessions = families(seed)

    wanted = [demand.page for turn in evidence.turns for demand in turn.demands]
    assert len(set(wanted)) == 24
    assert min(map(wanted.count, set(wanted))) >= 4
    assert not any(turn.boundary for turn in evidence.turns)
    results = [page for page in evidence.pages if page.kind is PageKind.EVIDENCE]
    assert all(40 <= max(page.tokens.values()) <= 120 for page in results)

    compactions = [0, *boundaries(plan, Boundary.COMPACTION)]
    assert all(6 <= later - earlier <= 10 for earlier, later in pairwise(compactions))
    assert len(compactions) == 6

    resets = boundaries(preferences, Boundary.RESET)
    assert len(resets) == 3
    assert all(preferences.turns[at - 1].dirty for at in resets)

    assert sessions.is_multi_session
    assert not any(workload.is_multi_session for workload in (evidence, plan, preferences))
    for before, turn in pairwise(sessions.turns):
        assert (turn.boundary is Boundary.SWITCH) == (turn.session != before.session)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hostile_three_are_as_hostile_as_they_say(seed):
    starving, churning, cascading = adversaries(seed)
    assert starving.floor_tokens == 60
    assert len(starving.turns) == 10
    assert len({demand.page for turn in churning.turns for demand in turn.demands}) == len(churning.turns) == 50
    assert len(boundaries(cascading, Boundary.RESET)) == 9
    assert len(cascading.turns) == 30
    assert sum(bool(turn.dirty) for turn in cascading.turns) == 7


def test_a_session_shows_its_own_pages_and_the_shared_ones():
    *_, sessions = families(1)
    shown = {page.session for page in sessions.pages_in("b")}
    assert shown == {"", "b"}
    assert sessions.sessions == ("a", "b", "c")


def test_the_floor_is_that_of_the_session_that_needs_most():
    rule = next(page for page in churn(1).pages if page.pin is Pin.HARD)
    shared, mine, other = rule, rule._replace(id="mine", session="a"), rule._replace(id="other", session="b")
    turns = (Turn((Demand("mine", rule.floor),), session="a"), Turn((), session="b"))
    least = rule.floor_tokens
    assert Workload("w", (shared, mine, other), turns).floor_tokens == 2 * least
    assert Workload("w", (shared, mine, other, other._replace(id="more")), turns).floor_tokens == 3 * least
