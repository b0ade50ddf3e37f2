"""Implements ClawVM's selector and its published baselines, to measure them on our own workloads.

Required pages first, in order of priority; then pointers for the rest; then one pass over all upgrades by worth per
token. The pass is implemented as published, with its defect: a step that is visited before the step below it was taken
is never visited again, so a page whose upper steps are cheaper than its lower ones stalls while budget is left.
A page whose kind lacks a level skips it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from pageturn.lab.simulation import Chooser, Harness, Tally, simulate
from pageturn.lab.synthetic_workloads import Demand, PageSpec, Pin, Turn, Workload
from pageturn.values.pages import PageKind, ResidencyLevel

_PIN_RANK = {Pin.HARD: 2, Pin.SOFT: 1, Pin.NONE: 0}
_KIND_RANK = {PageKind.BOOTSTRAP: 2, PageKind.CONSTRAINT: 1}
_PIN_SHARE = {Pin.HARD: 1.0, Pin.SOFT: 0.3, Pin.NONE: 0.0}
_ASCENDING = tuple(sorted(ResidencyLevel))


class Upgrade(StrEnum):
    """By what the budget above the requirements is spent."""

    NOTHING = "nothing"
    LRU = "lru"
    RECENCY = "recency"
    WORTH = "worth"
    FORESIGHT = "foresight"


class Weights(NamedTuple):
    """What counts how much in the worth of a page; the defaults are ClawVM's."""

    pin: float = 2.0  # of a hard page
    recency: float = 0.6
    recompute: float = 0.4
    foresight: float = 2.2  # of each demand within the horizon


class Selector(NamedTuple):
    """ClawVM's chooser."""

    upgrade: Upgrade = Upgrade.WORTH
    prefetches: bool = True
    weights: Weights = Weights()
    horizon_turns: int = 3

    def choose(
        self,
        pages: Sequence[PageSpec],
        *,
        required: Mapping[str, ResidencyLevel],
        demands: Sequence[Demand],  # noqa: ARG002  # they are in `required`
        recency: Mapping[str, float],
        budget_tokens: int,
        future: Sequence[Turn],
    ) -> dict[str, ResidencyLevel]:
        """Requirements, pointers, and upgrades in one pass."""
        chosen: dict[str, ResidencyLevel] = {}
        left = budget_tokens
        by_id = {page.id: page for page in pages}
        for page in sorted((by_id[id_] for id_ in required), key=_priority, reverse=True):
            level = required[page.id]
            if page.tokens[level] <= left:
                chosen[page.id] = level
                left -= page.tokens[level]
        if self.prefetches:
            for page in sorted(pages, key=lambda page: (page.recompute_cost, page.base_utility), reverse=True):
                tokens = page.tokens.get(ResidencyLevel.POINTER)
                if page.id not in chosen and tokens is not None and tokens <= left:
                    chosen[page.id] = ResidencyLevel.POINTER
                    left -= tokens
        if self.upgrade is not Upgrade.NOTHING:
            for step in self._steps(pages, chosen, recency, future[: self.horizon_turns]):
                if chosen.get(step.page) == step.below and step.tokens <= left:
                    chosen[step.page] = step.to
                    left -= step.tokens
        return chosen

    def worth(self, page: PageSpec, *, recency: float, coming: int) -> float:
        """What a step of a page is worth, whichever step it is."""
        match self.upgrade:
            case Upgrade.NOTHING:
                return 0.0
            case Upgrade.LRU:
                return recency
            case Upgrade.RECENCY:
                return page.base_utility + 0.9 * recency + 0.1 * page.recompute_cost
        weights = self.weights
        worth = page.base_utility + weights.pin * _PIN_SHARE[page.pin] + weights.recency * recency
        worth += weights.recompute * page.recompute_cost
        return worth + weights.foresight * coming if self.upgrade is Upgrade.FORESIGHT else worth

    def _steps(
        self,
        pages: Sequence[PageSpec],
        chosen: Mapping[str, ResidencyLevel],
        recency: Mapping[str, float],
        coming: Sequence[Turn],
    ) -> list["_Step"]:
        steps = []
        asked = Counter(demand.page for turn in coming for demand in turn.demands)
        for page in pages:
            worth = self.worth(page, recency=recency.get(page.id, 0.0), coming=asked[page.id])
            below = chosen.get(page.id)
            under = page.tokens[below] if below else 0
            for to in _ASCENDING:
                if to not in page.tokens or (below and to <= below):
                    continue
                tokens = page.tokens[to] - under
                if tokens > 0:
                    steps.append(_Step(worth / tokens, page.id, to, below, tokens))
                below, under = to, page.tokens[to]
        return sorted(steps, key=itemgetter(0, 1, 2), reverse=True)


class _Step(NamedTuple):
    rate: float
    page: str
    to: ResidencyLevel
    below: ResidencyLevel | None
    tokens: int


def _priority(page: PageSpec) -> tuple[int, int, int]:
    return (_PIN_RANK[page.pin], _KIND_RANK.get(page.kind, 0), int(page.base_utility * 1_000))


class Policy(NamedTuple):
    """A row of the tables: a chooser in a harness."""

    name: str
    chooser: Chooser
    harness: Harness = Harness()

    def run(self, workload: Workload, budget_tokens: int) -> Tally:
        """What the policy loses on a workload."""
        return simulate(workload, budget_tokens, self.chooser, self.harness)

    @property
    def without_handicap(self) -> "Policy":
        """The same with its whole budget when sessions take turns."""
        return self._replace(harness=self.harness._replace(multi_session_scale=1.0))


_FETCHES = Selector(Upgrade.NOTHING, prefetches=False)
_BARE = Harness(
    pins_floors=False, saves_at_compaction=False, saves_at_reset=False, resolves=False, multi_session_scale=0.78
)
CLAWVM = Policy("clawvm", Selector())
POLICIES = (
    Policy("retrieval_only", _FETCHES, _BARE),
    Policy("retrieval_only_cached", _FETCHES, _BARE._replace(resolves=True)),
    Policy(
        "compaction_hybrid",
        Selector(Upgrade.RECENCY),
        Harness(pins_floors=False, saves_at_reset=False, multi_session_scale=0.85),
    ),
    CLAWVM,
    Policy("lru", Selector(Upgrade.LRU)),
    Policy("oracle_h3", Selector(Upgrade.FORESIGHT)),
)

ABLATIONS = (
    Policy("no pointer resolution", Selector(), Harness(resolves=False)),
    Policy("no write-back at compaction", Selector(), Harness(saves_at_compaction=False)),
    Policy("no auto-pin", Selector(), Harness(pins_floors=False)),
    Policy("no write-back at reset", Selector(), Harness(saves_at_reset=False)),
    Policy("no upgrade scoring", Selector(Upgrade.NOTHING)),
    Policy("no prefetch", Selector(prefetches=False)),
)

SWEEP = tuple(  # 84 points between the published ends; the worth of a soft pin follows that of a hard one
    Policy(f"pin {pin}, recency {recency}, recompute {recompute}", Selector(weights=Weights(pin, recency, recompute)))
    for pin, recency, recompute in product((0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0), (0.1, 0.3, 0.6, 1.2), (0.0, 0.4, 1.2))
)
