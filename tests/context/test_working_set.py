"""What is kept of a context from one call to the next: it is never made again where it need not be, and always the same."""

import pytest

import pageturn as pt
from pageturn.context.forms import FormMaker
from pageturn.context.working_set import _notices
from pageturn.values.entries import FoldReason
from pageturn.values.layout import Layout
from pageturn.values.notes import NoteDecision
from tests.context.notes import Note, answered, begun, grow, said
from tests.context.test_turns import words, work
from tests.context.test_when_to_fold import NeverFull
from tests.sessions import call, open_session, reopened, store_of


def test_a_session_in_which_nobody_said_anything_has_an_empty_context():
    session = open_session(recall=None)
    context = session.derive()
    assert (context.messages, context.tokens, context.bands, context.notices) == ((), 0, (0, 0, 0), ())
    session.append(pt.assistant("Hello?"))
    assert session.reader.shown.upto == 0
    assert said(session.derive()) == ["Hello?"]


def test_between_folds_no_message_is_looked_at_twice(monkeypatch):
    looked_at = []
    message = FormMaker.message
    monkeypatch.setattr(FormMaker, "message", lambda maker, page: looked_at.append(page.seq) or message(maker, page))
    session = begun()
    work(session, 5, lines=2)
    for is_new in (False, True):
        given = reopened(session) if is_new else session
        given.derive()
        looked_at.clear()
        given.derive()
        assert looked_at == []
        grow(given, 7 + is_new, lines=2)
        assert given.derive().fold is None
        assert looked_at == [page.seq for page in given.reader.pages()[-2:]]


def test_a_fold_that_nobody_answered_is_not_made_again(monkeypatch):
    made = []
    of = FormMaker.of
    monkeypatch.setattr(FormMaker, "of", lambda maker, *args: made.append(args) or of(maker, *args))
    session = begun(policy=pt.Paged.thrifty(60_000))
    work(session, 3)
    first = session.derive(budget_tokens=1_500)
    assert first.fold is not None
    made.clear()
    assert session.derive(budget_tokens=1_500).messages == first.messages
    assert made == []
    assert session.derive(budget_tokens=1_400).tokens <= 1_400  # other terms are another fold
    tool = {"name": "deploy", "description": "Deploy it.", "parameters": {"type": "object"}}
    assert session.derive([tool], budget_tokens=1_400).tokens <= 1_400
    assert session.derive(model="claude-sonnet-4", budget_tokens=1_400).model == "claude-sonnet-4"
    session.append(pt.user("And the logout."))
    assert said(session.derive(budget_tokens=1_400))[-1] == "And the logout."


def test_what_a_fold_leaves_standing_is_frozen_with_the_notes_in_their_bands():
    session = begun(policy=pt.Paged.thrifty(60_000))
    session.inject(Note.system("what", "system"))
    session.inject(Note.session("where", "session"))
    session.inject(Note.suffix_system("end", "suffix"))
    first = answered(session)
    assert first.frozen == 0
    assert first.layout.needed_tokens == 0
    grow(session, 1)
    session.choose(pt.Paged.thrifty(50_000))
    folded = session.derive()
    assert folded.fold is not None
    assert folded.layout.needed_tokens > 0
    assert folded.frozen == len(folded.messages) - 1 == folded.bands.history
    assert folded.bands == (1, 3, len(folded.messages) - 1)
    session.append(pt.assistant("done"))
    after = answered(session)
    assert after.frozen == folded.frozen
    assert after.bands[:2] == (1, 3)
    assert after.layout.needed_tokens == 0
    assert after.messages[: after.frozen] == folded.messages[: folded.frozen]
    assert reopened(session).derive().frozen == folded.frozen


def test_a_note_before_a_conversation_without_a_prompt_is_not_frozen_before_a_fold():
    session = open_session()
    session.append(pt.user("Fix the login."))
    session.inject(Note.system("what", "system"))
    assert (answered(session).frozen, answered(session).frozen) == (0, 0)
    assert said(session.derive())[:2] == ["system", "Fix the login."]


def test_a_result_that_comes_before_the_answer_to_a_context_with_its_call_open_comes_late_each_time():
    session = begun()
    before = ()
    for number in range(4):
        session.append(pt.assistant(f"asking {number}", call(number)))
        sent = session.derive()
        assert sent.messages[: len(before)] == before
        assert "pending" in sent.messages[-1].tool_results[0].content
        session.append(pt.tool_result(f"c{number}", f"result {number}"))
        session.append(pt.assistant(f"answer {number}"))
        before = sent.messages
    after = session.derive()
    assert after.messages[: len(before)] == before
    assert sum("result that came late" in text for text in said(after)) == 4
    assert reopened(session).derive().messages == after.messages


