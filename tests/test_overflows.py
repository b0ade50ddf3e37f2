"""What providers say when a prompt is too long, and what comes of it."""

from itertools import pairwise

import pytest

import pageturn as pt
from pageturn.overflows import read_overflow
from tests.derivation.test_turns import work
from tests.sessions import open_session

SAID = {
    "prompt is too long: 215311 tokens > 200000 maximum": (215_311, 200_000),
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130,211 tokens.": (130_211, 128_000),
    "The input token count (1048600) exceeds the maximum number of tokens allowed (1048576).": (1_048_600, 1_048_576),
    "Your input exceeds the context window of this model. Please adjust your input and try again.": (None, None),
    "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}": (None, None),
    "input is too long for requested model": (None, None),
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.": (537_812, 131_072),
    "Your request exceeded model token limit: 262144 (requested: 291351)": (291_351, 262_144),
    "Requested tokens (9437) exceed context window of 8192": (9_437, 8_192),
    "The input (131500 tokens) is longer than the model's context length (131072 tokens).": (131_500, 131_072),
    "Prompt contains 35000 tokens and 0 draft tokens, too large for model with 32768 maximum context length": (35_000, 32_768),
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.": (None, None),
    "invalid params, context window exceeds limit (2013)": (None, None),
    "The number of tokens to keep from the initial prompt is greater than the context length": (None, None),
    "Please reduce the length of the messages or completion.": (None, None),
    "stopped: model_context_window_exceeded": (None, None),
}  # fmt: skip


@pytest.mark.parametrize("said", SAID)
def test_a_refusal_is_recognised_with_its_sizes(said):
    found = read_overflow(RuntimeError(said))
    assert (found.sent, found.most) == SAID[said]


@pytest.mark.parametrize(
    "said",
    [
        "rate limit exceeded",
        "Rate limit reached: too many tokens per minute, reduce the length of the messages",
        "max_tokens: 300000 > 8192, which is the maximum allowed number of output tokens",
        "invalid api key",
        "tool_use ids must be unique",
        "",
    ],
)
def test_other_errors_are_not(said):
    assert read_overflow(RuntimeError(said)) is None
    session = open_session()
    session.append(pt.user("go"))
    session.derive()
    head = session._journal.head
    assert not session.overflow(RuntimeError(said))
    assert session._journal.head == head


def test_a_code_on_the_error_counts_as_what_it_says():
    error = RuntimeError("bad request")
    error.code = "context_length_exceeded"
    assert read_overflow(error) is not None


@pytest.mark.parametrize(
    "policy",
    [pt.Paged(20_000, thrift=0), pt.Legacy(), pt.Reset(20_000), pt.Incremental(20_000)],
    ids=lambda each: each.kind,
)
def test_every_refusal_makes_the_next_context_smaller_until_none_is_left(policy):
    session = open_session(policy=policy)
    session.append(pt.system("You are careful."), pt.user("Fix it."))
    work(session, 20, lines=100)
    sizes = [session.derive().tokens]
    while True:
        assert session.overflow(RuntimeError("prompt is too long"))
        try:
            sizes.append(session.derive().tokens)
        except pt.BudgetTooSmall:
            break
    assert len(sizes) > 3
    assert all(after < before for before, after in pairwise(sizes))
    assert sizes[-1] < 1_000


def test_a_prompt_that_is_too_long_by_its_tools_alone_ends_in_an_error_that_names_them():
    session = open_session(policy=pt.Paged(budget_tokens=20_000))
    session.append(pt.user("Fix it."))
    tools = [{"name": f"tool{number}", "description": "words " * 400} for number in range(5)]
    session.derive(tools)
    assert session.overflow(RuntimeError("prompt is too long"))
    with pytest.raises(pt.BudgetTooSmall, match="needed by the tools"):
        session.derive(tools)
    assert session.derive().tokens < 1_000  # with fewer tools it goes on


def test_the_sizes_that_a_provider_tells_are_used():
    session = open_session(policy=pt.Paged(budget_tokens=20_000, thrift=0))
    session.append(pt.user("Fix it."))
    work(session, 20, lines=100)
    before = session.derive().tokens
    session.overflow(RuntimeError("prompt is too long: 30000 tokens > 20000 maximum"))
    assert session.derive().budget_tokens == int(before * 0.95 * 2 / 3)
    other = session.derive(model="claude-opus-4")
    assert other.budget_tokens == 20_000


def test_what_was_learned_from_a_refusal_is_there_after_reopening():
    session = open_session(policy=pt.Paged(budget_tokens=20_000, thrift=0))
    session.append(pt.user("Fix it."))
    work(session, 20, lines=100)
    session.derive()
    session.overflow(RuntimeError("prompt is too long"))
    again = open_session(session._journal.store, policy=pt.Paged(budget_tokens=20_000, thrift=0))
    assert again.derive().messages == session.derive().messages


def test_usage_that_says_more_than_we_count_makes_the_budget_smaller():
    session = open_session(policy=pt.Paged(budget_tokens=20_000, thrift=0))
    session.append(pt.user("Fix it."))
    for number in range(25):
        context = session.derive()
        read = pt.ToolCall(id=f"w{number}", name="read", arguments="{}")
        usage = pt.Usage(input_tokens=2 * context.tokens)
        session.append(pt.assistant(f"reading {number}", read), usage=usage)
        session.append(pt.tool_result(read, f"value_{number} = compute()\n" * 100))
        assert context.tokens <= 10_100 or number < 2
    with pytest.raises(pt.BudgetTooSmall) as refused:
        session.derive(budget_tokens=100)
    needed = refused.value.needed_tokens
    assert session.derive(budget_tokens=needed).tokens <= needed / 1.9
    with pytest.raises(pt.BudgetTooSmall):
        session.derive(budget_tokens=needed - 1)
