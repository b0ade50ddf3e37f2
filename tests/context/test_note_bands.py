"""Where notes are shown: the bands of a context, and notes that are part of the conversation."""

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
    outcomes,
    said,
    until_fold,
)
from tests.sessions import call, open_session

# -- bands


def test_the_bands_are_base_system_session_history_suffix():
    session = begun()
    session.inject(Note.suffix_system("end", "suffix"))
    session.inject(Note.session("where", "session"))
    session.inject(Note.system("what", "system"))
    context = session.derive()
    assert said(context) == ["You are careful.", "system", "session", "Fix the login.", "suffix"]
    assert context.bands == (1, 3, 4)
    assert outcomes(context) == {
        ("what", SYSTEM, Decision.FIRST_EMIT),
        ("where", SESSION, Decision.FIRST_EMIT),
        ("end", SUFFIX, Decision.FIRST_EMIT),
    }


def test_the_bands_are_the_same_without_a_base_prompt():
    session = open_session()
    session.append(pt.user("Fix the login."))
    session.inject(Note.session("where", "session"))
    session.inject(Note.system("what", "system"))
    assert said(session.derive()) == ["system", "session", "Fix the login."]


@pytest.mark.parametrize("role", pt.Role)
def test_no_role_of_a_note_changes_where_it_is_shown(role):
    session = begun()
    session.pin("Never push.")
    for note in (Note.session, Note.suffix_system, Note.system):
        session.inject(note(f"{note.__name__} 1", f"{note.__name__} 1", role=role))
        session.inject(note(f"{note.__name__} 2", f"{note.__name__} 2"))
    context = answered(session)
    opening = ["You are careful.", "system 1", "system 2", "session 1", "session 2", "Fix the login.", "Never push."]
    assert said(context) == [*opening, "suffix_system 1", "suffix_system 2"]
    assert said(session.derive())[:7] == opening
    session.reset("We have begun.")
    assert said(session.derive())[:5] == opening[:5]


def test_a_system_message_that_begins_the_history_is_behind_the_notes():
    session = begun()
    session.inject(Note.session("where", "session"))
    session.append(pt.system("A reminder."))
    assert said(session.derive()) == ["You are careful.", "session", "Fix the login.", "A reminder."]


def test_a_summary_is_between_the_session_notes_and_what_follows_it():
    session = begun(recall=None)
    session.inject(Note.session("where", "session"))
    answered(session)
    session.reset("We fixed half of it.")
    context = answered(session)
    assert said(context)[:2] == ["You are careful.", "session"]
    at = said(context).index("We fixed half of it.")
    assert context.bands.notes <= at
    session.reset("We fixed all of it.")
    texts = said(session.derive())
    assert "We fixed half of it." not in texts
    assert texts.index("session") < texts.index("We fixed all of it.")


def test_within_a_band_notes_are_ordered_as_their_keys_came_and_a_new_text_keeps_the_place():
    session = begun()
    for key in "abc":
        session.inject(Note.system(key, f"{key} one"))
    session.inject(Note.system("b", "b two"))
    assert said(session.derive())[1:4] == ["a one", "b two", "c one"]


def test_two_producers_add_and_neither_overwrites_the_other():
    session = begun()
    session.inject(Note.system("skills", "skills"))
    session.inject(Note.system("agents", "agents"))
    assert {"skills", "agents"} <= set(said(session.derive()))


def test_the_last_of_a_key_wins_across_bands_and_the_loser_is_reported():
    session = begun()
    session.inject(Note.system("k", "first"))
    session.inject(Note.suffix_system("k", "last"))
    context = answered(session)
    assert said(context) == ["You are careful.", "Fix the login.", "last"]
    assert outcomes(context) == {("k", SUFFIX, Decision.FIRST_EMIT), ("k", None, Decision.DUPLICATE_KEY)}
    assert outcomes(session.derive()) == {("k", SUFFIX, Decision.ALWAYS)}


def test_a_note_that_says_nothing_is_not_shown_and_that_is_reported():
    session = begun()
    session.inject(Note.system("k", " \n"))
    assert outcomes(session.derive()) == {("k", None, Decision.EMPTY)}
    assert len(session.derive().messages) == 2


