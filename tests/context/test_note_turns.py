"""Notes from turn to turn: cooldowns, and what undo, forks and restarts leave of notes."""

from itertools import pairwise

import pytest

import pageturn as pt
from tests.context.checks import check_notes
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
    grow,
    outcomes,
    said,
    until_fold,
)
from tests.sessions import forked, reopened

# -- cooldowns

ANY = (SYSTEM, SESSION, SUFFIX)
any_band = pytest.mark.parametrize("target", ANY)


@any_band
@pytest.mark.parametrize(
    ("cooldown", "turns"), [(0, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (3, [0, 4, 8]), (1, [0, 2, 4, 6, 8]), (99, [0])]
)
def test_a_note_of_any_band_skips_as_many_turns_as_its_cooldown(target, cooldown, turns):
    session = begun()
    session.inject(Note(key="k", content="be brief", target=target, cooldown_turns=cooldown))
    assert [turn for turn in range(9) if "be brief" in said(answered(session))] == turns


@pytest.mark.parametrize("target", [SYSTEM, SESSION])
def test_a_note_with_a_cooldown_is_at_the_end_and_the_context_says_so(target):
    session = begun()
    answered(session)
    session.inject(Note(key="k", content="be brief", target=target, cooldown_turns=1))
    folds = []
    for turn in range(6):
        context = answered(session)
        folds.append(context.fold)
        is_there = turn % 2 == 0
        assert (said(context)[-1] == "be brief") is is_there
        (outcome,) = context.notes
        if is_there:
            assert outcome.band is SUFFIX
            assert outcome.decision is (Decision.COOLDOWN_ELAPSED if turn else Decision.FIRST_EMIT)
        else:
            assert (outcome.band, outcome.decision) == (None, Decision.COOLDOWN)
        told = [notice for notice in context.notices if "cooldown" in notice]
        assert [("k" in notice, "not in their band" in notice) for notice in told] == [(True, True)] * is_there
    assert folds == [None] * 6


@pytest.mark.parametrize(
    "policy", [pt.Legacy(), pt.Reset(4_000), pt.Incremental(4_000), pt.Paged(4_000), pt.Paged.thrifty(4_000)]
)
@any_band
def test_a_fold_changes_nothing_about_a_cooldown(target, policy):
    session = begun(policy=policy)
    session.inject(Note(key="k", content="be brief", target=target, cooldown_turns=3))
    seen, folds = [], 0
    for turn in range(24):
        context = session.derive(budget_tokens=4_000)
        folds += context.fold is not None
        seen += [turn] if "be brief" in said(context) else []
        grow(session, turn)
    assert (seen, folds > 1) == ([0, 4, 8, 12, 16, 20], True)


def test_a_note_that_gets_a_cooldown_after_it_was_sent_stays_until_the_next_fold_and_then_waits():
    session = begun()
    session.inject(Note.system("k", "mind"))
    answered(session)
    session.inject(Note.system("k", "mind", cooldown_turns=2))
    for _ in range(4):
        assert outcomes(answered(session)) == {("k", SYSTEM, Decision.STICKY)}
    session.reset("We looked into it.")
    assert [decisions(answered(session))["k"] for _ in range(4)] == [
        Decision.COOLDOWN,  # it was there in the turn before
        Decision.COOLDOWN,
        Decision.COOLDOWN_ELAPSED,
        Decision.COOLDOWN,
    ]


def test_a_note_that_loses_its_cooldown_comes_to_stay():
    session = begun(policy=pt.Paged.thrifty(4_000))
    session.inject(Note.system("k", "mind", cooldown_turns=9))
    answered(session)
    assert decisions(answered(session)) == {"k": Decision.COOLDOWN}
    session.inject(Note.system("k", "mind"))
    assert outcomes(answered(session)) == {("k", CONVERSATION, Decision.ALWAYS)}
    assert outcomes(until_fold(session)) == {("k", SYSTEM, Decision.PROMOTED)}


@any_band
def test_a_new_text_comes_early_and_restarts_the_clock(target):
    session = begun()
    session.inject(Note(key="end", content="old", target=target, cooldown_turns=3))
    seen = []
    for turn in range(7):
        if turn == 2:
            session.inject(Note(key="end", content="new", target=target, cooldown_turns=3))
        seen.append(decisions(answered(session))["end"])
    skipped = [Decision.COOLDOWN] * 3
    assert seen == [
        Decision.FIRST_EMIT,
        Decision.COOLDOWN,
        Decision.CONTENT_CHANGED,
        *skipped,
        Decision.COOLDOWN_ELAPSED,
    ]


@any_band
def test_text_that_changes_back_comes_again_at_once(target):
    session = begun()
    seen = []
    for text in "abaa":
        session.inject(Note(key="k", content=text, target=target, cooldown_turns=9))
        seen.append(said(answered(session))[-1])
    assert seen == ["a", "b", "a", "done"]


def test_a_note_that_vanishes_and_returns_within_its_cooldown_still_waits():
    session = begun()
    note = Note.session("k", "mind", cooldown_turns=3)
    session.inject(note)
    answered(session)
    session.retract("k")
    answered(session)
    session.inject(note)
    assert [decisions(answered(session))["k"] for _ in range(3)] == [
        Decision.COOLDOWN,
        Decision.COOLDOWN,
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
        session.extend([pt.user("Go on where you stopped.", synthetic=True), pt.assistant("call, and ends here.")])
    assert seen == [True, False, False, True, False, False, True]


def test_the_prompt_before_the_suffix_is_a_prefix_of_the_next():
    session = begun()
    session.inject(Note.suffix_system("end", "be brief", cooldown_turns=1))
    contexts = [answered(session) for _ in range(5)]
    for before, after in pairwise(contexts):
        history = before.bands.history
        assert after.messages[:history] == before.messages[:history]


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
    child = forked(session, "child")
    for each in (session, reopened(session), child, reopened(child), forked(child, "grandchild")):
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
    assert {(note.key, note.target, note.content) for note in reopened(child).reader.notes} == standing


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
    assert reopened(session).reader.state() == session.reader.state()
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
