"""Legacy: repetitions go first, then all but the newest units, and where not one fits they are shortened."""

import pytest

import pageturn as pt
from pageturn.values.layout import Candidate, Frame
from tests.context.checks import check_all
from tests.sessions import journaled, open_session

FULL = pt.ResidencyLevel.FULL
BUDGET = 8_000


def run(session, number, text, command="make test"):
    """A turn that runs something; the page of what came of it."""
    session.derive(budget_tokens=BUDGET)
    running = pt.ToolCall(id=f"c{number}", name="bash", arguments=pt.to_json({"command": command}).decode())
    session.append(pt.assistant(f"step {number}", running))
    return session.append(pt.tool_result(running, text))


@pytest.fixture
def session():
    session = open_session(policy=pt.Legacy())
    session.extend([pt.system("You are careful."), pt.user("Make the tests pass.")])
    return session


def fold(session, number=1_000):
    """Work until the next fold."""
    for step in range(number, number + 300):
        context = session.derive(budget_tokens=BUDGET)
        if context.fold is not None:
            return context
        run(session, step, f"words of step {step}\n" * 25, command=f"make step{step}")
    raise AssertionError("no fold")


def level(context, page):
    return context.explain(page.handle).level


def repeated(session, text, times=3):
    """The same result several times, then others behind it that are not recent any more."""
    pages = [run(session, number, text) for number in range(times)]
    for number in range(10):
        run(session, 100 + number, f"another {number}\n" * 8, command=f"make n{number}")
    session.derive(budget_tokens=BUDGET)
    return pages


def test_repetitions_give_way_to_the_first_of_them(session):
    first, second, third = repeated(session, "".join(f"test_{n} PASSED in suite\n" for n in range(260)))
    context = fold(session)
    assert level(context, first) is FULL
    assert level(context, second) < FULL
    assert level(context, third) < FULL
    check_all(session, context, BUDGET)


def test_what_differs_or_is_short_is_no_repetition(session):
    repeated(session, "".join(f"test_{n} PASSED in suite\n" for n in range(260)))
    pages = [run(session, 200 + number, f"outcome {number}: " + "line of the suite\n" * 15) for number in range(3)]
    pages += [run(session, 210 + number, "ok") for number in range(3)]
    context = fold(session)
    assert all(level(context, page) is FULL for page in pages)


def candidate(first, size, **signs):
    return Candidate(first, first, {FULL: size, pt.ResidencyLevel.POINTER: 10}, pt.ResidencyLevel.POINTER, **signs)


def planned(units, room):
    frame = Frame(
        units,
        room,
        0,
        0,
        lambda line: 0,
        str,
        can_point=True,
        is_pressed=True,
        groups={},
        is_running=True,
        is_warm=True,
    )
    return pt.Legacy().plan(frame, {}, 0)


def test_a_recent_retry_is_no_repetition():
    units = [candidate(at, 100, is_repetition=at in (3, 18)) for at in range(1, 21)]
    kept = planned(units, room=4_000)
    assert kept.keys() == {*range(1, 21)} - {3}
    assert {*kept.values()} == {FULL}


@pytest.mark.parametrize(("room", "count"), [(2_134, 16), (2_133, 12), (1_300, 8), (1_000, 6), (600, 4), (200, 1)])
def test_the_cascade_keeps_the_first_number_of_units_that_fits_with_room_to_spare(room, count):
    kept = planned([candidate(at, 100) for at in range(1, 101)], room)
    assert [first for first, level in kept.items() if level is FULL] == list(range(100, 100 - count, -1))


def test_at_most_the_newest_sixteen_units_stand_whole(session):
    for number in range(60):
        run(session, number, f"words of step {number}\n" * 4, command=f"make step{number}")
    context = fold(session)
    whole = [each for each in context.layout.placements if each.level is FULL and each.last - each.first > 0]
    assert 1 <= len(whole) <= 16
    newest = session.reader.pages()[-1]
    assert level(context, newest) is FULL
    assert context.tokens < 0.8 * BUDGET


def test_the_cascade_goes_down_as_far_as_it_must(session):
    for number in range(12):
        run(session, number, f"many words of step {number}\n" * 150, command=f"make step{number}")
    context = session.derive(budget_tokens=BUDGET)
    whole = [each for each in context.layout.placements if each.level is FULL and each.last - each.first > 0]
    assert len(whole) in (1, 3, 4, 6, 8)
    assert context.tokens <= BUDGET


def test_where_not_one_fits_the_newest_are_shortened(session):
    pages = [
        run(session, number, f"row {number} of a long table\n" * 1_400, command=f"make step{number}")
        for number in range(3)
    ]
    session.derive(budget_tokens=BUDGET)
    session.append(pt.assistant("and now?"))
    session.choose(pt.Legacy())
    context = session.derive(budget_tokens=BUDGET)
    assert context.tokens <= BUDGET
    assert all(level(context, page) < FULL for page in pages)
    assert any(level(context, page) in (pt.ResidencyLevel.COMPRESSED, pt.ResidencyLevel.STRUCTURED) for page in pages)
    check_all(session, context, BUDGET)


def test_text_that_stands_whole_is_never_touched(session):
    fence = "Look:\n\n```python\n\n\nx  =  1   \n```\n   "
    asked = session.append(pt.user(fence))
    context = fold(session)
    assert level(context, asked) is FULL
    assert any(message.text == fence for message in context.messages)


def test_a_session_that_names_no_policy_is_legacy_and_folds():
    session, journal = journaled()
    journal.state.policy = pt.Legacy()  # as a stored session that says nothing
    session.append(pt.user("Make the tests pass."))
    assert fold(session).tokens <= BUDGET
