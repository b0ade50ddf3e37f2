"""Policies as values: names, wire tags, limits for a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.policies import STORED_DEFAULT

WINDOWS = st.integers(1, 3_000_000)


def test_the_kind_is_the_tag_on_the_wire():
    policies = [pt.Legacy(), pt.Reset(1), pt.Incremental(1), pt.OracleReplay(3), pt.Paged(1)]
    kinds = [policy.kind for policy in policies]
    assert kinds == ["legacy", "reset", "incremental", "oracle_replay", "paged"]
    for policy in policies:
        assert f'"policy":"{policy.kind}"'.encode() in pt.to_json(policy)


def test_a_stored_session_that_names_no_policy_means_legacy():
    assert STORED_DEFAULT.kind == "legacy"


@given(WINDOWS)
def test_a_budget_of_zero_is_the_capacity_of_the_model(window):
    capacity = pt.input_capacity(window)
    assert pt.Incremental(0).fitted(window) == pt.Incremental(capacity)
    assert pt.Paged().fitted(window) == pt.Paged(capacity)


@given(WINDOWS, st.integers(1, 3_000_000))
def test_a_budget_is_kept_or_capped_by_the_capacity(window, budget):
    expected = min(budget, pt.input_capacity(window))
    assert pt.Incremental(budget).fitted(window).budget_tokens == expected
    assert pt.Paged(budget).fitted(window).budget_tokens == expected


def test_a_threshold_of_zero_is_half_of_the_window():
    assert pt.Reset(0).fitted(200_000) == pt.Reset(100_000)
    assert pt.Reset(16_000).fitted(200_000) == pt.Reset(16_000)


def test_policies_without_limits_fit_every_model():
    assert pt.Legacy().fitted(32_000) == pt.Legacy()
    assert pt.OracleReplay(3).fitted(32_000) == pt.OracleReplay(3)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, "16000", None])
def test_a_limit_that_is_not_a_whole_number_is_refused(tokens):
    for policy in (pt.Reset, pt.Incremental, pt.Paged, pt.OracleReplay):
        with pytest.raises(pt.InvalidInput, match="expected a whole number, 0 or more"):
            policy(tokens)
