"""Notes and the budget: what they cost, and what becomes of those that have no room."""

import pytest

import pageturn as pt
from tests.context.checks import check_all
from tests.context.notes import (
    CONVERSATION,
    SESSION,
    SUFFIX,
    SYSTEM,
    Decision,
    Note,
    answered,
    begun,
    decisions,
    outcomes,
    said,
)
from tests.sessions import call, open_session, reopened


def test_notes_are_charged():
    session = begun()
    before = session.derive().tokens
    session.inject(Note.system("a", "some words"))
    session.inject(Note.suffix_system("b", "some other words"))
    context = session.derive()
    assert context.tokens == before + sum(outcome.tokens for outcome in context.notes)
    check_all(session, context, 10**9)


def big(words=150):
    return "word " * words


def test_suffix_and_session_notes_give_way_before_system_notes_and_the_context_says_so():
    session = begun(policy=pt.Paged(budget_tokens=800))
    session.inject(Note.suffix_system("end", big()))
    session.inject(Note.session("where", big()))
    session.inject(Note.system("what", big()))
    session.inject(Note.system("more", big()))
    context = answered(session)
    assert decisions(context) == {
        "what": Decision.FIRST_EMIT,
        "more": Decision.FIRST_EMIT,
        "where": Decision.OVER_BUDGET,
        "end": Decision.OVER_BUDGET,
    }
    assert "no room for note(s): where, end" in context.notices
    check_all(session, context, 800)


def test_a_note_that_no_context_can_hold_never_makes_a_session_unusable():
    session = begun(policy=pt.Paged(budget_tokens=800))
    session.inject(Note.system("huge", big(5_000)))
    needed = begun(policy=pt.Paged(budget_tokens=800)).derive().tokens
    context = answered(session)
    assert context.tokens == needed
    assert outcomes(context) == {("huge", None, Decision.OVER_BUDGET)}


@pytest.mark.parametrize("target", [SYSTEM, SESSION, SUFFIX])
def test_a_note_without_room_does_not_fold_again_and_again(target):
    session = begun(policy=pt.Paged(budget_tokens=2_000))
    session.inject(Note(key="huge", content=big(2_500), target=target))
    folds = sum(answered(session).fold is not None for _ in range(10))
    assert folds == 1


def test_a_note_of_the_suffix_is_shown_again_where_there_is_room():
    session = begun(policy=pt.Paged(budget_tokens=1_200))
    session.append(pt.user("a long text " * 200))
    session.inject(Note.suffix_system("end", big(400)))
    context = session.derive(budget_tokens=800)
    assert decisions(context) == {"end": Decision.OVER_BUDGET}
    session.append(pt.assistant("done"))
    later = session.derive(budget_tokens=20_000)
    assert later.fold is None
    assert decisions(later) == {"end": Decision.FIRST_EMIT}


def test_a_lasting_note_that_was_left_out_waits_for_the_next_fold_or_for_another_text():
    session = begun(policy=pt.Paged(budget_tokens=1_200))
    session.append(pt.user("a long text " * 200))
    session.inject(Note.session("where", big(400)))
    assert decisions(session.derive(budget_tokens=800)) == {"where": Decision.OVER_BUDGET}
    session.append(pt.assistant("done"))
    later = session.derive(budget_tokens=1_200)
    assert (later.fold, decisions(later)) == (None, {"where": Decision.OVER_BUDGET})
    session.inject(Note.session("where", "here"))
    assert outcomes(session.derive(budget_tokens=1_200)) >= {("where", CONVERSATION, Decision.FIRST_EMIT)}


def test_a_rule_is_refused_and_a_note_is_not():
    session = begun()
    session.pin("A rule. " * 200)
    session.inject(Note.system("huge", big(300)))
    with pytest.raises(pt.BudgetTooSmall) as refused:
        session.derive(budget_tokens=300)
    context = session.derive(budget_tokens=refused.value.needed_tokens)
    assert decisions(context) == {"huge": Decision.OVER_BUDGET}
    check_all(session, context, refused.value.needed_tokens)


def test_the_task_comes_before_any_note():
    session = open_session(policy=pt.Paged(budget_tokens=900))
    task = "Please fix the login. " * 50
    session.extend([pt.system("You are careful."), pt.user(task)])
    session.inject(Note.system("large", big(500)))
    context = session.derive()
    assert task in said(context)
    assert decisions(context) == {"large": Decision.OVER_BUDGET}


def test_what_a_context_costs_does_not_grow_with_the_notes_that_were_ever_shown():
    session = begun()
    session.inject(Note.suffix_system("clock", "It is late.", cooldown_turns=1))
    for number in range(20):
        session.inject(Note.suffix_system(f"once {number}", f"news {number}", consume_after_emit=True))
        session.derive()
        session.append(pt.assistant("ok"))
    board = session.reader.state().note_state
    board.emitted = OnlyLookedUp(board.emitted)
    session.inject(Note.suffix_system("once more", "news", consume_after_emit=True))
    assert {outcome.key for outcome in session.derive().notes if outcome.band} >= {"once more"}


class OnlyLookedUp(dict):
    """A mapping that nobody may go through."""

    def __iter__(self):
        raise AssertionError("somebody went through all of it")

    items = keys = values = __iter__


@pytest.mark.parametrize("key", ["bell\x07", "\x1b[31mred", "\\u0007", "extra"])
def test_a_key_may_have_any_characters_and_the_answer_to_a_fold_is_still_written(key):
    session = begun(policy=pt.Reset(2_000))
    session.inject(Note.session(key, "branch: main"))
    for number in range(30):
        session.derive()
        session.append(pt.assistant("reading", call(number)))
        session.append(pt.tool_result(f"c{number}", f"line {number}\n" * 60))
    assert session.reader.folds
    assert reopened(session).derive().messages == session.derive().messages
