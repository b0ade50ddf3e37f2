"""What Paged spends its room on, where one of two units that are alike can stand whole."""

import pytest

import pageturn as pt
from pageturn.policies.worth import Valuation
from pageturn.values.layout import About, Candidate, Why
from tests.policies.test_contract import EMPTY

FULL, _, STRUCTURED, POINTER = pt.ResidencyLevel


def unit(at, **signs):
    return Candidate(at, at, {FULL: 100, POINTER: 10}, POINTER, **({"about": About.EDITED} | signs))


def whole(*units, room=115):
    frame = EMPTY._replace(items=units, budget_tokens=room, needed_tokens=0, is_pressed=False)
    levels = pt.Paged(room).plan(frame, {each.first: POINTER for each in units}, 20)
    return [at for at, level in levels.items() if level is FULL]


def test_of_two_that_are_alike_the_newer_stands_whole():
    assert whole(unit(1), unit(2)) == [2]


@pytest.mark.parametrize("signs", [{"fetched": 1}, {"why": Why.RULE}, {"about": About.SUMMARY}], ids=str)
def test_what_was_fetched_rules_and_summaries_are_worth_more(signs):
    assert whole(unit(1, **signs), unit(2)) == [1]


def test_what_was_fetched_more_often_is_worth_more():
    assert whole(unit(1, fetched=2), unit(2, fetched=1)) == [1]


def test_what_a_newer_unit_shows_again_is_worth_less():
    assert whole(unit(1), unit(2, is_superseded=True)) == [1]


def test_a_rule_or_a_summary_is_worth_more_than_anything_else():
    fetched = unit(2, fetched=3)
    assert whole(unit(1, why=Why.RULE, tokens_after=20_000), fetched) == [1]
    assert whole(unit(1, about=About.SUMMARY, tokens_after=20_000), fetched) == [1]


@pytest.mark.parametrize("signs", [{"since_edit": 0}, {"about": About.EDIT}, {"turn": 18}], ids=str)
def test_a_file_that_is_edited_now_an_edit_and_what_is_newer_are_worth_more(signs):
    valuation = Valuation(turn=20, turns=10, miss_tokens=0)
    old = unit(1, turn=8, tokens_after=9_000)
    assert valuation.worth(old._replace(**signs))[FULL] > valuation.worth(old)[FULL]


def test_a_session_that_edits_often_quotes_often():
    edits = [unit(at, about=About.EDIT, turn=at) for at in range(1, 20)]
    reads = [unit(at, about=About.FILE, turn=at) for at in range(1, 20)]
    often, seldom = (Valuation.of(EMPTY._replace(items=units, turn=20), 10, 0).quoting for units in (edits, reads))
    assert often > 2 > 1 > seldom > 0
