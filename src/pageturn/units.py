"""Units: a call with all of its results, or a lone message. What stands as messages of a unit, stands whole."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from pageturn.pages import Page

T = TypeVar("T")

Unit = tuple[Page, ...]


LATEST = 64  # entries of the journal; a result that comes later than that after its unit stands by itself


def units_of(pages: Iterable[Page]) -> list[Unit]:
    """The pages as units, in the order in which each begins. A result belongs to the newest call of its id, if it is not very late."""
    units: list[list[Page]] = []
    waiting: dict[str, list[Page]] = {}  # the id of a call -> the unit that it is in
    for page in pages:
        unit = next((waiting[result.call] for result in page.results if result.call in waiting), None)
        if unit is None or page.seq - unit[-1].seq > LATEST:
            unit = []
            units.append(unit)
        unit.append(page)
        for call in page.calls:
            waiting[call.id] = unit
    return [tuple(unit) for unit in units]


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
    """The items in groups: together those whose pages lie between each other's, as when a result came late."""
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
