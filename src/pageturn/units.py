"""Units: a call with all of its results, or a lone message. What stands as messages of a unit, stands whole."""

from collections.abc import Iterable

from pageturn.pages import Page


def units_of(pages: Iterable[Page]) -> list[tuple[Page, ...]]:
    """The pages as units, in the order in which each begins. A result belongs to the newest call of its id."""
    units: list[list[Page]] = []
    waiting: dict[str, list[Page]] = {}  # the id of a call -> the unit that it is in
    for page in pages:
        unit = next((waiting[result.call] for result in page.results if result.call in waiting), None)
        if unit is None:
            unit = []
            units.append(unit)
        unit.append(page)
        for call in page.calls:
            waiting[call.id] = unit
    return [tuple(unit) for unit in units]
