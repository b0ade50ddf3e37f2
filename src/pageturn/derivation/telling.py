"""Telling: what an index line may say beyond its counts. A summary that somebody wrote of the run, and what was changed in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain

from pageturn.derivation.forms import FormMaker, Forms
from pageturn.derivation.index_lines import IndexLines
from pageturn.entries import RenditionAdmitted
from pageturn.layout import Changes, IndexLine
from pageturn.renditions import Effect
from pageturn.state import SessionState

_WORTH = 2  # a summary takes at most this part of what it stands for
_BYTES_A_TOKEN = 4  # about; pages of one session may have been counted by several counters


class AdmittedSummaries:
    """The summaries that writeback admitted, kept up to date as they come."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._renditions: Sequence[RenditionAdmitted] = ()
        self._taken = 0
        self._by_first: dict[int, tuple[IndexLine, ...]] = {}

    def by_first(self) -> Mapping[int, Sequence[IndexLine]]:
        """Those that are worth their tokens, by the first page of their run, the longest first.

        What a reset covers is not among them: its own summary stands for that, and would be told twice.
        """
        state = self._state
        if state.renditions is not self._renditions:  # some are gone with their pages
            self._renditions, self._taken, self._by_first = state.renditions, 0, {}
        for each in state.renditions[self._taken :]:
            size = state.size_between(each.first, each.last) if each.first < each.last else 0
            if each.tokens * _WORTH * _BYTES_A_TOKEN <= size:
                line = IndexLine(each.first, each.last, summary=each.digest)
                others = [other for other in self._by_first.get(each.first, ()) if other.last != each.last]
                self._by_first[each.first] = tuple(sorted([*others, line], key=lambda line: -line.last))
        self._taken = len(state.renditions)
        covered = state.resets[-1] if state.resets else 0
        return {first: lines for first, lines in self._by_first.items() if first > covered}


def changes(
    lines: IndexLines, maker: FormMaker, forms: Mapping[int, Forms], sealed: Sequence[IndexLine]
) -> Callable[[int, int], Changes | None]:
    """What was changed in a run of units, as those that are near say, and the ledgers of lines that are sealed."""
    ledgers = [lines.changes(line) for line in sealed]
    told = sorted((effect for each in ledgers for effect in each.effects), key=_page)
    counted = [count for each in ledgers for count in each.counted]
    firsts = sorted(forms)

    @cache
    def changed(first: int, last: int) -> Changes | None:
        inside = firsts[bisect_left(firsts, first) : bisect_right(firsts, last)]
        near = (effect for at in inside for effect in maker.effects(forms[at]) if effect.page <= last)
        known = told[bisect_left(told, first, key=_page) : bisect_right(told, last, key=_page)]
        return lines.ledger(chain(known, near), (each for each in counted if first <= each.last <= last))

    return changed


def _page(effect: Effect) -> int:
    return effect.page
