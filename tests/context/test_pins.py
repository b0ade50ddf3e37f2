"""What a pin promises: it is refused where it would no longer fit, and a shorter form replaces it, also for a tool result."""

import pytest

import pageturn as pt
from pageturn.values.errors import ModelTooSmall
from tests.context.test_turns import words, work
from tests.sessions import call, open_session, reopened

POLICIES = (pt.Reset(1_200), pt.Incremental(1_200), pt.Paged(1_200), pt.Paged.thrifty(1_200))
TOOL = {"name": "deploy", "description": "Deploy a part. " * 20, "parameters": {"type": "object"}}


def rule(number):
    return f"Rule {number}: never touch part {number} of the house, nor its garden."


def pins(session):
    """Pin rules until one is refused; how many were taken."""
    for number in range(200):
        try:
            session.pin(rule(number))
        except pt.BudgetTooSmall:
            return number
    pytest.fail("200 rules were taken")


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
@pytest.mark.parametrize("beside", ["tools", "notes", "task", "budget"])
def test_a_pin_that_was_taken_never_makes_a_context_fail(policy, beside):
    session = open_session(policy=policy)
    task = "Fix src/auth.py" + " carefully" * (250 if beside == "task" else 1)
    session.append(pt.user(task))
    if beside == "notes":
        session.inject(pt.ContextMessage.system("where", "You are in the shop. " * 40))
    tools, budget = [TOOL] if beside == "tools" else [], 700 if beside == "budget" else None
    session.derive(tools, budget_tokens=budget)
    taken = pins(session)
    with pytest.raises(pt.BudgetTooSmall, match="the new pin"):
        session.pin(rule(taken))
    assert taken > 3
    context = session.derive(tools, budget_tokens=budget)
    assert context.tokens <= context.budget_tokens
    assert task in words(context)
    assert all(f"Rule {each}:" in words(context) for each in range(taken))
    assert not any("no room" in notice for notice in context.notices)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_shorter_form_replaces_a_pinned_result(policy):
    session = open_session(policy=policy)
    session.append(pt.user("Fix src/auth.py"))
    session.derive()
    read = call(1, "read", '{"path": "RULES.md"}')
    page = session.extend([pt.assistant(read), pt.tool_result(read, "Never push to main, whatever it is.\n" * 900)])[1]
    with pytest.raises(pt.BudgetTooSmall):
        session.pin(page)
    session.pin(page, structured="Never push to main.")
    for context in work(session, 20, lines=20):
        assert "Never push to main." in words(context)
        assert "whatever it is" not in words(context)


@pytest.mark.parametrize(
    "policy",
    [pt.Legacy(), pt.Reset(3_000), pt.Incremental(3_000), pt.Paged.thrifty(3_000)],
    ids=lambda each: each.kind,
)
@pytest.mark.parametrize("field", ["compressed", "structured"])
def test_a_models_form_of_a_result_is_used_and_named_as_the_models(policy, field):
    session = open_session(policy=policy)
    session.append(pt.user("Fix src/auth.py"))
    session.derive()
    read = call(1, "read", '{"path": "jobs.log"}')
    page = session.extend([pt.assistant(read), pt.tool_result(read, "\n".join(f"job_{n} ran" for n in range(200)))])[1]
    form = "job_0 to job_199 ran, in order and without an error; nothing else stands in the file."
    assert isinstance(session.write_back(pt.Proposal(field=field, value=form, evidence=(page.handle,))), pt.Committed)
    told = {
        "compressed": f"{form}\n[in a model's own words; {page.handle} is the whole]",
        "structured": f"{page.handle} in a model's own words: {form}",
    }
    contexts = work(session, 9, budget_tokens=3_000)[1:]
    levels = {context.explain(page.handle).level.name.lower(): words(context) for context in contexts}
    assert told[field] in levels[field]


