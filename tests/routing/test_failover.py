"""Whose fault an error is, what an outcome counts for, and whom to ask instead."""

import math
from datetime import UTC, datetime
from fractions import Fraction

import pytest

import pageturn as pt
from pageturn.routing.failover import left_after, nearest, read_failure, read_verdict

NOW = datetime(2026, 4, 20, 12, tzinfo=UTC)


class ApiError(Exception):
    """An error as vendors' clients raise it."""

    def __init__(self, words, status_code=None, headers=None):
        super().__init__(words)
        self.status_code = status_code
        self.response = type("Response", (), {"headers": headers or {}})()


TROUBLES = [
    (ApiError("overloaded", 500), True, True),
    (ApiError("bad gateway", 502), True, True),
    (TimeoutError("no answer"), True, True),
    (ConnectionError("reset"), True, True),
    (ApiError("slow down", 429), False, True),
    (ApiError("busy", 503, {"Retry-After": "7"}), False, True),
    (ApiError("who are you", 401), False, True),
    (ApiError("no such model", 404), False, True),
    (ApiError("bad request", 400), False, False),
    (ApiError("prompt is too long: 210000 tokens > 200000 maximum", 400), False, False),
    (KeyboardInterrupt(), False, False),
]


@pytest.mark.parametrize(("error", "blames", "helps"), TROUBLES, ids=lambda each: str(each)[:30])
def test_not_every_error_is_the_agents_fault(error, blames, helps):
    trouble = read_failure(error, now=NOW)
    assert (trouble.blames_agent, trouble.helps_elsewhere) == (blames, helps)
    verdict = read_verdict(error, now=NOW)
    assert verdict == ((0.0, None) if blames else (None, trouble.why)) + (False, trouble)


@pytest.mark.parametrize(("asked", "rest"), [("7", 7.0), ("0.5", 0.5), ("soon", 0.0), ("nan", 0.0), ("-3", 0.0), ("1e9", 86_400.0), ("inf", 86_400.0)])  # fmt: skip
def test_rest_is_what_the_header_asks_for(asked, rest):
    assert read_failure(ApiError("busy", 429, {"retry-after": asked}), now=NOW).rest_seconds == rest


@pytest.mark.parametrize(
    ("asked", "rest"),
    [
        ("Mon, 20 Apr 2026 12:00:30 GMT", 30.0),
        ("Mon, 20 Apr 2026 14:00:30 +0200", 30.0),
        ("Mon, 20 Apr 2026 12:00:30 -0000", 30.0),
        ("Mon, 20 Apr 2026 11:59:59 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("Mon, 20 Apr 99999 12:00:30 GMT", 0.0),
        ("Mon, 42 Apr 2026 12:00:30 GMT", 0.0),
    ],
)
def test_rest_may_be_asked_for_as_a_date(asked, rest):
    trouble = read_failure(ApiError("busy", 503, {"Retry-After": asked}), now=NOW)
    assert (trouble.rest_seconds, trouble.blames_agent) == (rest, rest == 0.0)


@pytest.mark.parametrize("error", [None, True, False])
def test_what_is_no_error_is_refused(error):
    with pytest.raises(pt.InvalidInput, match="error: expected an exception"):
        read_failure(error, now=NOW)


def test_outcomes_of_every_kind():
    call = pt.ToolCall(id="c1", name="bash", arguments="{}")
    good, bad = pt.tool_result(call, "fine"), pt.tool_result("c2", "no", is_error=True)
    assert read_verdict(True, now=NOW)[:2] == (1.0, None)
    assert read_verdict(0, now=NOW)[:2] == (0.0, None)
    assert read_verdict(0.25, now=NOW)[:2] == (0.25, None)
    assert read_verdict(Fraction(1, 4), now=NOW)[:2] == (0.25, None)
    assert read_verdict(good.tool_results[0], now=NOW)[:2] == (1.0, None)
    assert read_verdict([good, bad], now=NOW)[:2] == (0.5, None)
    assert [read_verdict(each, now=NOW).is_weak for each in (True, 0.25, [good, bad])] == [False, False, True]
    assert read_verdict(pt.assistant("done"), now=NOW)[:2] == (None, "no tool was called")


@pytest.mark.parametrize("outcome", [None, "yes", math.nan, 2, -1, [], [True], {}, math.inf])
def test_what_is_no_outcome_is_refused(outcome):
    with pytest.raises(pt.InvalidInput, match="outcome: expected"):
        read_verdict(outcome, now=NOW)


def test_the_failed_are_left_out_and_each_is_named_once():
    named = ["OpenAI/GPT-5", "azure/gpt-5", "openai/gpt-5-mini", "x/y", "X/Y"]
    assert left_after(["openai/gpt-5"], named) == ["azure/gpt-5", "openai/gpt-5-mini", "x/y"]
    assert left_after(["gpt-5"], named) == ["openai/gpt-5-mini", "x/y"]


def test_siblings_first_unless_the_trouble_is_the_providers():
    left = ["a/two", "b/one", "a/three"]
    assert nearest(left, "a/one", read_failure(TimeoutError(), now=NOW)) == ["a/two", "a/three"]
    assert nearest(left, "c/one", read_failure(TimeoutError(), now=NOW)) == left
    assert nearest(left, "a/one", read_failure(ApiError("slow down", 429), now=NOW)) == ["b/one"]
    assert nearest(["a/two"], "a/one", read_failure(ApiError("slow down", 429), now=NOW)) == ["a/two"]
