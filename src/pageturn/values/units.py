"""Groups pages into units: a call with all of its results, or a single message. A unit is shown as messages as a whole or not at all."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from pageturn.values.pages import Page

T = TypeVar("T")

Unit = tuple[Page, ...]

ABANDONED = 32  # turns after which a missing result is no longer expected


def units_of(pages: Iterable[Page], turns: Sequence[int]) -> list[Unit]:
    """The pages as units, in the order of their first pages. A result belongs to the newest call with its id, unless that call was
    abandoned.

    `turns` are the numbers of the pages that ended each turn of the session.
    """
    units: list[list[Page]] = []
    waiting: dict[str, list[Page]] = {}  # the id of a call -> the unit that it is in
    for page in pages:
        unit = next((waiting[result.call] for result in page.results if result.call in waiting), None)
        if unit is None or turns_between(unit[0], page, turns) >= ABANDONED:
            unit = []
            units.append(unit)
        unit.append(page)
        for call in page.calls:
            waiting[call.id] = unit
    return [tuple(unit) for unit in units]


def turns_between(call: Page, result: Page, turns: Sequence[int]) -> int:
    return bisect_left(turns, result.seq) - bisect_right(turns, call.seq)


def unanswered(unit: Unit) -> list[str]:
    """The ids of the calls of a unit that have no result yet."""
    answers = Counter(result.call for page in unit for result in page.results)
    left = []
    for call in (call for page in unit for call in page.calls):
        if answers[call.id] > 0:
            answers[call.id] -= 1
        else:
            left.append(call.id)
    return left


def entangled(items: Iterable[T], span: Callable[[T], tuple[int, int]]) -> Iterator[list[T]]:
    """The items in groups: items whose pages interleave are together, as when a result arrived late."""
    group: list[T] = []
    reach = 0
    for item in items:
        first, last = span(item)
        if group and first > reach:
            yield group
            group = []
        group.append(item)
        reach = max(reach, last)
    if group:
        yield group
