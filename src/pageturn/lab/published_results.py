"""Compares published results with ours: the order of the methods should agree, their figures need not.

None of the published results was measured on the same sessions: ClawVM's workloads are not public, The Complexity Trap and ctxpress ran
models on SWE-bench, Pichay replayed its own logs.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from pageturn.lab.baselines import everything, keep_last, masking
from pageturn.lab.clawvm import ABLATIONS, POLICIES, Policy
from pageturn.lab.evictions import Evictions, evictions, total
from pageturn.lab.our_policies import Deriving
from pageturn.lab.published_baselines import RollingSummary, stubs
from pageturn.lab.replay import Recording, Shows
from pageturn.lab.results import Score
from pageturn.lab.simulated_paged import PagedChooser
from pageturn.lab.synthetic_workloads import BUDGETS, families
from pageturn.lab.traces import Trace
from pageturn.policies import Legacy, Paged, Reset
from pageturn.values.vendors import IDEAL_CACHE, VENDORS

ABLATION_BUDGET = 180

# -- ClawVM (arXiv:2604.10352): mean faults and thrash of 24 runs, and faults of four families at 180 tokens without one part

_FAULTS = {
    "retrieval_only": (67.8, 3.993),
    "retrieval_only_cached": (10.8, 1.642),
    "compaction_hybrid": (1.5, 1.017),
    "clawvm": (0.0, 0.901),
    "lru": (0.0, 0.901),
    "oracle_h3": (0.0, 0.901),
}
_WITHOUT = {
    "no pointer resolution": 126,
    "no write-back at compaction": 20,
    "no auto-pin": 9,
    "no write-back at reset": 3,
    "no upgrade scoring": 0,
    "no prefetch": 0,
}


class Faults(NamedTuple):
    """A policy on simulated sessions: faults per session and thrash, published and ours. Paged was not published."""

    name: str
    published: float | None
    ours: float
    published_thrash: float | None
    thrash: float


def policies(seeds: Sequence[int]) -> list[Faults]:
    """ClawVM's comparison on our families, with Paged."""
    sessions = [workload for seed in seeds for workload in families(seed)]
    rows = []
    for policy in (*POLICIES, Policy("paged", PagedChooser())):
        tallies = [policy.run(session, budget) for session in sessions for budget in BUDGETS]
        faults, thrash = _FAULTS.get(policy.name, (None, None))
        ours = fmean(len(tally.faults) for tally in tallies)
        rows.append(Faults(policy.name, faults, ours, thrash, fmean(tally.thrash for tally in tallies)))
    return rows


class Without(NamedTuple):
    """What ClawVM loses without one of its parts, over four families, published and ours."""

    part: str
    published: int
    ours: float


def ablation(seeds: Sequence[int]) -> list[Without]:
    """ClawVM without each of its parts, at 180 tokens."""
    return [
        Without(
            policy.name,
            _WITHOUT[policy.name],
            fmean(sum(len(policy.run(each, ABLATION_BUDGET).faults) for each in families(seed)) for seed in seeds),
        )
        for policy in ABLATIONS
    ]


# -- methods to keep a session short

_WAYS: dict[str, Callable[[int], Shows]] = {
    "everything": lambda _: everything,
    "keep-last": keep_last,
    "masking": lambda _: masking(),
    "masking, 10 at once": lambda _: masking(at_once=10),
    "summary": lambda _: RollingSummary(),
    "hybrid": lambda _: RollingSummary(43, 10, unmasked=10),
    "stubs": lambda _: stubs(),
    "legacy": lambda budget: Deriving(Legacy(), budget_tokens=budget),
    "reset": lambda budget: Deriving(Reset(budget)),
    "paged": lambda budget: Deriving(Paged(budget_tokens=budget)),
}
ROLLING = ("keep-last", "masking", "hybrid", "stubs")  # they change old messages at almost every turn
_MARKED = VENDORS["anthropic-5m"]._replace(ttl_seconds=None)  # only prefixes that end at a breakpoint are found


class Published(NamedTuple):
    """Bills relative to sending everything, and the share of tokens read from the cache."""

    trap: float | None = None  # The Complexity Trap: the median of five models, solving SWE-bench
    verified: float | None = None  # ctxpress: ten tasks of SWE-bench Verified
    chain: float | None = None  # and a chain of tasks in one repository
    cached: float | None = None  # there


_PUBLISHED = {
    "everything": Published(1.0, 1.0, 1.0, 0.98),
    "keep-last": Published(None, 1.09, 2.42, 0.73),
    "masking": Published(0.47, 1.46, 4.13, 0.27),
    "summary": Published(0.49, 0.99, 1.15, 0.92),
    "hybrid": Published(None, 1.65, 3.89, 0.30),
    "stubs": Published(None, 1.98, 2.78, 0.42),
}


class Shortened(NamedTuple):
    """The figures of one method on some sessions; costs are relative to sending everything."""

    name: str
    published: Published
    sessions: int
    tokens: float  # sent: the bill without a cache
    cached: float  # the share of them that the cache has
    writing: float  # the bill of the summarizer, without a cache
    score: Score
    marked: Score  # if the cache finds only prefixes that end at a breakpoint
    evictions: Evictions

    @property
    def uncached_cost(self) -> float:
        """The bill without a cache, including that of the summarizer."""
        return self.tokens + self.writing


def shortened(traces: Iterable[Trace], budget_tokens: int) -> list[Shortened]:
    """The results of each method on the same sessions, billed with an ideal cache; methods with a budget get this one."""
    sums: dict[str, list[_Session]] = {name: [] for name in _WAYS}
    for trace in traces:
        bills = (Recording(trace), Recording(trace, vendor=_MARKED))
        for name, make in _WAYS.items():
            sums[name].append(_session(*bills, make(budget_tokens)))
    whole = sum(each.tokens for each in sums["everything"]) or 1
    rows = []
    for name, sessions in sums.items():
        sent = sum(each.tokens for each in sessions)
        score = sum((each.score for each in sessions), Score())
        read = (IDEAL_CACHE.prices.write * sent - score.billed) / (IDEAL_CACHE.prices.write - IDEAL_CACHE.prices.read)
        rows.append(
            Shortened(
                name,
                _PUBLISHED.get(name, Published()),
                sessions=len(sessions),
                tokens=sent / whole,
                cached=read / sent if sent else 0.0,
                writing=sum(each.writing for each in sessions) / whole,
                score=score,
                marked=sum((each.marked for each in sessions), Score()),
                evictions=total(each.evictions for each in sessions),
            )
        )
    return rows


class _Session(NamedTuple):
    tokens: int
    writing: float
    score: Score
    marked: Score
    evictions: Evictions


def _session(recording: Recording, marked: Recording, shows: Shows) -> _Session:
    requests = list(shows(recording.trace))
    replay = recording.replay(lambda _: requests)
    writing = (
        shows.read_tokens + IDEAL_CACHE.output * shows.written_tokens if isinstance(shows, RollingSummary) else 0.0
    )
    sent = sum(turn.tokens for turn in replay.turns)
    score = marked.score(lambda _: requests)
    return _Session(sent, writing, replay.score, score, evictions(recording.trace, requests))
