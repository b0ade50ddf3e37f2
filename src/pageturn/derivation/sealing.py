"""Sealing: which pages a fold need not look at again, and when it must after all."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from pageturn.layout import IndexLine
from pageturn.pages import Page
from pageturn.state import SessionState
from pageturn.units import Unit, entangled, units_of


def outside(state: SessionState, lines: Iterable[IndexLine]) -> Iterator[Page]:
    """The pages that stand somewhere and that none of these lines covers."""
    start = 0
    for line in lines:
        yield from filter(has_place, state.pages[start : state.after(line.first - 1)])
        start = state.after(line.last)
    yield from filter(has_place, state.pages[start:])


def has_place(page: Page) -> bool:
    """Whether a page stands somewhere: it counts, or it is an erased result, whose call must not seem to wait for one."""
    return page.counts or (page.erased and bool(page.results) and not page.undone)


def units_within(state: SessionState, pages: Iterable[Page]) -> list[Unit]:
    """The units of pages that have a place, but those of which everything was erased."""
    return [unit for unit in units_of(pages, state.turns) if any(page.counts for page in unit)]


def still_sealed(state: SessionState, wanted: AbstractSet[int]) -> Iterator[IndexLine]:
    """The sealed lines, opened around pages that were fetched or pinned since, and around those that are wanted."""
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
    """What is left of a line around some of its pages."""
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
