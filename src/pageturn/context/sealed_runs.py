"""Finds which pages are covered by sealed lines, and opens those lines again when a page of them is needed."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from pageturn.journal.state import SessionState
from pageturn.values.layout import IndexLine
from pageturn.values.pages import Page
from pageturn.values.units import Unit, entangled, units_of


def outside(state: SessionState, lines: Iterable[IndexLine]) -> Iterator[Page]:
    """The pages that have a place in a context and that none of these lines covers."""
    start = 0
    for line in lines:
        yield from filter(has_place, state.pages[start : state.after(line.first - 1)])
        start = state.after(line.last)
    yield from filter(has_place, state.pages[start:])


def has_place(page: Page) -> bool:
    """Whether a page has a place: it counts, or it is an erased result, whose call must not seem open."""
    return page.counts or (page.erased and bool(page.results) and not page.undone)


def units_within(state: SessionState, pages: Iterable[Page]) -> list[Unit]:
    """The units of pages that have a place, except units that were erased entirely."""
    return [unit for unit in units_of(pages, state.turns) if any(page.counts for page in unit)]


def still_sealed(state: SessionState, wanted: AbstractSet[int]) -> Iterator[IndexLine]:
    """The sealed lines, split around pages that were fetched or pinned since, and around those that are wanted."""
    ordered = sorted(wanted | state.fetched_since_fold | state.pins.keys())
    for line in state.lines:
        if not line.sealed:
            continue
        inside = set(ordered[bisect_left(ordered, line.first) : bisect_right(ordered, line.last)])
        if inside:
            yield from _opened(state, line, inside)
        elif _has_pages(state, line):
            yield line


def _opened(state: SessionState, line: IndexLine, wanted: set[int]) -> Iterator[IndexLine]:
    """The remaining parts of a line around some of its pages."""
    run: list[Unit] = []
    units = units_of(state.between(line.first, line.last), state.turns)
    for together in entangled(units, lambda unit: (unit[0].seq, unit[-1].seq)):
        if any(page.seq in wanted for unit in together for page in unit):
            yield from _sealed_line(run, line)
            run = []
        else:
            run += together
    yield from _sealed_line(run, line)


def _sealed_line(run: Sequence[Unit], whole: IndexLine) -> Iterator[IndexLine]:
    if run:
        last = max(unit[-1].seq for unit in run)
        yield IndexLine(run[0][0].seq, last, whole.turn, sealed=True, ledger=whole.ledger)


def _has_pages(state: SessionState, line: IndexLine) -> bool:
    return any(page.counts for page in state.pages[state.after(line.first - 1) : state.after(line.last)])
