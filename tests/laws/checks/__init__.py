"""The checks, law by law: each gets a case and says what it finds wrong, in sentences. L13, time, is measured elsewhere."""

from tests.laws.case import Case
from tests.laws.checks import budget, escaping, journal, order, pairs, people, pointers, prefix, rules, seen_once, shape
from tests.laws.checks.budget import check_refusal
from tests.laws.checks.journal import check_end, check_twin
from tests.laws.checks.pairs import check_pending

_CHECKS = (
    ("L1", journal.problems),
    ("L2", rules.problems),
    ("L3", pairs.problems),
    ("L4", budget.problems),
    ("L5", people.problems),
    ("L6", pointers.problems),
    ("L7", order.problems),
    ("L10", escaping.problems),
    ("L11", prefix.problems),
    ("L12", seen_once.problems),
    ("L14", shape.problems),
)


def check_context(case: Case) -> list[tuple[str, list[str]]]:
    """Every law of a context, with what breaks it."""
    return [(law, list(check(case))) for law, check in _CHECKS]


__all__ = ["check_context", "check_end", "check_pending", "check_refusal", "check_twin"]
