"""The fakes do what they say, and a session can be built of them."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

import pageturn as pt
from pageturn.testing import FailingStore, FixedClock, Script, WordCounter, check_context, open_session, seeded
from pageturn.tokens.counters import counter_for


def test_a_fixed_clock_ticks_the_same_in_every_run():
    clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC), step_seconds=60)
    assert [clock().minute for _ in range(3)] == [1, 2, 3]
    clock.now += timedelta(days=1)
    assert clock().day == 2
    assert seeded(7)(16) == seeded(7)(16) != seeded(8)(16)


def test_two_sessions_of_one_script_are_the_same():
    contexts = [Script(open_session(), budget_tokens=3_000).begin().work(20) for _ in range(2)]
    assert contexts[0] == contexts[1]
    assert any(context.fold for context in contexts[0])


def test_a_counter_of_words_counts_words_and_pictures():
    counter = WordCounter()
    assert counter.text("three little words") == 3
    picture = pt.Image(url="https://e.org/a.png", width=9, height=9)
    assert counter.message(pt.user(picture)) > 300
    assert counter.message(pt.tool_result("c", picture)) > 300


def test_a_store_fails_at_the_append_that_was_named_and_the_session_goes_on():
    store = FailingStore()
    session = open_session(store)
    store.fail_on = store.appends + 2
    session.append(pt.user("one"))
    with pytest.raises(pt.StoreError, match="fails because it was told to"):
        session.append(pt.user("two"))
    session.append(pt.user("three"))
    assert [message.text for message in session.reader.messages()] == ["one", "three"]


def test_a_store_that_is_down_answers_nothing_until_it_is_up():
    store = FailingStore()
    session = open_session(store)
    page = session.append(pt.user("the login fails"))
    store.is_down = True
    with pytest.raises(pt.StoreError, match="the store is down"):
        session.append(pt.user("more"))
    assert isinstance(session.recall("login"), pt.BackendError)
    store.is_down = False
    assert session.resolve(page).text == "the login fails"


def test_a_context_that_breaks_a_promise_is_noticed():
    script = Script(open_session(), budget_tokens=3_000).begin()
    script.session.pin("Never push to main.")
    context = script.work(12)[-1]
    check_context(script.session, script.derive(), budget_tokens=3_000)
    call = pt.ToolCall(id="x", name="read", arguments="{}")
    for messages, told in [
        ((*context.messages, pt.assistant(call)), "a result directly after every call"),
        ((*context.messages, pt.tool_result(call, "ok")), "a call before every result"),
        (context.messages[:-2], "tokens, as .* counts them"),
    ]:
        with pytest.raises(AssertionError, match=told):
            check_context(script.session, replaced(context, messages=messages))
    with pytest.raises(AssertionError, match="at most 50 tokens"):
        check_context(script.session, context, budget_tokens=50)
    silent = tuple(message for message in context.messages if message.text != "Never push to main.")
    with pytest.raises(AssertionError, match=r"the words of the rule p\d+-"):
        check_context(script.session, replaced(context, messages=silent, counted=True))
    folded = tuple(placement for placement in context.folded[::-1])
    with pytest.raises(AssertionError, match="in the order in which they came"):
        check_context(script.session, replaced(context, folded=folded))


def replaced(context, *, counted=False, **changes):
    """A context that was tampered with; `counted` puts its number of tokens right again."""
    changed = msgspec.structs.replace(context, **changes)
    if not counted:
        return changed
    counter = counter_for(context.model)
    gone = [message for message in context.messages if message not in changed.messages]
    return msgspec.structs.replace(changed, tokens=context.tokens - sum(map(counter.message, gone)))
