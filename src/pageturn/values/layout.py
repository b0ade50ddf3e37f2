"""Layout: a level for every unit of a session, and what a policy knows when it chooses them."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from pageturn.values.json import Closed
from pageturn.values.pages import PageKind, ResidencyLevel
from pageturn.values.relevance import RelevanceMeta
from pageturn.values.vendors import IDEAL_CACHE

Levels = Mapping[int, ResidencyLevel]  # by the number of a unit's first page; what is left out is in an index line


class Why(StrEnum):
    """Why a unit is shown at its level."""

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


_PRICES = IDEAL_CACHE.prices
CHANGES_SHOWN = 12  # by a line that was written when all showed as many


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
    summary: str | None = None  # the blob of the summary that replaces the run
    ledger: str | None = None  # the blob that says what its calls changed
    tells_changes: bool = False  # whether there is room to show that
    changes_shown: int = CHANGES_SHOWN  # how many of the newest are then listed one by one; the others are counted

    @property
    def plain(self) -> "IndexLine":
        """The same run, telling nothing but its counts."""
        is_plain = self.summary is None and not self.tells_changes
        if is_plain:
            return self
        return msgspec.structs.replace(self, summary=None, tells_changes=False, changes_shown=CHANGES_SHOWN)


class Candidate(NamedTuple):
    """A unit, as a policy sees it."""

    first: int
    last: int
    sizes: dict[
        ResidencyLevel, int
    ]  # the tokens of the levels that are offered, from full down; none if it is far back
    floor: ResidencyLevel
    why: Why = Why.ROOM  # the guarantee that holds for it, beside its floor
    is_bound: bool = False  # it never joins an index line
    may_be_absent: bool = False  # it may be missing altogether, since the model could not ask for it anyway
    unseen_tokens: int = 0  # of its pages that the model has not seen yet, which are whole in the compressed form too
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
    stands: ResidencyLevel | None = None  # the level at which it was shown last; None if it was in an index line
    kind: PageKind = PageKind.CONVERSATION  # of its page; a call with its results is evidence
    turn: int = 0  # that it belongs to
    since_edit: int | None = None  # the turns since the file that it is about was changed last; None if it never was

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
    """At which level, or in which line, a unit or a run of them is shown."""

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


class FoldCost(Closed, omit_defaults=True):
    """The cost of a fold, in tokens: those that it made the provider write anew, and what its policy expected of it."""

    rewritten_tokens: int = 0  # behind the first change, beside what was new anyway
    unreasoned_tokens: int = 0  # of reasoning, which it had to take out
    freed_tokens: int = 0  # that the context became smaller by
    forecast: "Forecast | None" = None

    @property
    def price_tokens(self) -> int:
        """What it costs, in tokens of fresh input: writing anew what could have been read, and the reasoning as if it were."""
        return round((_PRICES.write - _PRICES.read) * (self.rewritten_tokens + self.unreasoned_tokens))

    @property
    def saved_tokens(self) -> int:
        """What it is expected to save until the next one, in tokens of fresh input: reading what is gone, less fetching it again."""
        if self.forecast is None:
            return 0
        return round(_PRICES.read * max(0, self.freed_tokens) * self.forecast.turns) - self.forecast.risk_tokens


class Forecast(Closed, omit_defaults=True):
    """What a policy expects of a fold that it made."""

    turns: int  # until the next one
    risk_tokens: int = 0  # what it costs to fetch again until then, for what was put away
    token_price: float = 0.0  # what a token must save until then in order to stay, relative to fresh input


class Growth(NamedTuple):
    """How a context has grown: what it takes with its tools, what the last fold left standing, and what came since in how many turns."""

    tokens: int
    standing_tokens: int
    grown_tokens: int
    turns: int
    is_cold: bool = False  # whether the provider has forgotten the prompt anyway
    fixed_tokens: int = 0  # of `tokens`, what no fold can take away: tools, and the rules
    read_tokens: int = 0  # what was read of the grown part since the last fold, summed up over its turns
    last_fold: FoldCost | None = None  # of the last fold, where it was measured
    session_turns: int = 0  # all turns so far


NO_GROWTH = Growth(0, 0, 0, 0)


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
    turn: int = 0  # how many there were so far
    growth: Growth = NO_GROWTH  # since the last fold

    @property
    def candidates(self) -> Iterator[Candidate]:
        """The units that may move."""
        return iter([item for item in self.items if isinstance(item, Candidate)])


NEVER = 2**62


class Details(NamedTuple):
    """From which page on index lines tell more than their counts: their summaries, what was changed by kind, and each change."""

    summaries_from: int = NEVER
    ledgers_from: int = NEVER
    changes_from: int = NEVER
