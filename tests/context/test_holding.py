"""What was shown holds, whatever is written between a context and its answer, and however the session is opened again."""

import json
import re

import pytest

import pageturn as pt
from pageturn.formats import anthropic
from pageturn.values.messages import Native, Thinking
from pageturn.values.proposals import Op
from tests.context.checks import check_all, check_pairs
from tests.context.test_turns import words, work
from tests.sessions import open_session, reopened


def same(session, **options):
    """Whether another process would derive the same."""
    ours, theirs = session.derive(), reopened(session, **options).derive()
    return (pt.to_json(list(ours.messages)), ours.tokens) == (pt.to_json(list(theirs.messages)), theirs.tokens)


def folding(session, page):
    """Work until the next context is a fold in which a page sinks."""
    for number in range(100):
        context = session.derive()
        if context.fold and context.explain(page.handle).level < pt.ResidencyLevel.FULL:
            return context
        work(session, 1, start=number)
    raise AssertionError("no fold")


@pytest.fixture
def sinking():
    session = open_session(policy=pt.Paged.thrifty(4_000))
    session.append(pt.user("Fix it."))
    early = session.append(pt.user("The deploy key is in the vault. " * 30, synthetic=True))
    session.append(pt.user("Now fix the other thing."))
    folding(session, early)
    return session, early


def test_a_pin_between_a_fold_and_its_answer_holds(sinking):
    session, early = sinking
    session.pin(early)
    session.extend([pt.assistant("done"), pt.user("go")])
    assert session.derive().explain(early.handle).level is pt.ResidencyLevel.FULL
    assert same(session)


def test_a_form_that_is_admitted_between_a_fold_and_its_answer_waits_for_the_next_fold(sinking):
    session, early = sinking
    form = pt.Proposal(field="structured", op=Op.APPEND, value="deploy key: vault", evidence=(early.handle,))
    assert isinstance(session.write_back(form), pt.Committed)
    session.extend([pt.assistant("done"), pt.user("go")])
    context = session.derive()
    assert context.fold is None
    assert "deploy key: vault" not in words(context)
    assert same(session)
    session.choose(pt.Paged.thrifty(3_000))
    assert "deploy key: vault" in words(session.derive())


def test_usage_of_an_empty_context_is_no_harm():
    session = open_session(recall=None)
    session.derive()
    session.append(pt.assistant("hi"), usage=pt.Usage(input_tokens=5))
    assert same(session, recall=None)


def test_unpinning_what_only_its_pin_kept_takes_it_out():
    session = open_session()
    session.append(pt.user("Start."))
    session.derive()
    session.append(pt.assistant("ok"))
    kept = session.append(pt.user("Never touch prod."))
    session.derive()
    session.append(pt.assistant("noted"))
    session.pin(kept)
    session.undo(1)
    session.append(pt.user("go"))
    session.derive()
    session.append(pt.assistant("a"))
    session.unpin(kept)
    session.append(pt.user("more"))
    assert "Never touch prod." not in words(session.derive())
    assert same(session)


def test_a_result_that_comes_late_never_puts_a_page_into_two_lines():
    session = open_session(policy=pt.Paged.thrifty(1_500))
    session.append(pt.user("Fix it."))
    work(session, 4, lines=20)
    build = pt.ToolCall(id="bg", name="build", arguments="{}")
    session.derive()
    session.append(pt.assistant("in the background", build))
    for number in range(60):
        if number == 20:
            session.append(pt.tool_result(build, "built"))
        work(session, 1, start=4 + number, lines=20)
        check_all(session, session.derive(), 1_500)


def test_a_late_result_does_not_raise_what_is_needed():
    session = open_session(policy=pt.Paged.thrifty(4_000))
    session.append(pt.user("Fix it."))
    build = pt.ToolCall(id="bg", name="build", arguments="{}")
    session.derive()
    session.append(pt.assistant("in the background", build))
    work(session, 60)
    session.append(pt.user("And now the other thing."))
    session.append(pt.tool_result(build, "built"))
    with pytest.raises(pt.BudgetTooSmall) as refused:
        session.derive(budget_tokens=150)
    assert refused.value.needed_tokens < 700


