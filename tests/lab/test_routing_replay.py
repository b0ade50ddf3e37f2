"""Regret on recorded outcomes: what is read, who is in a pool, and what is counted."""

import gzip
import os
import random
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.lab.routing_replay import (
    AXES,
    BASELINES,
    LEAST_TASKS,
    OURS,
    Problem,
    choices,
    comparable_pool,
    judged,
    mixed_pool,
    ours,
    problem,
    read_table,
    read_tables,
)

DATA = Path(os.environ.get("PAGETURN_DATA", "../shared/data")) / "outcomes"
HEADER = "dataset,agent,task_id,trial,outcome,difficulty,dependency,tool_use,date_ms\n"


@pytest.fixture
def table(tmp_path):
    """Ten agents that solve more and more; one of them did too little."""
    rng = random.Random(1)
    path = tmp_path / "made_up.csv.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(HEADER)
        for agent in range(10):
            for task in range(LEAST_TASKS if agent else 5):
                solved = int(rng.random() < agent / 10)
                lines.write(f"made,agent-{agent},{task},0,{solved},easy,{'sql' if task % 2 else 'web'},yes,{-task}\n")
    return read_table(path, ("dependency", "tool_use"))


def test_a_table_is_read_with_buckets_and_filled_cells(table):
    assert table.name == "made_up"
    assert len(table.tasks) == LEAST_TASKS
    assert {task.bucket for task in table.tasks} == {"sql/yes", "web/yes"}
    assert sorted(table.done()) == [f"agent-{number}" for number in range(1, 10)]


def test_comparable_agents_are_neighbours_and_mixed_ones_any_eight(table):
    rates = {agent: sum(outcomes) for agent, outcomes in table.done().items()}
    ranked = sorted(rates, key=lambda agent: (rates[agent], agent))
    for seed in range(20):
        pool = comparable_pool(table, random.Random(seed))
        places = sorted(ranked.index(agent) for agent in pool)
        assert 3 <= len(pool) <= 5
        assert places == list(range(places[0], places[0] + len(pool)))
    assert len(set(mixed_pool(table, random.Random(1)))) == 8


def test_an_order_is_by_chance_or_by_time(table):
    pool = ("agent-3", "agent-9")
    by_time = problem(table, pool, None)
    assert by_time.outcomes == [tuple(task.outcomes[agent] for agent in pool) for task in sorted(table.tasks, key=lambda task: task.at)]  # fmt: skip
    shuffled = problem(table, pool, random.Random(1), most=50)
    assert len(shuffled.buckets) == 50
    assert shuffled != problem(table, pool, random.Random(2), most=50)


def test_regret_is_against_the_best_single_agent_over_the_same_tasks():
    given = Problem(("a", "b"), ["x"] * 4, [(1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)])
    assert given.best == 1
    assert judged(given, [1, 1, 1, 1]) == (0.0, 0.0)
    assert judged(given, [0, 0, 0, 0]) == (0.5, 1.0)
    assert judged(given, [0, 1, 1, 1]) == (-0.25, 0.0)


@pytest.mark.parametrize("way", [*BASELINES, *OURS])
def test_every_way_learns_who_is_good_or_is_known_not_to(way):
    given = Problem(("bad", "good"), ["x", "y"] * 100, [(0.0, 1.0)] * 200)
    chosen = list(choices({**BASELINES, **OURS}[way](given.agents, random.Random(3)), given))
    later = sum(chosen[100:]) / 100
    if way in {"random", "CADMAS-CTX rank_candidates"}:  # which never tries what it has not seen
        assert later < 0.7
    else:
        assert later > 0.9


def test_a_short_memory_follows_a_swap():
    given = Problem(("a", "b"), ["x"] * 200, [(1.0, 0.0)] * 100 + [(0.0, 1.0)] * 100)
    rewards = []
    for memory in (1.0, 0.9):
        chosen = list(choices(ours("thompson", memory)(given.agents, random.Random(1)), given))
        rewards.append(sum(chosen[100:]))
    assert rewards[0] < rewards[1]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded outcomes in {DATA}; set PAGETURN_DATA")
def test_every_recorded_table_is_read_by_its_axes():
    tables = read_tables(DATA)
    assert set(tables) == set(AXES) == {path.name.partition(".")[0] for path in DATA.glob("*.csv.gz")}
    for name, recorded in tables.items():
        assert recorded.name == name
        assert 1 < len({task.bucket for task in recorded.tasks}) < 20
        assert {outcome for task in recorded.tasks for outcome in task.outcomes.values()} == {0.0, 1.0}


def test_two_outcomes_of_one_trial_are_refused(tmp_path):
    path = tmp_path / "twice.csv.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(HEADER + "made,a,1,0,1,easy,sql,yes,0\n" * 2)
    with pytest.raises(pt.InvalidInput, match=r"twice\.csv\.gz: expected one outcome of 'a' at 1, trial 0, got two"):
        read_table(path, ("dependency",))


def test_tables_that_are_not_there_are_left_out(tmp_path):
    assert read_tables(tmp_path) == {}