# -- conversation notes


def test_conversation_notes_are_pages_and_all_of_them_stay():
    session = begun()
    note = Note.conversation_user("continue")
    pages = [session.inject(note), session.inject(note), session.inject(Note.system_reminder("stay"))]
    assert [page.kind for page in pages] == [pt.PageKind.CONVERSATION] * 3
    assert len({page.id for page in pages}) == 3
    context = answered(session)
    assert said(context)[2:] == ["continue", "continue", "<system-reminder>stay</system-reminder>"]
    assert context.notes == ()
    assert session.reader.notes == ()


def test_a_conversation_note_ignores_its_cooldown_is_never_consumed_and_its_key_only_informs():
    session = begun()
    session.inject(Note(key="k", content="mind", target=CONVERSATION, cooldown_turns=999))
    session.inject(Note(key="k", content="and mind", target=CONVERSATION, consume_after_emit=True))
    session.inject(Note.system("k", "of the prompt"))
    for _ in range(3):
        assert {"mind", "and mind", "of the prompt"} <= set(said(answered(session)))


def test_a_conversation_note_is_where_it_came_before_the_history_if_there_is_none_yet():
    session = open_session()
    session.append(pt.system("You are careful."))
    session.inject(Note.conversation_user("Mind the tests."))
    session.append(pt.user("Fix the login."))
    first = answered(session)
    assert said(first) == ["You are careful.", "Mind the tests.", "Fix the login."]
    page = session.inject(Note.conversation_user("Go on."))
    after = session.derive()
    assert said(after) == [*said(first), "done", "Go on."]
    assert after.messages[: len(first.messages)] == first.messages
    assert "it came after the last fold" in str(after.explain(page.handle))


def test_people_see_visible_conversation_notes_and_no_others():
    session = begun()
    session.inject(Note.conversation_user("Go on."))
    session.inject(Note.system_reminder("hidden"))
    for make in (Note.system, Note.session, Note.suffix_system):
        session.inject(make(make.__name__, "of the prompt", visibility=pt.Visibility.ALL))
    assert [message.text for message in session.reader.messages()] == ["You are careful.", "Fix the login.", "Go on."]
    assert "hidden" in str([message.text for message in session.reader.messages(internal=True)])


def test_a_conversation_note_never_sets_the_task_ends_no_turn_and_is_no_rule():
    session = begun(policy=pt.Paged.thrifty(4_000))
    context = session.derive()
    session.inject(Note.conversation("k", pt.Role.ASSISTANT, pt.Visibility.INTERNAL, "hidden reply"))
    session.inject(Note.conversation_user("A note in the name of the user."))
    session.inject(Note.conversation_internal_system("Mere talk."))
    assert session.reader.turn == 0
    assert context.bands.base == session.derive().bands.base == 1
    folded = until_fold(session)
    assert "Fix the login." in said(folded)


def test_a_blank_conversation_note_is_refused():
    session = begun()
    with pytest.raises(pt.InvalidInput, match=r"\$\.content"):
        session.inject(Note.conversation_user(" "))


def test_notes_between_parallel_results_never_split_them():
    session = begun()
    session.append(pt.assistant(call(1), call(2)))
    session.append(pt.tool_result("c1", "one"))
    session.inject(Note.conversation_internal_system("about one"))
    session.inject(Note.system("late", "late note"))
    session.append(pt.tool_result("c2", "two"))
    context = session.derive()
    roles = [str(message.role) for message in context.messages[3:]]
    assert roles == ["assistant", "tool", "tool", "system"]
    check_all(session, context, 10**9)


def test_a_note_that_came_while_a_call_was_open_stays_where_it_was_sent():
    session = begun()
    answered(session)
    session.append(pt.assistant(call(1)))
    session.inject(Note.system("late", "late note"))
    sent = answered(session, "I wait.")
    session.append(pt.tool_result("c1", "at last"))
    after = session.derive()
    assert after.messages[: len(sent.messages)] == sent.messages
    assert said(sent)[-1] == "late note"
