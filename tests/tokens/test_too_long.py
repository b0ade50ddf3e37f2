"""What providers say when a prompt is too long, and what comes of it."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.tokens.too_long import read_overflow
from pageturn.values.entries import UsageReported
from pageturn.values.errors import ModelTooSmall
from tests import long
from tests.context.test_turns import work
from tests.hostile.growth import looked_at
from tests.policies.own import SpendsAll
from tests.sessions import open_session, reopened, store_of, write_elsewhere

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
    head = session.reader.head
    assert not session.overflow(RuntimeError(said))
    assert session.reader.head == head


def test_a_code_on_the_error_counts_as_what_it_says():
    error = RuntimeError("bad request")
    error.code = "context_length_exceeded"
    assert read_overflow(error) is not None


def attempt(session, *tools, **options):
    """The context, or the error that stands in its place."""
    try:
        return session.derive(tools, **options)
    except pt.BudgetTooSmall as error:
        return error


def refuse(session, *tools):
    assert session.overflow(RuntimeError("prompt is too long"))
    return attempt(session, *tools)


@pytest.mark.parametrize(
    "policy",
    [SpendsAll(20_000), pt.Legacy(), pt.Reset(20_000), pt.Incremental(20_000)],
    ids=lambda each: each.kind,
)
def test_every_refusal_makes_the_next_context_smaller_until_none_is_left(policy):
    session = open_session(policy=policy)
    session.extend([pt.system("You are careful."), pt.user("Fix it.")])
    work(session, 20, lines=100)
    sizes = [session.derive().tokens]
    while not isinstance(context := refuse(session), ModelTooSmall):
        sizes.append(context.tokens)
    assert context.needed_tokens == context.refused_tokens == sizes[-1]
    assert len(sizes) > 3
    assert all(after < before for before, after in pairwise(sizes))
    assert sizes[-1] < 1_000


def test_a_prompt_that_is_too_long_by_its_tools_alone_ends_in_an_error_that_names_them():
    session = open_session(policy=pt.Paged.thrifty(20_000))
    session.append(pt.user("Fix it."))
    tools = [{"name": f"tool{number}", "description": "words " * 400} for number in range(5)]
    session.derive(tools)
    assert session.overflow(RuntimeError("prompt is too long"))
    with pytest.raises(pt.BudgetTooSmall, match="needed by the tools"):
        session.derive(tools)
    assert session.derive().tokens < 1_000  # with fewer tools it goes on


def test_the_sizes_that_a_provider_tells_are_used():
    session = open_session(policy=SpendsAll(20_000))
    session.append(pt.user("Fix it."))
    work(session, 20, lines=100)
    before = session.derive().tokens
    session.overflow(RuntimeError("prompt is too long: 30000 tokens > 20000 maximum"))
    assert session.derive().budget_tokens == int(before * 0.95 * 2 / 3)
    other = session.derive(model="claude-opus-4")
    assert other.budget_tokens == 20_000


def test_what_was_learned_from_a_refusal_is_there_after_reopening():
    session = open_session(policy=SpendsAll(20_000))
    session.append(pt.user("Fix it."))
    work(session, 20, lines=100)
    session.derive()
    session.overflow(RuntimeError("prompt is too long"))
    again = open_session(store_of(session), policy=SpendsAll(20_000))
    assert again.derive().messages == session.derive().messages


def test_usage_that_says_more_than_we_count_makes_the_budget_smaller():
    session = open_session(policy=SpendsAll(20_000))
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


# -- near the floors


def cornered(budget=20_000):
    """A session whose model has refused everything, down to the shortest prompt that there is."""
    session = open_session(policy=SpendsAll(budget))
    session.extend([pt.system("You are careful. " * 60), pt.user("Fix it.")])
    session.pin("Never push to main.")
    work(session, 20, lines=100)
    session.derive()
    return session, next(each for each in iter(lambda: refuse(session), None) if isinstance(each, ModelTooSmall))


def test_the_shortest_prompt_is_tried_before_anybody_gives_up():
    session, refused = cornered()
    with pytest.raises(pt.BudgetTooSmall) as small:
        session.derive(model="gpt-5.1", budget_tokens=100)  # which counts alike
    assert refused.refused_tokens == refused.needed_tokens
    assert abs(small.value.needed_tokens - refused.needed_tokens) < 20


def test_a_larger_budget_does_not_help_and_the_error_does_not_say_so():
    session, refused = cornered()
    with pytest.raises(ModelTooSmall, match="gpt-5 refused"):
        session.derive(budget_tokens=refused.needed_tokens)
    with pytest.raises(pt.BudgetTooSmall) as small:
        session.derive(budget_tokens=100)
    assert not isinstance(small.value, ModelTooSmall)  # here the budget is what is too small, whatever the model takes
    assert small.value.budget_tokens == 100


ADVICE = {
    "unpin": lambda session, _: session.unpin(session.reader.pages()[2]) or session.derive(),
    "erase": lambda session, _: session.erase(session.reader.pages()[0]) and session.derive(),
    "another model": lambda session, _: session.derive(model="claude-opus-4"),
    "overflow(none, model=": lambda session, refused: session.overflow(None, model=refused.model) and session.derive(),
}


@pytest.mark.parametrize("advice", ADVICE)
def test_what_the_error_advises_works(advice):
    session, refused = cornered()
    assert advice in str(refused).lower()
    assert ADVICE[advice](session, refused).tokens > 0


def test_fewer_tools_help_too():
    look = {"name": "look", "description": "words " * 50, "input_schema": {"type": "object"}}
    session = open_session(policy=SpendsAll(20_000))
    session.append(pt.user("Fix it."))
    session.derive([look])
    assert isinstance(refuse(session, look), ModelTooSmall)
    assert session.derive().tokens > 0


def test_what_was_forgotten_is_forgotten_after_reopening():
    session, _ = cornered()
    assert reopened(session).derive(model="claude-opus-4").tokens > 0
    with pytest.raises(ModelTooSmall):
        reopened(session).derive()
    session.overflow(None)
    assert reopened(session).derive().messages == session.derive().messages
    head = session.reader.head
    session.overflow(None)
    session.overflow(None, model="a model that nobody knows")
    assert session.reader.head == head  # there was nothing left to forget
    with pytest.raises(pt.InvalidInput, match="model"):
        session.overflow(None, model="")


def test_an_accepted_prompt_proves_the_bound_wrong():
    session = open_session(policy=SpendsAll(20_000))
    session.append(pt.user("Fix it."))
    work(session, 5, lines=100)
    sent = session.derive()
    session.overflow(RuntimeError("prompt is too long: 20000 tokens > 2000 maximum"))
    session.append(pt.assistant("It was the proxy. Here is the answer after all."))
    assert session.derive().budget_tokens >= sent.tokens
    session.pin("Never push to main. " * (sent.tokens // 4))
    assert session.derive().tokens > sent.tokens  # rules that need more than what was refused then: nobody knows better


def test_a_journal_that_does_not_say_what_was_refused_is_not_cornered():
    session, refused = cornered()
    entry = UsageReported(usage=pt.Usage(input_tokens=9, model="gpt-5"), most_tokens=9)
    write_elsewhere(session, entry)
    assert session.derive().tokens == refused.needed_tokens


TOO_LONG = ["prompt is too long", "prompt is too long: {counted} tokens > {most} maximum"]


@given(
    most=st.integers(0, 4_000),
    told=st.sampled_from(TOO_LONG),
    plays=st.lists(st.sampled_from(["work", "work", "pin", "reply", "reply", "change"]), max_size=12),
    rule=st.integers(1, 120),
)
@settings(max_examples=long.examples(40, whole=1_000))
def test_whatever_a_model_takes_it_is_sent_that_or_the_error_is_true(most, told, plays, rule):
    """A provider that takes so many tokens and not one more, now and then another number; every answer is for what was sent."""
    session = open_session(policy=SpendsAll(3_000))
    session.extend([pt.system("Be careful. " * rule), pt.user("Fix it.")])
    for number, play in enumerate(plays):
        match play:
            case "work":
                work(session, 1, start=number, lines=20, derive=False)
            case "pin":
                with suppress(pt.BudgetTooSmall):  # with the budget of the last context
                    session.pin(f"Rule {number}: never touch host{number}.")
            case "change":
                most = most * 2 % 4_001
                session.overflow(None)
            case "reply":
                check(session, ask(session, most, told), most)
        budget = (number % 5 + 1) * 400
        check(session, attempt(session, budget_tokens=budget), most, budget)


def ask(session, most, told):
    """Derive until the provider takes it, and then answer; or what came instead."""
    for _ in range(60):
        context = attempt(session)
        if isinstance(context, pt.BudgetTooSmall):
            return context
        if context.tokens <= most:
            session.append(pt.assistant("Done."))
            return context
        assert session.overflow(RuntimeError(told.format(counted=context.tokens, most=most)))
    raise AssertionError("it never ends")


def check(session, came, most, budget=3_000):
    """A context that fits, or an error that is true and whose advice works."""
    if isinstance(came, pt.Context):
        assert came.tokens <= budget
    elif isinstance(came, ModelTooSmall):
        assert came.needed_tokens > most
        assert session.derive(model="claude-opus-4").tokens <= 3_000
        child = session.fork()
        child.overflow(None, model=came.model)
        assert child.derive(budget_tokens=budget).tokens <= budget
    else:
        again = attempt(session, budget_tokens=came.needed_tokens)
        assert isinstance(again, ModelTooSmall) or again.tokens <= came.needed_tokens


# -- errors that no provider should send, and that hosts hand in all the same


class Mute(Exception):
    """An error that cannot say what it is."""

    code = "context_length_exceeded"

    def __str__(self):
        raise RuntimeError("no words")


class CheckedPolicy(Exception):
    """An error whose fields cannot be read."""

    @property
    def body(self):
        raise ValueError("closed")


def with_body(body):
    error = RuntimeError("Error code: 400")
    error.body = body
    return error


LONG = "prompt is too long: 215311 tokens > 200000 maximum"


@pytest.mark.parametrize(
    ("error", "sizes"),
    [
        (f"prompt is too long: {'9' * 5_000} tokens > 200000 maximum", (None, None)),
        (f"prompt is too long: 215311 tokens > {'9' * 5_000} maximum", (None, None)),
        (f"prompt is too long: {'9' * 5_000}", (None, None)),
        (LONG, (215_311, 200_000)),
        (LONG.encode(), (215_311, 200_000)),
        (bytearray(LONG.encode()) + b"\xff", (215_311, 200_000)),
        (with_body(LONG.encode()), (215_311, 200_000)),
        (with_body({"error": {"message": LONG}}), (215_311, 200_000)),
        (with_body("\ud83d " + LONG), (215_311, 200_000)),
        (LONG + "." * 1_000_000, (215_311, 200_000)),
        ("." * 1_000_000 + LONG, (215_311, 200_000)),
        (Mute(), (None, None)),
        (CheckedPolicy(LONG), (215_311, 200_000)),
        (ExceptionGroup("both failed", [ValueError("bad"), RuntimeError(LONG)]), (215_311, 200_000)),
    ],
)
def test_whatever_shape_a_refusal_has_it_is_read(error, sizes):
    assert read_overflow(error) == sizes
    session = open_session()
    session.append(pt.user("go"))
    session.derive()
    assert session.overflow(error)


def test_a_refusal_is_found_behind_the_error_that_it_led_to():
    outer = RuntimeError("the call failed")
    outer.__cause__ = KeyError("x")
    outer.__cause__.__cause__ = RuntimeError(LONG)
    assert read_overflow(outer) == (215_311, 200_000)
    outer.__cause__.__cause__ = outer  # nobody should, and it ends all the same
    assert read_overflow(outer) is None
    later = ConnectionError("refused")
    later.__context__ = RuntimeError(LONG)  # it came while the other was handled, and not from it
    assert read_overflow(later) is None


@pytest.mark.parametrize("error", [None, 7, object(), (), b"", b"\xff\xfe", CheckedPolicy("bad key"), RuntimeError()])
def test_what_says_nothing_is_no_refusal(error):
    assert read_overflow(error) is None


REPEATED = [
    "1,", "1", "1 ", "_", "123 tokens > ", "limit of 123 tokens ", "prompt contains 123 tokens ", "maximum context length is 123 ",
    "requested tokens (123", "input token count (123) exceeds ", "prompt token count of 123 exceeds the limit of ", "tokens > 1",
]  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED)
def test_the_work_grows_no_faster_than_the_text(piece):
    def reading(size):
        error = RuntimeError("prompt is too long: " + piece * (size // len(piece)))
        return lambda: read_overflow(error)

    growth, is_too_fast = looked_at(reading, 20_000)
    assert not is_too_fast, growth
