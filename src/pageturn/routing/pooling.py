"""Estimates the success rate of each agent in a context by pooling evidence, when the context has little of its own.

The log-odds of an agent's success in a context are modelled as what is usual there, plus how much better the agent is overall, plus how
much better it is in similar contexts (neighbours), plus how much better it is in this one. Each step is drawn from a normal
distribution whose width is learned from the observed spread of agents, neighbours and contexts. So a cell with few outcomes is shrunk
towards its neighbours, they towards the agent's own mean, and that towards the pool's; a cell with many is not. The effect of a context on
all agents is removed first, so that an agent is not rated worse for having been tried at hard work.

It is a logistic regression with three levels of random effects, fitted by a few rounds of weighted least squares. On log-odds an agent that
failed twice where everybody fails stays possible, and one that failed twice where everybody succeeds does not.

A pure function of the evidence: no clock, no randomness, no dependence on order.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pageturn.routing.posteriors import Evidence

# The widths expected before anything is known, in log-odds, and how many agents or cells that expectation counts for. Tuned on half
# of the agents of five tables (docs/routing.md); half or twice as much changes little.
_AGENTS_APART = 1.0
_CELLS_APART = 0.8
_USUAL_APART = 1.0  # contexts from each other
_USUAL_EXPECTED = 1.5  # the usual rate of everything, from one half
_COUNTED = 6.0
_BEGINNING = 2.0  # outcomes at the usual rate that a cell's own rate starts with
_ROUNDS = 5
_SUREST = 8.0  # log-odds; no rate is surer than one in three thousand


class Context(NamedTuple):
    """The place of a cell: its neighbours, the group, and itself."""

    group: str
    name: str


class Estimate(NamedTuple):
    """The expected rate of an agent in a context, and its uncertainty."""

    mean: float
    deviation: float

    def at(self, deviations: float) -> float:
        """The rate this many deviations away; in log-odds, so that it stays between 0 and 1."""
        middle = log_odds(self.mean)
        rate = _rate(middle)
        return _rate(middle + deviations * self.deviation / (rate * (1.0 - rate)))


class Cell(NamedTuple):
    """The evidence about one agent in one context."""

    context: Context
    evidence: Evidence


class _Spread(NamedTuple):
    """The spread of agents overall, in groups, and in contexts: variances of log-odds."""

    agents: float
    groups: float
    contexts: float


class _Fitted:
    """A cell during the fit: its outcomes, and the resulting log-odds."""

    __slots__ = ("context", "log_odds", "seen", "successes", "trials", "trust", "weight")

    def __init__(self, context: Context, evidence: Evidence, usual: float) -> None:
        self.context = context
        self.successes, self.trials = evidence
        self.log_odds = log_odds((self.successes + _BEGINNING * usual) / (self.trials + _BEGINNING))
        self.seen = self.weight = self.trust = 0.0

    def linearise(self) -> None:
        """The outcomes as log-odds with their precision, linearised at the present estimate."""
        rate = _rate(self.log_odds)
        self.weight = self.trials * rate * (1.0 - rate)
        seen = self.log_odds + (self.successes - self.trials * rate) / self.weight
        self.seen = min(max(seen, -_SUREST), _SUREST)


class _Group(NamedTuple):
    """The cells of an agent in one group: their weight against the agent's mean, and how much better they show it to be."""

    trust: float
    better: float
    cells: Mapping[str, tuple[float, float]]  # by context: its weight against the group, and what it shows


class _Known(NamedTuple):
    """How much better than usual an agent is, the variance of that, and the estimates of its groups."""

    mean: float
    variance: float
    groups: Mapping[str, _Group]


_EXPECTED = _Spread(_AGENTS_APART**2, _CELLS_APART**2 / 2.0, _CELLS_APART**2 / 2.0)
_UNKNOWN = _Known(0.0, 0.0, {})


