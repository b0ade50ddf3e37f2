"""Layout: a level for every unit of a session, and what a policy knows when it chooses them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from pageturn.pages import ResidencyLevel
from pageturn.wire import Closed

Levels = Mapping[int, ResidencyLevel]  # by the number of a unit's first page; what is not there stands in an index line


class Why(StrEnum):
    """Why a unit stands at its level."""

    RULE = "rule"
    PLAN = "plan"
    TASK = "task"
    UNSEEN = "unseen"
    OPEN = "open"
    WORTH = "worth"
    ROOM = "room"
    NEW = "new"
    COVERED = "covered"


class About(StrEnum):
    """What a unit is about, as far as that says how it will be used again."""

    PERSON = "person"  # something that a person said
    EDIT = "edit"  # a change to a file
    EDITED = "edited"  # a file that the agent has changed, too
    FILE = "file"  # another file
    OTHER = "other"


class IndexLine(Closed):
    """A run of whole, closed units as one line. A sealed one stays as it is until one of its pages is fetched."""

    first: int
    last: int
    turn: int = 0  # of the fold that made it
    sealed: bool = False
    folders: str | None = None  # the blob that says which folders its calls were about


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
    about: About = About.OTHER
    is_error: bool = False
    is_superseded: bool = False  # a newer unit shows the same
    tokens_after: int = 0  # of the session, since it was said
    fetched: int = 0  # how often somebody had to get it back
    stands: ResidencyLevel | None = None  # as it was shown last; None in an index line

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


class Frame(NamedTuple):
    """Everything that a policy may look at: the units in order, the lines that are sealed, and the room."""

    items: Sequence[Candidate | IndexLine]
    budget_tokens: int
    fixed_tokens: int  # of the tools
    needed_tokens: int  # with every unit as low as it may go
    line_tokens: Callable[[IndexLine], int]
    handle: Callable[[int], str]
    can_point: bool  # whether the model can get back what a pointer names
    is_pressed: bool  # whether the fold must make room, and is not only there because something changed
    groups: Mapping[int, tuple[int, ...]]  # units that lie between each other's pages: a line that spans one spans all
    is_running: bool  # whether a model has been shown a context before
    is_warm: bool  # and whether a provider is likely to remember that one

    @property
    def candidates(self) -> Iterator[Candidate]:
        """The units that may move."""
        return (item for item in self.items if isinstance(item, Candidate))


def lay_out(frame: Frame, levels: Levels) -> tuple[Placement, ...]:
    """Where everything stands at these levels. Units without one that follow each other share an index line, if it is shorter."""
    placements: list[Placement] = []
    run: list[Candidate] = []
    tangled = {first for group in frame.groups.values() if not levels.keys().isdisjoint(group) for first in group}
    for item in frame.items:
        first = item.first
        if isinstance(item, Candidate) and first not in levels and first not in tangled:
            run.append(item)
            continue
        if run:
            placements += _run(frame, run)
            run = []
        if isinstance(item, IndexLine):
            placements.append(Placement(first, item.last, ResidencyLevel.POINTER, frame.line_tokens(item), line=item))
        else:
            level = item.at_least(levels.get(first, item.floor))
            placements.append(Placement(first, item.last, level, item.sizes[level], item.why))
    if run:
        placements += _run(frame, run)
    return tuple(placements)


def _run(frame: Frame, run: Sequence[Candidate]) -> Iterator[Placement]:
    """A run of units without a level of their own: one index line, or the cheapest form of each if that is shorter."""
    are_near = all(unit.sizes for unit in run)
    line = IndexLine(run[0].first, max(unit.last for unit in run))  # the fold says since when
    tokens = frame.line_tokens(line) if len(run) > 1 or not are_near else None
    if are_near and (tokens is None or sum(unit.sizes[unit.cheapest] for unit in run) <= tokens):
        for unit in run:
            yield Placement(unit.first, unit.last, unit.cheapest, unit.sizes[unit.cheapest])
    else:
        yield Placement(line.first, line.last, ResidencyLevel.POINTER, tokens or 0, line=line)
