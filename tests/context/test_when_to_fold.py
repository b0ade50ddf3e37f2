"""When the layout changes, and what a policy is told before it does."""

from datetime import timedelta
from itertools import pairwise

import pytest

import pageturn as pt
from pageturn.values.entries import Fold, FoldReason
from pageturn.values.layout import FoldCost, Forecast
from tests.context.test_turns import words, work
from tests.sessions import Clock, forms_in_memory, open_session, reopened

growths = []


@pt.register_policy("never_full_in_tests")
class NeverFull(pt.DerivePolicy):
    """Wants no fold, and keeps what it was told."""

    wants: bool = False

    def is_full(self, growth, budget_tokens):
        growths.append(growth)
        return False

    def pays(self, growth, budget_tokens):
        return self.wants

    def plan(self, frame, least, tokens):
        return {}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def session(clock):
    growths.clear()
    session = open_session(policy=NeverFull(), model="gpt-5", clock=clock)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    return session


def test_a_context_beyond_its_budget_is_folded_whatever_the_policy_says(session):
    work(session, 8)
    whole = session.derive()
    assert whole.fold is None
    assert session.derive(budget_tokens=whole.tokens).fold is None
    small = session.derive(budget_tokens=whole.tokens - 1)
    assert small.fold.reason is FoldReason.FULL
    assert small.tokens < whole.tokens
    assert 0 < small.layout.needed_tokens <= small.tokens


def test_a_policy_learns_what_stands_what_grew_and_in_how_many_turns(session):
    first = session.derive()
    assert growths[-1].tokens == first.tokens > growths[-1].grown_tokens > 0  # tools are no growth
    contexts = work(session, 3)
    tools = contexts[0].tokens - growths[0].grown_tokens
    assert [growth.turns for growth in growths[1:]] == [0, 1, 2]
    assert [growth.grown_tokens + tools for growth in growths[1:]] == [context.tokens for context in contexts]
    assert not any(growth.standing_tokens or growth.is_cold for growth in growths)
    folded = session.derive(budget_tokens=contexts[-1].tokens - 1)
    session.append(pt.assistant("done"))
    after = session.derive()
    assert growths[-1].standing_tokens == folded.tokens - tools
    assert growths[-1].turns == 0
    assert growths[-1].tokens == after.tokens == folded.tokens + growths[-1].grown_tokens


def test_another_model_other_tools_or_a_long_pause_are_a_cold_start(session, clock):
    work(session, 2)
    tool = {"name": "read", "parameters": {"type": "object"}}
    for options in ({}, {"model": "claude-sonnet-4"}, {"tools": [tool]}):
        session.derive(**options)
        assert growths[-1].is_cold is bool(options)
    clock.now += timedelta(minutes=10)
    session.append(pt.user("continue"))
    session.derive()
    assert growths[-1].is_cold
    session.append(pt.assistant("done"))
    session.derive()
    assert not growths[-1].is_cold


@pytest.mark.parametrize(("is_cold", "reason"), [(True, FoldReason.COLD), (False, FoldReason.PAYS)])
def test_a_fold_that_pays_says_whether_the_cache_was_gone(session, clock, is_cold, reason):
    work(session, 4)
    session.derive()
    session.append(pt.assistant("done"))
    session.choose(NeverFull(wants=True))
    assert session.derive().fold.reason is FoldReason.CHANGED
    session.append(pt.assistant("done"))
    if is_cold:
        clock.now += timedelta(minutes=10)
    session.append(pt.user("continue"))
    assert session.derive().fold.reason is reason


def test_a_context_after_a_fold_is_the_same_when_the_session_is_opened_again(session):
    work(session, 12)
    folded = session.derive(budget_tokens=2_000)
    assert folded.fold is not None
    session.append(pt.assistant("and on"))
    work(session, 2, start=12)
    context = session.derive()
    assert context.fold is None
    assert context.messages[: len(folded.messages)] == folded.messages
    again = reopened(session, model="gpt-5").derive()
    assert pt.to_json(list(again.messages)) == pt.to_json(list(context.messages))
    assert again.tokens == context.tokens
    assert "value_13" in words(context)


def test_a_fold_that_was_answered_is_kept_at_hand_and_what_it_sealed_is_let_go():
    session = open_session(policy=pt.Paged(3_000))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 150, lines=20)
    assert len(session.reader.folds) > 5
    assert 0 < len(forms_in_memory(session)) < 120