class Pool:
    """Estimates of all agents at one skill."""

    def __init__(self, cells: Mapping[str, Iterable[Cell]]) -> None:
        self._spread = _EXPECTED
        self.trials = 0.0  # outcomes at this skill, of any agent
        self._everywhere = 0.0
        self._of_group: dict[str, float] = {}
        self._of_context: dict[str, float] = {}
        self._known: dict[str, _Known] = {}
        seen = {agent: [each for each in some if each.evidence.trials > 0.0] for agent, some in cells.items()}
        every = [each.evidence for some in seen.values() for each in some]
        if every:
            self.trials = sum(each.trials for each in every)
            usual = (sum(each.successes for each in every) + 1.0) / (self.trials + 2.0)
            self._everywhere = log_odds(usual)
            self._fit({a: [_Fitted(c, e, usual) for c, e in some] for a, some in seen.items() if some})

    def estimate(self, agent: str, context: Context) -> Estimate:
        """The estimate for an agent in a context; both may be new."""
        known = self._known.get(agent, _UNKNOWN)
        of_agents, of_groups, of_contexts = self._spread
        mean, variance = known.mean, of_agents if known is _UNKNOWN else known.variance
        group = known.groups.get(context.group)
        if group is None:
            variance += of_groups + of_contexts
        else:
            mean += group.trust * (group.better - mean)
            variance = of_groups * (1.0 - group.trust) + (1.0 - group.trust) ** 2 * variance
            here = group.cells.get(context.name)
            if here is None:
                variance += of_contexts
            else:
                trust, better = here
                mean += trust * (better - mean)
                variance = of_contexts * (1.0 - trust) + (1.0 - trust) ** 2 * variance
        rate = _rate(self._usual(context) + mean)
        return Estimate(rate, rate * (1.0 - rate) * math.sqrt(variance))

    def usual(self, context: Context) -> float:
        """The rate of an average agent in a context."""
        return _rate(self._usual(context))

    def _usual(self, context: Context) -> float:
        return self._everywhere + self._of_group.get(context.group, 0.0) + self._of_context.get(context.name, 0.0)

    def _fit(self, cells: Mapping[str, list[_Fitted]]) -> None:
        """Fit: the usual rate depends on who was tried, and that on the usual rate, so a few rounds are needed."""
        for left in reversed(range(_ROUNDS)):
            for some in cells.values():
                for each in some:
                    each.linearise()
            self._learn_usual(cells)
            for agent, some in cells.items():
                self._known[agent] = self._agent(some)
            if left:
                self._learn_spread()

    def _learn_usual(self, cells: Mapping[str, list[_Fitted]]) -> None:
        """The rate of an average agent in each context, given how much better those are that were tried there."""
        apart = self._spread.groups + self._spread.contexts
        rates = []  # for each cell: its context, its precision, and the rate it implies for an average agent
        for agent, some in cells.items():
            better = self._known.get(agent, _UNKNOWN).mean
            rates += [(each.context, 1.0 / (apart + 1.0 / each.weight), each.seen - better) for each in some]
        weights = 1.0 / _USUAL_EXPECTED**2
        pull = 0.0
        for (group, name), weight, seen in rates:
            weights += weight
            pull += weight * (seen - self._of_group.get(group, 0.0) - self._of_context.get(name, 0.0))
        self._everywhere = pull / weights
        self._of_group = _offsets(
            (group, weight, seen - self._everywhere - self._of_context.get(name, 0.0))
            for (group, name), weight, seen in rates
        )
        self._of_context = _offsets(
            (name, weight, seen - self._everywhere - self._of_group[group]) for (group, name), weight, seen in rates
        )

    def _agent(self, cells: Iterable[_Fitted]) -> _Known:
        """How good an agent is overall, and the weight of each of its groups and cells."""
        of_agents, of_groups, of_contexts = self._spread
        grouped: dict[str, list[_Fitted]] = {}
        for each in cells:
            grouped.setdefault(each.context.group, []).append(each)
        precision, pull = 1.0 / of_agents, 0.0
        groups = {}
        for name, some in grouped.items():
            weights = pulls = 0.0
            members = {}
            for each in some:
                better = each.seen - self._usual(each.context)
                weight = 1.0 / (of_contexts + 1.0 / each.weight)
                weights += weight
                pulls += weight * better
                members[each.context.name] = of_contexts * weight, better
            weight = 1.0 / (of_groups + 1.0 / weights)
            groups[name] = _Group(of_groups * weight, pulls / weights, members)
            precision += weight
            pull += weight * pulls / weights
        known = _Known(pull / precision, 1.0 / precision, groups)
        for each in (each for some in grouped.values() for each in some):
            group = groups[each.context.group]
            mean = known.mean + group.trust * (group.better - known.mean)
            trust, better = group.cells[each.context.name]
            believed = self._usual(each.context) + mean + trust * (better - mean)
            each.log_odds = min(max(believed, -_SUREST), _SUREST)
        return known

    def _learn_spread(self) -> None:
        """The spread of agents, groups and contexts: the expected and the observed one, each with its weight."""
        _, of_groups, of_contexts = self._spread
        agents = groups = contexts = 0.0
        group_count = context_count = 0
        for mean, variance, by_group in self._known.values():
            agents += mean * mean + variance
            group_count += len(by_group)
            for trust, better, cells in by_group.values():
                step = trust * (better - mean)
                left = of_groups * (1.0 - trust)
                groups += step * step + left + trust * trust * variance
                near, near_variance = mean + step, left + (1.0 - trust) ** 2 * variance
                context_count += len(cells)
                for trust_here, better_here in cells.values():
                    step = trust_here * (better_here - near)
                    contexts += step * step + of_contexts * (1.0 - trust_here) + trust_here * trust_here * near_variance
        self._spread = _Spread(
            (_COUNTED * _EXPECTED.agents + agents) / (_COUNTED + len(self._known)),
            (_COUNTED * _EXPECTED.groups + groups) / (_COUNTED + group_count),
            (_COUNTED * _EXPECTED.contexts + contexts) / (_COUNTED + context_count),
        )


def _offsets(rates: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """For each name its offset from the usual rate, shrunk towards 0."""
    totals: dict[str, tuple[float, float]] = {}
    for name, weight, seen in rates:
        weights, pull = totals.get(name, (2.0 / _USUAL_APART**2, 0.0))  # half of it between groups, half within
        totals[name] = weights + weight, pull + weight * seen
    return {name: pull / weights for name, (weights, pull) in totals.items()}


def _rate(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(log_odds, -_SUREST), _SUREST)))


def log_odds(rate: float) -> float:
    """The log-odds of a rate, within the limits of certainty."""
    rate = min(max(rate, _LEAST), 1.0 - _LEAST)
    return math.log(rate / (1.0 - rate))


_LEAST = _rate(-_SUREST)
