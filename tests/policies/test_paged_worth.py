"""What Paged spends its room on, where one of two units that are alike can stand whole."""

import pytest

import pageturn as pt
from pageturn.values.layout import About, Candidate, Why
from tests.policies.test_contract import EMPTY

FULL, _, STRUCTURED, POINTER = pt.ResidencyLevel


def unit(at, **signs):
    return Candidate(at, at, {FULL: 100, POINTER: 10}, POINTER, **({"about": About.EDITED} | signs))


def whole(*units, room=115):
    frame = EMPTY._replace(items=units, budget_tokens=room, needed_tokens=0, is_pressed=False)
    levels = pt.Paged(room, thrift=0).plan(frame, {each.first: POINTER for each in units}, 20)
    return [at for at, level in levels.items() if level is FULL]


def test_of_two_that_are_alike_the_newer_stands_whole():
    assert whole(unit(1), unit(2)) == [2]


@pytest.mark.parametrize(
    "signs", [{"fetched": 1}, {"is_error": True}, {"why": Why.RULE}, {"about": About.SUMMARY}], ids=str
)
def test_what_was_fetched_what_failed_rules_and_summaries_are_worth_more(signs):
    assert whole(unit(1, **signs), unit(2)) == [1]


def test_what_was_fetched_more_often_is_worth_more():
    assert whole(unit(1, fetched=2), unit(2, fetched=1)) == [1]


def test_what_a_newer_unit_shows_again_is_worth_less():
    assert whole(unit(1), unit(2, is_superseded=True)) == [1]


def test_a_rule_or_a_summary_is_worth_more_than_anything_else():
    fetched = unit(2, fetched=3, is_error=True)
    assert whole(unit(1, why=Why.RULE, tokens_after=20_000), fetched) == [1]
    assert whole(unit(1, about=About.SUMMARY, tokens_after=20_000), fetched) == [1]
