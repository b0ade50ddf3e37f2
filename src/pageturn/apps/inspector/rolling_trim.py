"""A rolling trim: the instructions and the newest pages that fit, as `pageturn.lab.baselines.keep_last` keeps them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from pageturn.values.messages import Role
from pageturn.values.pages import Page

_OPENING = (Role.SYSTEM, Role.DEVELOPER)


class Trimmed(NamedTuple):
    """A request under the trim: its tokens, and how many of them the one before began with."""

    tokens: int
    shared: int


def trimmed(pages: Sequence[Page], places: Sequence[int], fixed: Sequence[int], budget_tokens: int) -> list[Trimmed]:
    """The requests that were made at some places among the pages, each with the number of other tokens, which no trim removes."""
    sizes = [page.tokens for page in pages]
    sums = [0, *accumulate(sizes)]
    instructions = _Instructions(pages, sizes)
    requests: list[Trimmed] = []
    last: _Kept | None = None
    for place, beside in zip(places, fixed, strict=True):
        now = instructions.kept(place, max(0, budget_tokens - beside), sums)
        always = beside + instructions.tokens(place)
        shared = always + _overlap(last, now, sums) if last is not None else 0
        requests.append(Trimmed(always + now.tokens, shared))
        last = now
    return requests


class _Kept(NamedTuple):
    """The newest pages that a trim keeps, in addition to the instructions: from one place on, and their tokens."""

    start: int
    end: int
    tokens: int = 0


class _Instructions:
    """The instructions, which a trim keeps wherever they are."""

    def __init__(self, pages: Sequence[Page], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._is_kept = [page.role in _OPENING for page in pages]
        self._sums = [0, *accumulate(size if kept else 0 for size, kept in zip(sizes, self._is_kept, strict=True))]

    def tokens(self, place: int) -> int:
        """Those before a place."""
        return self._sums[place]

    def kept(self, place: int, budget_tokens: int, sums: Sequence[int]) -> _Kept:
        """As many of the newest others as fit next to them; the last one always."""
        room = budget_tokens - self._sums[place]
        start = place
        while start > 0:
            at = start - 1
            if not self._is_kept[at]:
                room -= self._sizes[at]
                if room < 0 and at < place - 1:
                    break
            start = at
        return _Kept(start, place, self._others(start, place, sums))

    def _others(self, start: int, end: int, sums: Sequence[int]) -> int:
        return sums[end] - sums[start] - (self._sums[end] - self._sums[start])


def _overlap(last: _Kept, now: _Kept, sums: Sequence[int]) -> int:
    """What both requests have after the instructions: all of the one before, if the trim still begins where it did."""
    return last.tokens if last.start == now.start and sums[last.end] <= sums[now.end] else 0
