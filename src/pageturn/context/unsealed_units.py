"""Keeps the units of the pages that no sealed line covers, updated page by page, so that no fold has to find them again."""

from collections.abc import Iterable

from pageturn.context.sealed_runs import has_place, outside
from pageturn.journal.state import SessionState
from pageturn.values.layout import IndexLine
from pageturn.values.pages import Page
from pageturn.values.units import ABANDONED, Unit, turns_between


class UnsealedUnits:
    """The units of one journal that the next fold may move: those that `units_within` finds outside of the sealed lines."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._basis: tuple[int, int] | None = None  # the changes and the folds of the journal
        self._taken = 0  # pages
        self._units: dict[int, Unit] = {}  # by their first page, in order
        self._waiting: dict[str, int] = {}  # the first page of the unit that a call is in, by its id
        self._sealed: list[tuple[int, int]] = []  # the ends of the lines that cover the other pages

    def are_outside(self, sealed: Iterable[IndexLine]) -> bool:
        """Whether just these lines cover all other pages."""
        return [(line.first, line.last) for line in sealed] == self._sealed

    def now(self) -> list[Unit]:
        """The units in order, except those that were erased entirely."""
        self.take_in()
        units = self._units.values()
        return [unit for unit in units if unit[0].counts or any(page.counts for page in unit)]

    def take_in(self) -> list[Unit]:
        """Take in the pages that came since; the units that they are in."""
        state = self._state
        if self._basis is None or self._basis[0] != state.changes:
            self._begin()
        elif self._basis[1] != len(state.folds):
            self._seal()
        start = self._taken
        self._taken = len(state.pages)
        firsts = dict.fromkeys(self._take(page) for page in state.pages[start:] if has_place(page))
        return [self._units[first] for first in firsts]

    def _begin(self) -> None:
        """Start again, because the history has changed."""
        state = self._state
        self._basis = (state.changes, len(state.folds))
        self._sealed = [(line.first, line.last) for line in state.lines if line.sealed]
        self._units, self._waiting = {}, {}
        for page in outside(state, (line for line in state.lines if line.sealed)):
            self._take(page)
        self._taken = len(state.pages)

    def _take(self, page: Page) -> int:
        """Add a page; the first page of its unit."""
        waiting, units = self._waiting, self._units
        first = None
        for result in page.results:
            if (first := waiting.get(result.call)) is not None:
                break
        if first is None or turns_between(units[first][0], page, self._state.turns) >= ABANDONED:
            first = page.seq
            units[first] = (page,)
        else:
            units[first] = (*units[first], page)
        for call in page.calls:
            waiting[call.id] = first
        return first

    def _seal(self) -> None:
        """Leave out what the sealed lines of a new fold cover."""
        state = self._state
        sealed = [(line.first, line.last) for line in state.lines if line.sealed]
        taken = state.pages[self._taken - 1].seq if self._taken else 0
        if sealed and sealed[-1][1] > taken:
            self._begin()  # it was long not asked, as when the calls went to another model, and would take in what a line covers
            return
        if not all(any(first <= line[0] and line[1] <= last for first, last in sealed) for line in self._sealed):
            self._begin()  # a line was opened
            return
        kept: dict[int, Unit] = {}
        for first, unit in self._units.items():
            covers = [last for start, last in sealed if start <= first <= last]
            if covers and unit[-1].seq > covers[0]:
                self._begin()  # a line covers a part of it
                return
            if not covers:
                kept[first] = unit
        self._basis, self._sealed, self._units = (state.changes, len(state.folds)), sealed, kept
        self._waiting = {call.id: first for first, unit in kept.items() for page in unit for call in page.calls}
