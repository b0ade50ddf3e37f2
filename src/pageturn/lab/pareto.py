"""Finds the Pareto front of methods, and the policy that should be the default.

A point is one method at one budget, pooled over the sessions that every method has there: the priced bill, the coverage, and the faults,
counted in the same way for all. Results written before misses were priced use the bill with re-fetches instead, and so do all that are
compared with them. The flip rule selects the cheapest policy that dominates legacy at every budget; if none does, legacy stays. A few
faults more or less are often chance, so the rule can also be restricted to differences that are significant under resampling. A budget
that is too small for the rules alone is not compared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pageturn.lab.bootstrap import Difference, paired
from pageturn.lab.results import OracleGap, Result, Score
from pageturn.values.model_prices import ModelPrice

LEGACY = "legacy"
_ORACLE = "oracle_replay"
_OWN = ("legacy", "reset", "incremental", "paged")


class Point(NamedTuple):
    """One method at one budget. Better means less cost, more coverage and fewer faults."""

    policy: str
    budget_tokens: int
    cost: float  # the priced bill, relative to sending everything
    coverage: float
    faults: int  # those that the policy caused
    fetched_again: int
    sessions: int
    is_own: bool  # whether a live session can use it, so that it may be the default
    is_oracle: bool
    score: Score
    gap: OracleGap | None = None  # to an oracle, if all sessions were compared with the same one
    dollars: float | None = None  # the priced bill and the output; None if a price is unknown
    dollars_for_everything: float | None = None  # the same for sending everything
    compacted: int = 0  # sessions that the recording tool compacted

    def dominates(self, other: "Point") -> bool:
        """At least as good in everything, and better in something."""
        ours, theirs = _badness(self), _badness(other)
        return ours != theirs and all(one <= another for one, another in zip(ours, theirs, strict=True))

    def dominates_if_pointers_are_hits(self, other: "Point") -> bool:
        """The same in ClawVM's accounting: a re-fetch is not a fault if something in the request led to it."""
        ours, theirs = (point._replace(faults=point.faults - point.fetched_again) for point in (self, other))
        return ours.dominates(theirs)


def _badness(point: Point) -> tuple[float, float, int]:
    return (point.cost, -point.coverage, point.faults)


class Versus(NamedTuple):
    """The differences between two methods at one budget; the sessions are compared in pairs."""

    cost: Difference
    coverage: Difference
    faults: Difference  # a session
    fetched_again: Difference  # a session

    @property
    def dominates(self) -> bool:
        """Significantly better in something, and significantly worse in nothing."""
        worse = (self.cost.value, -self.coverage.value, self.faults.value)
        sure = (self.cost.is_sure, self.coverage.is_sure, self.faults.is_sure)
        return any(is_sure and by < 0 for by, is_sure in zip(worse, sure, strict=True)) and not any(
            is_sure and by > 0 for by, is_sure in zip(worse, sure, strict=True)
        )


class _Scored(NamedTuple):
    """The figures of a method in one session."""

    score: Score
    faults: int
    fetched_again: int
    oracle: OracleGap | None
    price: ModelPrice | None
    is_compacted: bool


