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

# By the number of a unit's first page; a unit that is left out is in an index line.
Levels = Mapping[int, ResidencyLevel]


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
    """What a unit is about, as far as it predicts how the unit will be used again."""

    PERSON = "person"  # something that a person said
    EDIT = "edit"  # a change to a file
    EDITED = "edited"  # a file that the agent has also changed
    FILE = "file"  # another file
    SUMMARY = "summary"  # a summary by which a reset replaced everything before it
    OTHER = "other"


_PRICES = IDEAL_CACHE.prices
CHANGES_SHOWN = 12  # by a line that was written when every line showed that many


class IndexLine(Closed):
    """A run of whole, closed units as one line. A sealed one does not change until one of its pages is fetched.

    It says how much there is, and if there is room, what its calls changed and the summary that writeback admitted for exactly this run.
    """

    first: int
    last: int
    turn: int = 0  # of the fold that made it
    sealed: bool = False
    folders: str | None = None  # the blob with the folders that its calls were about
    summary: str | None = None  # the blob of the summary that replaces the run
    ledger: str | None = None  # the blob with what its calls changed
    tells_changes: bool = False  # whether there is room to show that
    changes_shown: int = CHANGES_SHOWN  # how many of the newest are then listed; the others are counted

    @property
    def plain(self) -> "IndexLine":
        """The same run with nothing but its counts."""
        is_plain = self.summary is None and not self.tells_changes
        if is_plain:
            return self
        return msgspec.structs.replace(self, summary=None, tells_changes=False, changes_shown=CHANGES_SHOWN)


class Candidate(NamedTuple):
    """A unit, as a policy sees it."""

    first: int
    last: int
    # The tokens of the levels that are offered, from full down; empty for distant units.
    sizes: dict[ResidencyLevel, int]
    floor: ResidencyLevel
    why: Why = Why.ROOM  # the guarantee that applies to it, besides its floor
    is_bound: bool = False  # it never joins an index line
    may_be_absent: bool = False  # it may be left out entirely, since the model could not fetch it anyway
    unseen_tokens: int = 0  # of its pages that the model has not seen yet, which are full in the compressed form too
    is_seen_in_part: bool = False  # the model has seen only some of its pages
    is_human: bool = False  # a person said it
    # Tokens of the person's own words, which the compressed form keeps, if the message has other parts.
    own_tokens: int | None = None
    about: About = About.OTHER
    is_error: bool = False
    is_superseded: bool = False  # a newer unit shows the same
    is_repetition: bool = False  # an older unit had the same bytes
    tokens_after: int = 0  # turns of the session since it was added
    fetched: int = 0  # how often it had to be fetched
    shown_at: ResidencyLevel | None = None  # its level in the last context; None if it was in an index line
    kind: PageKind = PageKind.CONVERSATION  # of its page; a call with its results is evidence
    turn: int = 0  # that it belongs to
    since_edit: int | None = None  # the turns since its file was last changed; None if it never was
    written: tuple[ResidencyLevel, ...] = ()  # the offered levels, from full down, whose form was written and accepted

    def at_least(self, level: ResidencyLevel) -> ResidencyLevel:
        """The lowest level that is offered at `level` or above."""
        if level in self.sizes:
            return level
        return next(offered for offered in reversed(self.sizes) if offered >= level)

    @property
    def cheapest(self) -> ResidencyLevel:
        """Its own level with the fewest tokens that is not below its floor."""
        return self.at_least(self.floor)


class Placement(NamedTuple):
    """The level or line in which a unit or a run of units is shown."""

    first: int
    last: int
    level: ResidencyLevel
    tokens: int
    why: Why = Why.ROOM
    line: IndexLine | None = None
    turn: int = 0  # of the fold that put it there
    # Of the unit's pages; for a run, its two ends; for pages before a reset, that of its summary.
    handles: tuple[str, ...] = ()
    sizes: Mapping[ResidencyLevel, int] = {}  # the tokens of each level that the unit offers, once it is laid out

    @property
    def is_run(self) -> bool:
        """Whether it covers all pages of a run, which are identified by number."""
        return self.line is not None or self.why is Why.COVERED

    @property
    def is_missing(self) -> bool:
        """Whether it is only counted as missing, because the model has no recall tool."""
        return self.level is ResidencyLevel.POINTER and (self.line is None or self.line.summary is None)


