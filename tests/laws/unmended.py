"""Unmended: violations that are known and not mended yet. They are counted, and do not fail the suite; an entry leaves with its cause."""

import re

from tests.laws.tally import Violation

UNMENDED = (
    ("L1", r"is still sent"),  # a fold that was planned before another object erased a page is kept
    ("L2", r"a pin was accepted.*model='"),  # a pin counts with the session's model, not with that of the last derive
    ("L3", r"is not as the model made it"),  # as the first
    ("L4", r"were said to be enough"),  # without recall
    ("L5", r"of a person, is not verbatim"),  # beside long synthetic parts, without recall, and behind longer messages
    ("L6", r"tokens needed, though|is a pointer, and there is no recall tool|which was erased"),
    ("L12", r"beside a rule of the same step|are not whole.*beside a task that is put shorter"),
    (
        "L14",
        r"reasoning_prefix_changed.*something was (erased|replaced)",
    ),  # the page of set_system stands first, with a late number
)
CRASHES = ("cannot become pointer",)  # without recall, built-in policies


def is_known(violation: Violation) -> bool:
    return any(violation.law == law and re.search(pattern, violation.what) for law, pattern in UNMENDED)
