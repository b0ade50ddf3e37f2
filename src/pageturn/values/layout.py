"""Layout: a level for every unit of a session, and what a policy knows when it chooses them."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from pageturn.values.json import Closed
from pageturn.values.pages import PageKind, ResidencyLevel
from pageturn.values.relevance import RelevanceMeta

Levels = Mapping[int, ResidencyLevel]  # by the number of a unit's first page; what is not there stands in an index line


class Why(StrEnum):
    """Why a unit stands at its level."""

    RULE = "rule"
    PLAN = "plan"
    TASK = "task"
    UNSEEN = "unseen"
    PERSON = "person"
    OPEN = "open"
    WORTH = "worth"
    ROOM = "room"
    NEW = "new"
    COVERED = "covered"
    SCOPE = "scope"


class About(StrEnum):
    """What a unit is about, as far as that says how it will be used again."""

    PERSON = "person"  # something that a person said
    EDIT = "edit"  # a change to a file
    EDITED = "edited"  # a file that the agent has changed, too
    FILE = "file"  # another file
    SUMMARY = "summary"  # what a reset put in the place of everything before it
    OTHER = "other"


_CHANGES_SHOWN = 12  # by a line that was written when all showed as many


class IndexLine(Closed):
    """A run of whole, closed units as one line. A sealed one stays as it is until one of its pages is fetched.

    It tells how much there is, and where there is room what its calls changed, and the summary that writeback admitted for just this
    run.
    """

    first: int
    last: int
    turn: int = 0  # of the fold that made it
    sealed: bool = False
    folders: str | None = None  # the blob that says which folders its calls were about
    summary: str | None = None  # the blob of the summary that stands for the run
    ledger: str | None = None  # the blob that says what its calls changed
    tells_changes: bool = False  # whether there is room to show that
    changes_shown: int = _CHANGES_SHOWN  # how many of the newest then stand one by one; the others are counted

    @property
    def plain(self) -> "IndexLine":
        """The same run, telling nothing but its counts."""
        is_plain = self.summary is None and not self.tells_changes
        if is_plain:
            return self
        return msgspec.structs.replace(self, summary=None, tells_changes=False, changes_shown=_CHANGES_SHOWN)


class Candidate(NamedTuple):
    """A unit, as a policy sees it."""

    first: int
    last: int
    sizes: dict[
        ResidencyLevel, int
    ]  # the tokens of the levels that are offered, from full down; none if it is far back
    floor: ResidencyLevel
    why: Why = Why.ROOM  # the promise that holds for it, beside its floor
    is_bound: bool = False  # it never joins an index line
    may_be_absent: bool = False  # it may be missing altogether, since the model could not ask for it anyway
    unseen_tokens: int = 0  # of its pages that the model has not seen yet, which stand whole in the compressed form too
    is_seen_in_part: bool = False  # the model has seen some of its pages, and others not
    is_human: bool = False  # a person said it
    own_tokens: int | None = (
        None  # of the person's own words, which the compressed form keeps, where something else stands beside them
    )
    about: About = About.OTHER
    is_error: bool = False
    is_superseded: bool = False  # a newer unit shows the same
    is_repetition: bool = False  # an older unit brought the same, byte for byte
    tokens_after: int = 0  # of the session, since it was said
    fetched: int = 0  # how often somebody had to get it back
    stands: ResidencyLevel | None = None  # as it was shown last; None in an index line
    kind: PageKind = PageKind.CONVERSATION  # of its page; a call with its results is evidence
    turn: int = 0  # that it belongs to

    def at_least(self, level: ResidencyLevel) -> ResidencyLevel:
        """The lowest level that is offered at `level` or above."""
        if level in self.sizes:
            return level
        return next(offered for offered in reversed(self.sizes) if offered >= level)

    @property
    def cheapest(self) -> ResidencyLevel:
        """The level of its own that takes the fewest tokens and is not below its floor."""
        return self.at_least(self.floor)


class Placement(NamedTuple):
    """Where a unit, or a run of them, stands."""

    first: int
    last: int
    level: ResidencyLevel
    tokens: int
    why: Why = Why.ROOM
    line: IndexLine | None = None
    turn: int = 0  # of the fold that put it there
    handles: tuple[
        str, ...
    ] = ()  # of the unit's pages; of a run, its ends; of pages behind a reset, that of its summary
    sizes: Mapping[ResidencyLevel, int] = {}  # the tokens of each level that the unit offers, once it is laid out

    @property
    def is_run(self) -> bool:
        """Whether it is for all pages of a run, which are known by their numbers."""
        return self.line is not None or self.why is Why.COVERED

    @property
    def is_missing(self) -> bool:
        """Whether only a number tells of it, where nothing can be pointed at."""
        return self.level is ResidencyLevel.POINTER and (self.line is None or self.line.summary is None)


class Layout(NamedTuple):
    """A policy's answer for one fold."""

    placements: tuple[Placement, ...]
    tokens: int
    budget_tokens: int
    needed_tokens: int  # with every unit as low as it may go
    notices: tuple[str, ...] = ()

    @property
    def room(self) -> int:
        """The tokens above what is needed."""
        return self.budget_tokens - self.needed_tokens


