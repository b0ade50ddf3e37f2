"""Computes quantiles of rates: of a Beta distribution, by the regularised incomplete beta function and its inverse."""

import math
from typing import NamedTuple

_SMALLEST = 1e-300
_STEPS = 500
_CLOSE = 1e-14


class Interval(NamedTuple):
    """A credible interval: the rate lies between these with the probability that was asked for."""

    low: float
    high: float


def credible_interval(alpha: float, beta: float, mass: float = 0.95) -> Interval:
    """The central interval of Beta(alpha, beta) that holds `mass`; all of [0, 1] where nothing is known."""
    if alpha <= 0.0 and beta <= 0.0:
        return Interval(0.0, 1.0)
    tail = (1.0 - mass) / 2.0
    return Interval(beta_quantile(tail, alpha, beta), beta_quantile(1.0 - tail, alpha, beta))


def beta_cdf(x: float, alpha: float, beta: float) -> float:
    """The probability that a Beta(alpha, beta) value is at most `x`."""
    if x <= 0.0 or beta <= 0.0:  # without failures all mass is at 1
        return float(x >= 1.0)
    if x >= 1.0 or alpha <= 0.0:
        return 1.0
    scale = math.exp(_log_scale(alpha, beta) + alpha * math.log(x) + beta * math.log1p(-x))
    if x < (alpha + 1.0) / (alpha + beta + 2.0):  # where the fraction converges fast
        return scale * _fraction(x, alpha, beta) / alpha
    return 1.0 - scale * _fraction(1.0 - x, beta, alpha) / beta


def beta_quantile(probability: float, alpha: float, beta: float) -> float:
    """The value that a Beta(alpha, beta) rate stays below with this probability."""
    if alpha <= 0.0 or beta <= 0.0:
        return float(alpha > 0.0)
    low, high, x = 0.0, 1.0, alpha / (alpha + beta)
    for _ in range(_STEPS):
        missing = probability - beta_cdf(x, alpha, beta)
        low, high = (x, high) if missing > 0.0 else (low, x)
        density = math.exp(_log_scale(alpha, beta) + (alpha - 1.0) * math.log(x) + (beta - 1.0) * math.log1p(-x))
        following = x + missing / density if density > 0.0 else low
        if not low < following < high:  # Newton's step leaves what is known: halve instead
            following = (low + high) / 2.0
        if abs(following - x) < _CLOSE or not low < following < high:
            return following
        x = following
    return x


def _log_scale(alpha: float, beta: float) -> float:
    return math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)


def _fraction(x: float, alpha: float, beta: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (alpha + beta) * x / (alpha + 1.0))
    result = d
    for m in range(1, _STEPS):
        twice = alpha + 2 * m
        for term in (
            m * (beta - m) * x / ((twice - 1.0) * twice),
            -(alpha + m) * (alpha + beta + m) * x / (twice * (twice + 1.0)),
        ):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            result *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            break
    return result


def _not_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
