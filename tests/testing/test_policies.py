"""The suite of policies notices a policy that breaks any of its claims."""

import random
from itertools import count

import pytest

import pageturn as pt
from pageturn.policies import registry
from pageturn.testing import check_policy, policy_cases
from tests.policies.own import ErrorsFirst
from tests.testing.twins import caught

FULL, POINTER = pt.ResidencyLevel.FULL, pt.ResidencyLevel.POINTER
CASES = {case.claim: case for case in policy_cases()}


@pytest.fixture
def twin(monkeypatch):
    """Makes a registered policy that differs from a good one in some methods."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    def make(**methods):
        made = type("Twin", (ErrorsFirst,), {"__module__": __name__, **methods})
        return pt.register_policy("twin")(made)

    return make


def raising(self, frame, least, tokens):
    raise KeyError("no plan")


def too_low(self, frame, least, tokens):
    return {unit.first: POINTER for unit in frame.candidates}


def by_chance(self, frame, least, tokens):
    return {unit.first: FULL for unit in frame.candidates if FULL in unit.sizes and random.random() < 0.5}


def by_number(numbers):
    """A plan that depends on how often it was asked for before: a policy with a memory."""

    def plan(self, frame, least, tokens):
        wanted = ErrorsFirst.plan(self, frame, least, tokens)
        return wanted if next(numbers) % 2 else {}

    return plan


def over_and_over(self, growth, budget_tokens):
    return True


BROKEN = [
    ("its limit is a number of tokens for every window", {"limit_tokens": lambda self, window: -1}),
    ("its limit is a number of tokens for every window", {"limit_tokens": lambda self, window: None}),
    ("every promise holds at every turn", {"plan": raising}),
    ("every promise holds at every turn", {"plan": too_low}),
    ("every promise holds at every turn", {"is_full": lambda self, growth, budget: None}),
    ("rules and the task outlive every fold", {"plan": too_low}),
    ("below the limit everything stands as it came", {"is_full": over_and_over}),
    ("between folds nothing moves and folds are rare", {"pays": over_and_over}),
    ("the same question gets the same answer", {"plan": by_chance}),
    ("it keeps nothing of one session for another", {"plan": by_number(count())}),
    ("another process derives the same bytes", {"plan": by_chance}),
    ("the smallest budget works and one token less does not", {"plan": raising}),
    ("parallel and late results stay valid", {"plan": raising}),
    ("one huge result is shortened and can be had back", {"plan": raising}),
]


@pytest.mark.parametrize(("claim", "methods"), BROKEN)
def test_a_broken_policy_is_noticed(twin, claim, methods):
    made = twin(**methods)
    assert caught(CASES[claim], made)


def test_a_policy_that_no_journal_can_name_is_noticed():
    class Stranger(pt.DerivePolicy):
        def plan(self, frame, least, tokens):
            return {}

    claim = "a journal can name it and gives it back"
    assert caught(CASES[claim], lambda _: Stranger())
    with pytest.raises(AssertionError, match="which is not registered"):
        check_policy(lambda _: Stranger(), only=claim)


def test_every_claim_can_be_broken():
    assert {claim for claim, _ in BROKEN} | {"a journal can name it and gives it back"} == set(CASES)
