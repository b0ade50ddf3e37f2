"""Lists the figures of a group: what each shows, how to read it, and how it is drawn at any width."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pageturn.lab.report.cost_coverage import cost_against_coverage
from pageturn.lab.report.gaps import gap_to_oracle, gaps
from pageturn.lab.report.groups import Group
from pageturn.lab.report.residency import residency
from pageturn.lab.report.spending import spending
from pageturn.lab.report.svg import Node
from pageturn.lab.report.timeline import timeline
from pageturn.lab.report.turns import Drawn

WIDE, NARROW = 940.0, 380.0


class Figure(NamedTuple):
    """A drawing that is not made yet."""

    name: str  # of its file
    title: str
    caption: str
    draw: Callable[[float], Node]


def figures(group: Group, example: tuple[Drawn, ...]) -> Iterator[Figure]:
    """The figures for which a group has data."""
    spread = (
        f"Bars are 95 % intervals over resamples of {len(group.sessions):,} sessions."
        if len(group.sessions) > 1
        else "One session gives no confidence intervals."
    )
    hollow = " Hollow marks look ahead." if any(row.is_foreseen for row in group.rows) else ""
    yield Figure(
        "cost-coverage",
        "Cost against coverage",
        f"Each mark is a policy at a budget; marks below the front are beaten by another that is cheaper and shows more.{hollow} {spread}",
        lambda width: cost_against_coverage(group, width),
    )
    if gaps(group):
        yield Figure(
            "oracle-gap",
            "Gap to the oracle",
            "What was missed by each policy, and by one that knows what will be demanded. The number at the right is the difference, in percentage points.",
            lambda width: gap_to_oracle(group, width),
        )
    if not example:
        return
    result = example[0].result
    of = f"{result.trace}, {len(result.turns):,} turns, at {result.budget_tokens:,} tokens"
    yield Figure(
        "residency",
        "What was in the request",
        f"Tokens of each request by level: {of}.",
        lambda width: residency(example, width),
    )
    yield Figure(
        "spending",
        "The bill so far",
        f"Between the lower bound and sending everything: {of}.",
        lambda width: spending(example, width, group.everything(result)),
    )
    yield Figure(
        "faults",
        "Faults and misses by turn",
        f"Faults that the session recorded, and names that were demanded and not there; taller marks are more of them: {of}.",
        lambda width: timeline(example, width),
    )


def left_out(group: Group, example: tuple[Drawn, ...]) -> Iterator[str]:
    """Which figures a group lacks, and why."""
    if not gaps(group):
        yield "No plot of the gap to the oracle: no row was compared with it on all of its sessions."
    if not any(result.turns for result in group.results):
        yield "No turn-by-turn plots: the results have no turns."
    elif not example:
        yield "No turn-by-turn plots: the requested session has no result at that budget."
