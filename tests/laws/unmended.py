"""Unmended: violations that are known and not mended yet. They are counted, and do not fail the suite; an entry leaves with its cause."""

import re

from tests.laws.tally import Violation

UNMENDED = (
    ("L1", r"is still sent"),  # a fold that was planned before another object erased a page is kept
    ("L2", r"a pin was accepted.*model='"),  # a pin counts with the session's model, not with that of the last derive
    ("L3", r"is not as the model made it"),  # as the first
    ("L5", r"of a person, is not verbatim"),  # beside long synthetic parts, without recall, and behind longer messages
    ("L6", r"tokens needed, though|which was erased"),  # a lone step without recall; results in structured forms
    ("L8", r"opened again"),  # as the first
    ("L12", r"beside a rule of the same step|are not whole.*beside a task that is put shorter"),
    (
        "L14",
        r"reasoning_prefix_changed.*something was (erased|replaced)",
    ),  # the page of set_system stands first, with a late number
)


def is_known(violation: Violation) -> bool:
    return any(violation.law == law and re.search(pattern, violation.what) for law, pattern in UNMENDED)
