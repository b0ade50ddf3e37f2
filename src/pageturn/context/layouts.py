"""Lays units out at given levels: adjacent units without a level share an index line, if that is shorter.

Laws and policies ask again and again for levels that differ in a few units. So the part between two units with a level is laid out
once, and a layout costs no more than a pass over the units with a level.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from pageturn.values.layout import CHANGES_SHOWN, NEVER, Candidate, Details, Frame, IndexLine, Levels, Placement
from pageturn.values.pages import ResidencyLevel

_POINTER = ResidencyLevel.POINTER
_NO_DETAILS = Details()


class _Gap(NamedTuple):
    """The part between two units with a level of their own."""

    placements: tuple[Placement, ...]
    tokens: int


class Layouts:
    """The layouts of one frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._items = frame.items
        self.units = [*frame.candidates]
        self._places = {item.first: at for at, item in enumerate(frame.items) if isinstance(item, Candidate)}
        self._lines = [at for at, item in enumerate(frame.items) if isinstance(item, IndexLine)]
        self._gaps: dict[tuple[int, int, Details], _Gap] = {}

    def placements(self, levels: Levels, details: Details = _NO_DETAILS) -> tuple[Placement, ...]:
        """The placements at these levels."""
        placements: list[Placement] = []
        start = 0
        for at in self._alone(levels):
            if start < at:
                placements += self._gap(start, at, details).placements
            placements.append(self._own(at, levels))
            start = at + 1
        placements += self._gap(start, len(self._items), details).placements
        if not self.frame.can_point:
            _count_in(placements, self.frame.counted_tokens)
        return tuple(placements)

    def tokens(self, levels: Levels, details: Details = _NO_DETAILS) -> int:
        """Their tokens, without fixed tokens."""
        if not self.frame.can_point:
            return sum([placement.tokens for placement in self.placements(levels, details)])
        tokens = start = 0
        items = self._items
        for at in self._alone(levels):
            if start < at:
                tokens += self._gap(start, at, details).tokens
            item = items[at]
            assert isinstance(item, Candidate)
            level = levels.get(item.first)
            tokens += item.sizes[level] if level is not None and level in item.sizes else self._own(at, levels).tokens
            start = at + 1
        return tokens + self._gap(start, len(items), details).tokens

    def _alone(self, levels: Levels) -> list[int]:
        """The indexes of the units that cannot be in an index line: they have a level, or lie between the pages of one that has."""
        places, groups = self._places, self.frame.groups
        alone = {places[first] for first in levels if first in places}
        if groups:
            alone |= {places[other] for first in levels for other in groups.get(first, ())}
        return sorted(alone)

    def _own(self, at: int, levels: Levels) -> Placement:
        item = self._items[at]
        assert isinstance(item, Candidate)
        first = item.first
        level = levels.get(first)
        if level is None and item.may_be_absent:  # its pages interleave with others, so no line can replace it
            return Placement(first, item.last, _POINTER, 0, item.why)
        level = item.at_least(item.floor if level is None else level)
        return Placement(first, item.last, level, item.sizes[level], item.why)

    def _gap(self, start: int, end: int, details: Details) -> _Gap:
        key = (start, end, details)
        found = self._gaps.get(key)
        if found is None:
            gap = self._items[start:end]
            has_lines = bisect_left(self._lines, start) < bisect_left(self._lines, end)
            if has_lines or self.frame.summaries:
                placements = tuple(_gap(self.frame, gap, details))
            else:
                placements = tuple(_run(self.frame, [unit for unit in gap if isinstance(unit, Candidate)], details))
            found = self._gaps[key] = _Gap(placements, sum([placement.tokens for placement in placements]))
        return found


def lay_out(frame: Frame, levels: Levels) -> tuple[Placement, ...]:
    """The placements at these levels, for a caller that asks once."""
    return Layouts(frame).placements(levels)


def _count_in(placements: list[Placement], tokens: int) -> None:
    """Put the number of all missing steps into the first placement with missing ones."""
    for at, placement in enumerate(placements):
        if placement.is_missing:
            placements[at] = placement._replace(tokens=placement.tokens + tokens)
            return


