"""Quantiles of Beta distributions, against values that are known in closed form."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pageturn as pt
from pageturn.routing.quantiles import beta_cdf, beta_quantile, credible_interval

counts = st.floats(0.5, 2_000)


@pytest.mark.parametrize(
    ("probability", "alpha", "beta", "value"),
    [
        (0.025, 1, 1, 0.025),
        (0.5, 2, 1, math.sqrt(0.5)),
        (0.975, 1, 10, 1 - 0.025 ** (1 / 10)),
        (0.3, 7, 1, 0.3 ** (1 / 7)),
        (0.5, 0.5, 0.5, 0.5),
        (0.25, 0.5, 0.5, math.sin(math.pi / 8) ** 2),
        (0.6875, 2, 3, 0.5),
        (0.5, 3, 3, 0.5),
    ],
)
def test_known_quantiles(probability, alpha, beta, value):
    assert beta_quantile(probability, alpha, beta) == pytest.approx(value, abs=1e-9)


@given(st.floats(0.001, 0.999), st.integers(1, 12), st.integers(1, 12))
def test_the_distribution_is_the_binomial_sum(x, alpha, beta):
    n = alpha + beta - 1
    tail = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(alpha, n + 1))
    assert beta_cdf(x, alpha, beta) == pytest.approx(tail, abs=1e-10)


@given(st.floats(0.001, 0.999), counts, counts)
def test_a_quantile_is_the_inverse(probability, alpha, beta):
    value = beta_quantile(probability, alpha, beta)
    assert 0.0 <= value <= 1.0
    assert beta_cdf(value, alpha, beta) == pytest.approx(probability, abs=1e-4)


@given(counts, counts, st.floats(0.5, 0.9), st.floats(0.91, 0.99))
def test_a_wider_interval_holds_a_narrower_one(alpha, beta, less, more):
    narrow, wide = credible_interval(alpha, beta, less), credible_interval(alpha, beta, more)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_where_nothing_is_known_everything_is_possible():
    assert credible_interval(0.0, 0.0) == (0.0, 1.0)
    assert credible_interval(3.0, 0.0) == (1.0, 1.0)
    assert credible_interval(0.0, 3.0) == (0.0, 0.0)


def test_a_posterior_has_an_interval_and_refuses_nonsense():
    posterior = pt.BetaPosterior.from_self_confidence(0.5, 2.0, now=datetime(2026, 4, 20, tzinfo=UTC))
    assert posterior.interval(0.9) == pytest.approx((0.05, 0.95))
    for mass in (math.nan, -0.1, 1.1, "1"):
        with pytest.raises(pt.InvalidInput, match="mass: expected a finite number"):
            posterior.interval(mass)
