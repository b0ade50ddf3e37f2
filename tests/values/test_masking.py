"""What looks like a key is masked where text is shown; other text stays as it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.values.masking import MASK, covered, covered_json, masked


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj-ABCDEFGHIJKLMNOP_1234",
        "ghp_0123456789abcdefghij0123456789abcdef",
        "github_pat_11ABCDEFG0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-0123456789abcdefghijklmnopqrstu",
        "xoxb-1234567890-abcdefghij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "Bearer abcdefghijklmnopqrstuv",
        "api_key=verysecretvalue",
        '"password": "correcthorsebattery"',
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_key_is_masked_amid_other_words(key):
    shown = masked(f"before {key} after")
    assert MASK in shown
    assert key not in shown
    assert shown.startswith("before ")
    assert shown.endswith("after")
    assert masked(shown) == shown
    hidden = covered(f"before {key} after")
    assert (len(hidden), hidden[:7], hidden[-6:]) == (len(key) + 13, "before ", " after")
    assert key not in hidden
    assert covered(hidden) == hidden


@pytest.mark.parametrize(
    "text",
    ["the token count is 1,234", "sk-1", "see src/pageturn/session.py:12", "password: short", "1f26422 The gateway routes", "p12-abcd"],
)  # fmt: skip
def test_other_text_stays(text):
    assert masked(text) == text


@given(st.text(max_size=200))
def test_any_text_can_be_masked_twice(text):
    assert masked(masked(text)) == masked(text)


def test_json_stays_json_and_its_names_stay():
    told = b'{"api_key": "say token=0123456789abc", "list": [1, null, "sk-0123456789abcdef"]}'
    assert json.loads(covered_json(told)) == {"api_key": f"say token={'•' * 13}", "list": [1, None, f"sk-{'•' * 16}"]}
