"""Behaviours that other runtimes have, or should have, with notes in the prompt: order, hygiene, windows, and failures."""

import pytest

import pageturn as pt
from pageturn.context.pairing import PENDING
from pageturn.values.notes import NoteDecision
from tests.context.checks import check_all, check_notes
from tests.context.notes import answered, begun, grow, outcomes, said, until_fold
from tests.sessions import call, open_session, reopened, store_of

Note = pt.ContextMessage
SYSTEM, SESSION, CONVERSATION, SUFFIX = pt.ContextMessageTarget
STATE = ("You are careful.", "what", "where")


def noted(**options):
    """A session with a note in every band."""
    session = begun(**options)
    session.inject(Note.suffix_system("end", "end"))
    session.inject(Note.session("where", "where"))
    session.inject(Note.system("what", "what"))
    return session


def results(context):
    return [result.content for message in context.messages for result in message.tool_results]


# -- placement where roles would mislead


def test_user_notes_of_the_system_and_session_bands_stay_before_what_follows():
    session = begun()
    session.inject(Note.session("s", "session", role=pt.Role.USER))
    session.inject(Note.system("u", "system", role=pt.Role.USER))
    session.inject(Note.conversation("c", pt.Role.USER, pt.Visibility.INTERNAL, "conversation"))
    assert said(session.derive()) == ["You are careful.", "system", "session", "Fix the login.", "conversation"]


def test_a_conversation_note_outlives_a_fold_as_any_page_does():
    session = noted(policy=pt.Paged.thrifty(4_000))
    page = session.inject(Note.conversation_user("Mind the sessions."))
    until_fold(session)
    assert session.resolve(page.handle).text == "Mind the sessions."
    assert session.derive().explain(page.handle).tokens > 0


def test_the_next_run_lays_out_what_the_last_one_did():
    session = noted()
    answered(session)
    session.reset("We have begun.")
    live = answered(session)
    again = reopened(session)
    following = again.derive()
    assert following.messages[: live.bands.history] == live.messages[: live.bands.history]
    assert said(following)[:3] == list(STATE)
    assert said(following).count("We have begun.") == 1


# -- when notes are taken up


def test_a_note_that_comes_while_the_model_thinks_is_in_the_next_turn():
    session = begun()
    context = session.derive()
    session.inject(Note.suffix_system("late", "late"))
    assert "late" not in said(context)
    session.append(pt.assistant("done"))
    assert said(session.derive())[-1] == "late"


def test_mixed_notes_keep_their_order_after_the_results():
    session = begun()
    session.extend([pt.assistant(call(1)), pt.tool_result("c1", "result")])
    for note in (
        Note.conversation_user("one"),
        Note.conversation_internal_system("two"),
        Note.conversation_user("three"),
    ):
        session.inject(note)
    assert [message.text for message in session.derive().messages[4:]] == ["one", "two", "three"]


def test_only_what_is_flagged_is_consumed():
    session = noted()
    session.inject(Note.suffix_system("once", "once", consume_after_emit=True))
    answered(session)
    assert {note.key for note in session.reader.notes} == {"end", "where", "what"}


def test_a_conflict_at_the_answer_consumes_nothing():
    session = begun()
    session.inject(Note.suffix_system("once", "once", consume_after_emit=True))
    other = reopened(session)
    session.derive()
    other.append(pt.user("Meanwhile."))
    with pytest.raises(pt.Conflict):
        session.append(pt.assistant("done"))
    assert [note.key for note in session.reader.notes] == ["once"]
    session.refresh()
    session.append(pt.assistant("done"))  # the context was shown after all
    assert (session.reader.notes, reopened(session).reader.notes) == ((), ())
    assert session.derive().messages == reopened(session).derive().messages


def test_an_answer_that_the_store_does_not_take_consumes_nothing(monkeypatch):
    session = begun()
    session.inject(Note.suffix_system("once", "once", consume_after_emit=True))
    sent = session.derive()
    with monkeypatch.context() as broken:
        broken.setattr(store_of(session), "append", lambda *_: (_ for _ in ()).throw(pt.StoreError("disk full")))
        with pytest.raises(pt.StoreError):
            session.append(pt.assistant("done"))
    assert session.derive().messages == reopened(session).derive().messages == sent.messages
    session.append(pt.assistant("done"))
    assert (session.reader.notes, said(session.derive())[-1]) == ((), "done")


def test_two_writers_add_notes_and_both_are_shown():
    session = begun()
    other = reopened(session)
    other.inject(Note.system("theirs", "theirs"))
    with pytest.raises(pt.Conflict):
        session.inject(Note.system("ours", "ours"))
    session.refresh()
    session.inject(Note.system("ours", "ours"))
    assert said(session.derive())[1:3] == ["theirs", "ours"]


def test_what_is_shown_to_people_has_no_notes():
    session = noted()
    answered(session)
    texts = [message.text for message in session.reader.messages(internal=True)]
    assert not {"what", "where", "end"} & set(texts)
    assert session.recall("where what end") == pt.NoMatch()


