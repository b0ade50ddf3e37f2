"""Broken twins: members that break one claim, so that a claim which nothing can break is noticed."""

import re

import pytest


def caught(case, *subject):
    """Whether a case notices that its claim is false; it says what was expected, what was returned and how to reproduce it."""
    with pytest.raises(AssertionError) as failure:
        case(*subject)
    told = re.fullmatch(
        r"(?P<suite>check_\w+): (?P<claim>.+)\n  expected: (.+)\n  got: (.+)\n  to reproduce: (.+)",
        str(failure.value),
        re.DOTALL,
    )
    assert told is not None, str(failure.value)
    assert (told["suite"], told["claim"]) == (case.suite, case.claim)
    assert told[5] == f"{case.suite}(..., only={case.claim!r})"
    return True


def broken(base, **methods):
    """A class that differs from its base in these methods."""
    return type(f"Broken{base.__name__}", (base,), methods)
