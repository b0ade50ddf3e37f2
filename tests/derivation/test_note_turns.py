"""Notes from turn to turn: cooldowns, notes that are shown once, and what undo, forks and restarts leave of them."""

from itertools import pairwise

import pytest

import pageturn as pt
from tests.derivation.checks import check_notes
from tests.derivation.notes import (
    SESSION,
    SUFFIX,
    SYSTEM,
    Decision,
    Note,
    answered,
    begun,
    decisions,
    grow,
    outcomes,
    said,
)
from tests.sessions import reopened

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
