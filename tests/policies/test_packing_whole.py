"""Units that stand whole, one after the other, as long as there is room: what each costs, and where it ends."""

import pytest

import pageturn as pt
from pageturn.policies.packing import Kept
from pageturn.values.layout import About, Candidate, Why
from tests.policies.test_contract import EMPTY

FULL, _, STRUCTURED, POINTER = pt.ResidencyLevel


def unit(at, full, **signs):
    return Candidate(at, at, {FULL: full, STRUCTURED: full // 2, POINTER: full // 10}, POINTER, **signs)


def kept(units, room, least=None):
    return Kept(EMPTY._replace(items=units, budget_tokens=room), least or {}, 0, 1.0)


def test_a_unit_costs_what_it_takes_beyond_what_it_has_anyway():
    units = [unit(1, 100), unit(2, 100)]
    ours = kept(units, room=50, least={1: STRUCTURED})
    ours.take(units)
    assert (ours.levels, ours.room) == ({1: FULL}, 0)
    assert ours.cost(units[0]) == 0


def test_what_is_too_large_is_passed_over_and_nothing_is_taken_down():
    units = [unit(1, 40), unit(2, 100), unit(3, 60)]
    ours = kept(units, room=60, least={1: FULL})
    ours.take(units[1:])
    ours.take(units[:1], STRUCTURED)
    assert ours.levels == {3: FULL}


def test_the_newest_are_in_a_row_but_for_what_stands_anyway():
    units = [unit(1, 10), unit(2, 100), unit(3, 10), unit(4, 100), unit(5, 10)]
    ours = kept(units, room=40, least={4: STRUCTURED})
    ours.take_newest(30)
    assert ours.levels.keys() == {5, 3}
    assert ours.room == 20


@pytest.mark.parametrize("signs", [{"why": Why.RULE}, {"why": Why.PLAN}, {"about": About.SUMMARY}])
def test_rules_the_plan_and_the_summary_of_a_reset_come_first_as_high_as_they_can(signs):
    units = [unit(1, 100, **signs), unit(2, 40)]
    for room, level in ((100, FULL), (99, STRUCTURED), (49, POINTER)):
        assert kept(units, room).levels == {1: level}
    assert kept(units, room=9).levels == {}


def test_a_share_is_of_the_room_above_the_floors_and_all_of_it_where_nothing_presses():
    frame = EMPTY._replace(budget_tokens=1_000, needed_tokens=400)
    assert Kept(frame, {}, 450, 0.5).room == 400 + 300 - 450
    assert Kept(frame._replace(is_pressed=False), {}, 450, 0.5).room == 1_000 - 450
