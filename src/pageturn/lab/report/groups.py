"""Groups results that can be compared: one token counter and one vendor's prices each."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from pageturn.lab.bootstrap import Spread, pooled_share
from pageturn.lab.results import Result, ResultKey, Score
from pageturn.policies import OracleReplay
from pageturn.values.errors import InvalidInput
from pageturn.values.model_prices import ModelPrice


class Row:
    """One policy at one budget, over all of its sessions."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.policy = results[0].policy
        self.budget_tokens = results[0].budget_tokens
        self.results = tuple(results)
        self.is_foreseen = results[0].settings.get("policy") == OracleReplay.__struct_config__.tag
        self.score = sum((result.score for result in results), Score())
        self.faults = sum((Counter(result.faults) for result in results), Counter[str]())

    @cached_property
    def bill(self) -> Spread:
        """The bill, relative to sending everything."""
        return self._share("billed", "whole")

    @cached_property
    def coverage(self) -> Spread:
        """The share of needed names that were in the request."""
        return self._share("covered", "demanded")

    @property
    def missed(self) -> Spread:
        """The share of needed names that were not in the request."""
        value, low, high = self.coverage
        return Spread(1 - value, 1 - high, 1 - low)

    @property
    def dollars(self) -> float | None:
        """The total cost of the sessions; None if a price is unknown."""
        return self._spent(lambda score: score.paid)

    @property
    def dollars_for_everything(self) -> float | None:
        """The same for sending everything."""
        return self._spent(lambda score: score.paid_for_everything)

    def _spent(self, paid: Callable[[Score], float]) -> float | None:
        prices = [result.known_price for result in self.results]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            return None
        return sum(price.of_input(paid(result.score)) for price, result in zip(known, self.results, strict=True))

    def _share(self, part: str, whole: str) -> Spread:
        scores = [result.score for result in self.results]
        return pooled_share([getattr(score, part) for score in scores], [getattr(score, whole) for score in scores])


class Policy(NamedTuple):
    """A policy by its name, and its number in the group, which decides its colour and shape."""

    name: str
    number: int


class Group:
    """Results that can be compared, and one session of them that is drawn turn by turn."""

    def __init__(self, results: Sequence[Result]) -> None:
        first = results[0]
        self.counter, self.vendor = first.counter, first.vendor
        self.results = tuple(results)
        grouped: dict[tuple[str, int], list[Result]] = {}
        for result in results:
            grouped.setdefault((result.policy, result.budget_tokens), []).append(result)
        names = dict.fromkeys(result.policy for result in results)
        self.policies = tuple(Policy(name, number) for number, name in enumerate(names))
        self.rows = tuple(
            Row(grouped[key]) for key in sorted(grouped, key=lambda key: (list(names).index(key[0]), key[1]))
        )

    @cached_property
    def sessions(self) -> tuple[tuple[str, str], ...]:
        """The sessions of the group with their sources, in order."""
        return tuple(dict.fromkeys(map(_session, self.results)))

    @property
    def prices(self) -> tuple[ModelPrice, ...]:
        """The prices by which the results were billed, as far as they are known."""
        known = (result.known_price for result in self.results)
        return tuple(dict.fromkeys(price for price in known if price is not None))

    @property
    def is_complete(self) -> bool:
        """Whether every row has every session, so that all can be compared."""
        return all(len(row.results) == len(self.sessions) for row in self.rows)

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """The budgets of the group, the smallest first."""
        return tuple(sorted({row.budget_tokens for row in self.rows}))

    @cached_property
    def front(self) -> tuple[Row, ...]:
        """The rows that no other beats in both cost and coverage, cheapest first; without oracles, and without methods that sent nothing."""
        best: list[Row] = []
        for row in sorted(self.rows, key=lambda row: (row.bill.value, -row.coverage.value)):
            if row.is_foreseen or row.score.is_refused:
                continue
            if not best or row.coverage.value > best[-1].coverage.value:
                best.append(row)
        return tuple(best)

    def number(self, policy: str) -> int:
        """The number of a policy."""
        return next(known.number for known in self.policies if known.name == policy)

    def rows_of(self, policy: str) -> tuple[Row, ...]:
        """The rows of a policy, the smallest budget first."""
        return tuple(row for row in self.rows if row.policy == policy)

    def everything(self, of: Result) -> Result | None:
        """The result of sending everything in the same session at every turn, if that was replayed."""
        same = (result for result in self.results if _session(result) == _session(of) and result.turns)
        return next((result for result in same if result.score.billed == result.score.whole), None)

    def example(self, session: str | None = None, budget_tokens: int | None = None) -> tuple[Result, ...]:
        """The session to draw turn by turn under each policy: the longest one, at the budget in the middle, if none is named."""
        drawn = [
            result
            for result in self.results
            if result.turns and session in (None, result.trace) and budget_tokens in (None, result.budget_tokens)
        ]
        if not drawn:
            return ()
        budgets = sorted({result.budget_tokens for result in drawn})
        at_budget = [result for result in drawn if result.budget_tokens == budgets[len(budgets) // 2]]
        longest = max(at_budget, key=lambda result: len(result.turns))
        return tuple(result for result in at_budget if _session(result) == _session(longest))


def groups(results: Iterable[Result]) -> tuple[Group, ...]:
    """The results as groups, in order. A result that occurs twice counts once."""
    known: dict[ResultKey, Result] = {}
    for result in results:
        if known.setdefault(result.key, result) != result:
            where = f"{result.trace} under {result.policy} at {result.budget_tokens:,} tokens"
            raise InvalidInput("results", expected=f"one result of {where}", got="two that differ")
    if not known:
        raise InvalidInput("results", expected="at least one result of a replay", got="none")
    grouped: dict[tuple[str, str], list[Result]] = {}
    for result in known.values():
        grouped.setdefault((result.counter, result.vendor), []).append(result)
    return tuple(Group(members) for members in grouped.values())


def _session(result: Result) -> tuple[str, str]:
    return result.source, result.trace
