"""Pooled estimates: thin cells lean on their neighbours, thick ones stand by themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.routing.pooling import Cell, Context, Pool
from pageturn.routing.posteriors import Evidence

HERE = Context("sql", "sql|easy")
NEAR = Context("sql", "sql|hard")
AWAY = Context("web", "web|easy")


def pool(**records):
    """A pool of agents with these (successes, trials) here, near and away."""
    return Pool(
        {agent: [Cell(where, Evidence(*record)) for where, record in zip((HERE, NEAR, AWAY), each, strict=False) if record]
         for agent, each in records.items()}
    )  # fmt: skip


evidence = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda each: (min(each), max(each)))
records = st.dictionaries(st.sampled_from("abcdef"), st.tuples(evidence, evidence, evidence), max_size=6)


def test_where_nothing_is_known_all_are_alike_and_undecided():
    assert pool().estimate("anybody", HERE) == pool().estimate("another", AWAY)
    assert pool().estimate("anybody", HERE).mean == 0.5


def test_an_unseen_agent_is_expected_to_be_as_is_usual_there():
    found = pool(a=((9, 10), None, (1, 10)), b=((8, 10), None, (2, 10)))
    assert found.estimate("new", HERE).mean == pytest.approx(0.8, abs=0.1)
    assert found.estimate("new", AWAY).mean == pytest.approx(0.2, abs=0.1)
    assert found.estimate("new", HERE).deviation > found.estimate("a", HERE).deviation


def test_an_agent_without_outcomes_here_leans_on_neighbours_and_then_on_its_own_mean():
    found = pool(near=(None, (30, 30)), away=(None, None, (30, 30)), usual=((15, 30), (15, 30), (15, 30)))
    new, near, away = (found.estimate(agent, HERE) for agent in ("new", "near", "away"))
    assert new.mean < away.mean < near.mean
    assert near.deviation < away.deviation < new.deviation


def test_a_thick_cell_stands_by_itself():
    found = pool(a=((90, 100), (1, 100), (1, 100)), b=((50, 100), (50, 100), (50, 100)))
    assert found.estimate("a", HERE).mean == pytest.approx(0.9, abs=0.03)
    assert found.estimate("a", NEAR).mean == pytest.approx(0.01, abs=0.04)


def test_what_hard_work_does_to_everybody_is_not_held_against_those_who_were_given_it():
    found = pool(brave=(None, None, (9, 30)), lucky=((20, 30),), usual=((18, 30), None, (2, 30)))
    assert found.estimate("brave", HERE).mean > found.estimate("usual", HERE).mean
    assert found.estimate("brave", HERE).mean > found.estimate("new", HERE).mean


def test_work_that_only_the_strong_were_given_does_not_look_easy():
    found = pool(strong=((48, 60), None, (48, 60)), weak=(None, None, (18, 60)))
    assert found.estimate("new", HERE).mean == pytest.approx(found.estimate("new", AWAY).mean, abs=0.15)


def test_where_cells_are_alike_they_lend_more():
    alike = pool(**dict.fromkeys("bcdef", ((5, 10), (5, 10), (5, 10))), a=(None, (9, 10), None))
    apart = pool(**dict.fromkeys("bcd", ((9, 10), (1, 10), (5, 10))), e=((1, 10), (9, 10), (5, 10)), a=(None, (9, 10), None))  # fmt: skip
    assert alike.estimate("a", HERE).deviation < apart.estimate("a", HERE).deviation


@given(records)
def test_estimates_are_finite_and_do_not_depend_on_order(given_records):
    forward = pool(**given_records)
    backward = pool(**dict(reversed(given_records.items())))
    for agent in (*given_records, "new"):
        for where in (HERE, NEAR, AWAY, Context("sql", "sql|new"), Context("new", "new")):
            mean, deviation = forward.estimate(agent, where)
            assert -0.5 <= mean <= 1.5
            assert 0.0 < deviation < 1.0
            assert backward.estimate(agent, where) == pytest.approx((mean, deviation), abs=1e-9)


@given(records, st.sampled_from("abcdef"))
def test_another_success_is_never_held_against_an_agent_alone_in_its_cell(given_records, agent):
    here, near, away = given_records.get(agent, ((0, 0), (0, 0), (0, 0)))
    better = {**given_records, agent: ((here[0] + 5, here[1] + 5), near, away)}
    worse = {**given_records, agent: ((here[0], here[1] + 5), near, away)}
    assert pool(**better).estimate(agent, HERE).mean > pool(**worse).estimate(agent, HERE).mean


@pytest.mark.parametrize("tried", [1, 10, 100])
def test_more_outcomes_make_surer(tried):
    less, more = (pool(a=((n / 2, n),), b=((5, 10),)).estimate("a", HERE).deviation for n in (tried, 2 * tried))
    assert more < less
