"""What is promised leaves room to go on: pins, plans of the host and of a model; and what stands where nobody has spoken yet is charged."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat
from pageturn.tokens.counters import counter_for
from tests.context.test_pins import pins, rule
from tests.context.test_turns import words, work
from tests.sessions import open_session, reopened

POLICIES = (pt.Reset(1_200), pt.Incremental(1_200), pt.Paged.thrifty(1_200), pt.Legacy())
HUGE = "Rewrite the login, and mind what depends on it. " * 400
GOAL = (
    "Find out why the login returns 500 for some of the users since yesterday, begin with src/auth.py and the middleware that calls it,"
    " then compare the sessions table before and after the last migration; write a test for each cause, mend one at a time, and tell"
    " the support team which accounts were affected so that they can answer the tickets that came in over the weekend"
)


def proposed(goal, session, version=0):
    evidence = (session.reader.pages()[1].handle,)
    return pt.Proposal(field="plan", value=goal, evidence=evidence, op="set_with_version", version=version)


def begun(policy, **options):
    session = open_session(policy=policy, **options)
    session.append(pt.system("Be careful."))
    session.append(pt.user("Fix src/auth.py"))
    session.derive(budget_tokens=1_200)
    return session


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_session_goes_on_beside_as_many_pins_as_were_taken(policy):
    session = begun(policy)
    taken = pins(session)
    assert taken > 3
    for context in work(session, 150, lines=20, budget_tokens=1_200):
        assert context.tokens <= 1_200
        assert all(f"Rule {each}:" in words(context) for each in range(taken))


def test_a_refused_pin_names_a_budget_that_is_enough():
    session = begun(pt.Paged())
    taken = pins(session)
    with pytest.raises(pt.BudgetTooSmall) as refused:
        session.pin(rule(taken))
    assert refused.value.needed_tokens > 1_200
    session.derive(budget_tokens=refused.value.needed_tokens - 1)
    with pytest.raises(pt.BudgetTooSmall):
        session.pin(rule(taken))
    session.derive(budget_tokens=refused.value.needed_tokens)
    session.pin(rule(taken))


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
@pytest.mark.parametrize("plan", [(HUGE,), ("goal", [HUGE])], ids=["goal", "step"])
def test_a_plan_without_room_is_refused_at_once_and_the_one_before_stays(policy, plan):
    session = begun(policy)
    before = session.plan("Find the cause.", ["read", "mend"])
    with pytest.raises(pt.BudgetTooSmall, match="the new plan"):
        session.plan(*plan)
    assert session.reader.plan.goal == "Find the cause."
    assert session.reader.pages()[-1] == before
    assert "Find the cause." in words(session.derive(budget_tokens=1_200))


def test_a_long_plan_whose_current_step_is_short_is_taken():
    session = begun(pt.Paged.thrifty(1_200))
    session.plan("Find the cause.", ["read this"] + [HUGE] * 3)
    for context in work(session, 5, lines=20, budget_tokens=1_200):
        assert "read this" in words(context)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_models_plan_without_room_is_rejected(policy):
    session = begun(policy)
    taken = pins(session)
    outcome = session.write_back(proposed(GOAL, session))
    assert isinstance(outcome, pt.Rejected)
    assert outcome.reason.code == "invariant_violation"
    assert outcome.reason.detail.startswith("it has no room: ")
    assert session.reader.plan is None
    again = reopened(session).derive(budget_tokens=1_200)
    assert all(f"Rule {each}:" in words(again) for each in range(taken))


def test_a_models_plan_with_room_is_committed():
    session = begun(pt.Paged.thrifty(1_200))
    assert isinstance(session.write_back(proposed(GOAL, session)), pt.Committed)
    assert session.reader.plan.goal == GOAL


def test_a_models_plan_that_lost_its_room_while_it_waited_is_rejected_when_it_is_approved():
    session = begun(pt.Paged.thrifty(1_200))
    session.plan("Find the cause.")
    waiting = session.write_back(proposed(GOAL, session, version=1))
    assert isinstance(waiting, pt.Waiting)
    pins(session)
    assert isinstance(session.approve(waiting.txn), pt.Rejected)
    assert session.reader.plan.goal == "Find the cause."


@pytest.mark.parametrize("model", ["gpt-5", "claude-sonnet-4", "gemini-2.5-pro", "unknown-model"])
@pytest.mark.parametrize("spoken", [[], [pt.system("Be careful.")], [pt.system("Be careful."), pt.assistant("Hello.")]])
def test_what_stands_where_no_person_has_spoken_is_charged(model, spoken):
    session = open_session(model=model, recall=None)
    session.extend(spoken)
    session.prefer("Short answers.")
    session.plan("Wait for the user.")
    context = session.derive()
    dumps = {"claude-sonnet-4": anthropic, "gemini-2.5-pro": gemini}
    dumped = dumps.get(model, openai_chat).dump(context)
    sent = str(dumped)
    counter = counter_for(model)
    assert "(Continue.)" in sent
    assert context.tokens >= sum(map(counter.message, context.messages)) + counter.text("(Continue.)")


@pytest.mark.parametrize("model", ["gpt-5", "claude-sonnet-4"])
def test_nothing_is_charged_for_nothing(model):
    assert open_session(model=model, recall=None).derive().tokens == 0


def test_room_is_counted_as_the_model_of_the_call_counts():
    prompt = "Mind every rule of this house, and ask before you push. " * 40
    session = open_session(policy=pt.Legacy(), model="claude-sonnet-4")
    session.extend([pt.system(prompt), pt.user("Fix src/auth.py")])
    counter = counter_for("gpt-5")
    context = session.derive(model="gpt-5", room_tokens=900)
    assert context.budget_tokens - 900 == counter.message(pt.system(prompt)) + counter.tools(
        [tool.definition if isinstance(tool, pt.RecallTool) else tool for tool in context.tools]
    )
