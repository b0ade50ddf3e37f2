"""Prices of models: the table, a user's own, and what is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.values.errors import InvalidInput, UnknownPrice
from pageturn.values.model_prices import (
    AS_OF,
    MODEL_PRICES,
    REFERENCE,
    ModelPrice,
    given_price,
    money,
    price_of,
    prices_from,
)
from pageturn.values.usage import Usage
from pageturn.values.vendors import IDEAL_CACHE, VENDORS

COUNTS = st.integers(0, 10**9)


def test_every_row_says_what_it_costs_where_that_is_published_and_when():
    for price in MODEL_PRICES.values():
        assert 0 < price.cached_read < price.input <= price.cache_write <= (price.cache_write_1h or price.cache_write)
        assert price.output > price.input
        assert price.source.count(".") >= 1
        assert price.as_of == AS_OF
        assert price_of(price.model) is price


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("Claude-Sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("gpt-5-2026-04-01", "gpt-5"),
        ("openrouter/openai/gpt-5.6-terra", "gpt-5.6-terra"),
    ],
)
def test_a_release_and_who_serves_it_do_not_matter(name, model):
    assert price_of(name).model == model


@pytest.mark.parametrize("name", ["gpt-5.5-pro", "claude-opus-6", "llama", "", "gpt-5-codex-max"])
def test_a_price_that_is_not_known_is_never_guessed(name):
    with pytest.raises(UnknownPrice, match=r"price unknown: .* give --price"):
        price_of(name)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_call_costs_what_its_parts_do(fresh, read, write, output):
    usage = Usage(
        input_tokens=fresh + read + write, cache_read_tokens=read, cache_write_tokens=write, output_tokens=output
    )
    price = ModelPrice("m", 3.0, 15.0, 0.3, 3.75, 6.0)
    assert price.dollars(usage) == pytest.approx((3 * fresh + 0.3 * read + 3.75 * write + 15 * output) / 1e6)
    assert price.dollars(usage, is_1h=True) - price.dollars(usage) == pytest.approx(2.25 * write / 1e6)


def test_a_replay_is_billed_in_the_ratios_of_the_model():
    assert REFERENCE.vendor(IDEAL_CACHE).prices == IDEAL_CACHE.prices
    assert REFERENCE.vendor(IDEAL_CACHE).output == IDEAL_CACHE.output
    opus = price_of("claude-opus-5-5")
    assert (opus.vendor().prices.read, opus.vendor().ttl_seconds) == (0.05, 300)
    assert opus.vendor(VENDORS["anthropic-1h"]).prices.write == 2.0
    assert len({opus.vendor().name, opus.vendor(IDEAL_CACHE).name, given_price("claude-opus-5-5", "4,20").label}) == 3


def test_a_price_can_be_given():
    assert given_price("m", "$3, 15") == ModelPrice("m", 3, 15, 3, 3)
    assert given_price("m", "3,15,0.3,3.75,6") == ModelPrice("m", 3, 15, 0.3, 3.75, 6)


@pytest.mark.parametrize("text", ["3", "", "a,b", "3,15,1,1,1,1", "0,15", "-3,15", "nan,1", "inf,1"])
def test_what_is_no_price_is_refused(text):
    with pytest.raises(InvalidInput):
        given_price("m", text)


@pytest.mark.parametrize(
    "text",
    [
        'as_of = "2027-01-01"\n["claude-opus-5.5"]\ninput = 1\noutput = 2\ncached_read = 0.5\n',
        '{"as_of": "2027-01-01", "claude-opus-5.5": {"input": 1, "output": 2, "cached_read": 0.5}}',
    ],
)
def test_a_users_own_table_goes_before_ours(text):
    price = price_of("claude-opus-5-5", prices_from(text, "mine"))
    assert (price.input, price.output, price.cached_read, price.cache_write) == (1, 2, 0.5, 1)
    assert (price.as_of, price.source) == ("2027-01-01", "mine")
    assert "2027-01-01" in str(price)


@pytest.mark.parametrize(
    "text", ["[m]\ninput = 1", "[m]\ninput = 1\noutput = 2\nfree = 0", "m = 3", "[m]\ninput = 0\noutput = 1", "[", "{"]
)
def test_a_table_that_is_none_says_where(text):
    with pytest.raises(InvalidInput, match="mine"):
        prices_from(text, "mine")


def test_money_has_as_many_digits_as_say_something():
    assert [money(amount) for amount in (0, 1234.5, 212.3, 97, 0.41, 0.043, 0.00123)] == [
        "$0.00",
        "$1,234",
        "$212",
        "$97.00",
        "$0.41",
        "$0.043",
        "$0.0012",
    ]