# -- hygiene


def test_an_orphan_result_is_no_result_beside_notes():
    session = noted()
    session.append(pt.tool_result("nobody", "orphan"))
    context = session.derive()
    assert results(context) == []
    check_all(session, context, 10**9)


def test_a_text_that_only_looks_like_a_placeholder_is_kept():
    session = noted()
    session.extend([pt.assistant(call(1)), pt.tool_result("c1", f"it said {PENDING}")])
    assert results(session.derive()) == [f"it said {PENDING}"]


@pytest.mark.parametrize("answered_calls", [(), (1,), (2,), (1, 2)])
def test_dangling_calls_are_answered_before_any_note(answered_calls):
    session = noted()
    answered(session)
    session.append(pt.assistant(call(1), call(2)))
    for number in answered_calls:
        session.append(pt.tool_result(f"c{number}", f"result {number}"))
    session.inject(Note.system("new", "new"))
    context = session.derive()
    check_all(session, context, 10**9)
    check_notes(session, context)
    assert results(context).count(PENDING) == 2 - len(answered_calls)
    assert [str(message.role) for message in context.messages[-4:]] == ["tool", "tool", "system", "system"]


# -- windows


def test_under_the_budget_nothing_is_cut():
    session = noted(policy=pt.Paged.thrifty(50_000))
    for number in range(10):
        grow(session, number, lines=5)
    context = session.derive()
    assert (len(context.messages), context.fold) == (2 + 20 + 3, None)


def test_no_fold_begins_with_a_result_though_notes_are_before_it():
    session = noted(policy=pt.Paged.thrifty(2_500))
    for number in range(12):
        context = session.derive()
        check_all(session, context, 2_500)
        check_notes(session, context)
        session.append(pt.assistant(call(2 * number), call(2 * number + 1)))
        session.append(pt.tool_result(f"c{2 * number}", f"value_{number}\n" * 60))
        session.append(pt.tool_result(f"c{2 * number + 1}", f"other_{number}\n" * 60))
    assert session.reader.folds


def test_two_large_parallel_results_and_notes_fit_beside_each_other():
    session = noted(policy=pt.Paged.thrifty(3_000))
    session.append(pt.assistant(call(1), call(2)))
    session.append(pt.tool_result("c1", "\n".join(f"row {number}: name_{number}" for number in range(2_000))))
    session.append(pt.tool_result("c2", "\n".join(f"line {number}: word_{number}" for number in range(2_000))))
    context = session.derive()
    check_all(session, context, 3_000)
    check_notes(session, context)
    assert {"what", "where", "end"} <= set(said(context))


def test_tools_and_notes_both_shrink_the_room_for_history():
    def history(**extra):
        session = noted(policy=pt.Paged.thrifty(4_000)) if extra.get("notes") else begun(policy=pt.Paged.thrifty(4_000))
        if extra.get("notes"):
            session.inject(Note.system("long", "a long note " * 200))
        tools = [{"name": "bash", "description": "Run a command. " * 100}] if extra.get("tools") else []
        session.extend(pt.user(f"value_{number} " * 100, synthetic=True) for number in range(20))
        context = session.derive(tools)
        check_all(session, context, 4_000)
        return sum(placement.tokens for placement in context.layout.placements)

    assert history(tools=True) < history()
    assert history(notes=True) < history()


def test_an_open_round_is_never_cut_by_a_fold_that_moves_notes():
    session = noted(policy=pt.Paged.thrifty(3_000))
    for number in range(8):
        grow(session, number)
    session.append(pt.assistant("waiting", call(99)))
    session.inject(Note.system("what", "changed"))
    context = session.derive()
    assert context.fold is not None
    assert [tool.id for message in context.messages for tool in message.tool_calls][-1] == "c99"
    assert outcomes(context) >= {("what", SYSTEM, NoteDecision.FIRST_EMIT)}


def test_a_second_summary_replaces_the_first_and_the_notes_stay():
    session = noted(recall=None)
    answered(session)
    for summary in ("first summary", "second summary"):
        session.reset(summary)
        context = answered(session)
    texts = said(context)
    assert texts[:3] == list(STATE)
    assert ("first summary" in texts, texts.count("second summary")) == (False, 1)


def test_deriving_again_changes_nothing():
    session = noted(policy=pt.Paged.thrifty(2_000))
    for number in range(6):
        grow(session, number)
    first = session.derive()
    assert all(session.derive().messages == first.messages for _ in range(3))


def test_a_journal_from_before_notes_were_shown_is_read():
    session = open_session()
    session.append(pt.user("hi"))
    session.inject(Note.system("os", "linux"))
    session.append(pt.assistant("of itself"))  # as older versions wrote it: a turn that says nothing of notes
    assert said(reopened(session).derive())[0] == "linux"
