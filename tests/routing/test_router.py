"""The router: chooses, says why, learns from what comes of it, and asks somebody else when it must."""

import math
import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.lab.routing_replay import OURS, Problem, choices
from pageturn.routing import Price
from pageturn.routing.modes import MODES, UpperBound
from pageturn.stores import MemoryStore
from tests.routing.test_failover import ApiError

NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)
AGENTS = ("a/one", "a/two", "b/one")
EASY = pt.Bucket(pt.Difficulty.EASY, pt.Dependency.ISOLATED, pt.ToolUse.NO)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


def router(store=None, seed=1, **options):
    return pt.Router.open(
        store or MemoryStore(), rng=random.Random(seed), clock=options.pop("clock", Clock()), **options
    )


def taught(records, **options):
    """A router to which agents are known by (successes, failures)."""
    made = router(**options)
    for agent, (successes, failures) in records.items():
        for outcome in [True] * successes + [False] * failures:
            made.beliefs.update(agent, "model_call", EASY, outcome)
    return made


# -- choosing


def test_a_decision_says_what_it_rests_on():
    decision = taught({"good": (30, 3), "bad": (3, 30)}).choose(["bad", "good"], "model_call", EASY)
    assert (decision.choice, decision.mode, decision.local, decision.explored) == ("good", "thompson", None, False)
    assert decision.ranking == ("good", "bad")
    assert decision.scores["good"] > decision.scores["bad"]
    low, high = decision.intervals["good"]
    assert 0.6 < low < 30 / 33 < high < 1.0
    assert decision.probabilities == pytest.approx({"bad": 0.0, "good": 1.0}, abs=1e-6)
    assert decision.why.startswith("good scores 0.")
    assert "by thompson, bad 0." in decision.why


def test_an_agent_of_whom_little_is_known_may_be_anywhere():
    made = taught({"perfect": (200, 0)})
    intervals = made.choose(["perfect", "new"], "model_call", EASY).intervals
    assert 0.9 < intervals["perfect"].low < intervals["perfect"].high < 1.0
    assert intervals["new"].low < 0.8 < intervals["perfect"].low
    assert 0.95 < intervals["new"].high < 1.0


def test_the_same_chance_gives_the_same_choices():
    def chosen():
        made = router(seed=5)
        return [made.choose(AGENTS).choice for _ in range(20)]

    assert chosen() == chosen()
    assert len(set(chosen())) == 3


def test_a_seed_is_enough():
    first, second, other = ([pt.Router(rng=seed).choose(AGENTS).scores] for seed in (5, 5, 6))
    assert first == second != other
    for wrong in ("5", type("Half", (), {"gauss": random.gauss})()):
        with pytest.raises(pt.InvalidInput, match="rng: expected a seed"):
            pt.Router(rng=wrong)


def test_candidates_come_from_anything_that_has_an_order():
    for names in (iter(AGENTS), dict.fromkeys(AGENTS).keys(), (name for name in AGENTS)):
        assert [each.agent for each in router().choose(names).candidates] == list(AGENTS)


def test_names_that_are_more_than_text_are_text():
    class Name(str):
        __slots__ = ()

    made = router()
    for _ in range(2):  # checked, and known from before
        decision = made.choose([Name("x")], local=Name("y"))
        assert {type(each.agent) for each in decision.candidates} == {type(decision.choice)} == {str}
    assert made.observe(decision, True)


def test_exploring_is_to_choose_one_that_is_not_expected_to_be_the_best():
    made = taught({"known": (6, 4), "a": (5, 5)})
    decisions = [made.choose(["known", "a", "new"], "model_call", EASY) for _ in range(30)]
    for decision in decisions:
        expected = {each.agent: each.mean for each in decision.candidates}
        assert decision.explored == (expected[decision.choice] < max(expected.values()))
        assert ("explored" in decision.why) == decision.explored
    assert any(decision.explored for decision in decisions)
    assert not router().choose(AGENTS).explored