class Layout(NamedTuple):
    """A policy's answer for one fold."""

    placements: tuple[Placement, ...]
    tokens: int
    budget_tokens: int
    needed_tokens: int  # with every unit at its lowest level
    notices: tuple[str, ...] = ()

    @property
    def room(self) -> int:
        """The tokens above the minimum."""
        return self.budget_tokens - self.needed_tokens


class FoldCost(Closed, omit_defaults=True):
    """The cost of a fold, in tokens: those that the provider must write to its cache again, and what the policy expected."""

    rewritten_tokens: int = 0  # after the first change, besides what was new anyway
    unreasoned_tokens: int = 0  # reasoning that had to be removed
    freed_tokens: int = 0  # by which the context shrank
    forecast: "Forecast | None" = None

    @property
    def price_tokens(self) -> int:
        """The cost in tokens of fresh input: writing again what could have been read from the cache, and the reasoning likewise."""
        return round((_PRICES.write - _PRICES.read) * (self.rewritten_tokens + self.unreasoned_tokens))

    @property
    def saved_tokens(self) -> int:
        """The expected saving until the next fold in tokens of fresh input: reads that are no longer needed, less re-fetches."""
        if self.forecast is None:
            return 0
        return round(_PRICES.read * max(0, self.freed_tokens) * self.forecast.turns) - self.forecast.risk_tokens


class Forecast(Closed, omit_defaults=True):
    """What a policy expects of a fold that it made."""

    turns: int  # until the next one
    risk_tokens: int = 0  # the cost of re-fetching until then what was removed
    token_price: float = 0.0  # what a token must save until then to stay, relative to fresh input


class Growth(NamedTuple):
    """How a context has grown: its tokens including tools, what the last fold left, and what was added since in how many turns."""

    tokens: int
    standing_tokens: int
    grown_tokens: int
    turns: int
    is_cold: bool = False  # whether the provider's cache has expired anyway
    fixed_tokens: int = 0  # of `tokens`, what no fold can remove: tools and rules
    read_tokens: int = 0  # tokens of the grown part read since the last fold, summed over its turns
    last_fold: FoldCost | None = None  # of the last fold, if it was measured


NO_GROWTH = Growth(0, 0, 0, 0)


class Changes(NamedTuple):
    """What the calls of a run changed: the blob that lists it, and the page and tokens of each change, in order."""

    digest: str
    pages: tuple[int, ...]
    tokens: tuple[int, ...]

    def since(self, page: int) -> int:
        """How many are on this page or a later one."""
        return len(self.pages) - bisect_left(self.pages, page)


class Frame(NamedTuple):
    """Everything that a policy may look at: the units in order, the sealed lines, and the room."""

    items: Sequence[Candidate | IndexLine]
    budget_tokens: int
    fixed_tokens: int  # of the tools
    needed_tokens: int  # with every unit at its lowest level
    line_tokens: Callable[[IndexLine], int]
    handle: Callable[[int], str]
    can_point: bool  # whether the model can fetch what a pointer names; if not, only the number of missing steps is shown, once
    is_pressed: bool  # whether the fold must make room, and is not only made because something changed
    groups: Mapping[int, tuple[int, ...]]  # units whose pages interleave: a line that covers one covers all
    is_running: bool  # whether a model has been shown a context before
    is_warm: bool  # and whether a provider's cache is likely to have it
    # By their first page: runs that have a summary, the longest first.
    summaries: Mapping[int, Sequence[IndexLine]] = {}
    # What the calls of a run changed, if the policy keeps a ledger.
    ledger: Callable[[int, int], "Changes | None"] | None = None
    merged: Callable[[tuple[IndexLine, ...]], Sequence[IndexLine]] = lambda lines: lines  # similar ones as one
    spanned: Callable[[tuple[IndexLine, ...]], IndexLine] | None = None  # all of a sequence of runs as one
    relevance: Callable[[int], RelevanceMeta] = lambda _: RelevanceMeta()  # what a unit is about, by its first page
    counted_tokens: int = 0  # the tokens of saying how many steps are missing, if there is no recall tool
    turn: int = 0  # how many there were so far
    growth: Growth = NO_GROWTH  # since the last fold

    @property
    def candidates(self) -> Iterator[Candidate]:
        """The units that may change their level."""
        return iter([item for item in self.items if isinstance(item, Candidate)])


NEVER = 2**62


class Details(NamedTuple):
    """The pages from which on index lines show summaries, changes counted by kind, and each change."""

    summaries_from: int = NEVER
    ledgers_from: int = NEVER
    changes_from: int = NEVER
