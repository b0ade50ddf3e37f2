"""Telling: what an index line may say beyond its counts. A summary that somebody wrote of the run, and what was changed in it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain

from pageturn.derivation.forms import FormMaker, Forms
from pageturn.derivation.index_lines import IndexLines
from pageturn.layout import IndexLine
from pageturn.state import SessionState

_WORTH = 2  # a summary takes at most this part of what it stands for


def summaries(state: SessionState) -> dict[int, list[IndexLine]]:
    """The runs that writeback admitted a summary for, if it is worth its tokens; by their first page, the longest first."""
    found: dict[int, dict[int, IndexLine]] = {}
    for each in state.renditions:
        if each.first < each.last and each.tokens * _WORTH <= state.tokens_between(each.first, each.last):
            found.setdefault(each.first, {})[each.last] = IndexLine(each.first, each.last, summary=each.digest)
    return {first: [runs[last] for last in sorted(runs, reverse=True)] for first, runs in found.items()}


def changes(
    lines: IndexLines, maker: FormMaker, forms: Mapping[int, Forms], sealed: Sequence[IndexLine]
) -> Callable[[int, int], str | None]:
    """What was changed in a run of units, as those that are near say, and the ledgers of lines that are sealed."""
    told = [effect for line in sealed for effect in lines.effects(line)]

    @cache
    def changed(first: int, last: int) -> str | None:
        near = (effect for at, made in forms.items() if first <= at <= last for effect in maker.effects(made))
        return lines.ledger(effect for effect in chain(told, near) if first <= effect.page <= last)

    return changed
