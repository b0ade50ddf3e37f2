"""The checks, law by law: each gets a case and says what it finds wrong, in sentences. How time grows is measured in `tests/hostile`."""

from tests.laws.case import Case
from tests.laws.checks import budget, escaping, journal, order, pairs, people, pointers, prefix, rules, seen_once, shape
from tests.laws.checks.budget import check_refusal
from tests.laws.checks.journal import check_end, check_twin
from tests.laws.checks.pairs import check_pending

_CHECKS = (
    ("journal", journal.problems),
    ("rules", rules.problems),
    ("pairs", pairs.problems),
    ("budget", budget.problems),
    ("people", people.problems),
    ("pointers", pointers.problems),
    ("order", order.problems),
    ("escaping", escaping.problems),
    ("prefix", prefix.problems),
    ("seen once", seen_once.problems),
    ("shape", shape.problems),
)


def check_context(case: Case) -> list[tuple[str, list[str]]]:
    """Every law of a context, with what breaks it."""
    return [(law, list(check(case))) for law, check in _CHECKS]


__all__ = ["check_context", "check_end", "check_pending", "check_refusal", "check_twin"]
