"""Notes in the context, turn by turn: the bands, what holds still, what comes once, and what has no room."""

from itertools import pairwise

import pytest

import pageturn as pt
from tests.derivation.checks import check_all, check_notes
from tests.sessions import call, open_session, reopened

Note = pt.ContextMessage
Decision = pt.NoteDecision
SYSTEM, SESSION, CONVERSATION, SUFFIX = pt.ContextMessageTarget


def begun(**options):
    session = open_session(**options)
    session.append(pt.system("You are careful."), pt.user("Fix the login."))
    return session


def answered(session, words="done"):
    """Derive, look at it, and let a model answer."""
    context = session.derive()
    check_notes(session, context)
    session.append(pt.assistant(words))
    return context


def said(context):
    return [message.text for message in context.messages]


def outcomes(context):
    return {(outcome.key, outcome.band, outcome.decision) for outcome in context.notes}


def decisions(context):
    return {outcome.key: outcome.decision for outcome in context.notes}


def grow(session, number, lines=60):
    read = pt.ToolCall(id=f"g{number}", name="read", arguments=f'{{"path": "src/part_{number}.py"}}')
    session.append(pt.assistant(f"reading {number}", read))
    session.append(pt.tool_result(read, f"value_{number} = compute_{number}()\n" * lines))


def until_fold(session, start=0):
    """Work until a fold comes; its context."""
    for number in range(start, start + 60):
        context = session.derive()
        if context.fold is not None:
            session.append(pt.assistant("folded"))
            return context
        grow(session, number)
    raise AssertionError("no fold came")


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
def test_no_role_of_a_note_changes_where_it_stands(role):
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


def test_a_system_message_that_begins_the_history_stands_behind_the_notes():
    session = begun()
    session.inject(Note.session("where", "session"))
    session.append(pt.system("A reminder."))
    assert said(session.derive()) == ["You are careful.", "session", "Fix the login.", "A reminder."]


def test_a_summary_stands_between_the_session_notes_and_what_follows_it():
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


def test_within_a_band_notes_stand_as_their_keys_came_and_a_new_text_keeps_the_place():
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


def test_the_last_of_a_key_wins_across_bands_and_the_loser_is_told():
    session = begun()
    session.inject(Note.system("k", "first"))
    session.inject(Note.suffix_system("k", "last"))
    context = answered(session)
    assert said(context) == ["You are careful.", "Fix the login.", "last"]
    assert outcomes(context) == {("k", SUFFIX, Decision.FIRST_EMIT), ("k", None, Decision.DUPLICATE_KEY)}
    assert outcomes(session.derive()) == {("k", SUFFIX, Decision.ALWAYS)}


def test_a_note_that_says_nothing_is_not_shown_and_that_is_told():
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
    assert session.notes == ()


def test_a_conversation_note_ignores_its_cooldown():
    session = begun()
    session.inject(Note(key="k", content="mind", target=CONVERSATION, cooldown_turns=999))
    assert all("mind" in said(answered(session)) for _ in range(3))


def test_a_conversation_note_never_sets_the_task_ends_no_turn_and_is_no_rule():
    session = begun(policy=pt.Paged(budget_tokens=4_000))
    context = session.derive()
    session.inject(Note.conversation("k", pt.Role.ASSISTANT, pt.Visibility.INTERNAL, "hidden reply"))
    session.inject(Note.conversation_user("A note in the name of the user."))
    session.inject(Note.conversation_internal_system("Mere talk."))
    assert session._journal.state.turn == 0
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


# -- what holds still


def test_a_prefix_note_is_sticky_whatever_its_cooldown():
    session = begun()
    session.inject(Note.system("a", "always", cooldown_turns=3))
    session.inject(Note.session("b", "before", cooldown_turns=1))
    contexts = [answered(session) for _ in range(6)]
    for before, after in pairwise(contexts):
        assert after.messages[: len(before.messages)] == before.messages
        assert decisions(after) == {"a": Decision.STICKY, "b": Decision.STICKY}


def test_a_new_text_stands_at_the_tail_at_once_and_in_its_band_after_the_next_fold():
    session = begun(policy=pt.Paged(budget_tokens=4_000))
    session.inject(Note.session("git", "branch: main"))
    sent = answered(session)
    session.inject(Note.session("git", "branch: dev"))
    session.inject(Note.system("os", "linux"))
    changed = answered(session)
    assert changed.messages[: len(sent.messages)] == sent.messages
    assert said(changed)[-2:] == ["linux", "branch: dev"]
    assert outcomes(changed) == {
        ("git", SESSION, Decision.SUPERSEDED),
        ("git", CONVERSATION, Decision.CONTENT_CHANGED),
        ("os", CONVERSATION, Decision.FIRST_EMIT),
    }
    kept = answered(session)
    assert kept.messages[: len(changed.messages)] == changed.messages
    assert ("git", CONVERSATION, Decision.STICKY) in outcomes(kept)
    folded = until_fold(session)
    assert said(folded)[:4] == ["You are careful.", "linux", "branch: dev", "Fix the login."]
    assert "branch: main" not in said(folded)
    assert decisions(folded) == {"os": Decision.PROMOTED, "git": Decision.PROMOTED}
    assert decisions(session.derive()) == {"os": Decision.STICKY, "git": Decision.STICKY}


