"""Reasoning is sent only behind the unchanged prefix that it was made on: a fold, other tools, another model take out all of it behind the change."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic
from pageturn.values.messages import Thinking
from pageturn.values.vendors import ReasoningRule, profile_of
from tests.sessions import call, counter_of, open_session, reopened
from tests.strict import anthropic as strict

BOUND = "claude-opus-5-5"
TOOL = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
OTHER = {"name": "other", "description": "Another.", "input_schema": {"type": "object"}}


def thoughts(context):
    parts = (part for message in context.messages for part in message.content)
    return [part.signature for part in parts if isinstance(part, Thinking)]


def think(session, number, lines=40, tools=(TOOL,), **options):
    context = session.derive(tools, **options)
    read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
    thought = Thinking(text=f"thought {number}", signature=f"sig{number}")
    session.append(pt.assistant(thought, "reading", read))
    session.append(pt.tool_result(read, f"value_{number} = compute_{number}()\n" * lines))
    return context


@pytest.mark.parametrize("model", [BOUND, "claude-sonnet-4", "gpt-5"])
@pytest.mark.parametrize(
    "policy",
    [pt.Paged(6_000), pt.Paged.thrifty(6_000), pt.Reset(6_000), pt.Incremental(6_000)],
    ids=lambda each: each.kind,
)
def test_no_request_of_a_session_has_reasoning_behind_a_change(policy, model):
    session = open_session(policy=policy, model=model)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    requests, folds, thought = [], 0, set()
    for number in range(45):
        context = think(session, number)
        folds += context.fold is not None
        thought.update(thoughts(context))
        request = anthropic.dump(context)
        if model == BOUND:
            found = [
                each for each in strict.problems(request, model=model, previous=requests) if "reasoning" in each.code
            ]
            assert not found
        requests.append(request)
        assert pt.to_json(list(reopened(session).derive([TOOL]).messages)) == pt.to_json(
            list(session.derive([TOOL]).messages)
        )
    assert folds > 1
    assert len(thought) > 20


def test_between_folds_it_stays_and_a_fold_takes_out_what_is_behind_its_first_change():
    session = open_session(policy=pt.Paged.thrifty(6_000), model=BOUND)
    session.append(pt.user("Fix src/auth.py"))
    before = []
    for number in range(60):
        context = think(session, number)
        if context.fold is None:
            assert thoughts(context) == [*before, *([f"sig{number - 1}"] if number else [])][-len(thoughts(context)) :]
            assert set(before) <= set(thoughts(context))
        before = thoughts(context)
    assert session.reader.folds


@pytest.mark.parametrize("notes", [0, 1, 2])
def test_a_fold_leaves_the_reasoning_before_the_first_thing_that_it_changes(notes):
    session = open_session(policy=pt.Paged(60_000), model=BOUND)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    for number in range(notes):
        session.inject(pt.ContextMessage.system(f"note {number}", f"Mind the time, {number}."))
    for number, lines in enumerate((1, 1, 400, 1)):
        think(session, number, lines=lines)
    whole = session.derive([TOOL])
    context = session.derive([TOOL], budget_tokens=whole.tokens - 100)
    levels = {each.level for each in context.layout.placements}
    assert levels == {pt.ResidencyLevel.FULL, pt.ResidencyLevel.STRUCTURED}
    assert thoughts(context) == ["sig0", "sig1"]
    assert context.tokens == counter_of(session).tools([TOOL, pt.RecallTool().definition]) + sum(
        map(counter_of(session).message, context.messages)
    )
    session.append(pt.assistant("done"))
    after = session.derive([TOOL])
    assert after.fold is None
    assert after.messages[: len(context.messages)] == context.messages


def test_other_tools_or_another_model_take_out_all_of_it():
    session = open_session(policy=pt.Paged.thrifty(60_000), model=BOUND)
    session.append(pt.user("Fix src/auth.py"))
    for number in range(4):
        think(session, number)
    assert len(thoughts(session.derive([TOOL]))) == 4
    changed = session.derive([TOOL, OTHER])
    assert changed.fold is not None
    assert thoughts(changed) == []
    assert thoughts(session.derive([TOOL], model="gpt-5")) == []
    assert len(thoughts(session.derive([TOOL]))) == 4  # nobody was sent the others
    think(session, 4, tools=(TOOL, OTHER))
    assert thoughts(session.derive([TOOL, OTHER])) == ["sig4"]
    session.append(pt.assistant(Thinking(text="t", signature="last"), "done"))
    assert thoughts(session.derive([TOOL, OTHER])) == ["sig4", "last"]
    assert thoughts(session.derive([TOOL])) == []
    session.set_system("You are careful.")
    assert thoughts(session.derive([TOOL, OTHER])) == []


def test_what_came_while_the_model_answered_takes_out_the_reasoning_of_the_answer():
    session = open_session(policy=pt.Paged.thrifty(60_000), model=BOUND)
    session.append(pt.user("Fix src/auth.py"))
    think(session, 0)
    session.derive([TOOL])
    session.append(pt.user("wait"))
    session.append(pt.assistant(Thinking(text="t", signature="late"), "ok"))
    context = session.derive([TOOL])
    assert thoughts(context) == ["sig0"]
    assert [message.text for message in context.messages][-2:] == ["wait", "ok"]
    assert context.fold is None
    assert pt.to_json(list(reopened(session).derive([TOOL]).messages)) == pt.to_json(list(context.messages))


def test_a_note_that_stood_behind_the_history_in_one_context_only_does_too():
    session = open_session(policy=pt.Paged.thrifty(60_000), model=BOUND)
    session.append(pt.user("Fix src/auth.py"))
    session.inject(pt.ContextMessage.suffix_system("clock", "It is late."))
    think(session, 0)
    assert thoughts(session.derive([TOOL])) == []


def test_an_answer_that_was_nothing_but_reasoning_leaves_nothing():
    session = open_session(policy=pt.Paged.thrifty(60_000), model=BOUND)
    session.append(pt.user("Fix src/auth.py"))
    session.derive([TOOL])
    session.extend([pt.assistant(Thinking(text="t", signature="s")), pt.user("and?")])
    context = session.derive([OTHER])
    assert [message.role for message in context.messages] == ["user", "user"]


def test_an_overtaken_answer_that_was_nothing_but_reasoning_leaves_nothing_either():
    session = open_session(policy=pt.Paged.thrifty(60_000), model=BOUND)
    session.append(pt.user("Fix src/auth.py"))
    session.derive([TOOL])
    session.append(pt.user("wait"))
    session.extend([pt.assistant(Thinking(text="t", signature="s")), pt.user("and?")])
    context = session.derive([TOOL])
    assert context.fold is None
    assert [message.text for message in context.messages] == ["Fix src/auth.py", "wait", "and?"]
    assert context.tokens == sum(map(counter_of(session).message, context.messages)) + counter_of(session).tools(
        [TOOL, pt.RecallTool().definition]
    )


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("claude-opus-5-5", ReasoningRule.NONE_BEHIND_A_CHANGE),
        ("claude-fable-5.2", ReasoningRule.NONE_BEHIND_A_CHANGE),
        ("anthropic/claude-haiku-5.5", ReasoningRule.NONE_BEHIND_A_CHANGE),
        ("claude-sonnet-4-5", ReasoningRule.OPEN_LOOP_STAYS),
        ("claude-3-7-sonnet", ReasoningRule.OPEN_LOOP_STAYS),
        ("deepseek-reasoner", ReasoningRule.OPEN_LOOP_STAYS),
        ("gpt-5", ReasoningRule.NONE_BEHIND_A_CHANGE),
        ("somebody", ReasoningRule.NONE_BEHIND_A_CHANGE),
    ],
)
def test_the_rule_of_a_model(model, rule):
    assert profile_of(model).reasoning is rule


@pytest.mark.parametrize(("model", "stays"), [("claude-sonnet-4-5", True), (BOUND, False)])
def test_a_fold_in_a_tool_loop_leaves_its_reasoning_to_a_model_that_asks_for_it_and_takes_all_before(model, stays):
    session = open_session(policy=pt.Paged.thrifty(20_000), model=model)
    session.extend([pt.system("You are careful."), pt.user("Fix src/auth.py")])
    for number in range(3):
        think(session, number)
    session.derive([TOOL])
    session.extend([pt.assistant("that is done"), pt.user("And now src/login.py")])
    for number in (3, 4):
        think(session, number)
    assert thoughts(session.derive([TOOL])) == [f"sig{number}" for number in range(5)]
    context = session.derive([TOOL, OTHER])  # what all of it was made on has changed
    assert context.fold is not None
    assert thoughts(context) == (["sig3", "sig4"] if stays else [])


@pytest.mark.parametrize("change", ["pin", "plan", "prefer", "set_system"])
def test_an_instruction_in_the_middle_does_not_end_the_loop_that_a_model_is_in(change):
    session = open_session(policy=pt.Paged.thrifty(60_000), model="claude-sonnet-4-5")
    session.extend([pt.system("S"), pt.user("Fix src/auth.py")])
    for number in range(3):
        think(session, number)
    getattr(session, change)("Never push to main.")
    context = session.derive([TOOL, OTHER])
    assert context.fold is not None
    assert thoughts(context) == ["sig0", "sig1", "sig2"]
    session.extend([pt.assistant("done"), pt.user("Thanks. And now the docs.")])
    assert thoughts(session.derive([TOOL])) == []
