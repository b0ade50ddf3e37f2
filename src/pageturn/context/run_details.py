"""Finds what an index line may show beyond its counts: a written summary of the run, and what was changed in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain

from pageturn.context.forms import FormMaker
from pageturn.context.index_lines import IndexLines
from pageturn.context.renditions import Effect
from pageturn.context.unit_forms import Forms
from pageturn.journal.state import SessionState
from pageturn.values.entries import RenditionAdmitted
from pageturn.values.layout import Changes, IndexLine

_WORTH = 2  # a summary takes at most half of what it replaces
_BYTES_A_TOKEN = 4  # about; pages of one session may have been counted by several counters


class AdmittedSummaries:
    """The summaries that writeback admitted, updated incrementally."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._renditions: Sequence[RenditionAdmitted] = ()
        self._taken = 0
        self._by_first: dict[int, tuple[IndexLine, ...]] = {}

    def by_first(self) -> Mapping[int, Sequence[IndexLine]]:
        """The summaries that save enough tokens, by the first page of their run, longest first.

        Runs covered by a reset are excluded: the summary of the reset replaces them already.
        """
        state = self._state
        if state.renditions is not self._renditions:  # some were removed with their pages
            self._renditions, self._taken, self._by_first = state.renditions, 0, {}
        for each in state.renditions[self._taken :]:
            size = state.size_between(each.first, each.last) if each.first < each.last else 0
            if each.tokens * _WORTH * _BYTES_A_TOKEN <= size:
                line = IndexLine(each.first, each.last, summary=each.digest)
                others = [other for other in self._by_first.get(each.first, ()) if other.last != each.last]
                self._by_first[each.first] = tuple(sorted([*others, line], key=lambda line: -line.last))
        self._taken = len(state.renditions)
        return {first: lines for first, lines in self._by_first.items() if not state.is_covered(first)}


def changes(
    lines: IndexLines, maker: FormMaker, forms: Mapping[int, Forms], sealed: Sequence[IndexLine]
) -> Callable[[int, int], Changes | None]:
    """A function that gives the changes in a run, from the forms of units and the ledgers of sealed lines."""
    ledgers = [lines.changes(line) for line in sealed]
    recorded = sorted((effect for each in ledgers for effect in each.effects), key=_page)
    counted = [count for each in ledgers for count in each.counted]
    firsts = sorted(forms)

    @cache
    def changed(first: int, last: int) -> Changes | None:
        inside = firsts[bisect_left(firsts, first) : bisect_right(firsts, last)]
        near = (effect for at in inside for effect in maker.effects(forms[at]) if effect.page <= last)
        known = recorded[bisect_left(recorded, first, key=_page) : bisect_right(recorded, last, key=_page)]
        return lines.ledger(chain(known, near), (each for each in counted if first <= each.last <= last))

    return changed


def _page(effect: Effect) -> int:
    return effect.page