@pytest.mark.parametrize(("model", "stays"), [("claude-sonnet-4", True), ("claude-opus-5-5", False)])
def test_thinking_stays_with_the_calls_of_an_open_loop_where_the_model_asks_for_it(model, stays):
    session = open_session(policy=pt.Paged.thrifty(7_000), model=model)
    session.append(pt.user("Fix it. " * 100))
    session.derive()
    read = pt.ToolCall(id="c0", name="read", arguments='{"path":"a.py"}')
    session.append(pt.assistant(Thinking(text="hm", signature="SIG"), read))
    session.append(pt.tool_result(read, "\n".join(f"row {n}: name_0_{n}" for n in range(400))))
    context = session.derive([{"name": "another", "description": "tool", "input_schema": {"type": "object"}}])
    assert context.fold is not None
    (asked,) = (message for message in anthropic.dump(context)["messages"] if message["role"] == "assistant")
    assert [block["type"] for block in asked["content"]] == (["thinking", "tool_use"] if stays else ["tool_use"])
    assert same(session)


def test_without_the_recall_tool_nothing_that_was_pointed_at_before_stays_so():
    session = open_session(policy=pt.Paged.thrifty(4_000))
    session.append(pt.user("Fix it."))
    work(session, 60, lines=20)
    context = reopened(session, recall=None).derive(budget_tokens=0)
    assert context.fold is not None
    assert all(each.line or each.level > pt.ResidencyLevel.POINTER for each in context.layout.placements)
    assert not re.search(r"p\d+-[a-z2-7]{4}", words(context))
    check_pairs(context.messages)


def test_what_a_caller_changes_after_appending_changes_nothing():
    session = open_session()
    item = {"type": "web_search_call", "id": "w1"}
    session.extend([pt.user("Search."), pt.assistant(Native(vendor="openai_responses", item=item, text="searched"))])
    session.derive()
    session.extend([pt.assistant("ok"), pt.assistant(Native(vendor="openai_responses", item=item, text="again"))])
    item["id"] = "changed"
    assert same(session)


def test_a_fork_keeps_what_its_parent_was_given():
    session = open_session(policy=pt.Paged.thrifty(4_000), recall=None)
    session.append(pt.user("Fix it."))
    work(session, 10)
    fork = session.fork("other")
    assert fork.derive().tools == ()
    assert fork.derive().messages == session.derive().messages


def test_other_results_in_between_make_a_repeated_call_no_fault():
    session = open_session(policy=pt.Paged.thrifty(3_000))
    session.append(pt.user("Fix it."))
    for number, outcome in enumerate(("16 passed", "1 failed", "16 passed")):
        session.derive()
        run = pt.ToolCall(id=f"m{number}", name="bash", arguments='{"command": "make test"}')
        session.extend([pt.assistant("testing", run), pt.tool_result(run, f"{outcome}\n" * 60)])
        work(session, 15, start=number * 15)
    assert session.reader.faults() == ()


def test_a_range_that_is_given_whole_is_a_refetch_of_each_page():
    session = open_session(policy=pt.Paged.thrifty(4_000))
    session.append(pt.user("Fix it."))
    work(session, 60, lines=4)
    first, last = session.reader.pages()[1], session.reader.pages()[4]
    assert session.reader.level(first) < pt.ResidencyLevel.FULL
    ask = pt.ToolCall(id="ask", name="recall", arguments=json.dumps({"handle": f"{first.handle}..{last.handle}"}))
    session.derive()
    session.append(pt.assistant("what was that?", ask))
    assert session.answer()
    assert session.reader.fault_counts()["refetch"] == 4


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"tools": None}, "tools"),
        ({"model": 5}, "model"),
        ({"model": ""}, "model"),
        ({"budget_tokens": -1}, "budget_tokens"),
        ({"budget_tokens": 0.0}, "budget_tokens"),
    ],
)
def test_odd_arguments_are_refused_with_their_name(arguments, path):
    session = open_session()
    session.append(pt.user("go"))
    with pytest.raises(pt.InvalidInput) as refused:
        session.derive(**arguments)
    assert refused.value.path == path


def test_tools_may_come_from_a_generator():
    session = open_session()
    session.append(pt.user("go"))
    tool = {"name": "bash", "description": "Run.", "parameters": {"type": "object"}}
    assert session.derive(each for each in [tool]).tools == session.derive([tool]).tools
