"""What cannot answer is left alone: rests and cool-downs that routers share, limits, windows, caps and thresholds."""

import random
from contextlib import closing
from datetime import timedelta

import pytest

import pageturn as pt
from pageturn.routing import Limits, Price
from pageturn.stores import MemoryStore, Slot, open_store
from tests.routing.test_failover import ApiError
from tests.routing.test_router import EASY, Clock, router, taught

TROUBLE = [
    TimeoutError("no first byte"),
    ApiError("bad gateway", 502),
    ApiError("overloaded", 529),
    ApiError("down", 503),
]


@pytest.mark.parametrize("trouble", TROUBLE, ids=str)
def test_an_outage_of_the_favourite_costs_two_failures_until_its_first_rest_is_over(trouble):
    clock = Clock()
    made = taught({"favourite": (100, 0), "b": (50, 50), "c": (50, 50)}, clock=clock)
    met = 0
    for _ in range(58):
        clock.now += timedelta(seconds=1)
        decision = made.choose(["favourite", "b", "c"], "model_call", EASY)
        if decision.choice == "favourite":
            met += 1
            decision = made.choose_router_target(decision, trouble)
        made.observe(decision, True)
    assert met == 2
    assert "favourite is left out: it rests for" in decision.why
    assert decision.left_out == ("favourite",)


