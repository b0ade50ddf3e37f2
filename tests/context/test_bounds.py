"""The numbers in the laws, each from both sides."""

import pytest

import pageturn as pt
from pageturn.lab.our_policies import CharacterCounter
from pageturn.values.layout import Why
from tests.policies.own import Restless, SpendsAll
from tests.sessions import call, open_session

RESTLESS = Restless(3_000)  # every context is a fold that shows what the laws demand


def open_counted(policy=RESTLESS):
    """A session whose tokens are a quarter of the characters, so that a test can say how many there are."""
    return open_session(policy=policy, counter=CharacterCounter())


@pytest.mark.parametrize(("tokens", "is_whole"), [(1_000, True), (1_001, False)])
def test_the_task_is_shown_verbatim_up_to_a_third_of_the_budget(tokens, is_whole):
    session = open_counted()
    task = "x" * 4 * tokens
    session.append(pt.user(task))
    seen = session.derive()
    assert any(message.text == task for message in seen.messages)
    session.append(pt.assistant("I see."))
    context = session.derive()
    assert context.fold is not None
    assert any(message.text == task for message in context.messages) == is_whole
    assert any("the task" in notice for notice in context.notices) != is_whole


def test_what_is_new_and_does_not_fit_beside_the_last_context_is_shown_whole_up_to_half_of_the_room():
    outcomes = set()
    for tokens in range(1_200, 1_500):
        session = open_counted()
        session.append(pt.user("What was said before: " + "word " * 1_500))
        session.derive()
        session.extend([pt.assistant("look", call(1)), pt.tool_result("c1", "word " * (tokens * 4 // 5))])
        context = session.derive()
        unit = session.reader.pages()[-2:]
        is_whole = context.explain(unit[1].handle).level is pt.ResidencyLevel.FULL
        assert is_whole == (sum(page.tokens for page in unit) <= context.layout.room // 2)
        assert any("too large to be shown whole" in notice for notice in context.notices) != is_whole
        outcomes.add(is_whole)
    assert outcomes == {True, False}


def test_a_call_is_waited_for_until_32_turns_came_after_it():
    session = open_counted()
    session.extend([pt.user("go"), pt.assistant("wait", call(99))])
    open_call = session.reader.pages()[1]
    waited = []
    for number in range(40):
        waited.append(session.derive().explain(open_call.handle).why is Why.OPEN)
        session.append(pt.assistant(f"turn {number}"))
    assert waited == [True] * 32 + [False] * 8


@pytest.mark.parametrize(("between", "joins"), [(31, True), (32, False)])
def test_a_late_result_joins_its_call_across_up_to_32_turns(between, joins):
    session = open_counted(SpendsAll(30_000, at_every_turn=True))
    session.append(pt.user("go"))
    session.append(pt.assistant("wait", call(1)))
    for number in range(between):
        session.extend([pt.user(f"meanwhile {number}"), pt.user("and then"), pt.assistant(f"answer {number}")])
    session.append(pt.tool_result("c1", "at last"))
    context = session.derive()
    after_call = next(at for at, message in enumerate(context.messages) if message.tool_calls) + 1
    assert (context.messages[after_call].tool_results[0].content == "at last") == joins