def test_a_budget_below_what_is_needed_leaves_what_fits_as_it_is():
    session = open_session(policy=pt.Legacy(), recall=None)
    session.extend([pt.system("You are careful."), pt.user("Fix it.")])
    context = session.derive()
    assert session.derive(budget_tokens=context.tokens).messages == context.messages
    with pytest.raises(pt.BudgetTooSmall) as refused:
        session.derive(budget_tokens=context.tokens - 1)
    assert refused.value.needed_tokens == context.tokens


def test_a_rule_whose_short_form_the_store_lost_is_shown_in_full_again():
    session = begun(policy=pt.Paged.thrifty(60_000))
    rule = session.pin("Never push to main. " * 100, structured="Never push.")
    work(session, 4)
    assert session.derive(budget_tokens=700).explain(rule.handle).level is pt.ResidencyLevel.STRUCTURED
    session.append(pt.assistant("done"))
    digest = session.reader.state().pins[rule.seq].digest
    store_of(session)._connection.execute("DELETE FROM blobs WHERE digest = ?", (digest,))
    other = reopened(session)
    context = other.derive()
    assert context.fold.reason is FoldReason.CHANGED
    assert "Never push to main. " * 100 in said(context)
    assert {"You are careful.", "Fix the login."} <= set(said(context))
    other.append(pt.assistant("and on"))
    after = other.derive()
    assert after.fold is None
    assert after.messages[: len(context.messages)] == context.messages


@pytest.mark.parametrize("has_folded", [False, True])
def test_a_model_that_gets_or_loses_the_recall_tool_gets_a_context_that_fits_it(has_folded):
    session = begun(policy=pt.Paged.thrifty(60_000))
    work(session, 4)
    if has_folded:
        session.derive(budget_tokens=1_500)
        session.append(pt.assistant("done"))
    other = reopened(session, recall=None)
    context = other.derive()
    assert (context.fold.reason if context.fold else None) == (FoldReason.CHANGED if has_folded else None)
    assert "p4-" not in words(context)


@pytest.mark.parametrize(("free", "is_short"), [(100, False), (99, True), (-1, True)])
def test_a_fold_that_leaves_less_than_a_tenth_of_the_room_free_says_so(free, is_short):
    layout = Layout((), 2_000 - free, 2_000, needed_tokens=1_000, notices=("something else",))
    first, *others = _notices(layout)
    assert first == "something else"
    said = f"little room: the last fold left {free:,} of 1,000 tokens free; another fold is likely soon."
    assert [each.startswith(said) for each in others] == [True] * is_short


def test_a_fold_with_no_room_at_all_says_so():
    layout = Layout((), 2_000, 2_000, needed_tokens=2_000)
    (notice,) = _notices(layout)
    assert notice.startswith("little room: the last fold left 0 of 0 tokens free;")


def test_a_fold_that_would_be_longer_than_what_stands_is_not_made():
    """Three short messages take less than the words that say how many are missing."""
    session = open_session(policy=NeverFull(wants=True), recall=None, model="gpt-5")
    session.append(pt.user("a"))
    session.derive()
    session.extend([pt.assistant("b"), pt.user("c")])
    whole = session.derive()
    assert whole.fold is None  # the one that was tried has nothing to change
    context = session.derive(budget_tokens=whole.tokens)
    assert (context.fold, context.tokens, said(context)) == (None, whole.tokens, ["a", "b", "c"])
    with pytest.raises(pt.BudgetTooSmall) as refused:
        session.derive(budget_tokens=whole.tokens - 1)
    assert refused.value.needed_tokens == whole.tokens


@pytest.mark.parametrize("make", [Note.suffix_system, Note.session])
def test_a_note_for_which_a_fold_had_no_room_does_not_come_beside_what_stands_either(make):
    session = begun(policy=pt.Paged.thrifty(2_000))
    session.inject(make("log", "line " * 3_000))
    folded = session.derive()
    assert folded.fold is not None
    session.append(pt.assistant("done"))
    assert 2_000 - folded.tokens < 1_900 < 2_000
    session.inject(make("log", "line " * 1_900))
    context = session.derive()
    assert context.fold is None
    assert context.tokens <= 2_000
    assert NoteDecision.OVER_BUDGET in [outcome.decision for outcome in context.notes]
    assert all(outcome.band is None for outcome in context.notes)
    assert "no room for note(s): log" in context.notices
