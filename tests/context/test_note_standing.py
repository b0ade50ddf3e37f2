"""Notes that were sent hold still: a new text stands at the tail until the next fold, and so does a retracted one where it was."""

from itertools import pairwise

import pytest

import pageturn as pt
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
    until_fold,
)


def test_a_prefix_note_that_comes_every_turn_is_sticky():
    session = begun()
    session.inject(Note.system("a", "always"))
    session.inject(Note.session("b", "before"))
    contexts = [answered(session) for _ in range(6)]
    for before, after in pairwise(contexts):
        assert after.messages[: len(before.messages)] == before.messages
        assert decisions(after) == {"a": Decision.STICKY, "b": Decision.STICKY}


def test_a_new_text_is_at_the_tail_at_once_and_in_its_band_after_the_next_fold():
    session = begun(policy=pt.Paged.thrifty(4_000))
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
    session = begun(policy=pt.Paged.thrifty(4_000))
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
    for note in session.reader.notes:
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
