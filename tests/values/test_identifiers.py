"""Names: what is one, and which are likely to come again."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.values.identifiers import Vocabulary, names_in, without_numbers
from tests.long import examples

# The definition of an identifier, as every figure uses it; over long runs it takes the square of the time.
IDENTIFIER = re.compile(
    r"""
    (?:[\w.@~-]*/)+[\w.@-]+\.\w{1,8}
    | \b[0-9a-f]{7,40}\b
    | \b[A-Z]{2,}-\d+\b
    | \#\w*\d{3,}\b
    | \b\w*\d{4,}\w*\b
    | \b[a-z]+(?:_[a-z0-9]+)+\b
    | \b[a-z]+(?:[A-Z][a-z0-9]+)+\b
    | \b(?:[A-Z][a-z0-9]+){2,}\b
    """,
    re.VERBOSE,
)


def identifiers(text):
    found = [each[0] for each in IDENTIFIER.finditer(text)]
    return [name for name in found if (7 if name.isalpha() else 5) <= len(name) <= 160]


alphabet = st.text(st.sampled_from("abcXYZ_019./@~#- \n→é({"), max_size=80)


@settings(max_examples=examples(300, whole=20_000))
@given(alphabet | st.text(max_size=60))
def test_names_are_the_identifiers_that_coverage_is_measured_by(text):
    assert list(names_in(text)) == list(dict.fromkeys(identifiers(text)))
    assert sum(names_in(text).values()) == len(list(identifiers(text)))


def test_encoded_data_has_no_names():
    assert not names_in("data " + "QUJD" * 20_000 + "==")


def test_a_million_letters_are_read_in_one_pass():
    assert not names_in("a" * 1_000_000)
    assert not names_in("/" * 1_000_000)
    assert list(names_in("a/" * 500_000 + " src/a.py")) == ["src/a.py"]


def asked(arguments):
    return pt.assistant(pt.ToolCall(id="c", name="read", arguments=arguments))


def test_what_a_call_named_lately_weighs_the_most():
    vocabulary = Vocabulary()
    vocabulary.hear(asked('{"path":"src/old.py"}'))
    for _ in range(100):
        vocabulary.hear(pt.tool_result("c", "someName"))
    vocabulary.hear(asked('{"path":"src/new.py"}'))
    weights = [vocabulary.weight(name) for name in ("src/new.py", "src/old.py", "src/never.py")]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 3 * weights[1] > 3 * weights[2]


def test_what_a_person_named_weighs_more_than_what_a_harness_named():
    vocabulary = Vocabulary()
    vocabulary.hear(pt.user("mend parseToken"))
    vocabulary.hear(pt.user("note otherName", synthetic=True))
    assert vocabulary.weight("parseToken") > vocabulary.weight("otherName") > vocabulary.weight("neverSaid")


def test_kinds_and_times_count():
    vocabulary = Vocabulary()
    assert vocabulary.weight("parseToken") > vocabulary.weight("parse_token") > vocabulary.weight("1a2b3c4d")
    assert vocabulary.weight("1a2b3c4d") > vocabulary.weight("20260101")
    assert vocabulary.weight("parseToken", 4) > vocabulary.weight("parseToken")


@settings(max_examples=examples(300, whole=20_000))
@given(st.text(st.sampled_from("019a\n-é٣"), max_size=40))
def test_texts_without_their_numbers_have_a_zero_for_each(text):
    assert without_numbers(text) == re.sub(r"\d+", "0", text)
