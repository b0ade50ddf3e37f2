"""Pins between other facts: what each takes does not grow with what is there. Work is counted in calls, so the machine does not matter."""

import sys
from itertools import count

import pytest

import pageturn as pt
from tests.hostile.entry_points import begun, call

_MOST = 5.5  # times the calls for four times as many; linear is 4, and a square 16


def text(session, number):
    session.append(pt.user(f"do {number}"))
    session.pin(f"Rule {number}")


def page(session, number):
    session.pin(session.append(pt.user(f"do {number}")))


def between_call_and_result(session, number):
    asked = call(number=number, command="ls")
    session.append(pt.assistant(asked))
    session.pin(f"Rule {number}")
    session.append(pt.tool_result(asked, "done"))


def turn(session, number):
    session.append(pt.assistant("ok"), usage=pt.Usage(input_tokens=100 + number))
    session.pin(f"Rule {number}")


def unpinned(session, number):
    session.append(pt.user(f"do {number}"))
    session.unpin(session.pin(f"Rule {number}"))


def plan(session, number):
    session.plan(f"goal {number}", ["one step"])
    session.pin(f"Rule {number}")


def note(session, number):
    session.inject(pt.ContextMessage.system("where", f"You are at {number}."))
    session.pin(f"Rule {number}")


def calls_made(step, times):
    """How many calls Python makes for so many steps."""
    session = begun(pt.Paged(budget_tokens=150_000))
    session.derive()
    session.pin("Be kind.")
    made = count()
    sys.setprofile(lambda _, event, __: next(made) if event == "call" else None)
    try:
        for number in range(times):
            step(session, number)
    finally:
        sys.setprofile(None)
    assert session.derive().tokens <= 150_000
    return next(made)


@pytest.mark.parametrize("step", [text, page, between_call_and_result, turn, unpinned, plan, note])
def test_four_times_as_many_pins_take_no_more_than_a_few_times_the_calls(step):
    few, many = calls_made(step, 40), calls_made(step, 160)
    assert many < _MOST * few, f"{many / few:.1f} times the calls"