class Points:
    """Pools results as they arrive, and keeps none of their turns."""

    def __init__(self) -> None:
        self._scores: dict[tuple[int, str], dict[tuple[str, str], _Scored]] = defaultdict(dict)
        self._kinds: dict[str, str] = {}
        self._labels: dict[str, None] = {}

    def add(self, result: Result) -> None:
        """Add one result."""
        faults, again = result.policy_faults, result.fetched_again
        scored = _Scored(
            result.score, faults, again, result.oracle, result.known_price, is_compacted=result.compactions > 0
        )
        self._scores[result.budget_tokens, result.policy][result.source, result.trace] = scored
        self._labels.setdefault(result.policy)
        self._kinds[result.policy] = str(result.settings.get("policy", ""))

    @property
    def is_priced(self) -> bool:
        """Whether every result has a priced bill."""
        return all(each.score.is_priced for scores in self._scores.values() for each in scores.values())

    @property
    def prices(self) -> list[ModelPrice]:
        """The prices with which the results were billed."""
        known = (each.price for scores in self._scores.values() for each in scores.values())
        return list(dict.fromkeys(price for price in known if price is not None))

    @property
    def budgets(self) -> list[int]:
        """The budgets, smallest first."""
        return sorted({budget for budget, _ in self._scores})

    def pooled(self) -> list[Point]:
        """A point for each method and budget, over the sessions that all methods have at that budget; none if there is no such session."""
        points = []
        spent = self._spent()
        for budget in self.budgets:
            rows = {label: scores for label in self._labels if (scores := self._scores.get((budget, label)))}
            common = self._common(budget)
            for label, scores in rows.items() if common else ():
                pooled = [scores[session] for session in common]
                score = sum((each.score for each in pooled), Score())
                kind = self._kinds[label]
                points.append(
                    Point(
                        label,
                        budget,
                        _pooled_share([(spent(score), score.whole)]),
                        score.coverage,
                        sum(each.faults for each in pooled),
                        sum(each.fetched_again for each in pooled),
                        len(common),
                        is_own=kind in _OWN,
                        is_oracle=kind == _ORACLE,
                        score=score,
                        gap=_pooled_gap([each.oracle for each in pooled]),
                        dollars=_dollars([(each.price, each.score.paid) for each in pooled]),
                        dollars_for_everything=_dollars(
                            [(each.price, each.score.paid_for_everything) for each in pooled]
                        ),
                        compacted=sum(each.is_compacted for each in pooled),
                    )
                )
        return points

    def versus(self, policy: str, other: str, budget_tokens: int) -> Versus | None:
        """How a method compares with another over the pooled sessions, with confidence intervals; None if there are none."""
        ours, theirs = (self._scores.get((budget_tokens, label)) for label in (policy, other))
        common = self._common(budget_tokens)
        if ours is None or theirs is None or not common:
            return None

        def difference(part: Callable[[_Scored], tuple[float, float]]) -> Difference:
            one, another = ([part(scores[session]) for session in common] for scores in (ours, theirs))
            return paired(one, another, _pooled_share)

        spent = self._spent()
        return Versus(
            cost=difference(lambda each: (spent(each.score), each.score.whole)),
            coverage=difference(lambda each: (each.score.covered, each.score.demanded)),
            faults=difference(lambda each: (each.faults, 1)),
            fetched_again=difference(lambda each: (each.fetched_again, 1)),
        )

    def _spent(self) -> Callable[[Score], float]:
        """The compared cost."""
        if self.is_priced:
            return lambda score: score.billed + score.fetching
        return lambda score: score.billed + score.refetched

    def _common(self, budget_tokens: int) -> list[tuple[str, str]]:
        """The sessions that every method of a budget has."""
        rows = [set(scores) for (budget, _), scores in self._scores.items() if budget == budget_tokens]
        return sorted(set.intersection(*rows)) if rows else []


def _pooled_gap(gaps: Sequence[OracleGap | None]) -> OracleGap | None:
    """The sum of the gaps; None if a session has none, or one to another oracle."""
    known = [gap for gap in gaps if gap is not None]
    if len(known) < len(gaps) or len({gap.lookahead for gap in known}) != 1:
        return None
    sums = (sum(getattr(gap, name) for gap in known) for name in ("missed", "oracle_missed", "bound"))
    return OracleGap(known[0].lookahead, *sums)


def _dollars(spent: Sequence[tuple[ModelPrice | None, float]]) -> float | None:
    """The sum in dollars of sessions' costs in tokens of fresh input."""
    known = [price.of_input(tokens) for price, tokens in spent if price is not None]
    return sum(known) if len(known) == len(spent) else None


def _pooled_share(parts: Sequence[tuple[float, float]]) -> float:
    whole = sum(whole for _, whole in parts)
    return sum(part for part, _ in parts) / whole if whole else 1.0


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other at the same budget dominates, in order; without oracles, and without methods that sent nothing."""
    online = [point for point in points if not point.is_oracle and not point.score.is_refused]
    return [
        point
        for point in online
        if not any(other.dominates(point) for other in online if other.budget_tokens == point.budget_tokens)
    ]


class Flip(NamedTuple):
    """The result of the flip rule: the policy that should be the default, and at which budgets each one dominates legacy."""

    elected: str
    dominating: Mapping[str, Sequence[int]]
    budgets: Sequence[int]


def flip(points: Iterable[Point], dominates: Callable[[Point, Point], bool] = Point.dominates) -> Flip:
    """The cheapest policy of ours that dominates legacy at every budget; legacy if there is none, or nothing to compare with."""
    own = [point for point in points if point.is_own]
    legacy = {point.budget_tokens: point for point in own if point.policy == LEGACY and not point.score.is_refused}
    dominating: dict[str, list[int]] = {}
    spent: dict[str, float] = defaultdict(float)
    for point in own:
        if point.policy != LEGACY and point.budget_tokens in legacy:
            dominating.setdefault(point.policy, [])
            spent[point.policy] += point.cost * point.score.whole
            if dominates(point, legacy[point.budget_tokens]):
                dominating[point.policy].append(point.budget_tokens)
    everywhere = [policy for policy, budgets in dominating.items() if len(budgets) == len(legacy)]
    elected = min(everywhere, key=lambda policy: (spent[policy], policy), default=LEGACY)
    return Flip(elected, dominating, sorted(legacy))