def _gap(frame: Frame, gap: Sequence[Candidate | IndexLine], details: Details) -> Iterator[Placement]:
    """The placements between units with a level of their own: summaries, the earliest and then the longest, and lines."""
    gap = _closed(frame, gap)
    run: list[Candidate] = []
    resting: list[IndexLine] = []
    at = reach = 0
    has_summaries = bool(frame.summaries) and details.summaries_from < NEVER
    while at < len(gap):
        item = gap[at]
        summary, after = None, at + 1
        # Not between a call and its late result.
        if has_summaries and item.first >= details.summaries_from and item.first > reach:
            summary, after = _summary(frame, gap, at)
        reach = max(reach, item.last)
        if resting and (summary is not None or isinstance(item, Candidate)):
            yield from _side_by_side(frame, resting, details)
            resting = []
        if run and (summary is not None or isinstance(item, IndexLine)):
            yield from _run(frame, run, details)
            run = []
        if summary is not None:
            yield _line(frame, summary, details)
        elif isinstance(item, Candidate):
            run.append(item)
        else:
            resting.append(item.plain)
        at = after
    yield from _side_by_side(frame, resting, details)
    yield from _run(frame, run, details)


def _closed(frame: Frame, gap: Sequence[Candidate | IndexLine]) -> Sequence[Candidate | IndexLine]:
    """The gap with adjacent sealed lines joined if only units without a level separate them; otherwise each such unit would cost a line."""
    places = [at for at, item in enumerate(gap) if isinstance(item, IndexLine)]
    if frame.spanned is None or not places or places[-1] - places[0] == len(places) - 1:
        return gap
    closed: list[Candidate | IndexLine] = list(gap[: places[0]])
    row: list[IndexLine] = []
    for at, after in zip(places, [*places[1:], None], strict=True):
        line = gap[at]
        assert isinstance(line, IndexLine)
        row.append(line.plain)
        between = gap[at + 1 : after] if after is not None else ()
        if between:
            row.append(IndexLine(between[0].first, max(item.last for item in between), sealed=True))
        else:
            closed.append(frame.spanned(tuple(row)) if len(row) > 1 else line)
            row = []
    return [*closed, *gap[places[-1] + 1 :]]


def _side_by_side(frame: Frame, lines: Sequence[IndexLine], details: Details) -> Iterator[Placement]:
    """Sealed lines without their summaries, joined if only the summaries kept them apart."""
    return (_line(frame, line, details) for line in frame.merged(tuple(lines)))


def _summary(frame: Frame, gap: Sequence[Candidate | IndexLine], at: int) -> tuple[IndexLine | None, int]:
    """The longest summary of whole units that begins here, and the index of the item after it."""
    for summary in frame.summaries.get(gap[at].first, ()):
        after, reach = at, 0
        while after < len(gap) and gap[after].first <= summary.last:
            reach = max(reach, gap[after].last)
            after += 1
        if reach == summary.last:
            return summary, after
    return None, at + 1


def _line(frame: Frame, line: IndexLine, details: Details) -> Placement:
    """A line, with the ledger of its run, shown or not."""
    if frame.ledger is not None:
        changes = frame.ledger(line.first, line.last)
        is_told = changes is not None and line.first >= details.ledgers_from
        line = msgspec.structs.replace(
            line,
            ledger=changes.digest if changes is not None else None,
            tells_changes=is_told,
            changes_shown=changes.since(details.changes_from) if changes is not None and is_told else CHANGES_SHOWN,
        )
    return Placement(line.first, line.last, ResidencyLevel.POINTER, frame.line_tokens(line), line=line)


def _run(frame: Frame, run: Sequence[Candidate], details: Details) -> Iterator[Placement]:
    """A run of units without a level: one index line, or the cheapest form of each if that is shorter."""
    if not run:
        return
    are_near = all(unit.sizes for unit in run)
    line = IndexLine(run[0].first, max([unit.last for unit in run]))  # the fold adds since when
    is_line = len(run) > 1 or not are_near or not frame.can_point  # a pointer is as short, if pointers are allowed
    tokens = frame.line_tokens(line) if is_line else None
    if are_near and (tokens is None or _fit_into(tokens, run)):
        for unit in run:
            yield Placement(unit.first, unit.last, unit.cheapest, unit.sizes[unit.cheapest])
    else:
        yield _line(frame, line, details)


def _fit_into(tokens: int, run: Sequence[Candidate]) -> bool:
    """Whether the cheapest forms of these units take no more tokens."""
    for unit in run:
        tokens -= unit.sizes[unit.cheapest]
        if tokens < 0:
            return False
    return True
