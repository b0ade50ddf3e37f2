"""What the commands print with `--json`: one value each, on one line. docs/cli.md lists the fields from here.

Times are ISO 8601 in UTC, tokens are counts, dollars are at list prices and null where no price is known. Fields are added and never
change their meaning; a program ignores the ones that it does not know.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pageturn.lab.results import Score
from pageturn.values.json import Closed

# -- sessions and pages


class SessionLine(Closed):
    """A session in the list. Where its entries cannot be read, `flaw` says why, and what they would tell is empty."""

    id: str
    scope: str | None
    parent: str | None  # the session that it was forked from
    title: str  # how the first words of a person begin
    client: str  # the tool that recorded it, the gateway, or the library
    model: str
    turns: int
    pages: int
    folds: int
    faults: int
    input_tokens: int  # as the provider reported them, or else as the contexts were counted
    output_tokens: int
    dollars: float | None
    first: datetime  # when its first message was said, not when it was imported
    last: datetime
    flaw: str = ""


class SessionsFound(Closed):
    """The sessions of a store, newest first."""

    sessions: tuple[SessionLine, ...]


class PageLine(Closed):
    """A page in the list."""

    handle: str
    turn: int
    role: str
    kind: str
    tokens: int
    begins: str


class PagesFound(Closed):
    """The pages of a session that are not undone or erased."""

    session: str
    pages: tuple[PageLine, ...]
    hidden: int  # internal ones, without --internal


class HitLine(Closed):
    """A page that a search found."""

    session: str
    handle: str
    turn: int
    role: str
    tool: str | None
    count: int  # pages with exactly this text
    excerpt: str


class HitsFound(Closed):
    """What a search found, the best first. Without a hit, `fault` says why."""

    hits: tuple[HitLine, ...] = ()
    fault: str | None = None
    notices: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()  # pages that were found and cannot be read, with the reason


class LevelText(Closed):
    """A page at a level. Where the level is not offered, it has no text."""

    level: str
    tokens: int | None = None
    text: str | None = None


class PageLevels(Closed):
    """A page, with the pages of its unit, at each level."""

    handle: str
    levels: tuple[LevelText, ...]


# -- contexts


class ContextPart(Closed):
    """A part of a context: a page, a call with its results, or a line for a run of pages."""

    pages: tuple[str, ...]  # handles; of a line, the first and the last
    kind: str
    role: str | None
    level: str
    tokens: int
    why: str


class NoteLine(Closed):
    """A note, and where it is shown; without a band it is not."""

    note: str
    band: str | None
    tokens: int
    why: str


class SaidText(Closed):
    """A message as the model would read it."""

    role: str
    text: str


class NextContext(Closed):
    """The context of the next call."""

    session: str
    model: str
    tokens: int
    budget_tokens: int
    fold: str | None  # why it folds, if it does
    parts: tuple[ContextPart, ...]
    notes: tuple[NoteLine, ...]
    faults: tuple[str, ...]
    notices: tuple[str, ...]
    messages: tuple[SaidText, ...] | None = None  # with --text


class PageReason(Closed):
    """Why a page has its level, and what would raise it."""

    handle: str
    why: str
    hints: tuple[str, ...]


class PageReasons(Closed):
    """The pages that were asked for."""

    pages: tuple[PageReason, ...]
    notices: tuple[str, ...]


class Moved(Closed):
    """Neighbouring units that changed in the same way."""

    pages: str  # a handle, or the first and the last
    units: int
    before: str
    after: str
    why: str


class AppendedPage(Closed):
    """A page that is new in a context."""

    handle: str
    role: str


class TurnChanges(Closed):
    """How a turn's context differs from the one before. Without a fold, pages were only appended."""

    turn: int
    tokens: int
    budget_tokens: int
    turn_before: int | None = None  # the turn that it is compared with
    tokens_before: int | None = None
    fold: str | None = None  # why it folded
    appended: tuple[AppendedPage, ...] = ()
    moves: tuple[Moved, ...] = ()
    unchanged: int = 0  # units
    lines_before: int = 0  # index lines
    lines: tuple[str, ...] = ()  # the pages of each index line now


class SummaryLine(Closed):
    """A summary, and what became of it."""

    pages: str
    tokens: int  # of the pages
    summary_tokens: int
    outcome: str


