"""Chooses which runs of pages to summarize ahead of time, and how long each summary should be.

Runs are small, medium and large, aligned so that small ones nest in large ones, and made of whole units without open calls. They
never cover a rule, what a reset covers, or the newest units.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from pageturn.journal.state import SessionState
from pageturn.values.pages import Page
from pageturn.values.units import ABANDONED, Unit, entangled, unanswered, units_of
from pageturn.writeback.validation import summary_floor

SIZES = (4, 16, 64)  # units
_TARGETS = ((4, 192), (16, 512), (64, 768))  # tokens for this many units
_LARGEST_TARGET = 1_024
_RECENT = 8  # the newest units, which no policy will leave out yet
_FEWEST = 12  # units; a shorter session needs none
_MOST_RUNS = 32  # the newest of each size
_LEAST_TOKENS = 400  # a shorter run is not worth a summary
_GROWS = 4  # a long session begins at this multiple of the largest size
_SHARE = 3  # a summary takes at most a third of what it replaces
_ABOVE_FLOOR = 1.25


class Run(NamedTuple):
    """Consecutive pages: those that count from the first to the last."""

    pages: tuple[Page, ...]
    units: int

    @property
    def handles(self) -> str:
        """The range in the form of pointers."""
        return f"{self.pages[0].handle}..{self.pages[-1].handle}"

    @property
    def tokens(self) -> int:
        """The tokens of the pages at full."""
        return sum(page.tokens for page in self.pages)

    @property
    def least_tokens(self) -> int:
        """The least that the quality check requires of a summary."""
        return summary_floor(self.tokens)

    @property
    def target_tokens(self) -> int:
        """How long a summary should be: by the size of its run, and above the minimum of the quality check."""
        wanted = next((tokens for units, tokens in _TARGETS if self.units <= units), _LARGEST_TARGET)
        return max(min(wanted, self.tokens // _SHARE), int(self.least_tokens * _ABOVE_FLOOR) + 1)

    @property
    def is_worthwhile(self) -> bool:
        """Whether a summary would save anything."""
        return len(self.pages) > 1 and self.tokens >= _LEAST_TOKENS


_Group = list[Unit]  # whose pages interleave, so that a run has all of them or none
_Stretch = list[_Group]  # between rules, and between open calls


class _Settled:
    """What only an undo, an erasure, a reset or a pin changes: the number of pages and units, and the stretches they form."""

    def __init__(self) -> None:
        self.pages = self.units = 0
        self.stretches: list[_Stretch] = [[]]
        self.runs: dict[tuple[int, int], Run] = {}  # found the last time, by their first and last page


class RunsAhead:
    """The runs of a session that may be left out later, found as it grows; runs that no longer change are not examined again."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._made_of: tuple[int, ...] | None = None  # the changes and promises of the journal
        self._settled = _Settled()

    def find(self, sizes: Sequence[int] = SIZES) -> list[Run]:
        """Small ones before large ones, and older before newer; at most 97."""
        state, now = self._state, (self._state.changes, self._state.promises)
        if self._made_of != now:
            self._made_of, self._settled = now, _Settled()
        known = self._settled
        groups = list(
            entangled(units_of((page for page in state.pages[known.pages :] if page.counts), state.turns), _span)
        )
        settled = self._count_settled(groups)
        settled_units, units = self._uncovered(groups[:settled]), self._uncovered(groups[settled:])
        self._extend(known.stretches, settled_units)
        known.units += len(settled_units)
        known.pages = state.after(groups[settled][0][0].seq - 1) if settled < len(groups) else len(state.pages)
        if known.units + len(units) < _FEWEST:
            return []
        stretches = [*known.stretches[:-1], [*known.stretches[-1]]]
        self._extend(stretches, units[:-_RECENT])
        wanted = {(run[0][0][0].seq, max(map(_end, run[-1]))): run for run in _wanted(stretches, sizes)}
        found = {span: known.runs.get(span) or _run(groups) for span, groups in wanted.items()}
        known.runs = {span: run for span, run in found.items() if span in known.runs or self._is_usable(run)}
        return list(known.runs.values())

    def _count_settled(self, groups: Sequence[_Group]) -> int:
        """The number of groups that no new page can join: no call before that point can still get a result; the newest units are
        excluded.
        """
        turns = self._state.turns
        waiting_from = turns[-ABANDONED] if len(turns) >= ABANDONED else 0
        newer, settled = 0, len(groups)
        while settled and newer < _RECENT:
            settled -= 1
            newer += len(self._uncovered([groups[settled]]))
        for at, group in enumerate(groups[:settled]):
            if any(unit[0].calls and unit[0].seq >= waiting_from for unit in group):
                return at
        return settled

    def _uncovered(self, groups: Iterable[_Group]) -> list[Unit]:
        return [unit for group in groups for unit in group if not self._state.is_covered(unit[0].seq)]

    def _extend(self, stretches: list[_Stretch], units: Iterable[Unit]) -> None:
        """Extend the last stretch, and start a new one after each rule and each open call."""
        together: list[Unit] = []
        for unit in units:
            if unanswered(unit) or any(self._state.kind(page).is_rule for page in unit):
                stretches[-1] += entangled(together, _span)
                stretches.append([])
                together = []
            else:
                together.append(unit)
        stretches[-1] += entangled(together, _span)

    def _is_usable(self, run: Run) -> bool:
        return run.is_worthwhile and still_holds(self._state, run)


def run_between(state: SessionState, pages: Sequence[Page]) -> Run | None:
    """The run that is wished for; None if a summary may not cover it, or would save nothing."""
    run = Run(tuple(pages), len(units_of(pages, state.turns)))
    has_rule = any(state.kind(page).is_rule for page in pages)
    return run if run.is_worthwhile and not has_rule and not state.is_covered(pages[0].seq) else None


def still_holds(state: SessionState, run: Run) -> bool:
    """Whether a run is unchanged: nothing in it was undone, erased, made a rule or covered by a reset since."""
    first, last = run.pages[0].seq, run.pages[-1].seq
    now = state.between(first, last)
    same = [page.seq for page in now] == [page.seq for page in run.pages]
    return same and not state.is_covered(first) and not any(state.kind(page).is_rule for page in now)


def _span(unit: Unit) -> tuple[int, int]:
    return unit[0].seq, unit[-1].seq


def _end(unit: Unit) -> int:
    return unit[-1].seq


def _run(groups: Sequence[_Group]) -> Run:
    pages = sorted((page for group in groups for unit in group for page in unit), key=lambda page: page.seq)
    return Run(tuple(pages), sum(map(len, groups)))


def _wanted(stretches: Sequence[_Stretch], sizes: Sequence[int]) -> Iterator[Sequence[_Group]]:
    """The newest runs of each size, and the beginning of a long session."""
    for size in sizes:
        newest = list(islice(_aligned_from_the_last(stretches, size), _MOST_RUNS))
        yield from reversed(newest)
    longest, size = max(stretches, key=len, default=[]), max(sizes, default=0)
    while 0 < _GROWS * size <= len(longest):
        size *= _GROWS
    if size > max(sizes, default=0):
        yield longest[:size]


def _aligned_from_the_last(stretches: Sequence[_Stretch], size: int) -> Iterator[Sequence[_Group]]:
    for stretch in reversed(stretches):
        for start in reversed(range(0, len(stretch) - size + 1, size)):
            yield stretch[start : start + size]