def test_text_that_changes_back_is_the_last_that_is_said():
    session = begun()
    for text in ("a", "b", "a"):
        session.inject(Note.system("k", text))
        context = answered(session)
    assert [text for text in said(context) if text in "ab"] == ["a", "b", "a"]


def test_a_retracted_note_is_gone_at_the_next_fold():
    session = begun(policy=pt.Paged(budget_tokens=4_000))
    session.inject(Note.system("os", "linux"))
    sent = answered(session)
    session.retract("os")
    context = answered(session)
    assert context.messages[: len(sent.messages)] == sent.messages
    assert outcomes(context) == {("os", SYSTEM, Decision.RETRACTED)}
    folded = until_fold(session)
    assert "linux" not in said(folded)
    assert outcomes(folded) == {("os", None, Decision.RETRACTED)}
    assert session.derive().notes == ()


def test_a_note_that_was_never_sent_is_gone_at_once():
    session = begun()
    session.inject(Note.system("os", "linux"))
    session.derive()  # nobody answered
    session.retract("os")
    context = session.derive()
    assert "linux" not in said(context)
    assert context.fold is None
    assert outcomes(context) == {("os", None, Decision.RETRACTED)}


@pytest.mark.parametrize("again", [False, True])
def test_retracting_now_forces_a_fold(again):
    session = begun()
    session.inject(Note.system("os", "linux"))
    answered(session)
    if again:
        session.retract("os")
    session.retract("os", now=True)
    context = session.derive()
    assert context.fold is not None
    assert "linux" not in said(context)
    with pytest.raises(pt.InvalidInput, match="the key of a durable note"):
        session.retract("os")


def test_retracting_now_what_is_being_answered_forces_a_fold_too():
    session = begun()
    session.inject(Note.system("os", "linux"))
    session.derive()
    session.retract("os", now=True)
    session.append(pt.assistant("done"))
    context = session.derive()
    assert context.fold is not None
    assert "linux" not in said(context)


def test_retracting_a_note_at_the_end_costs_nothing():
    session = begun()
    session.inject(Note.suffix_system("end", "be brief"))
    answered(session)
    session.retract("end", now=True)
    context = session.derive()
    assert (context.fold, "be brief" in said(context)) == (None, False)


def test_keys_are_retracted_by_prefix_with_a_loop():
    session = begun()
    for key in ("reminder:a", "reminder:b", "other"):
        session.inject(Note.system(key, key))
    for note in session.notes:
        if note.key.startswith("reminder:"):
            session.retract(note.key)
    assert said(session.derive())[1] == "other"


def test_a_text_that_was_sent_as_lasting_is_not_said_again_behind_it():
    session = begun()
    session.inject(Note.system("k", "mind"))
    answered(session)
    session.inject(Note.suffix_system("k", "mind"))
    context = answered(session)
    assert said(context).count("mind") == 1
    assert outcomes(context) == {("k", SYSTEM, Decision.STICKY)}
    session.reset("afresh")
    assert outcomes(session.derive()) == {("k", SUFFIX, Decision.PROMOTED)}


# -- cooldowns at the end


@pytest.mark.parametrize(
    ("cooldown", "turns"), [(0, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (3, [0, 4, 8]), (1, [0, 2, 4, 6, 8])]
)
def test_a_suffix_note_skips_as_many_turns_as_its_cooldown(cooldown, turns):
    session = begun()
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=cooldown))
    assert [turn for turn in range(9) if "be brief" in said(answered(session))] == turns


def test_a_new_text_at_the_end_comes_early_and_restarts_the_clock():
    session = begun()
    session.inject(Note.suffix_system("end", "old", cooldown_turns=3))
    seen = []
    for turn in range(7):
        if turn == 2:
            session.inject(Note.suffix_system("end", "new", cooldown_turns=3))
        seen.append(decisions(answered(session))["end"])
    skipped = [Decision.COOLDOWN] * 3
    assert seen == [
        Decision.FIRST_EMIT,
        Decision.COOLDOWN,
        Decision.CONTENT_CHANGED,
        *skipped,
        Decision.COOLDOWN_ELAPSED,
    ]