class SummariesWritten(Closed):
    """The summaries that a session needed."""

    written: int
    summaries: tuple[SummaryLine, ...]


# -- what maintains a store


class Problem(Closed):
    """Something that is wrong; without a session, with the store itself."""

    session: str
    what: str


class Health(Closed):
    """A check of a store. After a repair, `problems` are those that are left."""

    sessions: int
    entries: int
    settled: int  # proposals that a crash had left staged
    problems: tuple[Problem, ...]
    backup: str | None = None  # the copy that was made before a repair
    repaired: tuple[str, ...] = ()


class Check(Closed):
    """One thing that was looked at."""

    is_ok: bool
    what: str


class Installation(Closed):
    """A check of the gateway's installation."""

    checks: tuple[Check, ...]


class SpaceFreed(Closed):
    """Data that nothing refers to."""

    blobs: int
    bytes: int
    is_done: bool  # without --yes it would be freed


class SessionsErased(Closed):
    """The sessions that are old enough."""

    sessions: tuple[str, ...]
    is_done: bool  # without --yes they would be erased
    pages: int = 0
    bytes: int = 0  # by which the file is smaller
    looked_for: int = 0  # erased texts whose bytes were looked for in the file
    still_there: int = 0  # of those, the texts that remaining sessions have, too
    unreadable: tuple[str, ...] = ()  # sessions that were not erased


class FileWritten(Closed):
    """A file, with the session that it has if it is only one."""

    file: str
    bytes: int
    session: str | None = None


class FilesWritten(Closed):
    """The files of a report."""

    files: tuple[FileWritten, ...]


class SessionUnpacked(Closed):
    """A session that is now in a store."""

    store: str
    session: str
    unchecked: str = ""  # what could not be checked, if anything


class StoreRestored(Closed):
    """A store that was replaced by a backup."""

    store: str
    sessions: int
    kept: str | None  # where the old file is now


class Skipped(Closed):
    """What an import left out, by reason."""

    count: int
    reason: str
    example: str  # where it first occurred


class SessionRenamed(Closed):
    """A session whose id was in use."""

    wanted: str
    taken: str
    file: str


class Unread(Closed):
    """A file that could not be read."""

    file: str
    why: str


class Import(Closed):
    """What an import took."""

    into: str
    files: Mapping[str, int]  # by tool
    sessions: tuple[str, ...]
    messages: int
    calls: int
    results: int
    known: int  # messages that had been imported before
    compactions: int
    skipped: tuple[Skipped, ...]
    renamed: tuple[SessionRenamed, ...]
    unread: tuple[Unread, ...]  # of the files that were named


# -- the gateway and MCP


class SavingsLine(Closed):
    """What a session cost, and what it would have cost otherwise: whole if it was managed, managed if it was watched."""

    session: str
    model: str
    turns: int
    folds: int
    is_managed: bool
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    dollars: float | None
    dollars_otherwise_least: float | None  # an estimate
    dollars_otherwise_most: float | None  # the same, with everything fetched that was named or quoted later


class Savings(Closed):
    """The sessions of a gateway."""

    sessions: tuple[SavingsLine, ...]


class KeyCreated(Closed):
    """A new key of the gateway; nobody can show it again."""

    key: str
    id: str
    scope: str


class KeyLine(Closed):
    """A key: what it may do, and what it spent in this period."""

    id: str
    name: str
    scope: str
    spent: float  # dollars
    budget: float | None
    period: str
    requests_a_minute: int | None
    tokens_a_minute: int | None
    models: tuple[str, ...]  # none: all
    created_at: datetime
    revoked_at: datetime | None


class IssuedKeys(Closed):
    """The keys of a gateway, oldest first."""

    keys: tuple[KeyLine, ...]


class KeyRevoked(Closed):
    """A key that no gateway accepts any more."""

    id: str
    scope: str


class SettingsChanged(Closed):
    """A client's settings file; `command` is how it starts the server, or started it."""

    file: str
    command: str | None
    is_changed: bool


class ProposalLine(Closed):
    """A proposal that waits for a person."""

    id: str
    field: str
    value: Any
    rests_on: tuple[str, ...]  # handles
    instead_of: str | None  # the handle of what it would replace
    objection: str | None  # why it cannot be approved now


