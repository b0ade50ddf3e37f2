"""A rule that comes again byte for byte is shown and charged once; the opening prompt changes only where somebody says so."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.messages import developer
from tests.context.test_turns import work
from tests.sessions import open_session, reopened

POLICIES = (pt.Legacy(), pt.Reset(6_000), pt.Incremental(6_000), pt.Paged.thrifty(6_000))
PROMPT = "You are a careful agent. " * 60


def shown(context, text):
    return sum(text in message.text for message in context.messages)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
@pytest.mark.parametrize("can_recall", [True, False])
def test_a_prompt_that_is_sent_again_and_again_is_charged_once(policy, can_recall):
    session = open_session(policy=policy, **({} if can_recall else {"recall": None}))
    session.extend([pt.system(PROMPT), pt.user("Fix it.")])
    for number in range(12):
        work(session, 3, start=3 * number)
        session.append(pt.system(PROMPT))
        context = session.derive()
        assert shown(context, PROMPT) == 1
        assert context.tokens <= context.budget_tokens
        assert session.derive(budget_tokens=2_500).tokens <= 2_500
    assert pt.to_json(
        list(reopened(session, **({} if can_recall else {"recall": None})).derive().messages)
    ) == pt.to_json(list(session.derive().messages))


def test_what_a_client_sends_again_after_its_own_compaction_needs_no_larger_budget():
    """Two prompts of 9,000 tokens in all, one of them sent again: synthetic, with the sizes of a real session."""
    session = open_session(policy=pt.Paged.thrifty(12_000))
    rules, tools = "Rule: check every change twice. " * 600, "Tool notes: prefer rg. " * 700
    session.extend([pt.system(rules), pt.system(tools), pt.user("Fix src/auth.py")])
    work(session, 5)
    once = session.derive(budget_tokens=0)
    session.append(pt.system(rules))
    again = session.derive()
    assert shown(again, rules) == 1
    assert again.tokens <= once.tokens + 300


def test_pins_of_the_same_words_are_one_and_outlive_each_other():
    session = open_session(policy=pt.Paged.thrifty(6_000))
    session.append(pt.user("Fix it."))
    first, second = session.pin("Never push to main."), session.pin("Never push to main.")
    assert shown(session.derive(), "Never push to main.") == 1
    work(session, 10)
    session.unpin(first)
    for context in work(session, 30, start=10):
        assert shown(context, "Never push to main.") == 1
    session.erase(first)
    assert shown(session.derive(), "Never push to main.") == 1
    session.unpin(second)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_pin_that_says_what_the_prompt_says_is_not_shown_a_second_time_once_it_is_unpinned(policy):
    session = open_session(policy=policy)
    session.extend([pt.system(PROMPT), pt.user("Fix it.")])
    pinned = session.pin(PROMPT)
    session.extend([pt.assistant("Done."), pt.user("Go on.")])
    assert shown(session.derive(), PROMPT) == 1
    session.append(pt.assistant("Done too."))
    session.unpin(pinned)
    assert shown(session.derive(), PROMPT) == 1
    assert session.derive().messages == reopened(session).derive().messages
    session.erase(session.reader.pages()[0])
    assert shown(session.derive(), PROMPT) == 1  # as what was said then, now that nothing else says it
    assert session.derive().messages == reopened(session).derive().messages


def test_other_words_or_another_role_are_another_rule():
    session = open_session()
    session.extend([pt.system("Be brief."), pt.system("Be brief. "), developer("Be brief."), pt.user("go")])
    assert sum(message.text.strip() == "Be brief." for message in session.derive().messages) == 3


def test_a_rule_whose_first_copy_is_undone_or_erased_is_still_shown():
    session = open_session(policy=pt.Paged.thrifty(6_000))
    page = session.append(pt.system("Be brief."))
    session.append(pt.user("go"))
    work(session, 2)
    session.append(pt.system("Be brief."))
    assert shown(session.derive(), "Be brief.") == 1
    session.erase(page)
    assert shown(session.derive(), "Be brief.") == 1  # only that page was erased


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_set_system_replaces_the_opening_prompt_and_records_a_fold(policy):
    session = open_session(policy=policy)
    old = session.append(pt.system("You are a poet."))
    session.extend([pt.system("You like rhymes."), pt.user("Fix it.")])
    session.pin("Never push to main.")
    work(session, 6)
    new = session.set_system("You are an engineer.")
    context = session.derive()
    assert context.fold is not None
    assert context.messages[0].text == "You are an engineer."
    assert not shown(context, "poet")
    assert not shown(context, "rhymes")
    assert shown(context, "Never push to main.") == 1
    assert session.resolve(old.handle).text == "You are a poet."
    assert session.set_system("You are an engineer.") == new
    work(session, 3, start=6)
    assert session.derive().fold is None
    session.set_system("You are a reviewer.")
    again = session.derive()
    assert again.messages[0].text == "You are a reviewer."
    assert not shown(again, "You are an engineer.")
    assert pt.to_json(list(reopened(session).derive().messages)) == pt.to_json(list(again.messages))
    assert session.fork("other").derive().messages[0].text == "You are a reviewer."
    assert "reviewer" in str(anthropic.dump(again)["system"])
    assert "reviewer" in str(openai_chat.dump(again)["messages"][0])
    assert "reviewer" in str(openai_responses.dump(again))
    assert "reviewer" in str(gemini.dump(again)["config"]["system_instruction"])


def test_a_prompt_that_merely_looks_like_the_old_one_replaces_nothing():
    session = open_session()
    session.extend([pt.system("You are a poet."), pt.user("go"), pt.assistant("ok"), pt.system("You are a poet!")])
    assert shown(session.derive(), "You are a poet") == 2


def test_set_system_may_come_first_and_refuses_what_is_no_text():
    session = open_session()
    session.set_system("You are an engineer.")
    session.append(pt.user("go"))
    assert session.derive().messages[0].text == "You are an engineer."
    with pytest.raises(pt.InvalidInput, match="text"):
        session.set_system(" ")


def test_a_prompt_that_says_what_a_pin_says_stands_first_all_the_same():
    session = open_session()
    session.extend([pt.system("You are an agent."), pt.user("Fix src/auth.py")])
    pin = session.pin("Never push to main.")
    session.derive()
    session.append(pt.assistant("Yes."))
    page = session.set_system("Never push to main.")
    context = session.derive()
    assert context.messages[0].text == "Never push to main."
    assert shown(context, "Never push to main.") == 1
    assert context.explain(pin.handle).tokens == 0
    assert context.messages == reopened(session).derive().messages
    session.append(pt.assistant("Done."))
    session.erase(page.handle)  # then the pin is the only one that says so
    assert shown(session.derive(), "Never push to main.") == 1
    session.set_system("You are another agent.")
    assert [each.text for each in session.derive().messages if each.role is pt.Role.SYSTEM] == [
        "You are another agent.",
        "Never push to main.",
    ]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.kind)
def test_a_prompt_that_was_sent_again_leaves_with_the_one_that_is_replaced(policy):
    session = open_session(policy=policy)
    session.extend([pt.system("You are an agent."), pt.user("Fix it."), pt.assistant("Done.")])
    session.extend([pt.system("You are an agent."), pt.user("Now the tests.")])
    pinned = session.pin("Never push.")
    session.derive()
    session.set_system("You are a reviewer.")
    context = session.derive()
    rules = [message.text for message in context.messages if message.role is pt.Role.SYSTEM]
    assert rules == ["You are a reviewer.", "Never push."]
    session.append(pt.assistant("ok"))
    assert pt.to_json(list(reopened(session).derive().messages)) == pt.to_json(list(session.derive().messages))
    assert session.reader.level(pinned) is pt.ResidencyLevel.FULL
