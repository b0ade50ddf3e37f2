"""Handles: one pattern, so that what resolves is what is escaped, and what is escaped no longer resolves."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.values.fencing import escaped, quoted, unquoted
from pageturn.values.handles import HANDLE, check_of, handle, parse, parse_range

made = st.builds(
    lambda key, seq, digest: handle(seq, check_of(key, seq, digest)),
    st.binary(min_size=1, max_size=64),
    st.integers(min_value=1, max_value=10**15 - 1),
    st.text("0123456789abcdef", min_size=1, max_size=64),
)


@given(made)
def test_every_handle_is_found_parsed_and_escaped_where_a_page_says_it(name):
    number, check = parse(name)
    assert handle(number, check) == name
    assert re.findall(HANDLE, f"see {name}, and {name}..{name}") == [name] * 3
    assert escaped(f"see {name}.") == f"see {name.replace('-', chr(92) + '-')}."
    assert unquoted(quoted(name)) == name


@given(made, made)
def test_a_range_is_two_handles(first, last):
    assert parse_range(f"{first}..{last}") == (first, last)


@pytest.mark.parametrize(
    "text",
    ["p0-abcd", "p1-abc", "p1-abcde", "p1-abc1", "p1-ABCD", "P1-abcd", "p01-abcd", f"p{10**15}-abcd", "p1\\-abcd", ""],
)
def test_what_is_no_handle_does_not_resolve(text):
    assert parse(text) is None
    assert parse_range(f"{text}..p1-abcd") is None


@given(st.lists(made | st.sampled_from(["p", "-", "a", " ", "..", "\\", "7"]), max_size=8).map("".join))
def test_no_text_of_a_page_shows_a_handle_once_it_is_escaped(text):
    shown = re.findall(rf"(?<![A-Za-z0-9]){HANDLE}(?![A-Za-z0-9])", escaped(text))
    assert shown == []