class Proposals(Closed):
    """The proposals that wait, oldest first."""

    proposals: tuple[ProposalLine, ...]


class Decided(Closed):
    """What became of a proposal."""

    id: str
    is_approved: bool
    reason: str | None = None  # why it was rejected


# -- routing


class CandidateLine(Closed):
    """A candidate of a decision: the estimate of its outcome, with the 95 % interval."""

    agent: str
    expected: float
    low: float
    high: float
    score: float
    chance: float  # that it was chosen


class RouteDecision(Closed):
    """A routing decision."""

    id: str
    at: datetime
    skill: str
    bucket: str
    choice: str
    why: str
    candidates: tuple[CandidateLine, ...]
    outcome: float | None  # None: none yet, or excused
    excused: str | None
    retries: int


class PosteriorLine(Closed):
    """What is known of an agent in a setting."""

    agent: str
    setting: str
    outcomes: float
    mean: float
    low: float
    high: float
    last_update: str


class ModeLine(Closed):
    """The average outcome of the decisions of a mode."""

    mode: str
    decisions: int
    average: float


class RouteStats(Closed):
    """The routing state of a scope."""

    posteriors: tuple[PosteriorLine, ...]
    modes: tuple[ModeLine, ...]
    decisions: int
    explored: int
    waiting: int  # without an outcome
    pruned: int
    drifts: tuple[str, ...]


class ChoiceLine(Closed):
    """How often an agent was chosen in a setting, and what is known of it."""

    agent: str
    chosen: int
    rate: float | None
    low: float
    high: float


class SettingLine(Closed):
    """The decisions of a setting."""

    setting: str
    decisions: int
    success: float | None
    money: float | None
    regret: float | None  # None: the log has too little support
    regret_low: float | None
    regret_high: float | None
    choices: tuple[ChoiceLine, ...]


class RouteReport(Closed):
    """Who is chosen for what."""

    settings: tuple[SettingLine, ...]


class ReplayedMode(Closed):
    """The outcome of a mode, estimated from the log."""

    mode: str
    decisions: int
    observed: float | None
    estimated: float | None
    error: float | None  # the standard error of the estimate
    effective: float  # the effective sample


class RouteReplay(Closed):
    """Estimates of other modes, and the decisions that the log does not support."""

    modes: tuple[ReplayedMode, ...] = ()
    inconsistent: tuple[str, ...] = ()  # ids


class DecisionsPruned(Closed):
    """Decisions that were dropped from the log."""

    decisions: int


class OutcomesForgotten(Closed):
    """The outcomes of an agent that were forgotten, in so many cells."""

    agent: str
    cells: int


class RoutingMerged(Closed):
    """A routing state that was merged into a scope."""

    scope: str
    posteriors: int


class OutcomeCounted(Closed):
    """An outcome; it does not count twice, and not after a stronger one."""

    decision: str
    verdict: float
    is_counted: bool


# -- replays


class MethodLine(Closed):
    """A method at a budget, over all sessions. Bills are relative to sending everything."""

    policy: str
    budget_tokens: int
    sessions: int
    priced_bill: float
    bill: float
    coverage: float
    dollars: float | None
    faults: int
    fetched_again: int
    is_best: bool  # no other method is as good in cost, coverage and faults, and better in one of them
    score: Score  # the figures behind it


class Pool(Closed):
    """Results that can be compared: counted and billed alike."""

    counter: str
    vendor: str
    methods: tuple[MethodLine, ...]
    elected: str | None  # the default that the flip rule selects
    conclusion: str


class Comparison(Closed):
    """The results of a replay."""

    pools: tuple[Pool, ...]


class CompactionsKept(Closed):
    """Of what later calls needed from before the recorded compactions, how much was kept, and how much the same tokens could keep."""

    compactions: int
    before_tokens: int
    after_tokens: int
    asked: int
    by_summary: int
    by_newest: int
    by_paged: int


class TextTable(Closed):
    """A table of a trial."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class TrialResult(Closed):
    """A trial, or with --dry-run what it would cost."""

    tables: tuple[TextTable, ...]
    dollars: float
    left: int  # runs that were not made
