"""Notes that are shown once: where they stand, what consumes them, and what it costs to take them out again."""

import pytest

import pageturn as pt
from tests.context.checks import check_notes
from tests.context.notes import SESSION, SUFFIX, SYSTEM, Decision, Note, answered, begun, grow, outcomes, said
from tests.sessions import reopened

BANDS = (SYSTEM, SESSION, SUFFIX)
POLICIES = (pt.Legacy(), pt.Reset(3_000), pt.Incremental(3_000), pt.Paged(3_000), pt.Paged.thrifty(3_000))
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)


def once(target=SYSTEM, key="once", content="only once"):
    return Note(key=key, content=content, target=target, consume_after_emit=True)


def told_of_bands(context):
    return [notice for notice in context.notices if "not in their band" in notice]


# -- where they stand


@every_policy
@pytest.mark.parametrize(("target", "place"), [(SYSTEM, 2), (SESSION, 3), (SUFFIX, 4)])
def test_in_the_first_context_it_is_in_its_band_and_is_consumed_by_the_answer(policy, target, place):
    session = begun(policy=policy)
    session.inject(Note.session("where", "session"))
    session.inject(Note.system("what", "system"))
    session.inject(once(target))
    for _ in range(2):  # the first call fails
        context = session.derive()
        check_notes(session, context)
        assert said(context).index("only once") == place
        assert ("once", target, Decision.FIRST_EMIT) in outcomes(context)
        assert told_of_bands(context) == []
    session.append(pt.assistant("done"))
    assert [note.key for note in session.reader.notes] == ["where", "what"]
    after = answered(session)
    assert said(after) == ["You are careful.", "system", "session", "Fix the login.", "done"]
    assert ("once", None, Decision.CONSUMED) in outcomes(after)
    assert (after.fold is not None) is (target is not SUFFIX)  # what takes it out of the cached part is a fold
    later = answered(session)
    assert later.fold is None
    assert "once" not in {outcome.key for outcome in later.notes}


def test_so_it_does_in_a_first_context_that_is_long_and_folded():
    session = begun(policy=pt.Paged.thrifty(9_000))
    for number in range(40):
        grow(session, number)
    session.inject(once())
    context = answered(session)
    assert context.fold is not None
    assert said(context)[1] == "only once"
    assert "only once" not in said(answered(session))


@pytest.mark.parametrize("target", [SYSTEM, SESSION])
def test_within_its_band_it_stands_as_its_key_came(target):
    session = begun()
    for key in "abc":
        session.inject(Note(key=key, content=key, target=target, consume_after_emit=key == "b"))
    assert said(session.derive())[1:4] == ["a", "b", "c"]


@every_policy
@pytest.mark.parametrize("target", BANDS)
def test_later_it_is_at_the_end_costs_no_cache_and_the_context_says_so(policy, target):
    session = begun(policy=policy)
    before = answered(session)
    session.inject(once(target))
    context = answered(session)
    assert said(context)[-1] == "only once"
    assert outcomes(context) == {("once", SUFFIX, Decision.FIRST_EMIT)}
    assert [("once" in notice, "shown once" in notice) for notice in told_of_bands(context)] == [(True, True)] * (
        target is not SUFFIX
    )
    after = answered(session)
    assert "only once" not in said(after)
    assert (context.fold, after.fold) == (None, None)
    for one, next_one in ((before, context), (context, after)):
        assert next_one.messages[: one.bands.history] == one.messages[: one.bands.history]


@every_policy
@pytest.mark.parametrize("target", [SYSTEM, SESSION])
def test_a_context_that_is_folded_anyway_has_it_in_its_band_and_the_next_one_takes_it_out(policy, target):
    session = begun(policy=policy)
    answered(session)
    session.reset("We have begun.")
    session.inject(once(target))
    folded = answered(session)
    assert said(folded)[:2] == ["You are careful.", "only once"]
    assert outcomes(folded) == {("once", target, Decision.FIRST_EMIT)}
    after = answered(session)
    assert ("only once" in said(after), after.fold is not None) == (False, True)
    assert answered(session).fold is None


