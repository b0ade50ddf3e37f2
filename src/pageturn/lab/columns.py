"""Names the columns of replay results: the same heads, in the same order, in the tables of the terminal, the report and the benchmarks."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pageturn.lab.results import MISS_TOKENS, Score
from pageturn.values.model_prices import REFERENCE, ModelPrice, money


class Column(NamedTuple):
    """A figure of a score: its head, what it means, and how it is written."""

    head: str
    meaning: str
    cell: Callable[[Score], str]


def _priced(miss_tokens: int) -> Callable[[Score], str]:
    return lambda score: f"{score.priced(miss_tokens):.3f}" if score.is_priced else "-"


PRICED_BILL = Column(
    "priced bill",
    "the bill, and for each turn that misses something one more call that brings it back; relative to sending everything",
    _priced(0),
)
BILL = Column("bill", "of all requests, relative to sending everything", lambda score: f"{score.bill:.3f}")
COVERAGE = Column(
    "coverage", "the share of names in calls that the request showed", lambda score: f"{score.coverage:.3f}"
)
VERBATIM = Column(
    "verbatim",
    "the share of lines that edits had to match which the request showed",
    lambda score: f"{score.verbatim_coverage:.3f}" if score.lines_wanted else "-",
)
TURNS_THAT_MISS = Column(
    "turns that miss",
    "the share of turns that name or quote something said before which the request did not show",
    lambda score: f"{score.share_missing:.1%}" if score.is_priced else "-",
)
FOLDS = Column("folds", "requests that did not begin with the one before", lambda score: f"{score.folds:,}")
LEADING = (PRICED_BILL, BILL, COVERAGE, VERBATIM, TURNS_THAT_MISS, FOLDS)

WITH_REFETCHES = Column(
    "with re-fetches",
    "the bill, and that of reading whole pages again for the names that were missed; relative to sending everything",
    lambda score: f"{score.bill_with_refetches:.3f}",
)
TIMES_THE_LOWER_BOUND = Column(
    "times the lower bound",
    "how many times the least that these requests can cost",
    lambda score: f"{score.over_floor:.2f}",
)
MISSES_PRICED = tuple(
    Column(
        f"at {tokens:,} a miss",
        f"the priced bill, and {tokens:,} tokens for each turn that misses",
        _priced(tokens),
    )
    for tokens in MISS_TOKENS[1:]
)
DOLLARS = "dollars"
DOLLARS_MEANING = "what the sessions cost in all: the priced bill and the output"


def leading_heads() -> list[str]:
    """The first heads of every table."""
    first, *others = (column.head for column in LEADING)
    return [first, DOLLARS, *others]


def leading_cells(score: Score, dollars: float | None) -> list[str]:
    """The first cells of every table."""
    first, *others = (column.cell(score) for column in LEADING)
    return [first, "-" if dollars is None or not score.is_priced else money(dollars), *others]


def reference_dollars(score: Score) -> float:
    """What sessions cost that were billed in the ideal cache's ratios."""
    return REFERENCE.of_input(score.paid)


def legend(prices: Iterable[ModelPrice]) -> str:
    """The line below a table that says what its dollars are."""
    lists = "; ".join(dict.fromkeys(map(str, prices)))
    if not lists:
        return f"{DOLLARS}: price unknown, give --model or --price"
    return f"{DOLLARS}: the priced bill and the output, at list prices of {lists}"