def test_messages_say_which_bucket_it_is():
    call = pt.ToolCall(id="c", name="bash", arguments='{"path": "src/a.py"}')
    messages = [pt.assistant(call), pt.tool_result(call, "error: Traceback, it failed")]
    for given_messages in ({"bucket": messages}, {"messages": messages}):
        decision = router().choose(AGENTS, "model_call", **given_messages)
        assert decision.bucket == pt.Bucket(pt.Difficulty.HARD, pt.Dependency.CHAINED, pt.ToolUse.YES)
    with pytest.raises(pt.InvalidInput, match="bucket: expected a bucket or messages, got both"):
        router().choose(AGENTS, "model_call", EASY, messages=messages)


def test_a_provider_that_fails_at_hard_work_keeps_the_easy_and_a_newcomer_is_tried():
    made = router(seed=3)
    rng = random.Random(4)
    rates = {
        "a/one": {"easy": 0.9, "hard": 0.1},
        "b/one": {"easy": 0.5, "hard": 0.7},
        "new": {"easy": 0.4, "hard": 0.4},
    }
    chosen = {"easy": [], "hard": []}
    for at in range(300):
        kind = rng.choice(["easy", "hard"])
        decision = made.choose(["a/one", "b/one"] if at < 50 else list(rates), "model_call", {"difficulty": kind})
        chosen[kind].append(decision.choice)
        made.observe(decision, rng.random() < rates[decision.choice][kind])
    assert chosen["easy"][-50:].count("a/one") > 40
    assert chosen["hard"][-50:].count("b/one") > 40
    assert "new" in chosen["easy"] + chosen["hard"]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_good_one_when_it_is_known(mode):
    made = taught({"good": (30, 3), "bad": (3, 30)}, mode=mode)
    prices = {"good": Price(money=1.0), "bad": Price(money=1.0)}
    assert made.choose(["bad", "good"], "model_call", EASY, prices=prices).choice == "good"


def test_a_mode_of_ones_own_is_asked_even_if_it_lives_for_one_choice():
    made = router()
    assert len({made.choose(AGENTS, mode=UpperBound(float(more))).scores["b/one"] for more in range(5)}) == 5


@pytest.mark.parametrize("aim", [(math.nan, 0.0), (0.5, -0.1), (math.inf, 0.0), (0.5, math.nan), 0.5, None, ("a", "b"), (1,)])  # fmt: skip
def test_a_mode_that_aims_at_nothing_is_refused(aim):
    class Mine:
        name = "mine"

        def aim(self, _agent, _view):
            return aim

    made = router()
    with pytest.raises(pt.InvalidInput, match="mode: expected a centre and a spread of 0 or more for 'a/one'"):
        made.choose(AGENTS, mode=Mine())
    made.flush()
    assert list(made.beliefs.log()) == []


def test_the_seed_starves_what_it_has_not_seen_and_ours_try_it():
    hopeless = {"hopeless": (0, 100)}
    assert taught(hopeless, mode="cadmas").choose(["new", "hopeless"], "model_call", EASY).choice == "hopeless"
    for mode in ("lcb", "mean", "ucb", "thompson"):
        assert taught(hopeless, mode=mode).choose(["hopeless", "new"], "model_call", EASY).choice == "new"


def test_disabled_means_the_callers_order_and_outcomes_count_all_the_same():
    made = taught({"good": (30, 3), "bad": (3, 30)}, config=pt.DelegationConfig(enabled=False))
    decision = made.choose(["bad", "good"], "model_call", EASY)
    assert (decision.choice, decision.mode) == ("bad", "disabled")
    assert decision.why == "bad: delegation is disabled, so the caller's order applies"
    assert (decision.probability, decision.probabilities) == (1.0, {"bad": 1.0, "good": 0.0})
    made.observe(decision, False)
    assert made.beliefs.state.beliefs["bad|model_call|easy|isolated|no"].n == 34
    assert made.choose(["bad"], "model_call", EASY, local="good").choice == "good"


# -- a local agent


def test_a_local_agent_keeps_the_work_within_the_margin():
    made = taught({"local": (20, 20), "peer": (22, 20)})
    decision = made.choose(["peer"], "model_call", EASY, local="local")
    assert (decision.choice, decision.mode, decision.margin) == ("local", "lcb", 0.05)
    assert "not more than" in decision.why
    assert decision.probabilities == {"peer": 0.0, "local": 1.0}


