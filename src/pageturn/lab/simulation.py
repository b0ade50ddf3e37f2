"""Simulates policies on workloads and counts their faults turn by turn.

A policy has two halves. The chooser decides the level of each page; the harness keeps guarantees around it: floors,
unsaved state, a store that returns pages that were lowered. Any chooser can be combined with any harness, so the
table shows which half a result comes from. With all guarantees kept, a chooser can only lose rules; how well it
chooses shows in the number of recalls.

The calls of a turn were written by a model that saw the context before it, so that context decides whether a page was
visible; results of the calls are in the next one. A rule is different: it must be in the context of the turn that
relies on it. The first demand for a page fetches it and is not counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pageturn.lab.synthetic_workloads import Boundary, Demand, PageSpec, Pin, Turn, Workload
from pageturn.values.errors import InvalidInput
from pageturn.values.faults import (
    DuplicateTool,
    Fault,
    FlushMiss,
    PinnedInvariantMiss,
    PostCompactionBootstrap,
    Refetch,
)
from pageturn.values.pages import PageKind, ResidencyLevel

_DECAY = 0.88  # of recency, per turn
_FORGOTTEN = 1e-4


class Chooser(Protocol):
    """Decides the level of each page. It keeps no state between turns."""

    def choose(
        self,
        pages: Sequence[PageSpec],
        *,
        required: Mapping[str, ResidencyLevel],
        demands: Sequence[Demand],
        recency: Mapping[str, float],
        budget_tokens: int,
        future: Sequence[Turn],
    ) -> Mapping[str, ResidencyLevel]:
        """A level for each page that should be in the context, within the budget; a page without one is absent.

        `required` has what the turn must find, if it fits: pinned floors, and what is demanded. `future` has the next turns; only an
        oracle reads it.
        """


class Harness(NamedTuple):
    """The part of a policy that does not choose: which guarantees are kept around it. By default all of them."""

    pins_floors: bool = True  # hard pages are required, whether a turn names them or not
    saves_at_compaction: bool = True
    saves_at_reset: bool = True
    resolves: bool = True  # a store returns lowered pages, by handle or by repeated call
    multi_session_scale: float = 1.0  # the share of the budget that is left when sessions take turns


class Tally(NamedTuple):
    """The result of a run."""

    budget_tokens: int
    floor_tokens: int
    faults: tuple[Fault, ...]  # in order; the policy could have avoided each of them
    hits: int
    recalls: int  # of the hits, those that the store answered because the context did not
    blind_recalls: int  # of the recalls, those of pages without even a pointer in the context
    repeats: int  # calls made before whose result was available: a property of the workload, not a fault
    unmet_floors: int  # rules that were missing because no choice could have shown all of them

    @property
    def floors_fit(self) -> bool:
        """Whether the budget holds every rule at its floor. If not, the budget is at fault and not the policy."""
        return self.floor_tokens <= self.budget_tokens

    @property
    def by_code(self) -> Counter[str]:
        """How often each fault came."""
        return Counter(fault.code for fault in self.faults)

    @property
    def thrash(self) -> float:
        """Faults and repeats per hit."""
        return (len(self.faults) + self.repeats) / (self.hits + 1)


def simulate(workload: Workload, budget_tokens: int, chooser: Chooser, harness: Harness = Harness()) -> Tally:  # noqa: B008
    """What a chooser in a harness loses on a workload within a budget."""
    run = _Run(workload, budget_tokens, chooser, harness)
    for at, turn in enumerate(workload.turns):
        if turn.boundary is not None:
            run.cross(turn, turn.boundary, future=workload.turns[at:])
        run.ask(turn)
        run.assemble(turn.session, turn.demands, future=workload.turns[at + 1 :])
        run.rely(turn)
        run.touch(turn)
    return Tally(
        budget_tokens,
        workload.floor_tokens,
        tuple(run.faults),
        hits=run.hits,
        recalls=run.recalls,
        blind_recalls=run.blind_recalls,
        repeats=run.repeats,
        unmet_floors=run.unmet_floors,
    )


class _Run:
    def __init__(self, workload: Workload, budget_tokens: int, chooser: Chooser, harness: Harness) -> None:
        self.chooser = chooser
        self.harness = harness
        self.budget_tokens = budget_tokens
        self.usable_tokens = int(budget_tokens * (harness.multi_session_scale if workload.is_multi_session else 1))
        self.pages = {session: workload.pages_in(session) for session in workload.sessions}
        self.by_id = {page.id: page for page in workload.pages}
        self.held: Mapping[str, ResidencyLevel] = {}
        self.seen: set[str] = set()
        self.dirty: set[str] = set()
        self.recency: dict[str, float] = {}
        self.faults: list[Fault] = []
        self.hits = self.recalls = self.blind_recalls = self.repeats = self.unmet_floors = 0

    def cross(self, turn: Turn, boundary: Boundary, *, future: Sequence[Turn]) -> None:
        """Cross a boundary: unsaved state is lost, and the context is rebuilt before the turn needs anything."""
        self.assemble(turn.session, (), future=future)
        if boundary is Boundary.SWITCH:
            return
        ending = self.dirty & {page.id for page in self.pages[turn.session]}
        self.dirty -= ending
        saves = self.harness.saves_at_reset if boundary is Boundary.RESET else self.harness.saves_at_compaction
        if not saves:
            self.faults += [FlushMiss()] * len(ending)
        for rule in self._rules(turn.session):
            if rule.kind is PageKind.BOOTSTRAP and not self._stands(rule):
                self._miss(PostCompactionBootstrap(), turn.session)

    def ask(self, turn: Turn) -> None:
        """What a turn needs of the context before it, except rules."""
        for demand in turn.demands:
            page = self.by_id[demand.page]
            if page.pin is Pin.HARD or page.id not in self.seen:
                continue
            is_call = page.kind is PageKind.EVIDENCE
            is_held = page.id in self.held and self.held[page.id] >= demand.level
            if is_held or self.harness.resolves:
                self.hits += 1
                self.recalls += not is_held
                self.blind_recalls += page.id not in self.held
                self.repeats += is_call
            else:
                self.faults += [Refetch(), DuplicateTool()] if is_call else [Refetch()]
        self.seen.update(demand.page for demand in turn.demands)

    def assemble(self, session: str, demands: Sequence[Demand], *, future: Sequence[Turn]) -> None:
        """The next context."""
        # A result does not exist before the call that returns it, so no chooser can prepare for it.
        pages = [page for page in self.pages[session] if page.kind is not PageKind.EVIDENCE or page.id in self.seen]
        required: dict[str, ResidencyLevel] = {}
        if self.harness.pins_floors:
            required |= {rule.id: rule.floor for rule in self._rules(session)}
        for demand in demands:
            least = required.get(demand.page, self.by_id[demand.page].floor)
            required[demand.page] = max(least, demand.level)
        self.held = self.chooser.choose(
            pages,
            required=required,
            demands=demands,
            recency=self.recency,
            budget_tokens=self.usable_tokens,
            future=future,
        )
        tokens = sum(self.by_id[id_].tokens[level] for id_, level in self.held.items())
        if tokens > self.usable_tokens:
            raise InvalidInput("$.chosen", expected=f"at most {self.usable_tokens} tokens", got=f"{tokens} tokens")

    def rely(self, turn: Turn) -> None:
        """The rules that a turn relies on must be in its own context."""
        named = {demand.page for demand in turn.demands}
        for rule in self._rules(turn.session):
            if rule.id not in named:
                continue
            if self._stands(rule):
                self.hits += 1
            else:
                self._miss(PinnedInvariantMiss(), turn.session)

    def touch(self, turn: Turn) -> None:
        """The effects of a turn: unsaved state, and recently used pages."""
        self.dirty.update(turn.dirty)
        faded = {id_: value * _DECAY for id_, value in self.recency.items()}
        self.recency = {id_: value if value >= _FORGOTTEN else 0.0 for id_, value in faded.items()}
        for demand in turn.demands:
            self.recency[demand.page] = self.recency.get(demand.page, 0.0) + 1.0

    def _rules(self, session: str) -> list[PageSpec]:
        return [page for page in self.pages[session] if page.pin is Pin.HARD]

    def _stands(self, rule: PageSpec) -> bool:
        return rule.id in self.held and self.held[rule.id] >= rule.floor

    def _miss(self, fault: Fault, session: str) -> None:
        if sum(rule.floor_tokens for rule in self._rules(session)) <= self.budget_tokens:
            self.faults.append(fault)
        else:
            self.unmet_floors += 1
