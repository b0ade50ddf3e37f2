"""Chooses how many details index lines show beyond their counts, by the room that a fold leaves.

Summaries come first, then changes counted by kind, then single changes; of each the newest first.
"""

from collections.abc import Callable, Iterator, Sequence

from pageturn.values.layout import Frame, Levels, Placement, Told, lay_out

_SHARE = 3  # details take at most a third of the free tokens, so that the next fold is not due at once


def most_told(frame: Frame, levels: Levels, tokens: int) -> Told:
    """The details that fit, if the layout takes `tokens` without them."""
    told = Told()
    most = tokens - frame.fixed_tokens + (frame.budget_tokens - tokens) // _SHARE
    if frame.summaries:
        told = _furthest(frame, levels, told, most, lambda first: told._replace(summaries_from=first))
    if frame.ledger is not None:
        told = _furthest(frame, levels, told, most, lambda first: told._replace(ledgers_from=first))
        told = _each_change(frame, levels, told, most)
    return told


def _furthest(frame: Frame, levels: Levels, told: Told, most: int, details_from: Callable[[int], Told]) -> Told:
    """The details from the oldest line on with which the layout takes at most `most` tokens."""
    whole = lay_out(frame, levels, details_from(0))
    starts = [placement.first for placement in whole if placement.line is not None]
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        takes = _tokens(lay_out(frame, levels, details_from(starts[middle])))
        low, high = (low, middle) if takes <= most else (middle + 1, high)
    return details_from(starts[low]) if low < len(starts) else told


def _each_change(frame: Frame, levels: Levels, told: Told, most: int) -> Told:
    """The details with single changes, newest first, as far as there is room.

    The tokens of each change are known, so only few layouts are tried.
    """
    placements = lay_out(frame, levels, told)
    room = most - _tokens(placements)
    pages: list[int] = []  # of the changes that should fit, newest first
    for page, tokens in sorted(_changes(frame, placements), reverse=True):
        room -= tokens
        if room < 0:
            break
        pages.append(page)
    while pages:
        more = told._replace(changes_from=pages[-1])
        if _tokens(lay_out(frame, levels, more)) <= most:
            return more
        del pages[len(pages) * 7 // 8 :]
    return told


def _changes(frame: Frame, placements: Sequence[Placement]) -> Iterator[tuple[int, int]]:
    """The page and the tokens of every change that a line could show."""
    assert frame.ledger is not None
    for placement in placements:
        if placement.line is not None and placement.line.tells_changes:
            changes = frame.ledger(placement.first, placement.last)
            yield from zip(changes.pages, changes.tokens, strict=True) if changes is not None else ()


def _tokens(placements: Sequence[Placement]) -> int:
    return sum(placement.tokens for placement in placements)