def test_a_peer_beyond_the_margin_gets_it():
    decision = taught({"local": (20, 20), "peer": (30, 20)}).choose(["peer"], "model_call", EASY, local="local")
    assert decision.choice == "peer"
    assert "beaten by more than the margin" in decision.why


def test_of_equals_the_local_agent_is_certain_where_there_is_no_margin():
    made = router(config=pt.DelegationConfig(delta=0.0, enabled=True))
    decisions = [made.choose(["peer"], local="me", mode="thompson") for _ in range(20)]
    assert {decision.choice for decision in decisions} == {"me"}
    assert decisions[0].probabilities == {"peer": 0.0, "me": 1.0}


def test_the_margin_is_strict():
    records = {"local": (5, 5), "peer": (10, 2)}
    scores = taught(records).choose(["peer"], "model_call", EASY, local="local").scores
    exact = pt.DelegationConfig(delta=scores["peer"] - scores["local"], enabled=True)
    assert taught(records, config=exact).choose(["peer"], "model_call", EASY, local="local").choice == "local"


# -- cost


def test_cost_weighs_success_against_money_and_time():
    made = taught({"dear": (95, 5), "cheap": (80, 20)}, mode="cost", value=20.0)
    prices = {"dear": Price(money=10.0), "cheap": Price(money=1.0)}
    assert made.choose(["dear", "cheap"], "model_call", EASY, prices=prices).choice == "cheap"
    slow = {"dear": Price(money=1.0), "cheap": Price(money=1.0, seconds=600.0)}
    assert made.choose(["dear", "cheap"], "model_call", EASY, prices=slow, money_a_second=0.01).choice == "dear"


def test_a_session_that_runs_is_not_torn_from_its_cache_for_little():
    made = taught({"here": (80, 20), "there": (95, 5)}, mode="cost", value=20.0)
    prices = {"here": Price(money=1.0, cached_money=5.0), "there": Price(money=1.0)}
    assert made.choose(["here", "there"], "model_call", EASY, prices=prices).choice == "there"
    assert made.choose(["here", "there"], "model_call", EASY, prices=prices, running="here").choice == "here"


def test_prices_are_needed_and_checked():
    with pytest.raises(pt.InvalidInput, match="prices: expected a price for 'a/one'"):
        router(mode="cost").choose(AGENTS)
    with pytest.raises(pt.InvalidInput, match="prices: expected a price for 'x', got 3"):
        router(mode="cost").choose(["x"], prices={"x": 3})
    with pytest.raises(pt.InvalidInput, match=r"\$\.money"):
        Price(money=math.nan)
    with pytest.raises(pt.InvalidInput, match="prices: expected a price for each candidate"):
        router().choose(["x"], prices=[Price(money=1.0)])
    with pytest.raises(pt.InvalidInput, match="running: expected a candidate"):
        router().choose(["x"], prices={"x": Price(money=1.0)}, running=["x"])
    with pytest.raises(pt.InvalidInput, match=r"prices\.x: expected a sum that is finite"):
        router(mode="cost").choose(["x"], prices={"x": Price(money=1e308, seconds=1e308)}, money_a_second=1.0)


@pytest.mark.parametrize("worth", [math.nan, math.inf, -1, "much", None])
def test_what_waiting_is_worth_is_checked(worth):
    with pytest.raises(pt.InvalidInput, match="money_a_second: expected a finite number"):
        router().choose(["x"], prices={"x": Price(money=1.0)}, money_a_second=worth)


def test_prices_that_are_given_count():
    made = taught({"dear": (95, 5), "cheap": (80, 20)})
    prices = {"dear": Price(money=10.0), "cheap": Price(money=1.0)}
    decision = made.choose(["dear", "cheap"], "model_call", EASY, prices=prices)
    assert (decision.choice, decision.mode) == ("cheap", "cost")
    assert made.choose(["dear", "cheap"], "model_call", EASY, prices=prices, mode="mean").choice == "dear"
    assert made.choose(["cheap"], "model_call", EASY, prices=prices, local="dear").mode == "lcb"