class Growth(NamedTuple):
    """How a context has grown: what it takes with its tools, what the last fold left standing, and what came since in how many turns."""

    tokens: int
    standing_tokens: int
    grown_tokens: int
    turns: int
    is_cold: bool = False  # whether the provider has forgotten the prompt anyway


class Changes(NamedTuple):
    """What the calls of a run changed: the blob that says so, and the page and the tokens of each change that it keeps, in order."""

    digest: str
    pages: tuple[int, ...]
    tokens: tuple[int, ...]

    def since(self, page: int) -> int:
        """How many come from this page or a later one."""
        return len(self.pages) - bisect_left(self.pages, page)


class Frame(NamedTuple):
    """Everything that a policy may look at: the units in order, the lines that are sealed, and the room."""

    items: Sequence[Candidate | IndexLine]
    budget_tokens: int
    fixed_tokens: int  # of the tools
    needed_tokens: int  # with every unit as low as it may go
    line_tokens: Callable[[IndexLine], int]
    handle: Callable[[int], str]
    can_point: (
        bool  # whether the model can get back what a pointer names; if not, only how much is missing is told, once
    )
    is_pressed: bool  # whether the fold must make room, and is not only there because something changed
    groups: Mapping[int, tuple[int, ...]]  # units that lie between each other's pages: a line that spans one spans all
    is_running: bool  # whether a model has been shown a context before
    is_warm: bool  # and whether a provider is likely to remember that one
    summaries: Mapping[
        int, Sequence[IndexLine]
    ] = {}  # by their first page: runs that somebody summed up, the longest first
    ledger: Callable[[int, int], "Changes | None"] | None = (
        None  # what the calls of a run changed, where the policy keeps account
    )
    merged: Callable[[tuple[IndexLine, ...]], Sequence[IndexLine]] = lambda lines: lines  # those that are alike as one
    spanned: Callable[[tuple[IndexLine, ...]], IndexLine] | None = None  # all of a row of runs as one
    relevance: Callable[[int], RelevanceMeta] = lambda _: RelevanceMeta()  # what a unit is about, by its first page
    counted_tokens: int = 0  # what it takes to tell how much is missing, where nothing can be pointed at

    @property
    def candidates(self) -> Iterator[Candidate]:
        """The units that may move."""
        return (item for item in self.items if isinstance(item, Candidate))


NEVER = 2**62


class Told(NamedTuple):
    """From which page on index lines tell more than their counts: their summaries, what was changed by kind, and each change."""

    summaries_from: int = NEVER
    ledgers_from: int = NEVER
    changes_from: int = NEVER


def lay_out(frame: Frame, levels: Levels, told: Told = Told()) -> tuple[Placement, ...]:  # noqa: B008
    """Where everything stands at these levels. Units without one that follow each other share an index line, if it is shorter."""
    placements: list[Placement] = []
    gap: list[Candidate | IndexLine] = []
    tangled = {first for group in frame.groups.values() if not levels.keys().isdisjoint(group) for first in group}
    for item in frame.items:
        first = item.first
        if isinstance(item, IndexLine) or (first not in levels and first not in tangled):
            gap.append(item)
            continue
        if gap:
            placements += _gap(frame, gap, told)
            gap = []
        if (
            first not in levels and item.may_be_absent
        ):  # its pages lie between those of others, so no line can stand for it
            placements.append(Placement(first, item.last, ResidencyLevel.POINTER, 0, item.why))
            continue
        level = item.at_least(levels.get(first, item.floor))
        placements.append(Placement(first, item.last, level, item.sizes[level], item.why))
    placements += _gap(frame, gap, told)
    if not frame.can_point:
        _count_in(placements, frame.counted_tokens)
    return tuple(placements)


