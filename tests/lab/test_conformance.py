"""The laws that whoever shortens a session is examined by: ours keep all of them, and every law can be broken."""

from itertools import count

import pytest

import pageturn as pt
from pageturn.lab.conformance import CASES, LAWS, Ours, examine
from pageturn.lab.conformance.laws import NAMES, unpaired
from pageturn.lab.peers import Request

OURS = {
    "legacy": Ours(lambda _: pt.Legacy()),
    "reset": Ours(lambda tokens: pt.Reset(threshold_tokens=tokens)),
    "incremental": Ours(lambda tokens: pt.Incremental(budget_tokens=tokens)),
    "paged": Ours(lambda tokens: pt.Paged(budget_tokens=tokens)),
}


@pytest.mark.parametrize("name", OURS)
def test_our_policies_keep_every_law(name):
    verdicts = examine(OURS[name])
    assert all(verdict.applies for verdict in verdicts.values())
    assert {law: verdict.detail for law, verdict in verdicts.items() if not verdict.holds} == {}
    assert set(verdicts) == set(NAMES)


def test_the_loop_presses_on_its_budget_as_described():
    loop = CASES[0]
    calls = [len(message.tool_calls) for message in loop.trace.messages if message.tool_calls]
    assert (loop.name, len(calls), sum(calls), calls.count(7)) == ("loop", 40, 70, 5)
    assert 2.5 * loop.budget_tokens < loop.trace.tokens < 3 * loop.budget_tokens


def sent(change=lambda turn, messages: messages):
    """Everything at every turn, but for what is done to it."""
    return lambda case: [Request(change(turn, case.trace.messages[:turn])) for turn in case.trace.turns]


def without(is_gone):
    return sent(lambda _, messages: [message for message in messages if not is_gone(message)])


def is_half_a_batch(message):
    return bool(message.tool_results) and message.tool_results[0].tool_call_id == "call_8"


def has_picture(message):
    return any(isinstance(part, pt.Image) for part in message.content)


def stamped(turn, messages):
    return [pt.system(f"Turn {turn}."), *messages]


numbers = count()


@pytest.mark.parametrize(
    ("law", "system"),
    [
        ("pairs", without(is_half_a_batch)),
        ("pairs", without(lambda message: message.role == "assistant")),
        ("budget", sent()),
        ("system", without(lambda message: message.role == "system")),
        ("rule", without(lambda message: message.text.startswith("Rule:"))),
        ("task", without(lambda message: message.text.startswith("Find out"))),
        ("way back", without(lambda message: message.role == "tool")),
        ("delayed", without(lambda message: any(call.id == "slow" for call in message.tool_calls))),
        ("delayed", without(lambda message: any(result.tool_call_id == "slow" for result in message.tool_results))),
        ("parallel", without(is_half_a_batch)),
        ("dead call", sent()),
        ("pictures", without(has_picture)),
        (
            "pictures",
            sent(lambda _, messages: [m for m in messages if m.role != "tool" or not any(map(has_picture, messages))]),
        ),
        ("empty", without(lambda message: message.role == "tool" and not message.tool_results[0].content)),
        ("refuses", sent()),
        ("steady", sent(stamped)),
        ("repeatable", lambda case: [Request([pt.system(f"Run {next(numbers)}.")]) for _ in case.trace.turns]),
    ],
)
def test_every_law_can_be_broken(law, system):
    assert not examine(system)[law].holds


class Noted:
    """Everything, and the notes that are to be said at a turn, each with the place that it is for."""

    takes_notes = True

    def __init__(self, is_said):
        self.is_said = is_said

    def __call__(self, case):
        return [
            Request(
                [
                    *case.trace.messages[:turn],
                    *(pt.user(note) for place, note in case.notes.items() if self.is_said(place, turn)),
                ]
            )
            for turn in case.trace.turns
        ]


def test_a_note_that_is_said_never_or_late_or_twice_breaks_its_law():
    assert examine(Noted(lambda place, turn: place == turn))["one-shot"].holds
    for is_said in (lambda *_: False, lambda place, turn: turn == place + 2, lambda place, turn: turn >= place):
        assert not examine(Noted(is_said))["one-shot"].holds


def test_a_law_of_notes_does_not_apply_to_who_takes_none():
    verdict = examine(sent())["one-shot"]
    assert (verdict.holds, verdict.applies, verdict.detail) == (True, False, "takes no notes")


def test_sending_everything_breaks_only_what_it_must():
    broken = {law for law, verdict in examine(sent()).items() if not verdict.holds}
    assert broken == {"budget", "dead call", "refuses"}


def test_refusing_everything_keeps_no_promise_of_showing():
    broken = {
        law
        for law, verdict in examine(lambda case: [Request(None) for _ in case.trace.turns]).items()
        if not verdict.holds
    }
    assert {"way back", "pictures", "steady"} <= broken


def test_what_was_got_back_must_be_the_whole_of_it():
    def halves(case):
        whole = [Request(messages, {}) for messages in (case.trace.messages[:turn] for turn in case.trace.turns)]
        short = {place: message.text[:5] for place, message in enumerate(case.trace.messages)}
        return [*whole[:-1], Request(whole[-1].messages[:1], short)]

    assert not examine(halves)["way back"].holds


def test_a_failure_breaks_the_laws_of_its_case_and_is_told():
    def failing(case):
        if case.name == "delayed":
            raise pt.InvalidInput("peer", expected="a request", got="none")
        return sent()(case)

    verdict = examine(failing)["delayed"]
    assert (verdict.holds, verdict.detail) == (False, "delayed: peer: expected a request, got none")


def test_each_law_says_what_it_means_and_names_cases_that_exist():
    names = {case.name for case in CASES}
    assert all(law.says and set(law.cases) <= names for law in LAWS)


CALL = pt.ToolCall(id="c", name="f", arguments="{}")
OTHER = pt.ToolCall(id="d", name="f", arguments="{}")


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        ([pt.assistant(CALL, OTHER), pt.tool_result(OTHER, ""), pt.tool_result(CALL, "")], []),
        (
            [pt.assistant(CALL), pt.user("?"), pt.tool_result(CALL, "")],
            ["a call without its result, c", "a result without its call, c"],
        ),
        ([pt.assistant(CALL)], ["a call without its result, c"]),
        ([pt.tool_result(CALL, "")], ["a result without its call, c"]),
        ([pt.assistant(CALL), pt.tool_result(CALL, ""), pt.tool_result(CALL, "")], ["a result without its call, c"]),
        ([pt.assistant(CALL), pt.assistant(OTHER), pt.tool_result(OTHER, "")], ["a call without its result, c"]),
    ],
)
def test_pairs_are_judged_as_a_strict_provider_would(messages, wrong):
    assert list(unpaired(messages)) == wrong