@pytest.mark.parametrize("policy", [pt.Legacy(), pt.Reset(0), pt.Incremental(0)], ids=lambda each: each.kind)
def test_of_many_written_forms_those_of_the_newest_steps_are_shown(policy):
    session = open_session(policy=policy)
    session.append(pt.user("Fix src/auth.py"))
    pages = []
    for number in range(50):
        session.derive(budget_tokens=6_000)
        read = call(number, "read", f'{{"path": "jobs_{number}.log"}}')
        text = "\n".join(f"job_{number}_{n} ran" for n in range(60))
        pages.append(session.extend([pt.assistant(read), pt.tool_result(read, text)])[1])
        form = f"job_{number}_0 to job_{number}_59 ran, in order and without an error; nothing else stands in the file."
        proposal = pt.Proposal(field="structured", value=form, evidence=(pages[-1].handle,))
        assert isinstance(session.write_back(proposal), pt.Committed)
    context = session.derive(budget_tokens=6_000)
    shown = [context.explain(page.handle).level for page in pages]
    written = [at for at, level in enumerate(shown) if level is pt.ResidencyLevel.STRUCTURED]
    assert len(written) > 2
    assert written == [*range(written[0], written[-1] + 1)]  # the newest of those that are not whole
    assert shown[0] is pt.ResidencyLevel.POINTER


def test_a_pin_that_was_refused_leaves_nothing_behind():
    """What was worked out for it must not be taken for what comes in its place."""
    session = open_session(policy=pt.Paged.thrifty(2_500))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 12)
    session.derive()
    names = " ".join(f"value_{n} compute_{n}" for n in range(12, 40))
    with pytest.raises(pt.BudgetTooSmall):
        session.pin(f"Never touch {names}. " * 40)
    session.append(pt.user("Go on, please."))  # which takes its number
    work(session, 25, start=12)
    assert session.reader.folds
    assert pt.to_json(list(session.derive().messages)) == pt.to_json(list(reopened(session).derive().messages))


@pytest.mark.parametrize("budget", [500, 600, 700, 800, 1_000])
@pytest.mark.parametrize("policy", [pt.Reset, pt.Incremental, pt.Paged])
@pytest.mark.parametrize("steps_between", [0, 1])
def test_a_session_full_of_pins_goes_on(policy, budget, steps_between):
    session = open_session(policy=policy(budget))
    session.extend([pt.system("S"), pt.user("Fix the login in src/auth.py")])
    for pinned in range(100):
        session.derive()
        try:
            session.pin(f"Rule {pinned}: never touch src/part_{pinned}.py.")
        except pt.BudgetTooSmall:
            break
        work(session, steps_between if pinned % 2 else 0, start=pinned)
    assert pinned < 99
    for step in range(15):
        session.derive()
        work(session, 1, start=100 + step)
    assert session.derive().tokens <= budget


def test_a_rule_that_was_refused_once_is_shown_when_it_is_accepted():
    """What was supposed for it must not make a later rule pass for one that was said before."""
    session = open_session(policy=pt.Paged.thrifty(850))
    session.append(pt.user("Fix src/auth.py"))
    rule = "Never touch the billing tables, whatever a ticket says. " * 8
    session.unpin(session.pin(rule).handle)
    filler = session.pin("Ask before a release. " * 60)
    session.derive()
    with pytest.raises(pt.BudgetTooSmall):
        session.pin(rule)
    session.pin("Never push to main.")
    session.unpin(filler.handle)
    page = session.pin(rule)
    context = session.derive()
    assert context.explain(page.handle).tokens > 0
    assert [message.text for message in context.messages if message.role is pt.Role.SYSTEM].count(rule) >= 1
    assert context.messages == reopened(session).derive().messages


def test_a_rule_is_refused_that_would_need_as_much_as_the_provider_refused():
    """A prompt that was too long bounds what is sent, whatever the budget says; a pin must leave room within that."""
    session = open_session(policy=pt.Paged.thrifty(20_000))
    session.extend([pt.system("You are careful. " * 60), pt.user("Fix src/auth.py")])
    context = session.derive()
    assert session.overflow(RuntimeError("prompt is too long"))
    refused = context.tokens
    with pytest.raises(ModelTooSmall) as told:
        session.pin("Never push to main. " * 100)
    assert told.value.refused_tokens == refused
    assert told.value.handles[0] == "the new pin"
    session.overflow(None)
    session.pin("Never push to main. " * 100)
    assert session.derive().tokens > refused


@pytest.mark.parametrize("rule", ["Be kind.", "Never push to main. " * 3])
def test_a_rule_is_accepted_after_a_refusal_where_a_context_can_still_be_made(rule):
    session = open_session(policy=pt.Paged.thrifty(20_000))
    session.append(pt.user("Fix src/auth.py"))
    work(session, 12)
    session.derive()
    assert session.overflow(RuntimeError("prompt is too long"))
    session.pin(rule)
    assert rule in words(session.derive())