def _count_in(placements: list[Placement], tokens: int) -> None:
    """Let the first place at which something is missing tell how much that is in all."""
    for at, placement in enumerate(placements):
        if placement.is_missing:
            placements[at] = placement._replace(tokens=placement.tokens + tokens)
            return


def _gap(frame: Frame, gap: Sequence[Candidate | IndexLine], told: Told) -> Iterator[Placement]:
    """What stands between units that have a level of their own: summaries, the earliest and then the longest, and lines."""
    gap = _closed(frame, gap)
    run: list[Candidate] = []
    resting: list[IndexLine] = []
    at = reach = 0
    while at < len(gap):
        item = gap[at]
        may_begin = item.first >= told.summaries_from and item.first > reach  # not between a call and its late result
        summary, after = _summary(frame, gap, at) if may_begin else (None, at + 1)
        reach = max(reach, item.last)
        if summary is not None or isinstance(item, Candidate):
            yield from _side_by_side(frame, resting, told)
            resting = []
        if summary is not None or isinstance(item, IndexLine):
            yield from _run(frame, run, told)
            run = []
        if summary is not None:
            yield _line(frame, summary, told)
        elif isinstance(item, Candidate):
            run.append(item)
        else:
            resting.append(item.plain)
        at = after
    yield from _side_by_side(frame, resting, told)
    yield from _run(frame, run, told)


def _closed(frame: Frame, gap: Sequence[Candidate | IndexLine]) -> Sequence[Candidate | IndexLine]:
    """The gap with sealed lines made one that only units divide which no longer stand by themselves: else every one would cost a line."""
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


def _side_by_side(frame: Frame, lines: Sequence[IndexLine], told: Told) -> Iterator[Placement]:
    """Sealed lines without their summaries: in fewer lines, where that was all that kept them apart."""
    return (_line(frame, line, told) for line in frame.merged(tuple(lines)))


def _summary(frame: Frame, gap: Sequence[Candidate | IndexLine], at: int) -> tuple[IndexLine | None, int]:
    """The longest summary of whole units that begins here, and where the items after it begin."""
    for summary in frame.summaries.get(gap[at].first, ()):
        after, reach = at, 0
        while after < len(gap) and gap[after].first <= summary.last:
            reach = max(reach, gap[after].last)
            after += 1
        if reach == summary.last:
            return summary, after
    return None, at + 1


def _line(frame: Frame, line: IndexLine, told: Told) -> Placement:
    """A line, with the ledger of its run, told or not."""
    if frame.ledger is not None:
        changes = frame.ledger(line.first, line.last)
        is_told = changes is not None and line.first >= told.ledgers_from
        line = msgspec.structs.replace(
            line,
            ledger=changes.digest if changes is not None else None,
            tells_changes=is_told,
            changes_shown=changes.since(told.changes_from) if changes is not None and is_told else _CHANGES_SHOWN,
        )
    return Placement(line.first, line.last, ResidencyLevel.POINTER, frame.line_tokens(line), line=line)


def _run(frame: Frame, run: Sequence[Candidate], told: Told) -> Iterator[Placement]:
    """A run of units without a level of their own: one index line, or the cheapest form of each if that is shorter."""
    if not run:
        return
    are_near = all(unit.sizes for unit in run)
    line = IndexLine(run[0].first, max(unit.last for unit in run))  # the fold says since when
    is_line = len(run) > 1 or not are_near or not frame.can_point  # a pointer is as short, where there are pointers
    tokens = frame.line_tokens(line) if is_line else None
    if are_near and (tokens is None or sum(unit.sizes[unit.cheapest] for unit in run) <= tokens):
        for unit in run:
            yield Placement(unit.first, unit.last, unit.cheapest, unit.sizes[unit.cheapest])
    else:
        yield _line(frame, line, told)
