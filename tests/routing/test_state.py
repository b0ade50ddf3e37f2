"""Delegation: the arithmetic of CADMAS-CTX, its two selection rules, and the stored state."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.routing import clamp_lambda
from tests import strategies

NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)
EASY = pt.Bucket(pt.Difficulty.EASY, pt.Dependency.ISOLATED, pt.ToolUse.NO)
MEDIUM = pt.Bucket(pt.Difficulty.MEDIUM, pt.Dependency.ISOLATED, pt.ToolUse.NO)
HARD = pt.Bucket(pt.Difficulty.HARD, pt.Dependency.CHAINED, pt.ToolUse.YES)

outcomes = st.lists(st.booleans(), max_size=60)


def posterior(successes=0, failures=0, c_self=0.5):
    result = pt.BetaPosterior.from_self_confidence(c_self, 2.0, now=NOW)
    for outcome in [True] * successes + [False] * failures:
        result = result.update(outcome, 1.0, now=NOW)
    return result


def state_with(**records):
    """A state in which each agent has that many successes and failures at `skill`."""
    state = pt.DelegationState()
    for agent, (successes, failures) in records.items():
        for outcome in [True] * successes + [False] * failures:
            state.update(agent, "skill", EASY, outcome, now=NOW)
    return state


def test_the_defaults():
    assert pt.DelegationConfig() == pt.DelegationConfig(gamma=0.5, delta=0.05, kappa=2.0, lambda_=1.0, enabled=False)


def test_a_success_adds_one_to_alpha():
    after = posterior(successes=1)
    assert (after.alpha, after.beta, after.n) == (2.0, 1.0, 1)


SCORES = [(0, 0, 0.35566), (2, 1, 0.5), (10, 0, 0.87834), (0, 10, 0.04501), (0, 100, 0.00495), (20, 20, 0.46188),
          (22, 20, 0.48550)]  # fmt: skip


@pytest.mark.parametrize(("successes", "failures", "score"), SCORES)
def test_the_score_after_a_record(successes, failures, score):
    assert posterior(successes, failures).score(0.5) == pytest.approx(score, abs=5e-6)


def test_the_prior_follows_the_confidence_of_the_agent():
    assert (posterior(c_self=0.8).alpha, posterior(c_self=0.8).beta) == pytest.approx((1.6, 0.4))
    assert posterior(c_self=7.0).c_self == 1.0
    assert posterior(c_self=-1.0).c_self == 0.0


def test_uncertainty_is_penalised():
    thin = posterior(failures=1, c_self=0.8)
    assert thin.score(0.5) < posterior(100, 100).score(0.5)


@pytest.mark.parametrize("count", [1e-200, 1e200])
def test_counts_beyond_all_measure_still_have_a_score(count):
    extreme = pt.BetaPosterior(count, count, 0, 0.5, 2.0, NOW)
    assert 0.0 <= extreme.score(0.5) <= 0.5


def test_numbers_are_written_as_the_seed_writes_them():
    assert b'"alpha":2.0,"beta":0.0,"n":0,"c_self":1.0,"kappa":2.0' in pt.to_json(posterior(c_self=1))
    assert b'"kappa":2.0,"lambda":1.0' in pt.to_json(pt.DelegationConfig(kappa=2, lambda_=1))


@pytest.mark.parametrize("outcome", ["False", 1, None])
def test_an_outcome_is_true_or_false(outcome):
    with pytest.raises(pt.InvalidInput, match=r"\$\.outcome: expected true or false"):
        pt.DelegationState().update("a", "skill", EASY, outcome, now=NOW)


def test_an_empty_posterior_scores_zero():
    empty = pt.BetaPosterior.from_self_confidence(0.5, 0.0, now=NOW)
    assert (empty.mean, empty.variance, empty.score(0.5)) == (0.0, 0.0, 0.0)


@given(outcomes, st.floats(0, 1), st.floats(0.01, 50), st.floats(0, 1), st.floats(0, 3))
def test_mean_and_variance_stay_in_their_bounds(record, c_self, kappa, lambda_, gamma):
    result = pt.BetaPosterior.from_self_confidence(c_self, kappa, now=NOW)
    for outcome in record:
        result = result.update(outcome, lambda_, now=NOW)
    assert 0.0 <= result.mean <= 1.0
    assert 0.0 <= result.variance <= 0.25
    assert result.score(gamma) <= result.mean
    assert result.n == len(record)


@given(outcomes)
def test_without_forgetting_the_order_of_outcomes_does_not_matter(record):
    def after(sequence):
        result = posterior()
        for outcome in sequence:
            result = result.update(outcome, 1.0, now=NOW)
        return result

    assert after(record) == after(sorted(record)) == posterior(sum(record), len(record) - sum(record))


@pytest.mark.parametrize(("lambda_", "size"), [(0.9, 10), (0.95, 20)])
def test_forgetting_bounds_the_effective_sample(lambda_, size):
    result = posterior()
    for _ in range(2_000):
        result = result.update(True, lambda_, now=NOW)
    assert result.alpha + result.beta == pytest.approx(size, rel=1e-3)


def test_lambda_is_taken_as_given():
    state = pt.DelegationState(config=pt.DelegationConfig(lambda_=0.25))
    state.update("a", "skill", EASY, True, now=NOW)
    assert state.beliefs[state.key("a", "skill", EASY)].alpha == 1.25


def test_an_update_seeds_an_unseen_cell_and_records():
    state = pt.DelegationState()
    assert state.score("openai", "model_call", EASY) is None
    state.update("openai", "model_call", EASY, True, now=NOW)
    assert state.score("openai", "model_call", EASY) == posterior(successes=1).score(0.5)
    assert state.score("openai", "model_call", HARD) is None


def test_ensure_seeds_once():
    state = pt.DelegationState()
    assert state.ensure("a", "skill", EASY, 0.8, now=NOW).c_self == 0.8
    assert state.ensure("a", "skill", EASY, 0.1, now=NOW).c_self == 0.8


def test_the_key_joins_the_five_names():
    assert pt.DelegationState.key("a", "s", HARD) == "a|s|hard|chained|yes"


@pytest.mark.parametrize(("agent", "skill"), [("a|b", "s"), ("a", "s|t")])
def test_a_name_with_a_bar_is_refused(agent, skill):
    state = pt.DelegationState()
    with pytest.raises(pt.InvalidInput, match=r"expected a name without '\|'"):
        state.update(agent, skill, EASY, True, now=NOW)
    assert state.beliefs == {}


def test_a_peer_within_the_margin_gets_nothing():
    state = state_with(local=(20, 20), peer=(22, 20))
    assert state.score("peer", "skill", EASY) - state.score("local", "skill", EASY) == pytest.approx(0.0236, abs=5e-5)
    assert state.delegate_to("local", ["peer"], "skill", EASY) is None


def test_a_peer_beyond_the_margin_gets_the_work():
    assert state_with(local=(20, 20), peer=(30, 20)).delegate_to("local", ["peer"], "skill", EASY) == "peer"


def test_the_margin_is_strict():
    state = state_with(peer=(10, 0))
    exact = pt.DelegationConfig(delta=state.score("peer", "skill", EASY))
    assert pt.DelegationState(state.beliefs, exact).delegate_to("local", ["peer"], "skill", EASY) is None


def test_the_best_peer_wins_the_earlier_on_a_tie_and_never_the_local_one():
    state = state_with(good=(10, 0), better=(20, 0), same=(20, 0))
    assert state.delegate_to("local", ["good", "better", "same"], "skill", EASY) == "better"
    assert state.delegate_to("local", ["same", "better"], "skill", EASY) == "same"
    assert state.delegate_to("better", ["better"], "skill", EASY) is None


def test_an_unseen_agent_scores_zero_in_both_rules():
    state = state_with(hopeless=(0, 100))
    assert state.rank_candidates(["unseen", "hopeless"], "skill", EASY) == "hopeless"
    assert state_with(good=(10, 0)).delegate_to("unseen", ["good"], "skill", EASY) == "good"


def test_ranking_keeps_the_order_on_a_cold_start_and_takes_the_best_when_warm():
    assert pt.DelegationState().rank_candidates(["a", "b", "c"], "skill", EASY) == "a"
    assert state_with(a=(0, 5), b=(5, 0)).rank_candidates(["a", "b"], "skill", EASY) == "b"
    assert pt.DelegationState().rank_candidates([], "skill", EASY) is None


def shrunk(m_z, neighbors=(MEDIUM,), **state_fields):
    state = pt.DelegationState(**state_fields)
    for _ in range(10):
        state.update("agent", "skill", MEDIUM, True, now=NOW)
    state.shrink_cold_start("agent", "skill", EASY, neighbors, m_z, now=NOW)
    return state


def test_a_cold_cell_borrows_from_its_neighbours():
    cell = shrunk(2.0).beliefs[pt.DelegationState.key("agent", "skill", EASY)]
    assert (cell.alpha, cell.beta, cell.n) == pytest.approx((2.8333, 1.1667, 0), abs=5e-5)
    assert cell.score(0.5) == pytest.approx(0.60670, abs=5e-6)


def test_what_it_borrows_is_bounded():
    assert shrunk(99.0) == shrunk(2.0)
    for nothing in (shrunk(0.0), shrunk(-1.0), shrunk(2.0, neighbors=[]), shrunk(2.0, neighbors=[EASY, HARD])):
        assert nothing.score("agent", "skill", EASY) is None


def test_a_seeded_cell_borrows_and_an_unobserved_neighbour_lends_nothing():
    state = shrunk(0.0)
    state.ensure("agent", "skill", EASY, 0.9, now=NOW)
    state.ensure("agent", "skill", HARD, 0.0, now=NOW)
    state.shrink_cold_start("agent", "skill", EASY, [MEDIUM, HARD], 1.0, now=NOW)
    cell = state.beliefs[state.key("agent", "skill", EASY)]
    assert cell.alpha == pytest.approx(1.8 + 11 / 12)


def test_a_cell_with_observations_borrows_nothing():
    state = shrunk(0.0)
    state.update("agent", "skill", EASY, False, now=NOW)
    before = state.score("agent", "skill", EASY)
    state.shrink_cold_start("agent", "skill", EASY, [MEDIUM], 2.0, now=NOW)
    assert state.score("agent", "skill", EASY) == before


@given(st.lists(st.tuples(st.sampled_from("abc"), strategies.buckets, st.booleans()), max_size=20))
def test_a_state_comes_back_equal_with_sorted_keys(updates):
    state = pt.DelegationState()
    for agent, bucket, outcome in updates:
        state.update(agent, "skill", bucket, outcome, now=NOW)
    assert list(state.beliefs) == sorted(state.beliefs)
    assert pt.from_json(pt.DelegationState, pt.to_json(state)) == state


def test_an_empty_object_is_an_empty_state():
    assert pt.from_json(pt.DelegationState, b"{}") == pt.DelegationState()


def test_nine_digits_and_other_zones_are_read_as_the_instant_they_mean():
    def read(text):
        data = f'{{"alpha":1,"beta":1,"n":0,"c_self":0.5,"kappa":2,"last_update":"{text}"}}'
        return pt.from_json(pt.BetaPosterior, data)

    assert read("2026-04-20T12:00:00.123456789Z").last_update == NOW + timedelta(microseconds=123457)
    assert read("2026-04-20T14:00:00+02:00") == read("2026-04-20T12:00:00Z")
    assert b'"last_update":"2026-04-20T12:00:00.000000Z"' in pt.to_json(read("2026-04-20T12:00:00Z"))


def test_an_update_is_stamped_with_the_time_it_is_given():
    later = datetime(2026, 4, 20, 15, tzinfo=timezone(timedelta(hours=2)))
    assert posterior().update(True, 1.0, now=later).last_update == NOW + timedelta(hours=1)
    with pytest.raises(pt.InvalidInput, match="a time with a time zone"):
        posterior().update(True, 1.0, now=datetime(2026, 4, 20))  # noqa: DTZ001


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, "1", None, True])
def test_what_is_not_a_finite_count_is_refused(bad):
    for field in ("alpha", "beta", "kappa", "c_self"):
        with pytest.raises(pt.InvalidInput, match=rf"\$\.{field}: expected a finite number, at least 0"):
            pt.BetaPosterior(**{"alpha": 1.0, "beta": 1.0, "n": 0, "c_self": 0.5, "kappa": 2.0, "last_update": NOW, field: bad})  # fmt: skip
    with pytest.raises(pt.InvalidInput, match=r"\$\.lambda: expected a finite number"):
        pt.DelegationConfig(lambda_=bad)
    if bad != -1.0:
        for knob in ("gamma", "delta"):
            with pytest.raises(pt.InvalidInput, match=rf"\$\.{knob}: expected a finite number"):
                pt.DelegationConfig(**{knob: bad})


def test_a_bucket_of_unknown_names_is_refused():
    with pytest.raises(
        pt.InvalidInput, match=r"\$\.difficulty: expected one of 'easy', 'medium', 'hard', got 'easy\|x'"
    ):
        pt.Bucket("easy|x", "isolated", "no")


def test_a_confidence_that_is_no_number_leaves_the_state_unchanged():
    state = pt.DelegationState()
    with pytest.raises(pt.InvalidInput, match=r"\$\.c_self: expected a finite number, got nan"):
        state.ensure("a", "skill", EASY, math.nan, now=NOW)
    with pytest.raises(pt.InvalidInput, match=r"\$\.m_z"):
        state.shrink_cold_start("a", "skill", EASY, [MEDIUM], math.nan, now=NOW)
    assert state.beliefs == {}


# -- borrowing that is applied


def warmed(state, agent="agent", skill="skill", bucket=EASY):
    return state.warmed(agent, skill, bucket, now=NOW)


def test_a_cell_with_observations_stands_by_itself():
    state = state_with(agent=(3, 1), other=(0, 9))
    assert warmed(state) == state.beliefs[state.key("agent", "skill", EASY)]


def test_an_empty_cell_borrows_from_neighbours_then_from_the_agent_then_from_the_pool():
    far = pt.Bucket(pt.Difficulty.HARD, pt.Dependency.CHAINED, pt.ToolUse.NO)
    state = pt.DelegationState()
    assert warmed(state).score(0.5) == posterior().score(0.5)
    for _ in range(10):
        state.update("other", "skill@domain=sql", HARD, True, now=NOW)
    assert (warmed(state).alpha, warmed(state).beta) == pytest.approx((1 + 2 * 11 / 12, 1 + 2 / 12))
    for _ in range(10):
        state.update("agent", "skill@domain=web", far, False, now=NOW)
    assert (warmed(state).alpha, warmed(state).beta) == pytest.approx((1 + 2 / 12, 1 + 2 * 11 / 12))
    state.update("agent", "skill", MEDIUM, True, now=NOW)
    assert (warmed(state).alpha, warmed(state).beta) == pytest.approx((1 + 4 / 3, 1 + 2 / 3))
    assert state.key("agent", "skill", EASY) not in state.beliefs


def test_borrowing_is_what_the_seed_does_with_neighbours():
    state = shrunk(0.0)
    lent = warmed(state)
    state.shrink_cold_start("agent", "skill", EASY, [MEDIUM], 2.0, now=NOW)
    assert state.beliefs[state.key("agent", "skill", EASY)] == lent


def test_the_unseen_beats_the_proven_bad():
    state = state_with(hopeless=(0, 100))
    assert (
        state.rank_candidates(["unseen", "hopeless"], "skill", EASY) == "hopeless"
    )  # the published rule never tries it
    assert warmed(state, "unseen").score(0.5) > warmed(state, "hopeless").score(0.5)


# -- forgetting


@pytest.mark.parametrize(
    ("given", "used"), [(0.5, 0.9), (0.9, 0.9), (0.95, 0.95), (1.0, 1.0), (2.5, 1.0), (0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0)]
)  # fmt: skip
def test_lambda_is_clamped_where_it_is_used(given, used):
    assert clamp_lambda(given) == used


@given(outcomes, st.sampled_from([1.0, 0.95, 0.9]))
def test_evidence_is_what_was_observed_without_the_prior(record, lambda_):
    result = posterior(c_self=0.8)
    won = tried = 0.0
    for outcome in record:
        result = result.update(outcome, lambda_, now=NOW)
        won, tried = won * lambda_ + outcome, tried * lambda_ + 1.0
    assert result.evidence(lambda_) == pytest.approx((won, tried), abs=1e-9)
    assert result.known(lambda_) == (result.alpha, result.alpha + result.beta)


def test_what_neighbours_lent_is_no_evidence():
    state = shrunk(2.0)
    cell = state.beliefs[state.key("agent", "skill", EASY)]
    assert cell.evidence(1.0) == (0.0, 0.0)
    trials = cell.update(True, 1.0, now=NOW).evidence(1.0).trials
    assert trials <= 1.0 + 1e-9


# -- merging

records = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["s", "s@domain=sql"]), strategies.buckets, st.booleans()),
    max_size=12,
)


def state_of(updates):
    state = pt.DelegationState()
    for agent, skill, bucket, outcome in updates:
        state.update(agent, skill, bucket, outcome, now=NOW)
    return state


@given(records, records, records)
def test_merging_adds_what_was_observed_in_any_order(first, second, third):
    one, two, three = map(state_of, (first, second, third))
    whole = state_of(first + second + third)
    assert one.merge(two).merge(three) == one.merge(two.merge(three)) == three.merge(one).merge(two) == whole


def test_of_two_priors_the_stronger_is_kept_once():
    merged = posterior(2, 1, c_self=0.9).merge(posterior(1, 0, c_self=0.5), 1.0)
    assert (merged.alpha, merged.beta, merged.n, merged.c_self) == pytest.approx((1.8 + 3, 0.2 + 1, 4, 0.9))


def test_a_graded_verdict_counts_in_part():
    result = posterior().graded(0.75, 1.0, now=NOW)
    assert (result.alpha, result.beta, result.n) == (1.75, 1.25, 1)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(pt.InvalidInput, match=r"\$\.verdict"):
            posterior().graded(bad, 1.0, now=NOW)
