"""Checks a token counter: whole numbers, the same each time, and a charge for everything that is sent."""

from collections.abc import Callable
from typing import Any

from pageturn.stores.memory import MemoryStore
from pageturn.testing.cases import Case, Suite, check_all, expect, expect_equal
from pageturn.testing.contexts import check_context
from pageturn.testing.sessions import Script, open_session
from pageturn.tokens.counters import TokenCounter
from pageturn.values.errors import show
from pageturn.values.json import to_json
from pageturn.values.messages import Message, Native, Thinking, ToolCall, assistant, tool_result, user

MakeCounter = Callable[[], TokenCounter]
"""Makes a counter; two that are made one after the other count alike."""

SUITE = Suite[[MakeCounter]]("check_counter")
_LONG = " ".join(f"word{number}" for number in range(200))
_TEXTS = ["one", "Two words.", _LONG, "请看第三行。" * 20, "🎉" * 50, "a\0b", "x" * 5_000, "\n" * 500]
_TOOL: dict[str, Any] = {
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {}},
}
_BUDGET = 3_000


def check_counter(make: MakeCounter, *, only: str | None = None) -> None:
    """Check a counter of your own: `check_counter(lambda: MyCounter())`. Raises an `AssertionError` that says what fails."""
    check_all(SUITE.runs(make), only)


def counter_cases() -> tuple[Case[[MakeCounter]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(make)`."""
    return SUITE.cases


@SUITE.claim
def it_has_a_name_and_says_how_it_counts(make: MakeCounter) -> None:
    counter = make()
    for field in ("name", "described"):
        text = getattr(counter, field)
        expect(isinstance(text, str) and bool(text.strip()), expected=f"some text as its `{field}`", got=show(text))
    expect(type(counter.exact) is bool, expected="True or False as `exact`", got=counter.exact)
    expect_equal(make().name, counter.name, "the name of a second one")


@SUITE.claim
def counts_are_whole_numbers_and_the_same_each_time(make: MakeCounter) -> None:
    counter, other = make(), make()
    for text in _TEXTS:
        counts = [counter.text(text), counter.text(text), other.text(text)]
        is_whole = all(type(count) is int and count >= 0 for count in counts)
        expect(is_whole, expected=f"whole numbers for {text[:20]!r}", got=counts)
        expect(len(set(counts)) == 1, expected=f"the same number each time for {text[:20]!r}", got=counts)
        said = [counter.message(user(text)), other.message(user(text))]
        expect(type(said[0]) is int and said[0] == said[1] >= 0, expected="the same for a message", got=said)
    expect_equal(counter.text(""), 0, "the tokens of no text")


@SUITE.claim
def more_text_takes_more_tokens(make: MakeCounter) -> None:
    counter = make()
    once, thrice = counter.text(_LONG), counter.text("\n".join([_LONG] * 3))
    expect(0 < once < thrice, expected=f"more than {once} tokens for a text three times over", got=thrice)


@SUITE.claim
def everything_that_a_message_carries_is_charged(make: MakeCounter) -> None:
    counter = make()
    call = ToolCall(id="c", name="read", arguments="{}")
    large = ToolCall(id="c", name="read", arguments=to_json({"content": _LONG}).decode())
    pairs: dict[str, tuple[Message, Message]] = {
        "text": (user("Hi."), user(f"Hi. {_LONG}")),
        "arguments": (assistant(call), assistant(large)),
        "a result": (tool_result("c", "ok"), tool_result("c", f"ok {_LONG}")),
        "a second call": (assistant(large), assistant(large, ToolCall(id="d", name="read", arguments=large.arguments))),
        "reasoning": (assistant("Hi."), assistant(Thinking(text=_LONG), "Hi.")),
        "a vendor's item": (
            assistant("Hi."),
            assistant(Native(vendor="openai", item={"text": _LONG}, text=_LONG), "Hi."),
        ),
    }
    for name, (less, more) in pairs.items():
        fewer, tokens = counter.message(less), counter.message(more)
        enough = fewer + counter.text(_LONG) // 2
        expect(tokens >= enough, expected=f"at least {enough} tokens for a message with {name}", got=tokens)


@SUITE.claim
def tools_are_charged(make: MakeCounter) -> None:
    counter = make()
    expect_equal(counter.tools(()), 0, "the tokens of no tools")
    one, two = counter.tools([_TOOL]), counter.tools([_TOOL, {**_TOOL, "name": "write"}])
    long = counter.tools([{**_TOOL, "description": _LONG}])
    expect(0 < one < two, expected=f"more than {one} tokens for a second tool", got=two)
    expect(one < long, expected=f"more than {one} tokens for a long description", got=long)


@SUITE.claim
def sessions_that_count_by_it_keep_their_budget(make: MakeCounter) -> None:
    store = MemoryStore()
    script = Script(open_session(store, counter=make()), budget_tokens=_BUDGET, tools=[_TOOL]).begin()
    for context in script.work(25):
        check_context(script.session, context, budget_tokens=_BUDGET, counter=make())
    theirs = Script(open_session(store, counter=make()), budget_tokens=_BUDGET, tools=[_TOOL]).derive()
    is_same = to_json(list(theirs.messages)) == to_json(list(script.derive().messages))
    expect(is_same, expected="the same context from a session that was opened again, byte for byte", got="other bytes")