def test_a_retry_is_the_same_request_and_no_turn_of_a_cooldown():
    session = begun()
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=2))
    session.inject(Note.suffix_system("once", "only once", consume_after_emit=True))
    first = session.derive()
    for _ in range(3):  # each of these calls fails
        assert session.derive().messages == first.messages
    session.append(pt.assistant("done"))
    assert [said(answered(session))[-1] == "be brief" for _ in range(3)] == [False, False, True]


def test_a_reply_that_comes_in_pieces_is_one_turn_of_a_cooldown():
    session = begun()
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=2))
    seen = []
    for _ in range(7):
        seen.append("be brief" in said(session.derive()))
        session.append(pt.assistant("The answer is too long for one"))  # cut off, and asked for again by the host
        session.append(pt.user("Go on where you stopped.", synthetic=True), pt.assistant("call, and ends here."))
    assert seen == [True, False, False, True, False, False, True]


def test_the_prompt_before_the_suffix_is_a_prefix_of_the_next():
    session = begun()
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=1))
    contexts = [answered(session) for _ in range(5)]
    for before, after in pairwise(contexts):
        history = before.bands.history
        assert after.messages[:history] == before.messages[:history]


# -- once


@pytest.mark.parametrize("target", [SYSTEM, SESSION, SUFFIX])
def test_a_note_that_is_shown_once_is_consumed_by_the_answer(target):
    session = begun()
    session.inject(Note(key="once", content="only once", target=target, consume_after_emit=True))
    for _ in range(2):  # the first call fails
        context = session.derive()
        assert said(context)[-1] == "only once"
        assert outcomes(context) == {("once", SUFFIX, Decision.FIRST_EMIT)}
    session.append(pt.assistant("done"))
    assert session.notes == ()
    after = session.derive()
    assert "only once" not in said(after)
    assert after.messages[: context.bands.history] == context.messages[: context.bands.history]
    assert outcomes(after) == {("once", None, Decision.CONSUMED)}


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_what_a_reply_in_pieces_consumed_is_told_of_and_released_with_its_first_piece(pieces):
    session = begun()
    session.inject(Note.session("once", "only once", consume_after_emit=True))
    session.inject(Note.suffix_system("gone", "soon gone"))
    session.derive()
    for number in range(pieces):
        session.append(pt.assistant(f"piece {number}"))
        if not number:
            session.retract("gone")
    told = session.derive()
    assert outcomes(told) == {("once", None, Decision.CONSUMED), ("gone", None, Decision.RETRACTED)}
    assert outcomes(reopened(session).derive()) == outcomes(told)
    for left in reversed(range(pieces)):
        session.undo()
        assert ("only once" in said(session.derive())) == (left == 0)
    session.append(pt.assistant("done"))
    assert outcomes(session.derive()) == {("once", None, Decision.CONSUMED)}


def test_a_crash_between_derive_and_reply_loses_nothing():
    session = begun()
    session.inject(Note.session("once", "only once", consume_after_emit=True))
    shown = session.derive()
    again = reopened(session)
    assert again.derive().messages == shown.messages
    again.append(pt.assistant("done"))
    assert "only once" not in said(again.derive())


def test_an_answer_without_a_context_consumes_nothing():
    session = begun()
    session.inject(Note.session("once", "only once", consume_after_emit=True))
    session.append(pt.assistant("of itself"))
    assert "only once" in said(session.derive())


def test_only_the_text_that_was_shown_is_consumed():
    session = begun()
    session.inject(Note.session("once", "first", consume_after_emit=True))
    session.derive()
    session.inject(Note.session("once", "second", consume_after_emit=True))  # by somebody else, while the model thinks
    session.append(pt.assistant("done"))
    assert [note.content for note in session.notes] == ["second"]
    assert said(answered(session))[-1] == "second"
    assert session.notes == ()


def test_the_same_note_injected_again_while_the_model_thinks_is_consumed():
    session = begun()
    note = Note.session("once", "only once", consume_after_emit=True)
    session.inject(note)
    session.derive()
    session.inject(note)
    session.append(pt.assistant("done"))
    assert session.notes == ()


def test_a_note_that_is_held_back_is_not_consumed():
    session = begun()
    note = Note.suffix_system("once", "only once", consume_after_emit=True, cooldown_turns=2)
    session.inject(note)
    answered(session)
    session.inject(note)
    for _ in range(2):
        assert ("once", None, Decision.COOLDOWN) in outcomes(answered(session))
        assert session.notes == (note,)
    assert outcomes(answered(session)) == {("once", SUFFIX, Decision.COOLDOWN_ELAPSED)}
    assert session.notes == ()


