"""The oracle: nobody within the same budget misses fewer names."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.lab import OracleReplay
from pageturn.lab.clawvm import POLICIES
from pageturn.lab.coverage_oracle import Choice, cover, most_covered
from pageturn.lab.oracle import Oracle
from pageturn.lab.our_policies import Deriving
from pageturn.lab.replay import Recording
from pageturn.lab.simulated_oracle import OracleChooser
from pageturn.lab.simulated_paged import PagedChooser
from pageturn.lab.simulation import simulate
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.synthetic_workloads import BUDGETS, families
from pageturn.lab.traces import Trace
from tests.long import examples

ALPHABET = "abcdef"
names = st.frozensets(st.sampled_from(ALPHABET), max_size=4)
groups = st.lists(st.lists(st.builds(Choice, st.integers(1, 9), names), max_size=3), max_size=5).map(
    lambda lists: dict(enumerate(lists))
)
wanted = st.lists(names, min_size=1, max_size=3)


def counts(groups, wanted, taken):
    shown = frozenset().union(*(groups[group][at].names for group, at in taken.items()))
    return [len(turn & shown) for turn in wanted]


def all_ways(groups, room):
    """Every way to take one choice or none of each group that fits, by brute force."""
    for picks in product(*([None, *range(len(choices))] for choices in groups.values())):
        taken = {group: at for group, at in zip(groups, picks, strict=True) if at is not None}
        if sum(groups[group][at].tokens for group, at in taken.items()) <= room:
            yield taken


@given(groups, wanted, st.integers(0, 25))
def test_a_cover_is_the_best_that_brute_force_finds(groups, wanted, room):
    found = cover(groups, wanted, room)
    assert found.is_exact
    assert found.taken in list(all_ways(groups, room))
    assert counts(groups, wanted, found.taken) == max(counts(groups, wanted, way) for way in all_ways(groups, room))


@given(groups, names, st.integers(0, 25))
def test_no_way_covers_more_than_the_bound(groups, wanted, room):
    best = max(counts(groups, [wanted], way)[0] for way in all_ways(groups, room))
    assert most_covered(groups, wanted, room) == best


@given(groups, names, st.integers(0, 25))
def test_where_there_are_too_many_names_the_bound_holds_and_the_choice_fits(groups, wanted, room):
    # Every name stands for three, so that they are too many to look at every set.
    def tripled(few):
        return frozenset(f"{name}{n}" for name in few for n in range(3))

    many = {group: [Choice(one.tokens, tripled(one.names)) for one in choices] for group, choices in groups.items()}
    all_names = tripled(wanted | frozenset(ALPHABET))
    best = max(counts(many, [all_names], way)[0] for way in all_ways(many, room))
    found = cover(many, [all_names], room)
    assert found.taken in list(all_ways(many, room))
    assert counts(many, [all_names], found.taken)[0] <= best <= most_covered(many, all_names, room)
    assert not found.is_exact


# -- recorded sessions


POLICY_ROWS = {
    "paged": lambda budget: pt.Paged(budget_tokens=budget),
    "legacy": lambda budget: pt.Legacy(),
    "reset": pt.Reset,
    "incremental": pt.Incremental,
}


@pytest.mark.parametrize("seed", range(1, examples(3, whole=11)))
def test_no_policy_misses_fewer_names_than_the_bound_and_the_oracle_is_between(seed):
    recording = Recording(coding_session(seed, 24))
    for budget in (500, 900, 3_000):
        oracle = Oracle(OracleReplay(3), budget)
        foreseen = recording.replay(oracle)
        assert foreseen.score.largest <= budget
        assert all(len(turn.missed) >= least for turn, least in zip(foreseen.turns, oracle.bounds, strict=True))
        for make in POLICY_ROWS.values():
            online = recording.replay(Deriving(make(budget), budget_tokens=budget))
            assert all(len(turn.missed) >= least for turn, least in zip(online.turns, oracle.bounds, strict=True))
            assert online.score.missed >= foreseen.score.missed


def test_a_larger_budget_misses_no_more():
    recording = Recording(coding_session(5, 24))
    missed, bounds = [], []
    for budget in (400, 500, 700, 900, 1_200, 2_000):
        oracle = Oracle(OracleReplay(1), budget)
        missed.append(recording.score(oracle).missed)
        bounds.append(sum(oracle.bounds))
    assert missed == sorted(missed, reverse=True)
    assert bounds == sorted(bounds, reverse=True)
    assert missed[0] > missed[-1] == 0
    assert bounds[0] > 0


def test_looking_ahead_costs_nothing_now():
    recording = Recording(coding_session(2, 24))
    scores = [recording.score(Oracle(OracleReplay(ahead), 700)) for ahead in (0, 1, 4)]
    assert len({score.missed for score in scores}) == 1
    assert scores[0].missed > 0


# -- synthetic sessions


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_oracle_of_the_simulation_recalls_least(budget):
    for seed in range(1, examples(3, whole=11)):
        for workload in families(seed):
            oracle = simulate(workload, budget, OracleChooser(1))
            assert oracle.floors_fit
            assert oracle.faults == ()
            for chooser in (PagedChooser(), *(policy.chooser for policy in POLICIES[3:])):
                online = simulate(workload, budget, chooser)
                assert len(online.faults) - len(oracle.faults) == 0
                assert online.recalls >= oracle.recalls


def test_more_budget_and_more_foresight_recall_no_more():
    for workload in families(1):
        by_budget = [simulate(workload, budget, OracleChooser(1)).recalls for budget in BUDGETS]
        assert by_budget == sorted(by_budget, reverse=True)
        blind, one, three = (simulate(workload, BUDGETS[0], OracleChooser(ahead)).recalls for ahead in (0, 1, 3))
        assert blind > one == three


def read(number, text):
    call = pt.ToolCall(id=f"c{number}", name="read", arguments=f'{{"path": "src/file_{number}.py"}}')
    return pt.assistant(call), pt.tool_result(call.id, text)


LONG = "so it goes on and on for a while, as results do\n" * 12
SMALL = Trace(
    "small",
    "synthetic",
    (
        pt.system("Be brief."),
        pt.user("Look around and then edit."),
        *read(1, f"{LONG}def first_function(alpha_value):\n    return beta_value\n{LONG}"),
        *read(2, f"{LONG}def second_function(gamma_value):\n    return beta_value\n{LONG}"),
        *read(3, f"{LONG}uses first_function with delta_value and second_function\n{LONG}"),
        *read(4, "nothing that is wanted"),
        pt.assistant(
            pt.ToolCall(
                id="last",
                name="edit",
                arguments='{"a": "alpha_value beta_value gamma_value delta_value src/file_1.py"}',
            )
        ),
    ),
)


class _Fixed(pt.Paged):
    """Chooses just these levels, one for each unit in order; None leaves it to an index line."""

    choices: tuple[pt.ResidencyLevel | None, ...] = ()

    def is_full(self, growth, budget_tokens):
        return True

    def plan(self, frame, least, tokens):
        units = [unit for unit in frame.candidates if unit.sizes]
        return {unit.first: level for unit, level in zip(units, self.choices, strict=False) if level in unit.sizes}


@pytest.mark.parametrize("budget", [205, 222, 240])
def test_the_brute_force_of_a_small_session_finds_nothing_better(budget):
    recording = Recording(SMALL)
    levels = [None, *pt.ResidencyLevel]
    fewest = min(
        len(recording.replay(Deriving(_Fixed(choices=(None, None, *choices)), budget_tokens=budget)).turns[-1].missed)
        for choices in product(levels, repeat=3)
    )
    oracle = Oracle(OracleReplay(0), budget)
    assert len(recording.replay(oracle).turns[-1].missed) == fewest
    assert oracle.bounds[-1] <= fewest
