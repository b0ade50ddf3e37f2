"""Runs: which pages in a row are worth a summary ahead of time, and how long it should be.

Runs are small, medium and large, aligned so that the small lie whole in the large, and made of whole units that wait for nothing. They
never cover a rule, what a reset covers, or the newest units.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.pages import Page
from pageturn.state import SessionState
from pageturn.units import Unit, entangled, unanswered, units_of
from pageturn.writeback import summary_floor

SIZES = (4, 16, 64)  # units
_TARGETS = ((4, 192), (16, 512), (64, 768))  # tokens for so many units
_LARGEST_TARGET = 1_024
_RECENT = 8  # units that nobody will leave out yet
_FEWEST = 12  # units; a shorter session needs none
_MOST_RUNS = 32  # of each size, the newest
_LEAST_TOKENS = 400  # what has fewer is as well left as it is
_GROWS = 4  # times the largest size is the beginning of a long session, and so on
_SHARE = 3  # a summary takes at most a third of what it stands for
_ABOVE_FLOOR = 1.25


class Run(NamedTuple):
    """Pages in a row: those that count from the first to the last."""

    pages: tuple[Page, ...]
    units: int

    @property
    def handles(self) -> str:
        """The range, as pointers name it."""
        return f"{self.pages[0].handle}..{self.pages[-1].handle}"

    @property
    def tokens(self) -> int:
        """What the pages take at full."""
        return sum(page.tokens for page in self.pages)

    @property
    def least_tokens(self) -> int:
        """What the gate asks of a summary at least."""
        return summary_floor(self.tokens)

    @property
    def target_tokens(self) -> int:
        """How long a summary should be: by how much it stands for, and above what the gate refuses."""
        wanted = next((tokens for units, tokens in _TARGETS if self.units <= units), _LARGEST_TARGET)
        return max(min(wanted, self.tokens // _SHARE), int(self.least_tokens * _ABOVE_FLOOR) + 1)

    @property
    def is_worthwhile(self) -> bool:
        """Whether a summary would save anything."""
        return len(self.pages) > 1 and self.tokens >= _LEAST_TOKENS


def runs_ahead(state: SessionState, sizes: Sequence[int] = SIZES) -> list[Run]:
    """The runs of a session that may come to be left out, the small ones first and the older first; at most 97."""
    stretches = [list(entangled(stretch, _span)) for stretch in _stretches(state)]
    found: list[Run] = []
    for size in sizes:
        runs = [run for stretch in stretches for run in _aligned(stretch, size)]
        found += runs[-_MOST_RUNS:]
    longest, size = max(stretches, key=len, default=[]), max(sizes, default=0)
    while 0 < _GROWS * size <= len(longest):
        size *= _GROWS
    if size > max(sizes, default=0):
        found.append(_run(longest[:size]))
    return [run for run in found if run.is_worthwhile and still_holds(state, run)]


def run_between(state: SessionState, pages: Sequence[Page]) -> Run | None:
    """The run that somebody wishes for; None where a summary may not cover it, or would save nothing."""
    run = Run(tuple(pages), len(units_of(pages)))
    has_rule = any(state.kind(page).is_rule for page in pages)
    return run if run.is_worthwhile and not has_rule and pages[0].seq > _covered(state) else None


def still_holds(state: SessionState, run: Run) -> bool:
    """Whether a run is what it was: nothing of it undone, erased, made a rule or covered by a reset since."""
    first, last = run.pages[0].seq, run.pages[-1].seq
    now = state.between(first, last)
    same = [page.seq for page in now] == [page.seq for page in run.pages]
    return same and first > _covered(state) and not any(state.kind(page).is_rule for page in now)


def _covered(state: SessionState) -> int:
    return state.resets[-1] if state.resets else 0


def _stretches(state: SessionState) -> Iterator[list[Unit]]:
    """The units between rules and between calls that wait, without the newest."""
    after = _covered(state)
    units = [unit for unit in units_of(state.live_pages()) if unit[0].seq > after]
    if len(units) < _FEWEST:
        return
    stretch: list[Unit] = []
    for unit in units[:-_RECENT]:
        if unanswered(unit) or any(state.kind(page).is_rule for page in unit):
            yield stretch
            stretch = []
        else:
            stretch.append(unit)
    yield stretch


def _span(unit: Unit) -> tuple[int, int]:
    return unit[0].seq, unit[-1].seq


def _aligned(stretch: Sequence[list[Unit]], size: int) -> Iterator[Run]:
    for start in range(0, len(stretch) - size + 1, size):
        yield _run(stretch[start : start + size])


def _run(groups: Sequence[list[Unit]]) -> Run:
    pages = sorted((page for group in groups for unit in group for page in unit), key=lambda page: page.seq)
    return Run(tuple(pages), sum(map(len, groups)))