def test_a_text_that_was_replaced_while_the_model_thought_stands_where_it_was_sent():
    session = begun()
    session.inject(Note.system("os", "linux"))
    sent = session.derive()
    session.inject(Note.system("os", "macos"))
    session.append(pt.assistant("done"))
    context = session.derive()
    assert context.messages[: len(sent.messages)] == sent.messages
    assert said(context)[-1] == "macos"
    assert reopened(session).derive().messages == context.messages


# -- undo, fork, restart


def test_durable_notes_outlive_restart_fork_and_undo_wherever_they_were_injected():
    session = begun()
    session.inject(Note.system("os", "linux"))
    answered(session)
    session.append(pt.user("And the logout."))
    session.inject(Note.session("git", "branch: main"))
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=5))
    answered(session)
    session.undo()
    session.append(pt.user("And the logout, please."))
    standing = {("os", SYSTEM, "linux"), ("git", SESSION, "branch: main"), ("end", SUFFIX, "be brief")}
    child = session.fork("child")
    for each in (session, reopened(session), child, reopened(child), child.fork("grandchild")):
        context = each.derive()
        check_notes(each, context)
        assert {(outcome.key, outcome.band) for outcome in context.notes} == {pair[:2] for pair in standing}
        assert said(context) == [
            "You are careful.",
            "linux",
            "branch: main",
            "Fix the login.",
            "done",
            "And the logout, please.",
            "be brief",
        ]
    assert {(note.key, note.target, note.content) for note in reopened(child).notes} == standing


def test_undo_of_the_turn_that_consumed_a_note_releases_it():
    session = begun()
    answered(session)
    session.append(pt.user("And the logout."))
    session.inject(Note.suffix_system("once", "only once", consume_after_emit=True))
    answered(session)
    session.undo()
    session.append(pt.user("And the logout, please."))
    assert said(session.derive())[-1] == "only once"
    assert decisions(session.derive()) == {"once": Decision.FIRST_EMIT}


def test_undo_does_not_bring_back_what_was_replaced_since():
    session = begun()
    session.inject(Note.suffix_system("once", "old", consume_after_emit=True))
    answered(session)
    session.inject(Note.suffix_system("once", "new"))
    session.undo()
    session.append(pt.user("Again."))
    texts = said(session.derive())
    assert (texts[-1], "old" in texts) == ("new", False)


def test_undo_of_a_turn_that_nobody_asked_for_forgets_what_it_showed():
    """In an agent's loop a turn begins with the model's own message."""
    session = begun()
    grow(session, 1)
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=9))
    session.inject(Note.suffix_system("once", "only once", consume_after_emit=True))
    answered(session)
    session.undo()
    assert said(session.derive())[-2:] == ["be brief", "only once"]


def test_undo_takes_back_the_turn_of_a_cooldown():
    session = begun()
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=9))
    answered(session)
    session.undo()
    session.append(pt.user("Again."))
    assert said(session.derive())[-1] == "be brief"


def test_a_fork_has_the_notes_and_goes_its_own_way():
    session = begun()
    session.inject(Note.system("os", "linux"))
    session.inject(Note.suffix_system("once", "only once", consume_after_emit=True))
    sent = session.derive()
    fork = session.fork("other")
    assert fork.derive().messages == sent.messages
    session.append(pt.assistant("done"))
    assert said(fork.derive())[-1] == "only once"
    assert said(session.derive())[-1] == "done"
    fork.retract("os", now=True)
    assert ("linux" in said(fork.derive()), "linux" in said(session.derive())) == (False, True)


def test_a_snapshot_keeps_what_is_known_of_notes():
    session = begun()
    session.inject(Note.system("os", "linux", extra={"priority": 3}))
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=3))
    session.inject(Note.suffix_system("once", "only once", consume_after_emit=True))
    answered(session)
    session.inject(Note.system("os", "macos"))
    session.retract("end")
    session.checkpoint()
    assert reopened(session)._journal.state == session._journal.state
    context, again = session.derive(), reopened(session).derive()
    assert (again.messages, again.notes) == (context.messages, context.notes)


def test_a_reset_leaves_the_notes_where_they_belong():
    session = begun()
    session.inject(Note.system("os", "linux"))
    answered(session)
    session.inject(Note.session("git", "branch: dev"))
    answered(session)
    session.reset("We fixed it.")
    assert said(session.derive())[:3] == ["You are careful.", "linux", "branch: dev"]


def test_equal_inputs_give_equal_bytes():
    def play():
        session = begun()
        for key in "cab":
            session.inject(Note.system(key, f"text of {key}"))
        answered(session)
        return pt.to_json(list(session.derive().messages))

    assert play() == play()


# -- the budget


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
    assert "L4: no room for the notes where, end" in context.notices
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
    session.append(pt.system("You are careful."), pt.user(task))
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
    board = session._journal.state.noteboard
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
    assert session._journal.state.folds
    assert reopened(session).derive().messages == session.derive().messages
