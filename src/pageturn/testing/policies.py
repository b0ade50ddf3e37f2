"""Checks a policy: whatever it answers, every guarantee of a context must hold, as long as it answers at all.

So the suite requires little: a journal can name the policy, a context can be made from its answers, the same question gets the same
answer, and it does not change the cached part of the prompt more often than necessary.
"""

from collections.abc import Callable
from itertools import pairwise

from pageturn.policies.contract import DerivePolicy
from pageturn.session import Session
from pageturn.stores.memory import MemoryStore
from pageturn.testing.cases import Case, Mismatch, Suite, check_all, expect, expect_equal, expect_raises
from pageturn.testing.contexts import broken_promises
from pageturn.testing.sessions import TASK, Script, open_session
from pageturn.tokens.windows import input_capacity
from pageturn.values.context import Context
from pageturn.values.errors import BudgetTooSmall
from pageturn.values.json import to_json
from pageturn.values.messages import ToolCall, assistant, tool_result, user
from pageturn.values.pages import ResidencyLevel
from pageturn.values.recall_tool import RecallTool

MakePolicy = Callable[[int], DerivePolicy]
"""Makes a policy for contexts of at most this many tokens. A policy without a budget of its own may ignore the number."""

SUITE = Suite[[MakePolicy]]("check_policy")
_BUDGET, _LARGE = 4_000, 100_000
_TURNS = 40
_RULE = "Never push to main."


def check_policy(make: MakePolicy, *, only: str | None = None) -> None:
    """Check a policy of your own: `check_policy(lambda budget: MyPolicy(budget))`. Raises an `AssertionError` that says what fails."""
    check_all(SUITE.runs(make), only)


