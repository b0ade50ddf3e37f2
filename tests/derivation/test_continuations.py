"""What people type to keep an agent going sets no task; whatever says something does."""

import pytest

import pageturn as pt
from pageturn.layout import Why
from tests.sessions import open_session

TASK = "Make the session of src/auth/login.py expire."
GO_ON = ("continue", "status", "resume", "go", "go on", "keep going", "hey", "ok", "okay", "yes", "y")


def task_of(*messages):
    """Which of these messages is the task of a context."""
    session = open_session(policy=pt.Paged(budget_tokens=3_000, low=0.0, high=0.0))  # every context is a fold
    pages = session.append(*messages)
    context = session.derive()
    (task,) = (at for at, page in enumerate(pages) if context.explain(page.handle).why is Why.TASK)
    return task


@pytest.mark.parametrize("word", GO_ON)
@pytest.mark.parametrize("spelled", ["{}", " {}\n", "{}!!!", "...{}?"])
def test_a_word_to_go_on_leaves_the_task_as_it_is(word, spelled):
    assert task_of(pt.user(TASK), pt.user(spelled.format(word).upper())) == 0
    assert task_of(pt.user(TASK), pt.user(spelled.format(word))) == 0


@pytest.mark.parametrize("said", ["no", "thanks", "do it", "proceed", "yes please", "ok, and now the next one", "weiter", "да", "继续", "👍", ""])  # fmt: skip
def test_so_do_other_words_that_only_answer(said):
    assert task_of(pt.user(TASK), pt.user(said)) == 0


@pytest.mark.parametrize(
    "said",
    [
        "stop",
        "continue with the logout",
        "ok, but with tabs",
        "status 500 again",
        pt.Image(url="https://e.org/a.png", width=64, height=64),
        pt.File(path="notes.pdf"),
    ],
)
def test_what_says_something_is_the_task(said):
    assert task_of(pt.user(TASK), pt.user(said)) == 1


@pytest.mark.parametrize(("said", "task"), [("ok " * 26 + "ok", 0), ("ok " * 26 + "ok!", 1), ("да " * 16, 0), ("да " * 17, 1)])  # fmt: skip
def test_only_eighty_bytes_are_mere_words_to_go_on(said, task):
    assert task_of(pt.user(TASK), pt.user(said)) == task


def test_where_there_is_nothing_else_the_last_word_to_go_on_is_the_task():
    assert task_of(pt.user("continue"), pt.user("go"), pt.assistant("going")) == 1


def test_words_of_a_program_and_results_set_no_task():
    program = pt.user("Sub-agent 3 is done with the deployment.", synthetic=True)
    result = pt.Message(role=pt.Role.USER, content=(pt.ToolResult(tool_call_id="c", content="Deploy it."),))
    assert task_of(pt.user(TASK), program, result) == 0
