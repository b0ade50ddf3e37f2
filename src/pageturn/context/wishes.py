"""Finds the texts that a context would use if they were written: short forms of large rules, and summaries of large runs."""

from collections.abc import Iterable, Iterator

from pageturn.journal.state import SessionState
from pageturn.policies.checked import CheckedPolicy
from pageturn.values.context import Wish
from pageturn.values.layout import IndexLine, Placement, Why
from pageturn.values.pages import ResidencyLevel

_LARGE_RULE = 400  # tokens
_LARGE_RUN = 4_000  # bytes


def wishes(state: SessionState, policy: CheckedPolicy, placements: Iterable[Placement]) -> Iterator[Wish]:
    """Wishes for short forms of rules, which only their author or writeback may rephrase, and for summaries if the policy wants them."""
    summed_up = {(each.first, each.last) for each in state.renditions}
    for placement in placements:
        if placement.line is not None:
            if policy.wishes_summaries and (placement.first, placement.last) not in summed_up:
                yield from _summary_of(state, placement.line)
            continue
        page = state.page(placement.first)
        is_large = placement.why is Why.RULE and placement.tokens >= _LARGE_RULE
        if is_large and page is not None and placement.level is ResidencyLevel.FULL:
            reason = f"a rule of {placement.tokens:,} tokens has no shorter form"
            yield Wish(page.handle, ResidencyLevel.STRUCTURED, reason)


def _summary_of(state: SessionState, line: IndexLine) -> Iterator[Wish]:
    """A wish for a summary of a run, if it is large and no reset covers it."""
    size = state.size_between(line.first, line.last)
    if size >= _LARGE_RUN and not state.is_covered(line.last):
        pages = state.between(line.first, line.last)
        reason = f"of a run of {size:,} bytes only the counts are shown"
        yield Wish(f"{pages[0].handle}..{pages[-1].handle}", ResidencyLevel.STRUCTURED, reason)