# -- learning


def test_an_outcome_counts_once_however_often_it_is_told():
    made = router()
    decision = made.choose(AGENTS)
    assert made.observe(decision, True) is True
    assert made.observe(decision, True) is False
    assert made.observe(decision.id, True) is False
    with pytest.raises(
        pt.InvalidInput,
        match=r"outcome: expected 1 with 0 retries, as was recorded before, or a correction that is named as such, got 0 with",
    ):
        made.observe(decision, False)
    assert [posterior.n for posterior in made.beliefs.state.beliefs.values()] == [1]


def test_an_outcome_may_come_later_and_elsewhere():
    store = MemoryStore()
    first = router(store)
    decision = first.choose(AGENTS)
    with pytest.raises(pt.InvalidInput, match="the id of one that was written"):
        router(store).observe(decision.id, True)
    first.flush()
    assert router(store).observe(decision.id, 0.5) is True
    assert first.observe(decision, 0.5) is False
    (posterior,) = first.beliefs.state.beliefs.values()
    assert (posterior.alpha, posterior.beta, posterior.n) == (1.5, 1.5, 1)


def test_decisions_that_nobody_observes_are_written_before_they_are_many():
    store = MemoryStore()
    made = router(store)
    ids = {made.choose(AGENTS).id for _ in range(300)}
    assert 250 < len({entry.decision.id for _, entry in made.beliefs.log()} & ids) < 300
    made.flush()
    assert {entry.decision.id for _, entry in made.beliefs.log()} == ids


def test_closing_writes_what_is_left_and_lets_go(tmp_path):
    path = tmp_path / "agent.db"
    with pt.Router.open(path) as made:
        decision = made.choose(AGENTS)
    with pytest.raises(pt.StoreError, match="the store is closed"):
        made.choose(AGENTS)
    with pt.Router.open(path) as made:
        assert made.observe(decision.id, True)
    store = MemoryStore()
    pt.Router.open(store).close()
    assert store.sessions() == []


def test_each_retry_is_a_failure():
    made = router()
    made.observe(made.choose(["a"]), True, retries=2)
    (posterior,) = made.beliefs.state.beliefs.values()
    assert (posterior.alpha, posterior.beta, posterior.n) == (2.0, 3.0, 3)
    for bad in (-1, 1.5, True):
        with pytest.raises(pt.InvalidInput, match="retries"):
            made.observe(made.choose(["a"]), True, retries=bad)


def test_what_is_excused_is_logged_and_does_not_count():
    made = router()
    made.observe(made.choose(["a"]), ApiError("bad request", 400))
    ((_, entry),) = made.beliefs.log()
    assert (entry.verdict, entry.excused) == (None, "the request was not valid (400)")
    assert made.beliefs.state.beliefs == {}


@pytest.mark.parametrize("outcome", ["good", None, math.nan, 1.5])
def test_what_is_no_outcome_changes_nothing(outcome):
    made = router()
    with pytest.raises(pt.InvalidInput, match="outcome"):
        made.observe(made.choose(["a"]), outcome)
    assert made.beliefs.state.beliefs == {}
    assert list(made.beliefs.log()) == []


# -- failover


def test_failover_asks_siblings_first_and_never_the_failed_again():
    made = router(config=pt.DelegationConfig(enabled=False))
    first = made.choose(["a/one", "b/one", "a/two"])
    second = made.choose_router_target(first, TimeoutError())
    third = made.choose_router_target(second, TimeoutError())
    assert [each.choice for each in (first, second, third)] == ["a/one", "a/two", "b/one"]
    assert third.failed == ("a/one", "a/two")
    assert made.choose_router_target(third, TimeoutError()) is None
    assert {key.split("|")[0]: p.beta for key, p in made.beliefs.state.beliefs.items()} == dict.fromkeys(AGENTS, 2.0)


def test_a_request_that_nobody_could_serve_is_not_sent_on():
    made = router()
    decision = made.choose(AGENTS)
    assert made.choose_router_target(decision, ApiError("bad request", 400)) is None
    assert made.beliefs.state.beliefs == {}


