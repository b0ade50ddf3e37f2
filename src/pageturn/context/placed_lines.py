"""Places the index lines of a fold: unchanged if they were there before, cut and sealed where they are settled, and merged."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import takewhile

import msgspec

from pageturn.context.index_lines import IndexLines
from pageturn.journal.state import SessionState
from pageturn.values.layout import Candidate, Changes, IndexLine, Placement, Why
from pageturn.values.pages import ResidencyLevel
from pageturn.values.units import entangled

_SEALED_FROM = 8  # units that are in a line for the second time
_POINTER = ResidencyLevel.POINTER


class Units:
    """The units of a fold in order; finds those of a line."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._units = sorted(candidates, key=_first)
        self._firsts = [unit.first for unit in self._units]
        self.waiting = next((unit.first for unit in self._units if unit.why is Why.OPEN), None)

    def inside(self, line: IndexLine) -> list[Candidate]:
        """The units that begin in the run of a line."""
        return self._units[bisect_left(self._firsts, line.first) : bisect_right(self._firsts, line.last)]


class Folders:
    """The folders that units are about."""

    def __init__(self, folders: Mapping[int, str | None]) -> None:
        self._folders = {first: folder for first, folder in folders.items() if folder is not None}
        self._firsts = sorted(self._folders)

    def between(self, first: int, last: int) -> Counter[str]:
        """How many units are about each folder, from page to page."""
        inside = self._firsts[bisect_left(self._firsts, first) : bisect_right(self._firsts, last)]
        return Counter([self._folders[at] for at in inside])


class PlacedLines:
    """The index lines of one fold."""

    def __init__(
        self,
        state: SessionState,
        lines: IndexLines,
        folders: Folders,
        changed: Callable[[int, int], Changes | None] | None,
    ) -> None:
        self._state = state
        self._lines = lines
        self._folders = folders
        self._changed = changed  # what was changed in a run
        self._before = {_line_key(line): line for line in state.lines}  # those of the last fold, by their content

    def shown(self, line: IndexLine) -> IndexLine:
        """A line as it will be shown: unchanged, if it is not new."""
        before = self._before.get(_line_key(line))
        if before is not None:
            return msgspec.structs.replace(before, sealed=line.sealed)
        if line.turn:
            return line
        line = msgspec.structs.replace(line, turn=self._state.turn + 1)
        return self._lines.with_folders(line, self._folders.between(line.first, line.last))

    def tokens(self, line: IndexLine) -> int:
        """The tokens of a line as it will be shown."""
        if line.turn or line.summary is not None or line.ledger is not None or _line_key(line) in self._before:
            return self._lines.tokens(self.shown(line))
        return self._lines.run_tokens(line, self._folders.between(line.first, line.last))

    def place(self, placements: Sequence[Placement], candidates: Sequence[Candidate], *, seal: bool) -> list[Placement]:
        """The placements with their lines as they will be shown: with folders, sealed where they are settled, and merged."""
        lines: list[IndexLine] = []  # last first: the line after one decides whether it can still grow
        units = Units(candidates)
        for placement in reversed(placements):
            if placement.line is not None:
                is_open = seal and not placement.line.sealed
                after = lines[-1] if lines else None
                cut = self._cut_where_settled(placement.line, units, after) if is_open else [placement.line]
                lines += [self.shown(line) for line in reversed(cut)]
        merged = self._lines.merged(lines[::-1])
        others = [placement for placement in placements if placement.line is None]
        return others + [of_line(line) for line in merged]

    def _cut_where_settled(self, line: IndexLine, units: "Units", after: IndexLine | None) -> list[IndexLine]:
        """A line, cut after the units that were pointers already: no fold needs to consider those again.

        A few units do not get a sealed line yet, unless the next line is sealed and keeps theirs from growing.
        """
        waiting = units.waiting if units.waiting is not None else line.last + 1
        inside = units.inside(line)
        groups = entangled(inside, lambda unit: (unit.first, unit.last))
        # What came after an open call is not sealed: its result may still join it across them.
        before = takewhile(lambda group: group[0].first < waiting, groups)
        settled = [unit for group in takewhile(self._is_settled, before) for unit in group]
        if line.summary is not None:  # a summary is shown whole or not at all
            return [msgspec.structs.replace(line, sealed=len(settled) == len(inside))]
        is_enclosed = len(settled) == len(inside) and after is not None and self._is_closed_by(line, after)
        if len(settled) < _SEALED_FROM and not is_enclosed:
            return [line]
        last = max(unit.last for unit in settled)
        rest = [unit.first for unit in inside if unit.first > last]
        parts = [msgspec.structs.replace(line, last=last, sealed=True)]
        parts += [msgspec.structs.replace(line, first=rest[0])] if rest else []
        return [self._lines.part_of(line, part, self._changed) for part in parts]

    def _is_closed_by(self, line: IndexLine, after: IndexLine) -> bool:
        return after.sealed and not self._state.between(line.last + 1, after.first - 1)

    def _is_settled(self, group: Sequence[Candidate]) -> bool:
        placed = self._state.placed
        return all(not unit.sizes or (unit.first in placed and placed[unit.first].level is _POINTER) for unit in group)


def _first(unit: Candidate) -> int:
    return unit.first


def of_line(line: IndexLine) -> Placement:
    why = Why.COVERED if line.summary is not None else Why.ROOM
    return Placement(line.first, line.last, _POINTER, 0, why, line=line, turn=line.turn)


def details_key(line: IndexLine | None) -> str:
    """A key for what a line shows besides its counts."""
    if line is None:
        return ""
    changes = f"{line.ledger}:{line.changes_shown}" if line.tells_changes else None
    return ",".join(filter(None, (line.summary, changes)))


def _line_key(line: IndexLine) -> Hashable:
    """A key for a run and what its line shows: equal for lines with the same text."""
    return line.first, line.last, line.ledger, details_key(line)