def policy_cases() -> tuple[Case[[MakePolicy]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(make)`."""
    return SUITE.cases


@SUITE.claim
def a_journal_can_name_it_and_gives_it_back(make: MakePolicy) -> None:
    store = MemoryStore()
    session = open_session(store, policy=make(_BUDGET))
    expect_equal(session.reader.policy, make(_BUDGET), "the policy of the session")
    expect_equal(open_session(store).reader.policy, make(_BUDGET), "the policy of the session when it is opened again")


@SUITE.claim
def its_limit_is_a_number_of_tokens_for_every_window(make: MakePolicy) -> None:
    for window in (8_000, 200_000, 2_000_000):
        limit = make(_BUDGET).limit_tokens(window)
        expect(type(limit) is int and limit >= 0, expected=f"a whole number of tokens for {window:,}", got=limit)
    small = make(1_000_000).limit_tokens(8_000)
    session = open_session(policy=make(1_000_000), model="mistral-small")
    session.append(user(TASK))
    context = session.derive()
    expect(
        context.budget_tokens <= input_capacity(32_768),
        expected="no larger budget than a small model takes",
        got=f"{context.budget_tokens:,} (limit_tokens(8_000) is {small:,})",
    )


@SUITE.claim
def every_promise_holds_at_every_turn(make: MakePolicy) -> None:
    for recall in (RecallTool(), None):
        script = _begun(make, recall=recall)
        script.session.pin(_RULE)
        for _ in range(_TURNS):
            _check(script, script.turn("value_{n} = compute_{n}()\n" * 60))
        _check(script, script.derive())


@SUITE.claim
def rules_and_the_task_outlive_every_fold(make: MakePolicy) -> None:
    script = _begun(make)
    script.session.pin(_RULE)
    for number, nudge in enumerate(("continue", "status?", "go", "yes please")):
        for context in script.work(10):
            texts = [message.text for message in context.messages]
            missing = [text for text in (_RULE, TASK) if text not in texts]
            expect(
                not missing, expected="the rule and the task in every context", got=f"{missing} not at turn {number}"
            )
        script.say(user(nudge))


@SUITE.claim
def below_the_limit_everything_stands_as_it_came(make: MakePolicy) -> None:
    script = Script(open_session(policy=make(_LARGE)), budget_tokens=_LARGE).begin()
    for context in script.work(10):
        expect(context.fold is None, expected="no fold while there is room", got=context.fold)
        shown = [message.content for message in context.messages]
        came = [message.content for message in script.session.reader.messages()][: len(shown)]
        expect(shown == came, expected="the messages as they came", got=f"others at turn {script.turns}")


@SUITE.claim
def between_folds_nothing_moves_and_folds_are_rare(make: MakePolicy) -> None:
    contexts = _begun(make).work(60)
    for at, (before, after) in enumerate(pairwise(contexts)):
        if after.fold is None:
            is_same = after.messages[: len(before.messages)] == before.messages
            expect(is_same, expected="each context to begin with the one before", got=f"another at turn {at + 1}")
        else:
            expect(
                before.fold is None, expected="some turns between two folds", got=f"folds at turns {at} and {at + 1}"
            )
    folds = sum(context.fold is not None for context in contexts)
    expect(2 <= folds <= 20, expected="2 to 20 folds in 60 turns", got=folds)


@SUITE.claim
def the_same_question_gets_the_same_answer(make: MakePolicy) -> None:
    first, second = _begun(make), _begun(make)
    for turn, (ours, theirs) in enumerate(zip(first.work(30), second.work(30), strict=True)):
        _expect_same(ours, theirs, f"the context of turn {turn} in two sessions that are alike")
    _expect_same(first.derive(), first.derive(), "a context that is derived twice")


@SUITE.claim
def it_keeps_nothing_of_one_session_for_another(make: MakePolicy) -> None:
    shared = make(_BUDGET)
    busy = Script(open_session(policy=shared, seed=2), budget_tokens=_BUDGET).begin(task="Look at everything else.")
    ours = Script(open_session(policy=shared), budget_tokens=_BUDGET).begin()
    alone = _begun(make)
    for turn in range(25):
        busy.work(1, lines=20 + turn)
        _expect_same(ours.work(1)[0], alone.work(1)[0], f"the context of turn {turn} beside another session")


@SUITE.claim
def another_process_derives_the_same_bytes(make: MakePolicy) -> None:
    store = MemoryStore()
    script = Script(open_session(store, policy=make(_BUDGET)), budget_tokens=_BUDGET).begin()
    for turn in range(30):
        script.work(1)
        theirs = Script(open_session(store), budget_tokens=_BUDGET).derive()
        _expect_same(theirs, script.derive(), f"the context of turn {turn} in a session that was opened again")


@SUITE.claim
def the_smallest_budget_works_and_one_token_less_does_not(make: MakePolicy) -> None:
    session = _begun(make).session
    session.pin(_RULE)
    Script(session, budget_tokens=_BUDGET).work(30)
    refused = expect_raises(BudgetTooSmall, lambda: session.derive(budget_tokens=50), "a budget of 50 tokens")
    needed = refused.needed_tokens
    for broken in broken_promises(session, session.derive(budget_tokens=needed), budget_tokens=needed):
        raise broken
    expect_raises(BudgetTooSmall, lambda: session.derive(budget_tokens=needed - 1), f"{needed - 1:,} tokens")


@SUITE.claim
def parallel_and_late_results_stay_valid(make: MakePolicy) -> None:
    script = _begun(make)
    session = script.session
    build = ToolCall(id="build", name="build", arguments="{}")
    script.derive()
    session.append(assistant("in the background", build))
    for number in range(20):
        _check(script, script.derive())
        calls = [ToolCall(id=f"k{number}-{n}", name="read", arguments="{}") for n in range(3)]
        session.append(assistant("three at once", *calls))
        for call in reversed(calls):
            session.append(tool_result(call, f"result {call.id}\n" * 20))
        if number == 10:
            session.append(tool_result(build, "built"))
    _check(script, script.derive())


@SUITE.claim
def one_huge_result_is_shortened_and_can_be_had_back(make: MakePolicy) -> None:
    script = _begun(make)
    call = ToolCall(id="h", name="dump", arguments="{}")
    script.say(assistant("look", call))
    text = "FIRST LINE\n" + "".join(f"row {n} of the dump\n" for n in range(10_000)) + "LAST LINE"
    page = script.say(tool_result(call, text))
    context = script.derive()
    _check(script, context)
    level = context.explain(page.handle).level
    expect(level < ResidencyLevel.FULL, expected="the result below full", got=str(level))
    resolved = script.session.resolve(page)
    expect_equal(getattr(resolved, "text", resolved), text, "the words behind its handle")


def _begun(make: MakePolicy, *, recall: RecallTool | None = RecallTool()) -> Script:  # noqa: B008
    session: Session = open_session(policy=make(_BUDGET), recall=recall)
    return Script(session, budget_tokens=_BUDGET).begin()


def _check(script: Script, context: Context) -> None:
    for broken in broken_promises(script.session, context, budget_tokens=_BUDGET):
        raise Mismatch(expected=broken.expected, got=f"{broken.got} (at turn {script.turns})")


def _expect_same(ours: Context, theirs: Context, what: str) -> None:
    is_same = to_json(list(ours.messages)) == to_json(list(theirs.messages))
    expect(is_same, expected=f"{what} to be the same, byte for byte", got="other bytes")
