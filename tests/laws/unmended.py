"""Unmended: violations that are known and not mended yet. They are counted, and do not fail the suite; an entry leaves with its cause."""

import re

from tests.laws.tally import Violation

UNMENDED: tuple[tuple[str, str], ...] = ()
CRASHES: tuple[str, ...] = ()


def is_known(violation: Violation) -> bool:
    return any(violation.law == law and re.search(pattern, violation.what) for law, pattern in UNMENDED)
