"""Everything that a context reports and checks is counted for the model that the call is for, whoever counted the pages."""

import pytest

import pageturn as pt
from pageturn.tokens.counters import counter_for
from tests.context.test_turns import work
from tests.policies.own import SpendsAll
from tests.sessions import call, forked, open_session, reopened

MODELS = ("gpt-5", "claude-sonnet-4", "gemini-2.5-pro", "mistral-small", "a-model-that-nobody-knows")
POLICIES = (pt.Legacy(), pt.Reset(60_000), pt.Incremental(60_000), pt.Paged(60_000), pt.Paged.thrifty(60_000))


def counted(context, model):
    counter = counter_for(model)
    tools = [tool.definition if isinstance(tool, pt.RecallTool) else tool for tool in context.tools]
    return counter.tools(tools) + sum(map(counter.message, context.messages))


def filled(policy, results=38, size=18_000, **options):
    session = open_session(policy=policy, **options)
    session.extend([pt.system("S"), pt.user("Fix the login in src/auth.py")])
    for number in range(results):
        read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
        session.extend(
            [pt.assistant("n", read), pt.tool_result(read, f"value_{number} = compute({number})\n" * (size // 25))]
        )
    return session


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_context_is_counted_for_the_model_of_the_call(policy, model):
    session = filled(policy)
    context = session.derive(model=model)
    assert context.tokens == counted(context, model)
    assert context.tokens <= context.budget_tokens


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_session_remembers_its_model(policy):
    session = filled(policy, results=6, model="claude-sonnet-4")
    assert session.reader.model == "claude-sonnet-4"
    again = reopened(session)
    assert again.reader.model == "claude-sonnet-4"
    assert again.derive().tokens == session.derive().tokens == counted(session.derive(), "claude-sonnet-4")
    assert session.fork("other").reader.model == "claude-sonnet-4"
    other = reopened(session, model="gemini-2.5-pro")
    assert reopened(session).reader.model == other.reader.model == "gemini-2.5-pro"


def test_a_fork_of_an_earlier_place_has_the_model_of_that_place():
    session = filled(pt.Paged(60_000), results=2, model="gpt-5")
    before = session.reader.entries()[-1].seq
    session = reopened(session, model="claude-sonnet-4")
    session.append(pt.user("Go on."))
    assert session.fork("now").derive().model == "claude-sonnet-4"
    early = forked(session, "early", upto=before)
    assert early.derive().model == early.reader.model == "gpt-5"
    assert reopened(early).derive().messages == early.derive().messages
    assert reopened(early).derive().model == "gpt-5"


def test_a_model_that_somebody_else_chose_is_the_sessions_model():
    session = filled(pt.Paged(60_000), results=2, model="gpt-5")
    reopened(session, model="claude-sonnet-4")
    session.refresh()
    context = session.derive()
    assert context.model == session.reader.model == "claude-sonnet-4"
    assert context.tokens == counted(context, "claude-sonnet-4") == reopened(session).derive().tokens


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_session_that_is_opened_for_another_model_does_not_mix_counts(policy):
    session = filled(policy, model="gpt-5")
    again = reopened(session, model="claude-sonnet-4")
    read = call("new", "read")
    again.extend([pt.assistant("n", read), pt.tool_result(read, "value = compute()\n" * 500)])
    for model in ("claude-sonnet-4", "gpt-5"):
        context = again.derive(model=model)
        assert context.tokens == counted(context, model) <= context.budget_tokens


def test_a_small_model_for_one_turn_and_back_again():
    session = open_session(policy=SpendsAll(100_000), model="claude-sonnet-4")
    session.extend([pt.system("You are careful."), pt.user("Fix it.")])
    work(session, 40, lines=200)
    before = session.derive()
    assert before.tokens > 25_000
    small = session.derive(model="mistral-small")
    assert small.tokens == counted(small, "mistral-small") <= 19_756
    session.append(pt.assistant("a turn of the small one"))
    back = session.derive()
    assert back.tokens == counted(back, "claude-sonnet-4")
    assert back.model == "claude-sonnet-4"
    assert session.reader.shown.model == "mistral-small"
    assert back.messages[: len(small.messages)] == small.messages
    assert pt.to_json(list(reopened(session).derive().messages)) == pt.to_json(list(back.messages))


@pytest.mark.parametrize("models", [("gpt-5", "claude-sonnet-4"), ("claude-sonnet-4", "gpt-5")])
def test_between_folds_a_change_of_model_leaves_every_byte(models):
    session = open_session(policy=SpendsAll(12_000), model=models[0])
    session.extend([pt.system("You are careful."), pt.user("Fix it.")])
    for number in range(60):
        context = session.derive(model=models[number % 2])
        assert context.tokens == counted(context, models[number % 2])
        read = call(number, "read", f'{{"path": "src/m{number}.py"}}')
        session.append(pt.assistant("reading", read))
        session.append(pt.tool_result(read, f"value_{number} = compute_{number}()\n" * 60))
        after = session.derive(model=models[(number + 1) % 2])
        if after.fold is None:
            assert after.messages[: len(context.messages)] == context.messages


def test_a_hosts_own_counter_counts_every_call():
    class Words:
        name, exact = "words", False

        def text(self, text):
            return len(text.split())

        def message(self, message):
            return 1 + len(pt.to_json(message.content).split())

        def tools(self, tools):
            return 10 * len(tools)

    session = open_session(counter=Words(), model="claude-sonnet-4")
    session.append(pt.user("one two three"))
    assert session.derive().tokens == session.derive(model="gpt-5").tokens
