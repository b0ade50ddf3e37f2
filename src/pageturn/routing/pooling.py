"""Estimates the success rate of each agent in a context by pooling evidence, when the context has little of its own.

The rate of an agent in a context is modelled as the usual rate there, plus how much better the agent is overall, plus how much better it
is in similar contexts (neighbours), plus how much better it is in this one. Each step is drawn from a normal distribution whose width
is learned from the observed spread of agents, neighbours and contexts. So a cell with few outcomes is shrunk towards its neighbours, they
towards the agent's own mean, and that towards the pool's; a cell with many is not. The effect of a context on all agents is removed
first, so that an agent is not rated worse for having been tried at hard work.

A pure function of the evidence: no clock, no randomness, no dependence on order.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pageturn.routing.posteriors import Evidence

# The widths expected before anything is known, and how many agents or cells that expectation counts for. Tuned on mcpmark,
# bfcl and livecodebench (docs/routing.md); half or twice as much changes little.
_AGENTS_APART = 0.2
_CELLS_APART = 0.15
_AGENTS_EXPECTED = 6.0
_CELLS_EXPECTED = 3.0
_USUAL_STRENGTH = 4.0  # outcomes that the wider usual rate counts for against that of one context
_ROUNDS = 3
_NEVER_SURE = 0.02  # no context is so easy or so hard that outcomes there have less spread than this rate's


class Context(NamedTuple):
    """Where a cell stands: among neighbours, the group, and by itself."""

    group: str
    name: str


class Estimate(NamedTuple):
    """The expected rate of an agent in a context, and how far off it may be."""

    mean: float
    deviation: float


class Cell(NamedTuple):
    """The evidence about one agent in one context."""

    context: Context
    evidence: Evidence


class _Spread(NamedTuple):
    """How far agents lie apart everywhere, in groups, and in contexts: variances."""

    agents: float
    groups: float
    contexts: float


_Members = list[tuple[str, float, float]]  # of a group: context, rate, trials; or context, trust, and what it shows
_Groups = dict[str, _Members]


class _Known(NamedTuple):
    """How much better than usual an agent is, the variance of that, and for each group trust, what it shows, and its cells."""

    mean: float
    variance: float
    groups: Mapping[str, tuple[float, float, _Members]]


_EXPECTED = _Spread(_AGENTS_APART**2, _CELLS_APART**2 / 2.0, _CELLS_APART**2 / 2.0)


class Pool:
    """Estimates of all agents at one skill."""

    def __init__(self, cells: Mapping[str, Iterable[Cell]]) -> None:
        self._spread = _EXPECTED
        self._everywhere = 0.5
        self._usual: dict[str, float] = {}
        self._usual_of_group: dict[str, float] = {}
        self._known: dict[str, _Known] = {}
        self._group_of: dict[str, str] = {}
        self._trials: dict[str, float] = {}
        self._learn({agent: self._grouped(each) for agent, each in cells.items()})

    def estimate(self, agent: str, context: Context) -> Estimate:
        """What to expect of an agent in a context; both may be new."""
        group, name = context
        usual = self._usual.get(name)
        if usual is None:
            usual = self._usual_of_group.get(group, self._everywhere)
        _, of_groups, of_contexts = self._spread
        known = self._known.get(agent)
        mean, variance = (0.0, self._spread.agents) if known is None else known[:2]
        near = None if known is None else known.groups.get(group)
        if near is None:
            return Estimate(usual + mean, math.sqrt(variance + of_groups + of_contexts))
        trust, seen, members = near
        mean += trust * (seen - mean)
        variance = of_groups * (1.0 - trust) + (1.0 - trust) ** 2 * variance
        here = next((each for each in members if each[0] == name), None)
        if here is None:
            return Estimate(usual + mean, math.sqrt(variance + of_contexts))
        _, trust, seen = here
        mean += trust * (seen - mean)
        return Estimate(usual + mean, math.sqrt(of_contexts * (1.0 - trust) + (1.0 - trust) ** 2 * variance))

    def _grouped(self, cells: Iterable[Cell]) -> _Groups:
        groups: dict[str, _Members] = {}
        for (group, name), (successes, trials) in cells:
            if trials > 0.0:
                groups.setdefault(group, []).append((name, successes / trials, trials))
                self._group_of[name] = group
                self._trials[name] = self._trials.get(name, 0.0) + trials
        return groups

    def _learn(self, observed: Mapping[str, _Groups]) -> None:
        """What is usual depends on who was tried, and how good they are on what is usual: a few rounds settle it."""
        for _ in range(_ROUNDS - 1 if self._trials else 0):
            self._learn_usual(observed)
            self._known = {agent: self._agent(groups) for agent, groups in observed.items()}
            self._learn_spread()
        self._learn_usual(observed)
        self._known = {agent: self._agent(groups) for agent, groups in observed.items()}

    def _learn_usual(self, observed: Mapping[str, _Groups]) -> None:
        """What an average agent does in each context, given how much better those are that were tried there."""
        won = dict.fromkeys(self._trials, 0.0)
        for agent, groups in observed.items():
            better = self._known[agent].mean if self._known else 0.0
            for members in groups.values():
                for name, rate, trials in members:
                    won[name] += (rate - better) * trials
        in_group = {group: [0.0, 0.0] for group in self._group_of.values()}
        for name, group in self._group_of.items():
            total = in_group[group]
            total[0] += won[name]
            total[1] += self._trials[name]
        everywhere = (sum(won.values()) + 1.0) / (sum(self._trials.values()) + 2.0)
        self._everywhere = min(max(everywhere, 0.0), 1.0)
        self._usual_of_group = {
            group: _leaning(successes, trials, self._everywhere) for group, (successes, trials) in in_group.items()
        }
        self._usual = {
            name: _leaning(won[name], self._trials[name], self._usual_of_group[group])
            for name, group in self._group_of.items()
        }

    def _agent(self, groups: _Groups) -> _Known:
        """How good an agent is everywhere, and how far each of its groups and cells is to be trusted."""
        of_agents, of_groups, of_contexts = self._spread
        usual = self._usual
        told = {}
        precision, pull = 1.0 / of_agents, 0.0
        for group, cells in groups.items():
            weights = pulls = 0.0
            members = []
            for name, rate, trials in cells:
                expected = usual[name]
                weight = 1.0 / (of_contexts + expected * (1.0 - expected) / trials)
                weights += weight
                pulls += weight * (rate - expected)
                members.append((name, of_contexts * weight, rate - expected))
            weight = 1.0 / (of_groups + 1.0 / weights)
            seen = pulls / weights
            precision += weight
            pull += weight * seen
            told[group] = (of_groups * weight, seen, members)
        return _Known(pull / precision, 1.0 / precision, told)

    def _learn_spread(self) -> None:
        """How far agents, groups and contexts lie apart: what was expected and what is seen, each for its count."""
        _, of_groups, of_contexts = self._spread
        agents = groups = contexts = 0.0
        group_count = context_count = 0
        for mean, variance, told in self._known.values():
            agents += mean * mean + variance
            group_count += len(told)
            for trust, seen, members in told.values():
                step = trust * (seen - mean)
                left = of_groups * (1.0 - trust)
                groups += step * step + left + trust * trust * variance
                near, near_variance = mean + step, left + (1.0 - trust) ** 2 * variance
                context_count += len(members)
                for _, trust_here, seen_here in members:
                    step = trust_here * (seen_here - near)
                    contexts += step * step + of_contexts * (1.0 - trust_here) + trust_here * trust_here * near_variance
        self._spread = _Spread(
            (_AGENTS_EXPECTED * _EXPECTED.agents + agents) / (_AGENTS_EXPECTED + len(self._known)),
            (_CELLS_EXPECTED * _EXPECTED.groups + groups) / (_CELLS_EXPECTED + group_count),
            (_CELLS_EXPECTED * _EXPECTED.contexts + contexts) / (_CELLS_EXPECTED + context_count),
        )


def _leaning(successes: float, trials: float, wider: float) -> float:
    rate = (successes + _USUAL_STRENGTH * wider) / (trials + _USUAL_STRENGTH)
    return min(max(rate, _NEVER_SURE), 1.0 - _NEVER_SURE)