def test_who_asked_for_rest_is_left_alone_for_so_long():
    clock = Clock()
    made = router(config=pt.DelegationConfig(enabled=False), clock=clock)
    first = made.choose(["a/one", "b/one"])
    assert made.choose_router_target(first, ApiError("busy", 429, {"retry-after": "30"})).choice == "b/one"
    assert made.choose(["a/one", "b/one"]).choice == "b/one"
    alone = made.choose(["a/one"])
    assert (alone.choice, alone.wait_seconds) == ("a/one", 30.0)
    clock.now += timedelta(seconds=31)
    again = made.choose(["a/one", "b/one"])
    assert (again.choice, again.wait_seconds) == ("a/one", 0.0)


def test_a_clock_that_is_set_back_makes_nobody_rest_longer():
    clock = Clock()
    made = router(config=pt.DelegationConfig(enabled=False), clock=clock)
    made.choose_router_target(made.choose(["a/one", "b/one"]), ApiError("busy", 429, {"retry-after": "30"}))
    clock.now -= timedelta(days=1)
    again = made.choose(["a/one", "b/one"])
    assert (again.choice, again.left_out, again.wait_seconds) == ("a/one", (), 0.0)


def test_a_date_to_rest_until_is_respected_by_the_routers_own_clock():
    clock = Clock()
    made = router(config=pt.DelegationConfig(enabled=False), clock=clock)
    until = {"retry-after": "Mon, 20 Apr 2026 12:01:00 GMT"}
    assert made.choose_router_target(made.choose(["a/one", "b/one"]), ApiError("busy", 503, until)).choice == "b/one"
    assert made.choose(["a/one"]).wait_seconds == 60.0
    made.observe(made.choose(["b/one"]), ApiError("busy", 503, until))
    assert made.beliefs.state.beliefs == {}
    clock.now += timedelta(seconds=61)
    assert made.choose(["a/one", "b/one"]).choice == "a/one"


def test_decisions_and_configurations_that_have_the_former_name_of_a_mode_still_open():
    made = taught({"me": (20, 20), "best": (38, 2), "next": (22, 20)})
    decision = made.choose(["best", "next"], "model_call", EASY, local="me", mode="seed")
    assert decision.mode == "cadmas"
    stored = msgspec.structs.replace(decision, mode="seed")
    assert made.choose_router_target(stored, ApiError("busy", 503)).mode == "cadmas"


def test_failover_goes_on_in_the_mode_and_with_the_local_agent_of_the_decision():
    made = taught({"me": (20, 20), "best": (38, 2), "next": (22, 20)})
    decision = made.choose(["best", "next"], "model_call", EASY, local="me", mode="cadmas")
    after = made.choose_router_target(decision, TimeoutError())
    assert (decision.choice, decision.mode) == ("best", "cadmas")
    assert (after.choice, after.mode, after.local, after.margin) == ("me", "cadmas", "me", 0.05)
    siblings = taught({"me": (20, 20), "x/best": (38, 2), "x/next": (22, 20)})
    decision = siblings.choose(["x/best", "x/next"], "model_call", EASY, local="me")
    assert siblings.choose_router_target(decision.id, TimeoutError()).choice == "me"
    own = UpperBound(3.0)
    after = (made := taught({}, mode=own)).choose_router_target(made.choose(AGENTS), TimeoutError())
    plain = taught({}, mode=UpperBound(1.0)).choose(AGENTS)
    assert after.scores["a/two"] > plain.scores["a/two"]


def test_retries_before_a_failover_count_too_and_may_have_been_told_before():
    made = router()
    decision = made.choose(AGENTS)
    assert made.choose_router_target(decision, TimeoutError(), retries=2).choice != decision.choice
    assert made.observe(decision, TimeoutError(), retries=2) is False
    (posterior,) = made.beliefs.state.beliefs.values()
    assert (posterior.beta, posterior.n) == (4.0, 3)


