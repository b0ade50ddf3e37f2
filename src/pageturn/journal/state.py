"""The state of a session: the result of its journal, updated entry by entry (`journal.apply`) and never rebuilt."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter

import msgspec

from pageturn.journal.note_state import NoteState
from pageturn.policies import STORED_DEFAULT
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.too_long import Bound
from pageturn.values import entries as e
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.json import Closed
from pageturn.values.layout import FoldCost, IndexLine
from pageturn.values.messages import Role
from pageturn.values.notes import ContextMessage
from pageturn.values.pages import CallReference, Page, PageKind, ResidencyLevel
from pageturn.values.proposals import Op
from pageturn.values.units import ABANDONED, Unit
from pageturn.values.usage import Usage

_FURTHEST_CALL = 4_096  # pages between a result and its call; without a limit, a result without a call would search the whole session


_SEQ = attrgetter("seq")


class FaultRecord(Closed):
    """A fault as stored in the journal."""

    seq: int
    entry: e.Faulted


class Write(Closed):
    """One write to a field: the operation, the blob with the value, and the pages that support it."""

    op: Op
    value: str
    evidence: frozenset[int] = frozenset()


class Field(Closed):
    """A field written by writeback: the writes since it was last set as a whole, and the number of all writes."""

    writes: tuple[Write, ...] = ()
    version: int = 0


class SessionState(msgspec.Struct):
    """The present state of one session."""

    head: int = 0
    pages: list[Page] = []
    turns: list[int] = []  # the page of each turn that was not undone
    turn: int = 0  # the number of turns, including undone ones
    is_opening: bool = True  # whether only instructions have been added so far
    system: int | None = None  # the page that replaced the opening prompt
    # By digest: the pages with exactly that text that are or were rules, in order.
    rules: dict[str, tuple[int, ...]] = {}
    model: str | None = None  # the model that the session uses
    people: list[int] = []  # the pages that a person wrote
    pins: dict[int, e.TextReference | None] = {}  # page -> the structured form by its author
    from_task_log: set[int] = set()  # pages that only a task log pinned
    plan: e.PlanSet | None = None
    spared: set[int] = set()  # pages of undone turns that stay because they are pinned
    preferences: dict[int, str | None] = {}  # page -> scope
    note_state: NoteState = msgspec.field(default_factory=NoteState)
    renditions: list[e.RenditionAdmitted] = []
    fields: dict[str, Field] = {}
    policy: ChosenPolicy = STORED_DEFAULT
    grants: set[str] = set()
    faults: list[FaultRecord] = []
    usage: Usage | None = None
    resets: list[int] = []  # the page of each reset that was not undone
    placed: dict[int, e.Placed] = {}  # by the first page of each unit that a fold placed and no sealed line covers
    lines: list[IndexLine] = []
    folded: int = 0  # the last page that the last fold placed
    folds: list[int] = []  # the turn of each fold
    # The last fold, or the last that was tried and had nothing to change: its turn, its cost, and the tokens of that context.
    tried: int = 0
    fold_cost: FoldCost | None = None
    fold_tokens: int = 0
    read_since_fold: int = 0  # by how much each context since then was larger, summed
    forms_folded: int = 0  # how many admitted forms the last fold took into account
    has_handles: bool = True  # whether the texts of the last fold name pages
    unreasoned: list[tuple[int, int]] = []  # folds removed the reasoning after the first page and up to the second
    promises: int = 0  # how often something was pinned or unpinned
    changes: int = 0  # how often something shown became invalid
    changes_folded: int = 0  # how many of those the last fold took into account
    is_cold: bool = False  # the cache expired before the next turn
    seen: int = 0  # the last page that a model was shown
    shown: e.Shown | None = None  # the last context that it was shown
    overtaken: list[
        int
    ] = []  # the last page of each context since the last fold that was overtaken by another message before its answer
    fetched: dict[int, int] = {}  # how often a page had to be fetched again
    fetched_since_fold: set[int] = set()
    calibrations: dict[str, Calibration] = {}  # by model
    bounds: dict[str, Bound] = {}  # by model: the bound learned when a provider rejected a prompt
    next_txn: int = 0
    staged: dict[int, e.Staged] = {}
    waiting: dict[int, e.Staged] = {}  # for a person
    settled: dict[str, e.Committed | e.Rejected] = {}  # by the key of the proposal
    lost: dict[int, e.EntryLost] = {}  # unreadable entries, by the number of the first
    restored: dict[int, str] = {}  # pages whose damaged entries were rebuilt from their text: what was wrong

    @property
    def damage(self) -> e.EntryLost | None:
        """The first unreadable entry whose loss was not accepted."""
        return next((lost for lost in self.lost.values() if not lost.is_accepted), None)

    @property
    def last_reset(self) -> int:
        """The page of the last reset that was not undone: its summary covers every page before it. 0 where there is none."""
        return self.resets[-1] if self.resets else 0

    def is_covered(self, seq: int) -> bool:
        """Whether the last reset covers a page, or the page is its summary: neither is summarized or listed again."""
        return seq <= self.last_reset

    @property
    def notes(self) -> dict[str, ContextMessage]:
        """The durable notes, by key."""
        return self.note_state.notes

    def page(self, seq: int) -> Page | None:
        """The page with that number."""
        at = self.index(seq)
        return self.pages[at] if at is not None else None

    def known_page(self, seq: int) -> Page:
        """The page with that number, which must exist."""
        page = self.page(seq)
        assert page is not None, f"no page {seq}"
        return page

    def index(self, seq: int) -> int | None:
        """The index in `pages` of the page with that number."""
        at = self.after(seq) - 1
        return at if at >= 0 and self.pages[at].seq == seq else None

    def after(self, seq: int) -> int:
        """The index in `pages` of the first page with a greater number."""
        return bisect_right(self.pages, seq, key=_SEQ)

    def kind(self, page: Page) -> PageKind:
        """The kind of a page now: a constraint while it is pinned; an unpinned text is conversation."""
        if page.seq in self.pins:
            return PageKind.CONSTRAINT
        return PageKind.CONVERSATION if page.kind is PageKind.CONSTRAINT else page.kind

    def path(self, unit: Unit) -> tuple[ResidencyLevel, ...]:
        """The levels that a unit may have. A call whose result is a rule stays in full, unless somebody wrote a shorter form of it."""
        if len(unit) > 1:
            rules = [page for page in unit if self.kind(page).is_rule]
            if not rules:
                return PageKind.EVIDENCE.degradation_path
            have_forms = all(self.pins.get(page.seq) is not None or self._has_approved_form(page) for page in rules)
            return PageKind.CONSTRAINT.degradation_path if have_forms else (ResidencyLevel.FULL,)
        path = self.kind(unit[0]).degradation_path
        return path[:-1] if self.is_in_force(unit[0]) else path

    def _has_approved_form(self, page: Page) -> bool:
        forms = (each for each in self.renditions if each.approved and each.first == each.last == page.seq)
        return any(each.level is ResidencyLevel.STRUCTURED for each in forms)

    def repeats_rule(self, page: Page) -> bool:
        """Whether another rule has exactly the same text, so that this one is not shown again: only the first of them is, or the opening
        prompt, which precedes all others. A text that is no longer pinned gives way to any of them.
        """
        same = self.rules.get(page.digest, ())
        is_rule = self.kind(page).is_rule
        if len(same) < 2 or page.seq == self.system or not (is_rule or page.kind is PageKind.CONSTRAINT):
            return False
        before = (self.page(seq) for seq in same if not is_rule or seq < page.seq or seq == self.system)
        return any(other is not None and other.counts and self.kind(other).is_rule for other in before)

    def is_unreasoned(self, page: Page) -> bool:
        """Whether a fold removed the reasoning of a page."""
        at = bisect_left(self.unreasoned, page.seq, key=lambda span: span[1])  # they are in order, and do not overlap
        return at < len(self.unreasoned) and self.unreasoned[at][0] < page.seq

    def open_calls(self) -> list[tuple[Page, CallReference]]:
        """The calls that still wait for results, with their pages, oldest first; after a number of turns a call is abandoned."""
        start = self.after(self.turns[-ABANDONED] - 1) if len(self.turns) >= ABANDONED else 0
        waiting: dict[int, tuple[Page, CallReference]] = {}  # by the order in which they were made
        places: dict[str, list[int]] = {}
        made = 0
        for page in self.pages[start:]:
            if page.undone:
                continue
            for result in page.results:
                if same := places.get(result.call):
                    del waiting[same.pop()]
            for call in page.calls if page.counts else ():
                waiting[made] = (page, call)
                places.setdefault(call.id, []).append(made)
                made += 1
        return list(waiting.values())

    def is_in_force(self, page: Page) -> bool:
        """Whether a page holds the plan in force."""
        return self.plan is not None and self.plan.page == page.seq and self.kind(page) is PageKind.PLAN

    def is_authoritative(self, page: Page) -> bool:
        """Whether a page is a rule or the host's own text: a model may rephrase it only with a person's approval."""
        return self.kind(page).is_rule or page.role in (Role.SYSTEM, Role.DEVELOPER)

    def is_out_of_scope(self, page: Page, scope: str | None) -> bool:
        """Whether a page is a preference for a scope that is neither the session's nor granted to it. A pin applies in any scope."""
        wanted = self.preferences.get(page.seq)
        return wanted is not None and wanted != scope and wanted not in self.grants and page.seq not in self.pins

    def live_pages(self) -> Iterator[Page]:
        """The pages that count: neither undone nor erased."""
        return (page for page in self.pages if page.counts)

    def between(self, first: int, last: int) -> list[Page]:
        """The pages that count, from one number to another."""
        pages = self.pages[self.after(first - 1) : self.after(last)]
        return [page for page in pages if not (page.undone or page.erased or page.replaced)]

    def size_between(self, first: int, last: int) -> int:
        """The total bytes of those."""
        return sum(page.size for page in self.between(first, last))

    def turn_of(self, page: Page) -> int:
        """The turn, counted from 1, that a page belongs to: the one that it led to, or that produced it."""
        return bisect_left(self.turns, page.seq) + 1

    def start_of_turns(self, count: int) -> int | None:
        """The number of the first page of the last `count` turns, or None if there are not so many.

        A turn begins with what was said after the turn or the reset before it; results belong to the turn that called.
        """
        if not 0 < count <= len(self.turns):
            return None
        earlier = self.turns[-count - 1] if count < len(self.turns) else 0
        before = max([earlier, *(page for page in self.resets if page < self.turns[-count])])
        belonging = self.belonging(before + 1, self.head)
        return self.pages[belonging[0]].seq if belonging else None

    def belonging(self, first: int, last: int) -> list[int]:
        """The indexes of the pages that belong to turns in this range, pinned or not: conversation, and results of calls made in it."""
        belonging = []
        calls: set[str] = set()  # made so far in the range; some vendors use an id twice
        for at in range(self.after(first - 1), self.after(last)):
            page = self.pages[at]
            if page.calls:
                calls.update(call.id for call in page.calls)
            if not page.undone and self._belongs(page, calls):
                belonging.append(at)
        return belonging

    def _belongs(self, page: Page, calls: set[str]) -> bool:
        kind = page.kind if page.seq in self.pins else self.kind(page)
        if kind not in (PageKind.EVIDENCE, PageKind.CONVERSATION):
            return False  # rules, plans and preferences outlive the turn in which they were stated
        return not page.results or any(result.call in calls for result in page.results)

    def tool_of(self, page: Page) -> str | None:
        """The name of the tool whose result a page holds, or that it calls; the first if there are several."""
        return next(iter(self.tools_of(page)), None)

    def tools_of(self, page: Page) -> tuple[str, ...]:
        """The names of the tools whose results a page holds, or that it calls, in the order of both."""
        if not page.results:
            return tuple(call.name for call in page.calls)
        caller = self.caller(page)
        called = {call.id: call.name for call in caller.calls} if caller is not None else {}
        return tuple(called[result.call] for result in page.results if result.call in called)

    def caller(self, page: Page) -> Page | None:
        """The page with the call that a page answers."""
        wanted = {result.call for result in page.results}
        last = self.after(page.seq) - 1
        before = (self.pages[at] for at in range(last, max(-1, last - _FURTHEST_CALL), -1))
        return next((other for other in before if any(call.id in wanted for call in other.calls)), None)

    def level_of(self, page: Page) -> ResidencyLevel:
        """The level at which a model was last shown a page, or will be shown it first."""
        if page.seq > self.folded:
            return ResidencyLevel.FULL
        if any(line.first <= page.seq <= line.last for line in self.lines):
            return ResidencyLevel.POINTER
        caller = self.caller(page) if page.results else None
        placed = self.placed.get(caller.seq if caller is not None else page.seq)
        if placed is not None and 0 < placed.whole_from <= page.seq:
            return ResidencyLevel.FULL
        return placed.level if placed is not None else ResidencyLevel.POINTER