def folding(policy, **options):
    """The first fold that pays, of a session that reads file after file."""
    session = open_session(policy=policy, **options)
    session.append(pt.user("Fix src/auth.py"))
    for number in range(100):
        work(session, 1, start=number, lines=100)
        context = session.derive()
        if context.fold is not None:
            return session, context
    raise AssertionError("no fold")


def test_a_fold_that_does_not_pay_says_what_it_costs_more():
    cost = FoldCost(rewritten_tokens=5_000, freed_tokens=900, forecast=Forecast(turns=4, risk_tokens=2_475))
    fold = Fold(upto=9, reason=FoldReason.FULL, placed={}, cost=cost)
    assert "is expected to cost 2,115 more over the next 4 turns, with 2,475 for re-fetches" in str(fold)


def test_a_fold_says_why_now_what_it_costs_and_what_it_is_expected_to_save():
    session, context = folding(pt.Paged.thrifty(60_000))
    cost = context.fold.cost
    assert context.fold.reason is FoldReason.PAYS
    assert cost.freed_tokens > cost.rewritten_tokens > 0
    assert cost.price_tokens == round(1.15 * cost.rewritten_tokens)
    assert 0 < cost.saved_tokens <= 0.1 * cost.freed_tokens * cost.forecast.turns
    told = str(context.fold)
    assert "keeping the old context would cost more than folding" in told
    assert f"{cost.rewritten_tokens:,} tokens are written again, which costs {cost.price_tokens:,}" in told
    assert f"{cost.freed_tokens:,} tokens smaller, which is expected to save {cost.saved_tokens:,}" in told
    session.append(pt.assistant("and on"))
    assert session.reader.state().fold_cost == cost


def test_what_a_page_would_have_to_save_to_stand_higher_is_its_tokens_at_the_price_of_the_fold():
    session, context = folding(pt.Paged.thrifty(60_000))
    price = context.fold.cost.forecast.token_price
    assert price > 1.15
    early = session.reader.pages()[1]
    for each in (context, (session.append(pt.assistant("and on")), session.derive())[1]):
        explained = each.explain(early.handle)
        assert explained.level < pt.ResidencyLevel.FULL
        assert explained.needed == {level: round(price * more) for level, more in explained.raising.items()}
        assert (
            f"full +{explained.raising[pt.ResidencyLevel.FULL]:,} if it saved {explained.needed[pt.ResidencyLevel.FULL]:,}"
            in str(explained)
        )


@pytest.mark.parametrize("fixed_tokens", [0, 15_000])
def test_what_no_fold_can_take_away_triggers_none(fixed_tokens):
    tool = {"name": "read", "description": "words " * fixed_tokens, "parameters": {"type": "object"}}
    session = open_session(policy=pt.Paged(60_000))
    session.extend([pt.system("Be careful. " * (fixed_tokens // 3)), pt.user("Fix src/auth.py")])
    context = session.derive([tool])
    assert context.tokens > fixed_tokens
    turns = 0
    while context.fold is None:
        session.append(pt.assistant("thinking about it " * 100))
        turns += 1
        context = session.derive([tool])
    assert 35 < turns < 45


def test_the_dearer_a_miss_the_more_stays():
    tokens = [folding(policy(60_000))[1].tokens for policy in (pt.Paged.thrifty, pt.Paged, pt.Paged.faithful)]
    assert tokens == sorted(tokens)
    assert tokens[0] < tokens[-1]


def test_a_fold_that_has_nothing_to_change_is_none_and_the_next_one_is_tried_later():
    """Reads that were just made are worth their room to this name, so its first fold would show all of them again."""
    policy = pt.Paged.faithful(60_000)
    session = open_session(policy=policy)
    session.append(pt.user("Fix src/auth.py"))
    kept = []
    for number in range(40):
        work(session, 1, start=number, lines=100, derive=False)
        context = session.derive()
        again = reopened(session, policy=policy).derive()
        assert (again.messages, again.fold) == (context.messages, context.fold)
        session.append(pt.assistant("and on"))
        shown = session.reader.turns()[-1].shown
        if shown.kept is not None:
            assert (context.fold, shown.fold, shown.kept.rewritten_tokens) == (None, None, 0)
            kept.append(number)
        elif context.fold is not None:
            assert context.fold.cost.freed_tokens > 0
    assert kept
    assert all(later > earlier + 1 for earlier, later in pairwise(kept))
