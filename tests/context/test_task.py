"""The task is the last that a person said and, where that may be only talk, the last definite thing as well. No list of words decides."""

import pytest

import pageturn as pt
from pageturn.values.layout import Why
from pageturn.values.messages import File, Text, ToolResult
from tests.context.test_turns import words, work
from tests.policies.own import Restless
from tests.sessions import open_session, reopened

TASK = "Make the session of src/auth/login.py expire."
SMALL_TALK = (
    "continue", "wait", "hmm", "how is it going?", "No, retry the one that works", "yes please", "go on", "GO ON!!!", "",
    "weiter", "да", "继续", "👍", "stop", "ok, but with tabs", "status 500 again", "ok " * 26,
)  # fmt: skip
DEFINITE = (
    "Now do the same for src/auth/logout.py",
    "and rename parse_token",
    "fix issue #1234",
    "Please write a summary of everything that you did today, and send it to me by the evening.",
    pt.Image(url="https://e.org/a.png", width=64, height=64),
    File(path="notes.pdf"),
)


def tasks_of(*messages):
    """Which of these messages are the task of a context."""
    session = open_session(policy=Restless(8_000))  # every context is a fold
    pages = session.extend(messages)
    context = session.derive()
    return [at for at, page in enumerate(pages) if context.explain(page.handle).why is Why.TASK]


@pytest.mark.parametrize("said", SMALL_TALK)
def test_what_may_be_only_talk_is_the_task_beside_the_last_definite_one(said):
    assert tasks_of(pt.user(TASK), pt.user(said)) == [0, 1]


@pytest.mark.parametrize("said", DEFINITE)
def test_what_surely_says_something_is_the_task_alone(said):
    assert tasks_of(pt.user(TASK), pt.user(said)) == [1]


def test_where_nothing_is_definite_the_longest_is_taken_beside_the_last():
    assert tasks_of(pt.user("continue"), pt.user("make it nicer"), pt.user("go"), pt.assistant("going")) == [1, 2]
    assert tasks_of(pt.user("go"), pt.assistant("going")) == [0]


def test_words_of_a_program_and_results_set_no_task():
    program = pt.user("Sub-agent 3 is done with the deployment of build_7.", synthetic=True)
    in_part = pt.user(Text(text="Sub-agent 4 is done with build_8.", synthetic=True))
    result = pt.Message(role=pt.Role.USER, content=(ToolResult(tool_call_id="c", content="Deploy it."),))
    assert tasks_of(pt.user(TASK), program, in_part, result) == [0]


def test_a_persons_sentence_beside_a_reminder_counts_and_the_reminder_does_not():
    reminder = Text(text="Files that changed: src/a.py, src/b.py, src/c_d.py. " * 4, synthetic=True)
    assert tasks_of(pt.user(TASK), pt.user(reminder, "go on")) == [0, 1]
    assert tasks_of(pt.user(TASK), pt.user(reminder, "now rename parse_token")) == [1]


@pytest.mark.parametrize(
    "policy",
    [pt.Paged(1_500), pt.Reset(8_000), pt.Incremental(8_000), pt.Paged(32_000), pt.Paged.thrifty(32_000)],
    ids=lambda each: each.kind,
)
@pytest.mark.parametrize("can_recall", [True, False])
def test_small_talk_does_not_push_the_real_task_out(policy, can_recall):
    options = {} if can_recall else {"recall": None}
    session = open_session(policy=policy, **options)
    session.append(pt.user(TASK))
    work(session, 5)
    session.append(pt.user("how is it going?"))
    for context in work(session, 70, start=5, lines=30):
        assert TASK in words(context)
        assert "how is it going?" in words(context)
    assert reopened(session, **options).derive().messages == session.derive().messages


def test_a_task_that_had_gone_into_a_sealed_line_comes_back_when_it_is_the_task_again():
    """Its successor is erased, and people said too much since for it to come back as something that was merely said."""
    session = open_session(policy=pt.Paged(1_500))
    first = "Make the sessions of src/auth/login.py expire after thirty minutes, and add a test for it."
    work(session, 6, lines=10)
    page = session.append(pt.user(first))
    work(session, 6, start=6, lines=10)
    second = session.append(
        pt.user("Now rename every helper of src/auth/tokens.py, and keep the old names as aliases.")
    )
    for number in range(12, 102):
        work(session, 1, start=number, lines=10)
        session.append(pt.user("yes, please go on with all of that"))
    context = session.derive()
    assert any(line.sealed and line.first <= page.seq <= line.last for line in session.reader.lines)
    assert not any(message.text == first for message in context.messages)
    session.erase(second.handle)
    again = session.derive()
    assert any(message.text == first for message in again.messages)
    assert again.explain(page.handle).why == "task"
