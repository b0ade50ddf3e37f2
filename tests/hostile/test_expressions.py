"""The check of regular expressions finds those that can be made to take long, and finds all that there are."""

import pytest

from tools.bounded_expressions import BOUNDED
from tools.expressions import Expression, expressions, judge


@pytest.mark.parametrize(
    ("pattern", "is_anchored"),
    [
        (r"^(a+)+$", True),
        (r"(a|aa)*b", True),
        (r"(?:\w+\s?)+:", True),
        (r"\s+$", False),
        (r"[^\r\n]*+\r(?=[^\r\n])", False),
        (r"[dl-][rwxs-]{9}|\S*[/.]\S*$", True),
        (r"([0-9][0-9,_]+) tokens? > ", False),
        (r"(?:[\w.@~-]*/)+[\w.@-]+\.\w{1,8}", False),
        (r"<a>.*?</a>", False),
    ],
)
def test_what_takes_long_is_found(pattern, is_anchored):
    assert not judge(Expression("here", pattern, 0, is_anchored)).is_linear


@pytest.mark.parametrize(
    ("pattern", "is_anchored"),
    [(r"[a-z]+\d", True), (r"\n{3,}+", False), (r"\x1b\[[0-9;]*[A-Za-z]", False), (r"[a-z]{4,}", False)],
)
def test_what_is_linear_passes(pattern, is_anchored):
    assert judge(Expression("here", pattern, 0, is_anchored)).is_linear


def test_every_expression_is_looked_at():
    found = {expression.where for expression in expressions()}
    assert len(found) > 80
    assert {"context.renditions.content:_COLOURED", "tokens.too_long:_SIZES", "tokens.families:_PROFILES"} <= found
    assert any(where.startswith("values.ids:line") for where in found)
    assert BOUNDED.keys() <= found
