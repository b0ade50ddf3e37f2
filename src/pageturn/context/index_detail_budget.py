"""Chooses how many details index lines show beyond their counts, by the room that a fold leaves.

Summaries come first, then changes counted by kind, then single changes; of each the newest first.
"""

from collections.abc import Callable, Iterator, Sequence

from pageturn.context.layouts import Layouts
from pageturn.values.layout import Details, Frame, Levels, Placement

_SHARE = 3  # details take at most a third of the free tokens, so that the next fold is not due at once


def most_details(layouts: Layouts, levels: Levels, tokens: int) -> Details:
    """The details that fit, if the layout takes `tokens` without them."""
    frame, details = layouts.frame, Details()
    most = tokens - frame.fixed_tokens + (frame.budget_tokens - tokens) // _SHARE
    if frame.summaries:
        details = _furthest(layouts, levels, details, most, lambda first: details._replace(summaries_from=first))
    if frame.ledger is not None:
        details = _furthest(layouts, levels, details, most, lambda first: details._replace(ledgers_from=first))
        details = _each_change(layouts, levels, details, most)
    return details


def _furthest(
    layouts: Layouts, levels: Levels, details: Details, most: int, details_from: Callable[[int], Details]
) -> Details:
    """The details from the oldest line on with which the layout takes at most `most` tokens."""
    whole = layouts.placements(levels, details_from(0))
    starts = [placement.first for placement in whole if placement.line is not None]
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        takes = layouts.tokens(levels, details_from(starts[middle]))
        low, high = (low, middle) if takes <= most else (middle + 1, high)
    return details_from(starts[low]) if low < len(starts) else details


def _each_change(layouts: Layouts, levels: Levels, details: Details, most: int) -> Details:
    """The details with single changes, newest first, as far as there is room.

    The tokens of each change are known, so only few layouts are tried.
    """
    placements = layouts.placements(levels, details)
    room = most - _tokens(placements)
    pages: list[int] = []  # of the changes that should fit, newest first
    for page, tokens in sorted(_changes(layouts.frame, placements), reverse=True):
        room -= tokens
        if room < 0:
            break
        pages.append(page)
    while pages:
        more = details._replace(changes_from=pages[-1])
        if layouts.tokens(levels, more) <= most:
            return more
        del pages[len(pages) * 7 // 8 :]
    return details


def _changes(frame: Frame, placements: Sequence[Placement]) -> Iterator[tuple[int, int]]:
    """The page and the tokens of every change that a line could show."""
    assert frame.ledger is not None
    for placement in placements:
        if placement.line is not None and placement.line.tells_changes:
            changes = frame.ledger(placement.first, placement.last)
            yield from zip(changes.pages, changes.tokens, strict=True) if changes is not None else ()


def _tokens(placements: Sequence[Placement]) -> int:
    return sum(placement.tokens for placement in placements)
