"""Pooling: how good each agent is likely to be here, when there is little or nothing to go by.

The rate of an agent in a context is taken as what is usual there, plus how much better the agent is everywhere, plus how much
better it is in such contexts (neighbours), plus how much better it is in this very one. Each step is drawn from a normal
distribution whose width is learned from how far agents, neighbours and contexts really lie apart, so that a thin cell leans on
its neighbours, they on the agent's own mean, and that on the pool's; a thick one stands by itself. That part of a rate which a
context gives to everybody is taken out first: an agent that was tried at hard work is not the worse for it.

A pure function of the evidence: no clock, no chance, no order.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pageturn.delegation.posteriors import Evidence

# The widths expected before anything is known, and how many agents or cells that expectation counts for. Tuned on mcpmark,
# bfcl and livecodebench (docs/delegation.md); half or twice as much changes little.
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


class _Effect(NamedTuple):
    """How much better than usual an agent is, and the variance of that."""

    mean: float
    variance: float


_EXPECTED = _Spread(_AGENTS_APART**2, _CELLS_APART**2 / 2.0, _CELLS_APART**2 / 2.0)
_Members = list[tuple[str, float, float]]  # of a group: context, successes, trials
_Groups = list[tuple[str, _Members]]


class Pool:
    """Estimates of all agents at one skill."""

    def __init__(self, cells: Mapping[str, Iterable[Cell]]) -> None:
        self._spread = _EXPECTED
        self._everywhere = 0.5
        self._usual: dict[str, float] = {}
        self._usual_of_group: dict[str, float] = {}
        self._agents: dict[str, _Effect] = {}
        self._groups: dict[tuple[str, str], _Effect] = {}
        self._contexts: dict[tuple[str, str], _Effect] = {}
        self._group_of: dict[str, str] = {}
        self._trials: dict[str, float] = {}
        self._learn({agent: self._grouped(each) for agent, each in cells.items()})

    def estimate(self, agent: str, context: Context) -> Estimate:
        """What to expect of an agent in a context; both may be new."""
        group, name = context
        usual = self._usual.get(name)
        if usual is None:
            usual = self._usual_of_group.get(group, self._everywhere)
        spread = self._spread
        if (here := self._contexts.get((agent, name))) is not None:
            return Estimate(usual + here.mean, math.sqrt(here.variance))
        if (near := self._groups.get((agent, group))) is not None:
            return Estimate(usual + near.mean, math.sqrt(near.variance + spread.contexts))
        mean, variance = self._agents.get(agent, (0.0, spread.agents))
        return Estimate(usual + mean, math.sqrt(variance + spread.groups + spread.contexts))

    def _grouped(self, cells: Iterable[Cell]) -> _Groups:
        groups: dict[str, _Members] = {}
        for (group, name), (successes, trials) in cells:
            if trials > 0.0:
                groups.setdefault(group, []).append((name, successes, trials))
                self._group_of[name] = group
                self._trials[name] = self._trials.get(name, 0.0) + trials
        return list(groups.items())

    def _learn(self, observed: Mapping[str, _Groups]) -> None:
        """What is usual depends on who was tried, and how good they are on what is usual: a few rounds settle it."""
        better = dict.fromkeys(observed, 0.0)
        for _ in range(_ROUNDS - 1 if self._trials else 0):
            self._learn_usual(observed, better)
            better = self._learn_spread(observed)
        self._learn_usual(observed, better)
        for agent, groups in observed.items():
            self._learn_agent(agent, groups)

    def _learn_usual(self, observed: Mapping[str, _Groups], better: Mapping[str, float]) -> None:
        """What an average agent does in each context, given how much better those are that were tried there."""
        won = dict.fromkeys(self._trials, 0.0)
        for agent, groups in observed.items():
            more = better[agent]
            for _, members in groups:
                for name, successes, trials in members:
                    won[name] += successes - trials * more
        in_group: dict[str, list[float]] = {group: [0.0, 0.0] for group in self._group_of.values()}
        for name, group in self._group_of.items():
            total = in_group[group]
            total[0] += won[name]
            total[1] += self._trials[name]
        successes, trials = (sum(total[at] for total in in_group.values()) for at in (0, 1))
        self._everywhere = min(max((successes + 1.0) / (trials + 2.0), 0.0), 1.0)
        self._usual_of_group = {
            group: _leaning(won_, tried, self._everywhere) for group, (won_, tried) in in_group.items()
        }
        self._usual = {
            name: _leaning(won[name], self._trials[name], self._usual_of_group[group])
            for name, group in self._group_of.items()
        }

    def _learn_spread(self, observed: Mapping[str, _Groups]) -> dict[str, float]:
        """How far agents, groups and contexts lie apart, expectation and evidence together; and each agent's effect."""
        _, of_groups, of_contexts = self._spread
        agents, groups_apart, contexts_apart = 0.0, 0.0, 0.0
        group_count = context_count = 0
        better = {}
        for agent, groups in observed.items():
            told, mean, variance = self._agent(groups)
            better[agent] = mean
            agents += mean * mean + variance
            for trust, seen, members in told:
                step = trust * (seen - mean)
                left = of_groups * (1.0 - trust)
                groups_apart += step * step + left + trust * trust * variance
                near, near_variance = mean + step, left + (1.0 - trust) ** 2 * variance
                for _, trust_here, seen_here in members:
                    step = trust_here * (seen_here - near)
                    contexts_apart += (
                        step * step + of_contexts * (1.0 - trust_here) + trust_here * trust_here * near_variance
                    )
                context_count += len(members)
            group_count += len(told)
        self._spread = _Spread(
            (_AGENTS_EXPECTED * _EXPECTED.agents + agents) / (_AGENTS_EXPECTED + len(observed)),
            (_CELLS_EXPECTED * _EXPECTED.groups + groups_apart) / (_CELLS_EXPECTED + group_count),
            (_CELLS_EXPECTED * _EXPECTED.contexts + contexts_apart) / (_CELLS_EXPECTED + context_count),
        )
        return better

    def _learn_agent(self, agent: str, groups: _Groups) -> None:
        """The effects of an agent: from all of its cells, then nearer and nearer."""
        told, mean, variance = self._agent(groups)
        self._agents[agent] = _Effect(mean, variance)
        for (group, _), (trust, seen, members) in zip(groups, told, strict=True):
            near = mean + trust * (seen - mean)
            near_variance = self._spread.groups * (1.0 - trust) + (1.0 - trust) ** 2 * variance
            self._groups[agent, group] = _Effect(near, near_variance)
            for name, trust_here, seen_here in members:
                left = self._spread.contexts * (1.0 - trust_here) + (1.0 - trust_here) ** 2 * near_variance
                self._contexts[agent, name] = _Effect(near + trust_here * (seen_here - near), left)

    def _agent(self, groups: _Groups) -> tuple[list[tuple[float, float, _Members]], float, float]:
        """How far each cell and group of an agent is to be trusted, and what it shows; the agent's mean and its variance."""
        of_agents, of_groups, of_contexts = self._spread
        usual = self._usual
        told = []
        precision, pull = 1.0 / of_agents, 0.0
        for _, cells in groups:
            weights = pulls = 0.0
            members = []
            for name, successes, trials in cells:
                expected = usual[name]
                weight = 1.0 / (of_contexts + expected * (1.0 - expected) / trials)
                seen = successes / trials - expected
                weights += weight
                pulls += weight * seen
                members.append((name, of_contexts * weight, seen))
            weight = 1.0 / (of_groups + 1.0 / weights)
            seen = pulls / weights
            precision += weight
            pull += weight * seen
            told.append((of_groups * weight, seen, members))
        return told, pull / precision, 1.0 / precision


def _leaning(successes: float, trials: float, wider: float) -> float:
    rate = (successes + _USUAL_STRENGTH * wider) / (trials + _USUAL_STRENGTH)
    return min(max(rate, _NEVER_SURE), 1.0 - _NEVER_SURE)