@pytest.mark.parametrize("target", [SYSTEM, SESSION])
def test_it_never_costs_a_long_prompt(target):
    session = begun()
    answered(session)
    session.append(pt.user("a long text " * 3_000))
    answered(session)
    session.choose(pt.Legacy())
    session.inject(once(target))
    folded = answered(session)
    assert folded.fold is not None
    assert said(folded)[-1] == "only once"
    assert len(told_of_bands(folded)) == 1
    after = answered(session)
    assert ("only once" in said(after), after.fold) == (False, None)


@pytest.mark.parametrize("target", [SYSTEM, SESSION])
def test_one_in_every_turn_is_not_a_fold_in_every_turn(target):
    def folds(session, note):
        count = 0
        for turn in range(40):
            if note is not None:
                session.inject(note(turn))
            count += answered(session).fold is not None
            grow(session, turn, lines=20)
        return count

    plain = folds(begun(policy=pt.Paged.thrifty(3_000)), None)
    noted = folds(
        begun(policy=pt.Paged.thrifty(3_000)), lambda turn: once(target, key=f"k{turn}", content=f"news {turn}")
    )
    assert plain > 1
    assert noted <= 2 * plain + 3


def test_one_that_comes_again_when_it_was_just_taken_out_is_emitted_again():
    session = begun()
    session.inject(once())
    answered(session)
    session.inject(once())
    again = answered(session)
    assert said(again).count("only once") == 1
    assert outcomes(again) == {("once", SUFFIX, Decision.ALWAYS), ("once", None, Decision.CONSUMED)}
    assert "only once" not in said(answered(session))


def test_one_that_is_to_stay_after_all_does():
    session = begun()
    session.inject(once())
    sent = session.derive()
    session.inject(Note.system("once", "only once"))  # while the model thinks
    session.append(pt.assistant("done"))
    after = session.derive()
    assert after.fold is None
    assert after.messages[: len(sent.messages)] == sent.messages
    assert outcomes(after) == {("once", SYSTEM, Decision.STICKY)}


def test_one_that_has_no_room_waits_and_is_not_consumed():
    session = begun(policy=pt.Paged.thrifty(800))
    session.inject(once(content="word " * 900))
    context = answered(session)
    assert outcomes(context) == {("once", None, Decision.OVER_BUDGET)}
    assert [note.key for note in session.reader.notes] == ["once"]


# -- what consumes them


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
    assert [note.content for note in session.reader.notes] == ["second"]
    assert said(answered(session))[-1] == "second"
    assert session.reader.notes == ()


def test_the_same_note_injected_again_while_the_model_thinks_is_consumed():
    session = begun()
    note = Note.session("once", "only once", consume_after_emit=True)
    session.inject(note)
    session.derive()
    session.inject(note)
    session.append(pt.assistant("done"))
    assert session.reader.notes == ()


def test_a_note_that_is_held_back_is_not_consumed():
    session = begun()
    note = Note.suffix_system("once", "only once", consume_after_emit=True, cooldown_turns=2)
    session.inject(note)
    answered(session)
    session.inject(note)
    for _ in range(2):
        assert ("once", None, Decision.COOLDOWN) in outcomes(answered(session))
        assert session.reader.notes == (note,)
    assert outcomes(answered(session)) == {("once", SUFFIX, Decision.COOLDOWN_ELAPSED)}
    assert session.reader.notes == ()


def test_a_text_that_was_replaced_while_the_model_thought_stays_where_it_was_sent():
    session = begun()
    session.inject(Note.system("os", "linux"))
    sent = session.derive()
    session.inject(Note.system("os", "macos"))
    session.append(pt.assistant("done"))
    context = session.derive()
    assert context.messages[: len(sent.messages)] == sent.messages
    assert said(context)[-1] == "macos"
    assert reopened(session).derive().messages == context.messages