def test_a_rest_gets_longer_with_each_error_and_ends_with_an_answer():
    clock = Clock()
    made = router(clock=clock)
    rests = []
    for _ in range(7):
        made.observe(made.choose(["a"]), TimeoutError())
        rests.append(made.choose(["a"]).wait_seconds)
        clock.now += timedelta(seconds=rests[-1])
    assert rests == [0.0, 60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    made.observe(made.choose(["a"]), True)
    made.observe(made.choose(["a"]), TimeoutError())
    assert made.choose(["a"]).wait_seconds == 0.0


def test_errors_that_are_long_ago_are_not_in_a_row():
    clock = Clock()
    made = router(clock=clock)
    for _ in range(3):
        made.observe(made.choose(["a"]), TimeoutError())
        clock.now += timedelta(hours=2)
    made.observe(made.choose(["a"]), TimeoutError())
    assert made.choose(["a"]).wait_seconds == 0.0


def test_a_rate_limit_without_retry_after_cools_down_and_with_it_rests_as_long_also_when_observed():
    clock = Clock()
    made = router(clock=clock)
    assert made.observe(made.choose(["a"]), ApiError("slow down", 429))
    assert made.choose(["a"]).wait_seconds == 10.0
    made.observe(made.choose(["b"]), ApiError("slow down", 429, {"retry-after": "33"}))
    assert made.choose(["b"]).wait_seconds == 33.0
    assert made.choose(["b", "a", "c"]).choice == "c"
    assert made.beliefs.state.beliefs == {}


@pytest.mark.parametrize(
    "error", [ApiError("bad request", 400), KeyboardInterrupt(), ApiError("prompt is too long", 400)]
)
def test_errors_of_the_request_make_nobody_rest(error):
    made = router()
    for _ in range(3):
        made.observe(made.choose(["a"]), error)
    assert made.choose(["a"]).wait_seconds == 0.0


def test_rests_are_shared_by_the_routers_of_a_scope_and_by_processes(tmp_path):
    clock = Clock()
    with closing(open_store(str(tmp_path / "agent.db"))) as store:
        one, two, other = (pt.Router.open(store, scope, clock=clock, rng=1) for scope in ("x", "x", "y"))
        one.observe(one.choose(["a", "b"]), ApiError("slow down", 429, {"retry-after": "30"}))
        (rested,) = list(store.sidecar("rests/x").documents)
        assert two.choose(["a", "b"]).left_out == (rested,)
        assert other.choose(["a", "b"]).left_out == ()
    with pt.Router.open(tmp_path / "agent.db", "x", clock=clock) as later:
        assert later.choose([rested]).wait_seconds == 30.0


def test_a_rest_that_is_damaged_is_told():
    store = MemoryStore()
    made = router(store)
    store.amend([Slot("rests/default", "a")], lambda _: {Slot("rests/default", "a"): b"{}"})
    with pytest.raises(pt.StoreError, match=r"rests/default is damaged at 'a'"):
        made.choose(["a", "b"])


def test_a_prompt_that_is_too_long_goes_to_a_longer_window():
    made = router()
    error = ApiError("prompt is too long: 210000 tokens > 200000 maximum", 400)
    decision = made.choose(["anthropic/claude-sonnet-4"])
    names = ["anthropic/claude-sonnet-4", "openai/gpt-4o", "google/gemini-2.5-pro"]
    assert made.choose_router_target(decision, error, names).choice == "google/gemini-2.5-pro"
    mine = {"short": Limits(window=1_000), "long": Limits(window=9_000), "longest": Limits(window=10_000)}
    decision = made.choose(["short"], limits=mine)
    chosen = made.choose_router_target(decision, error, list(mine), limits=mine, tokens=9_500)
    assert chosen.choice == "longest"
    assert chosen.reasons["long"] == "the prompt of 9,500 tokens exceeds its window of 9,000"
    assert made.choose_router_target(chosen, error, list(mine), limits=mine) is None
    assert made.beliefs.state.beliefs == {}


def test_who_cannot_hold_the_prompt_is_left_out_unless_nobody_can():
    mine = {"short": Limits(window=1_000), "long": Limits(window=9_000)}
    for tokens, choice in ((5_000, "long"), (50_000, "long")):
        decision = router().choose(["short", "long"], limits=mine, tokens=tokens)
        assert (decision.choice, decision.left_out) == (choice, ("short",))
    assert router().choose(["short", "long"], limits=mine, tokens=1_000).left_out == ()


def test_rate_limits_of_a_minute():
    clock = Clock()
    made = taught({"good": (50, 0), "poor": (0, 50)}, clock=clock)
    requests = {"good": Limits(requests_a_minute=2)}
    choices = [made.choose(["good", "poor"], "model_call", EASY, limits=requests) for _ in range(3)]
    assert [each.choice for each in choices] == ["good", "good", "poor"]
    assert choices[2].reasons["good"] == "it had 2 requests in the last minute, and its limit is 2"
    clock.now += timedelta(seconds=60)
    tokens = {"good": Limits(tokens_a_minute=100)}
    chosen = [made.choose(["good", "poor"], "model_call", EASY, limits=tokens, tokens=60).choice for _ in range(2)]
    assert chosen == ["good", "poor"]
    assert made.choose(["good"], "model_call", EASY, limits=tokens, tokens=60).choice == "good"


# -- money


def test_the_most_money_is_value_times_success_less_price():
    rng = random.Random(2)
    made = router(value=5.0)
    rates, prices = {"good": 0.95, "cheap": 0.15}, {"good": Price(money=0.5), "cheap": Price(money=0.05)}
    chosen = []
    for _ in range(400):
        decision = made.choose(list(rates), prices=prices)
        chosen.append(decision.choice)
        made.observe(decision, rng.random() < rates[decision.choice])
    assert chosen.count("good") > 380
    assert "a success is worth 5, and it costs 0.5" in decision.why
    little = [made.choose(list(rates), prices=prices, value=0.1).choice for _ in range(20)]
    assert set(little) == {"cheap"}  # .1 x .95 does not pay for .5


def test_a_free_candidate_is_free():
    made = taught({"free": (50, 50), "paid": (60, 40)})
    prices = {"free": Price(money=0.0), "paid": Price(money=0.5)}
    assert made.choose(list(prices), "model_call", EASY, prices=prices).choice == "free"


def test_a_price_cap_is_hard():
    made = taught({"dear": (99, 1), "cheap": (10, 90)})
    prices = {"dear": Price(money=0.3), "cheap": Price(money=0.01)}
    decision = made.choose(list(prices), "model_call", EASY, prices=prices, most_money=0.1)
    assert (decision.choice, decision.reasons) == ("cheap", {"dear": "it costs 0.3, more than the cap of 0.1"})
    with pytest.raises(pt.InvalidInput, match=r"most_money: expected at least .* 0\.01 for cheap, got 0\.001"):
        made.choose(list(prices), "model_call", EASY, prices=prices, most_money=0.001)


def test_a_quality_threshold_leaves_out_who_cannot_reach_it_and_tries_who_might():
    made = taught({"good": (80, 20), "poor": (10, 90)})
    prices = {"good": Price(money=0.9), "poor": Price(money=0.0), "new": Price(money=0.0)}
    decision = made.choose(list(prices), "model_call", EASY, prices=prices, least_success=0.7)
    assert decision.left_out == ("poor",)
    assert decision.reasons["poor"].startswith("it may reach 0.")
    nobody = made.choose(["good", "poor"], "model_call", EASY, prices=prices, least_success=0.99)
    assert (nobody.choice, nobody.left_out) == ("good", ("poor",))


def test_a_session_stays_where_its_prompt_is_cached_unless_the_gain_is_worth_it():
    clock = Clock()
    made = taught({"here": (80, 20), "there": (90, 10)}, clock=clock)
    prices = {name: Price(money=0.1, money_a_cached_token=3e-6) for name in ("here", "there")}
    ask = {"prices": prices, "session": "s"}
    assert made.choose(["here"], "model_call", EASY, **ask).choice == "here"
    stays = made.choose(["here", "there"], "model_call", EASY, cached_tokens=150_000, **ask)
    assert (stays.choice, stays.running, stays.cache_money) == ("here", "here", pytest.approx(0.45))
    assert "it has the session's prompt in its cache, which saves 0.45" in stays.why
    goes = made.choose(["here", "there"], "model_call", EASY, cached_tokens=1_000, **ask)
    assert goes.choice == "there"
    assert "although leaving here loses a prompt cache worth 0.003" in goes.why
    clock.now += timedelta(minutes=6)
    assert made.choose(["here", "there"], "model_call", EASY, cached_tokens=150_000, **ask).running is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"most_money": -1}, "most_money"), ({"least_success": 2}, "least_success"), ({"tokens": 1.5}, "tokens"),
        ({"limits": {"a": 3}}, "limits: expected Limits for 'a'"), ({"value": -1}, "value"),
        ({"session": 3}, "session"), ({"cached_tokens": -1}, "cached_tokens"),
    ],
)  # fmt: skip
def test_what_no_task_needs_is_refused(options, complaint):
    with pytest.raises(pt.InvalidInput, match=complaint):
        router().choose(["a"], **options)
