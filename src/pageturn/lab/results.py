"""Reads and writes the results of replays as JSON lines: one line per session, policy and budget.

Costs are in tokens of fresh input. The same replay gives the same bytes.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pageturn.stores.files import require_regular
from pageturn.values.errors import InvalidInput
from pageturn.values.json import Closed, from_json, to_json
from pageturn.values.model_prices import REFERENCE, ModelPrice

FETCHED_AGAIN = ("duplicate_tool", "refetch")
MISS_TOKENS = (
    0,
    2_000,
    20_000,
)  # the prices of a turn that misses, in tokens; tables lead with the first
_AS_THE_REFERENCE = ("study", "ideal-cache", "anthropic-5m", "anthropic-1h")  # vendors with the same price ratios
_DIGITS = 4  # of a cost; prices have two, so that only noise is cut off


class Form(StrEnum):
    """What a token of a request belongs to: a page at a level, a line for a run of pages, or no page."""

    FULL = "full"
    COMPRESSED = "compressed"
    STRUCTURED = "structured"
    POINTER = "pointer"
    LINE = "line"
    OTHER = "other"  # tools, notes, and other text made from the history


class Score(Closed):
    """The figures of one method in a session. The scores of several sessions add up to the pooled one."""

    billed: float = 0.0
    whole: float = 0.0  # the bill of sending everything at every turn
    floor: float = 0.0  # the lower bound of the bill
    demanded: int = 0
    covered: int = 0
    lines_wanted: int = 0
    lines_shown: int = 0
    refetched: float = 0.0  # the bill of reading again what was missed
    turns: int = 0
    refused: int = 0
    folds: int = msgspec.field(default=0, name="rewritten")  # turns whose request did not begin with the one before
    largest: int = 0  # tokens of the largest request
    output: float = 0.0  # the bill of the model's output, the same for every method
    fetching: float = 0.0  # the bill of one more call for each turn that misses something, which fetches all of it
    fetching_once: float = 0.0  # the same, if what was fetched stays until the next fold
    missing: int = 0  # turns that name or quote something said before that is not in their request
    judged: int = 0  # turns for which that was checked; 0 in older result lines

    def __add__(self, other: "Score") -> "Score":
        ours, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        sums = Score(*(one + another for one, another in zip(ours, theirs, strict=True)))
        return msgspec.structs.replace(sums, largest=max(self.largest, other.largest))

    @property
    def bill(self) -> float:
        """The bill, relative to sending everything."""
        return _share(self.billed, self.whole)

    def priced(self, miss_tokens: float = 0) -> float:
        """The bill, plus re-fetching what was missed and this many tokens for each turn that misses, relative to sending everything."""
        return _share(self.billed + self.fetching + miss_tokens * self.missing, self.whole)

    @property
    def paid(self) -> float:
        """The priced bill and the output, in tokens of fresh input: the total cost of the session."""
        return self.billed + self.fetching + self.output

    @property
    def paid_for_everything(self) -> float:
        """The same for sending everything at every turn."""
        return self.whole + self.output

    @property
    def is_priced(self) -> bool:
        """Whether the misses of all turns were checked, so that there is a priced bill."""
        return self.judged == self.turns

    @property
    def priced_once(self) -> float:
        """The priced bill, if what was fetched again stays until the next fold."""
        return _share(self.billed + self.fetching_once, self.whole)

    @property
    def share_missing(self) -> float:
        """The share of turns that miss something."""
        return self.missing / self.turns if self.turns else 0.0

    @property
    def bill_with_refetches(self) -> float:
        """The bill with reading again what was missed, relative to sending everything."""
        return _share(self.billed + self.refetched, self.whole)

    @property
    def over_floor(self) -> float:
        """The bill as a multiple of the lower bound."""
        return _share(self.billed, self.floor)

    @property
    def is_refused(self) -> bool:
        """Whether every turn was refused."""
        return 0 < self.turns == self.refused

    @property
    def missed(self) -> int:
        """The needed identifiers that were not in the request."""
        return self.demanded - self.covered

    @property
    def coverage(self) -> float:
        """The share of needed identifiers that were in the request."""
        return _share(self.covered, self.demanded)

    @property
    def verbatim_coverage(self) -> float:
        """The share of the lines that edits had to match and that were in the request."""
        return _share(self.lines_shown, self.lines_wanted)


def _share(part: float, whole: float) -> float:
    """A part of a whole; 1 if the whole is 0."""
    return part / whole if whole else 1.0


class ReplayedTurn(Closed, omit_defaults=True):
    """One request of a replay, and what its turn needed of it."""

    tokens: int
    billed: float
    floor: float  # the share of the session's lower bound for this turn
    refetched: float
    demanded: int = 0
    missed: tuple[str, ...] = ()  # the names, sorted
    lines_wanted: int = 0
    lines_shown: int = 0
    folded: bool = False  # the request did not begin with the one before
    refused: bool = False
    cold: bool = False  # the cache had expired by then
    forms: Mapping[Form, int] = {}  # tokens by level or kind
    faults: Mapping[str, int] = {}  # by code, from this turn until the next one
    whole: float = 0.0  # the bill of sending everything at this turn; missing in older lines
    fetching: float = 0  # the bill of the call that fetches what was missed
    fetching_once: float = 0  # the same, without what another such call has fetched since the last fold

    @property
    def misses(self) -> bool:
        """Whether the turn names or quotes something that was said before and is not in its request."""
        return bool(self.missed) or self.lines_shown < self.lines_wanted


class OracleGap(Closed):
    """How far a run is from the optimum: names missed by it, by the oracle, and the lower bound for every method."""

    lookahead: int
    missed: int
    oracle_missed: int
    bound: int  # no method misses fewer within this budget; equal to `oracle_missed` if the oracle is exact

    @property
    def gap(self) -> int:
        """The names that the oracle would still have shown."""
        return self.missed - self.oracle_missed


class Result(Closed, omit_defaults=True):
    """One session under one policy at one budget."""

    trace: str
    source: str
    policy: str  # the label of the row
    budget_tokens: int
    counter: str
    vendor: str
    score: Score
    settings: Mapping[str, Any] = {}  # the policy's own fields
    faults: Mapping[str, int] = {}  # by code
    turns: tuple[ReplayedTurn, ...] = ()
    oracle: OracleGap | None = None
    price: ModelPrice | None = None  # of the model whose prices were used; see `known_price` if none was named
    compactions: int = 0  # of the recording tool, which a replay leaves out

    @property
    def known_price(self) -> ModelPrice | None:
        """The price used for billing: if no model was named, that of a model with the same ratios; None if unknown."""
        return self.price or (REFERENCE if self.vendor in _AS_THE_REFERENCE else None)

    @property
    def fetched_again(self) -> int:
        """The results that were fetched again, unchanged, while the earlier ones were not in the request in full."""
        return sum(self.faults.get(code, 0) for code in FETCHED_AGAIN)

    @property
    def policy_faults(self) -> int:
        """The faults caused by the policy, counted alike for every method: what it lost, and what was fetched again."""
        return sum(self.faults.values())

    @property
    def key(self) -> "ResultKey":
        """What the result is for."""
        return ResultKey(self.source, self.trace, self.policy, self.budget_tokens, self.counter, self.vendor)


class ResultKey(NamedTuple):
    """The identity of a result: two results with one key are the same."""

    source: str
    trace: str
    policy: str
    budget_tokens: int
    counter: str
    vendor: str


def rounded(value: float) -> float:
    """A cost as it is stored."""
    return round(float(value), _DIGITS)


def to_line(result: Result) -> bytes:
    """A result as one line of JSON."""
    return to_json(result) + b"\n"


def read_results(path: Path) -> Iterator[Result]:
    """The results of a file, one after the other."""
    with require_regular(path).open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield from_json(Result, line)
            except InvalidInput as error:
                raise InvalidInput(f"{path}:{number}", expected="a result of a replay", got=str(error)) from error