def test_a_failure_is_not_counted_where_prices_are_missing():
    made = router(mode="cost")
    prices = {name: Price(money=1.0) for name in AGENTS}
    decision = made.choose(AGENTS, prices=prices)
    with pytest.raises(pt.InvalidInput, match="prices: expected a price for"):
        made.choose_router_target(decision, TimeoutError(), prices={decision.choice: Price(money=1.0)})
    with pytest.raises(pt.InvalidInput, match="error: expected an exception"):
        made.choose_router_target(decision, None)
    assert made.beliefs.state.beliefs == {}
    assert made.observe(decision, True)


def test_where_cost_decides_somebody_else_is_found_with_prices_and_without():
    made = taught({"x/a": (50, 0), "x/dear": (48, 2), "x/cheap": (40, 10)}, mode="cost")
    prices = {name: Price(money=1.0) for name in ("x/a", "x/cheap")} | {"x/dear": Price(money=9.0)}
    decision = made.choose(list(prices), "model_call", EASY, prices=prices)
    assert decision.choice == "x/a"
    assert made.choose_router_target(decision, TimeoutError(), prices=prices).choice == "x/cheap"
    assert made.choose_router_target(decision, TimeoutError()).choice == "x/dear"


# -- bad input


@pytest.mark.parametrize("candidates", ["abc", [None], {"a", "b"}, 3])
def test_whom_to_ask_instead_is_checked_before_anything_is_counted(candidates):
    made = router()
    decision = made.choose(AGENTS)
    with pytest.raises(pt.InvalidInput, match="candidates: expected"):
        made.choose_router_target(decision, TimeoutError(), candidates)
    assert made.beliefs.state.beliefs == {}
    assert made.choose_router_target(decision, TimeoutError(), []) is None


def test_what_is_no_router_is_refused_at_once():
    with pytest.raises(pt.InvalidInput, match=r"beliefs: expected .*Router\.open takes a file\), got 'agent\.db'"):
        pt.Router("agent.db")
    for mode in (3, type("Nameless", (), {"aim": lambda *_: (0.5, 0.0)})()):
        with pytest.raises(pt.InvalidInput, match="mode: expected one of"):
            router(mode=mode)
    with pytest.raises(pt.InvalidInput, match="decision: expected a decision, or the id"):
        router().choose_router_target("no-such", TimeoutError())
    with pytest.raises(pt.InvalidInput, match="bucket: expected a Bucket"):
        router().choose(AGENTS, bucket=("sql", "web"))
    with pytest.raises(pt.InvalidInput, match="retries: expected a whole number, 0 or more and below 1000"):
        (made := router()).observe(made.choose(AGENTS), True, retries=10**9)


@pytest.mark.parametrize("candidates", [[], "a", None, ["a|b"], [""], [3], ["a", None], {"a": 1}, {"a", "b"}, iter([])])
def test_candidates_that_are_none_are_refused(candidates):
    with pytest.raises(pt.InvalidInput, match="candidates: expected"):
        router().choose(candidates)


def test_skills_are_checked_and_can_be_added():
    with pytest.raises(pt.InvalidInput, match="skill: expected one of autochat_persona"):
        router().choose(AGENTS, "review")
    assert router(skills=["review"]).choose(AGENTS, "review").skill == "review"
    with pytest.raises(pt.InvalidInput, match="skills: expected names in snake_case"):
        router(skills=["No|Way"])
    with pytest.raises(pt.InvalidInput, match="mode: expected one of"):
        router(mode="best")


# -- what the benchmarks measure is what the router does


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.tuples(*[st.booleans()] * 3)), max_size=25), st.integers(0, 9))
def test_the_lab_chooses_as_the_router_does(tasks, seed):
    given_problem = Problem(AGENTS, [bucket for bucket, _ in tasks], [tuple(map(float, row)) for _, row in tasks])
    for mode in ("lcb", "mean", "ucb", "thompson"):
        made = router(seed=seed, mode=mode)
        chosen = []
        for bucket, row in tasks:
            decision = made.choose(AGENTS, "model_call", bucket)
            chosen.append(AGENTS.index(decision.choice))
            made.observe(decision, row[chosen[-1]])
        assert chosen == list(choices(OURS[mode](AGENTS, random.Random(seed)), given_problem)), mode
