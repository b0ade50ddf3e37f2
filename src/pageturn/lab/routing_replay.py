"""Replays routing on recorded outcomes: tables of which agent solved which task, and the result of each routing method.

Every agent of a pool did every task that is used, so the outcome of any other choice is known, not estimated.
"""

import csv
import gzip
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pageturn.routing.modes import MODES, Aim, Mode, mode_of
from pageturn.routing.pooling import Cell, Context, Estimate, Pool
from pageturn.routing.posteriors import Evidence
from pageturn.values.errors import InvalidInput

LEAST_TASKS = 100  # tasks that an agent must have done to be in a pool
LEAST_SHARED = 50  # that all agents of a pool must have done
AXES: Mapping[str, tuple[str, ...]] = {  # how the tasks of each table are divided
    "mcpmark": ("dependency",),
    "agentdojo": ("dependency",),
    "bfcl_2024_08": ("dependency", "tool_use"),
    "mint": ("benchmark",),
    "livecodebench": ("difficulty",),
    "tau_bench": ("dependency",),
}


class Task(NamedTuple):
    """One task, or one trial of it: its bucket, when it was published if known, and each agent's outcome."""

    bucket: str
    at: int
    outcomes: Mapping[str, float]


class Table(NamedTuple):
    """The recorded outcomes."""

    name: str
    tasks: Sequence[Task]

    def done(self) -> dict[str, list[float]]:
        """The outcomes of each agent that did enough tasks."""
        found: dict[str, list[float]] = {}
        for task in self.tasks:
            for agent, outcome in task.outcomes.items():
                found.setdefault(agent, []).append(outcome)
        return {agent: outcomes for agent, outcomes in sorted(found.items()) if len(outcomes) >= LEAST_TASKS}


def read_table(path: Path, axes: Sequence[str]) -> Table:
    """Read a table of outcomes, with a row for each agent, task and trial."""
    buckets: dict[tuple[str, str], tuple[str, int]] = {}
    outcomes: dict[tuple[str, str], dict[str, float]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["task_id"], row["trial"]
            buckets[key] = "/".join(row[axis] for axis in axes), int(row.get("date_ms") or 0)
            came, agent = outcomes.setdefault(key, {}), row["agent"]
            if agent in came:
                raise InvalidInput(
                    path.name, expected=f"one outcome of {agent!r} at {key[0]}, trial {key[1]}", got="two"
                )
            came[agent] = float(row["outcome"])
    name = path.name.partition(".")[0]
    return Table(name, [Task(*buckets[key], outcomes[key]) for key in sorted(outcomes)])


def read_tables(folder: Path) -> dict[str, Table]:
    """The recorded tables in a folder, by name."""
    paths = {name: folder / f"{name}.csv.gz" for name in AXES}
    return {name: read_table(path, AXES[name]) for name, path in paths.items() if path.is_file()}


class Problem(NamedTuple):
    """Tasks in an order, and the outcome of each agent of a pool for each."""

    agents: tuple[str, ...]
    buckets: Sequence[str]
    outcomes: Sequence[Sequence[float]]  # of each task, by agent

    @property
    def best(self) -> int:
        """The best single agent, by all outcomes."""
        return max(range(len(self.agents)), key=lambda at: sum(row[at] for row in self.outcomes))


def comparable_pool(table: Table, rng: random.Random) -> tuple[str, ...]:
    """Three to five agents with adjacent overall results, in any order."""
    rates = {agent: sum(outcomes) / len(outcomes) for agent, outcomes in table.done().items()}
    size = min(rng.randint(3, 5), len(rates))
    first = rng.randint(0, len(rates) - size)
    pool = sorted(rates, key=lambda agent: (rates[agent], agent))[first : first + size]
    rng.shuffle(pool)
    return tuple(pool)


def mixed_pool(table: Table, rng: random.Random, size: int = 8) -> tuple[str, ...]:
    """Any agents."""
    return tuple(rng.sample(sorted(table.done()), size))


def problem(table: Table, pool: tuple[str, ...], rng: random.Random | None, most: int | None = None) -> Problem:
    """The tasks that all of a pool did, in random order, or else by time."""
    tasks = [task for task in table.tasks if all(agent in task.outcomes for agent in pool)]
    if rng is None:
        tasks.sort(key=lambda task: task.at)
    else:
        rng.shuffle(tasks)
    tasks = tasks[:most]
    rows = [tuple(task.outcomes[agent] for agent in pool) for task in tasks]
    return Problem(pool, [task.bucket for task in tasks], rows)


class Chooser(Protocol):
    """A method of choosing, at its start: it sees the bucket and the outcomes of its own choices."""

    def choose(self, bucket: str) -> int:
        """The agent for the next task."""
        ...

    def learn(self, bucket: str, agent: int, outcome: float) -> None:
        """Learn the outcome."""
        ...


Maker = Callable[[Sequence[str], random.Random], Chooser]


def choices(chooser: Chooser, given: Problem, shown: Sequence[str] | None = None) -> Iterator[int]:
    """The agent that it chooses for each task; `shown` are the buckets that it is given."""
    for bucket, row in zip(given.buckets if shown is None else shown, given.outcomes, strict=True):
        chosen = chooser.choose(bucket)
        chooser.learn(bucket, chosen, row[chosen])
        yield chosen


class Result(NamedTuple):
    """The result of a run, per task: the loss compared with the best single agent, in all and in the last half."""

    regret: float
    last_half: float


def judged(given: Problem, chosen: Sequence[int]) -> Result:
    """The regret compared with the best single agent by all outcomes."""
    best = given.best
    lost = [row[best] - row[at] for row, at in zip(given.outcomes, chosen, strict=True)]
    half = len(lost) // 2
    return Result(sum(lost) / len(lost), sum(lost[half:]) / (len(lost) - half))


class Cells:
    """Successes and trials by bucket and agent, which every method here keeps; `memory` below 1 forgets."""

    def __init__(self, agents: Sequence[str], rng: random.Random, memory: float = 1.0) -> None:
        self.agents = agents
        self.rng = rng
        self.memory = memory
        self.seen: dict[tuple[str, int], tuple[float, float]] = {}

    def learn(self, bucket: str, agent: int, outcome: float) -> None:
        """Count an outcome."""
        won, tried = self.seen.get((bucket, agent), (0.0, 0.0))
        self.seen[bucket, agent] = won * self.memory + outcome, tried * self.memory + 1.0

    def counts(self, bucket: str, agent: int) -> tuple[float, float]:
        """Successes and failures."""
        won, tried = self.seen.get((bucket, agent), (0.0, 0.0))
        return won, tried - won


class AtRandom(Cells):
    """Random choice."""

    def choose(self, bucket: str) -> int:  # noqa: ARG002
        """A random agent."""
        return self.rng.randrange(len(self.agents))


class Static(Cells):
    """The best lower bound, whatever the bucket."""

    def choose(self, bucket: str) -> int:  # noqa: ARG002
        """By one score an agent."""
        totals = [(0.0, 0.0)] * len(self.agents)
        for (_, agent), (won, tried) in self.seen.items():
            totals[agent] = totals[agent][0] + won, totals[agent][1] + tried - won
        return _first_best([_lower(won + 1.0, lost + 1.0) for won, lost in totals])


class SeedRule(Cells):
    """The reference rule `rank_candidates`: an unseen cell scores 0."""

    unseen = 0.0

    def choose(self, bucket: str) -> int:
        """By the lower bound of the cell."""
        scores = []
        for agent in range(len(self.agents)):
            won, lost = self.counts(bucket, agent)
            scores.append(_lower(won + 1.0, lost + 1.0) if won + lost > 0.0 or self.unseen else 0.0)
        return _first_best(scores)


class Seeded(SeedRule):
    """The same with every candidate starting at a confidence of .5."""

    unseen = 0.5


class PlainThompson(Cells):
    """A draw from Beta(successes + 1, failures + 1) of the cell."""

    def choose(self, bucket: str) -> int:
        """By a draw for each."""
        counts = (self.counts(bucket, agent) for agent in range(len(self.agents)))
        return _first_best([self.rng.betavariate(won + 1.0, lost + 1.0) for won, lost in counts])


class Ours(Cells):
    """One of our modes on pooled estimates, as the router uses it, without its store and its log."""

    def __init__(self, agents: Sequence[str], rng: random.Random, mode: Mode, memory: float = 1.0) -> None:
        super().__init__(agents, rng, memory)
        self.mode = mode
        self.pool: Pool | None = None
        self.bucket = ""

    def choose(self, bucket: str) -> int:
        """By the mode."""
        aims = self.aims(bucket)
        draw = self.rng.gauss(0.0, 1.0) if any(aim.spread for aim in aims) else 0.0
        scores = [aim.at(draw) for aim in aims]
        best = [at for at, score in enumerate(scores) if score == max(scores)]
        return self.rng.choice(best) if len(best) > 1 and aims[best[0]].spread else best[0]

    def aims(self, bucket: str) -> list[Aim]:
        """The scores before chance."""
        self.pool, self.bucket = None, bucket
        return [self.mode.aim(agent, self) for agent in self.agents]

    def estimate(self, agent: str) -> Estimate:
        """The estimate for an agent."""
        return self.pooled().estimate(agent, Context(self.bucket, self.bucket))

    def pooled(self) -> Pool:
        """The estimates of all agents, after what was learned so far."""
        if self.pool is None:
            cells: dict[str, list[Cell]] = {}
            for (name, at), (won, tried) in self.seen.items():
                cells.setdefault(self.agents[at], []).append(Cell(Context(name, name), Evidence(won, tried)))
            self.pool = Pool(cells)
        return self.pool

    @property
    def usual(self) -> float:
        """The rate of an average agent in the bucket."""
        return self.pooled().usual(Context(self.bucket, self.bucket))

    @property
    def outcomes(self) -> float:
        """How many outcomes are known."""
        return self.pooled().trials

    def cell_score(self, agent: str) -> float:
        """The lower bound of the cell; 0 if it was never seen."""
        won, lost = self.counts(self.bucket, self.agents.index(agent))
        return _lower(won + 1.0, lost + 1.0) if won + lost else 0.0

    def warmed_score(self, agent: str) -> float:
        """The lower bound of the cell, with two outcomes lent if it is empty."""
        at = self.agents.index(agent)
        won, lost = self.counts(self.bucket, at)
        if won + lost == 0.0:
            means = [(w + 1.0) / (n + 2.0) for (_, other), (w, n) in self.seen.items() if other == at]
            means = means or [(w + 1.0) / (n + 2.0) for w, n in self.seen.values()]
            if means:
                won, lost = (sum(each) / len(means) * 2.0 for each in (means, [1.0 - mean for mean in means]))
        return _lower(won + 1.0, lost + 1.0)

    @property
    def cost(self) -> Callable[[str], float]:
        """The cost, which is unknown here and so 0."""
        return lambda _: 0.0

    @property
    def value(self) -> float:
        """The value of a success, 1."""
        return 1.0


def ours(mode: str | Mode, memory: float = 1.0) -> Maker:
    """A mode, at its start."""
    return lambda agents, rng: Ours(agents, rng, mode_of(mode), memory)


BASELINES: Mapping[str, Maker] = {
    "random": AtRandom,
    "static scores": Static,
    "CADMAS-CTX rank_candidates": SeedRule,
    "CADMAS-CTX lcb, pre-seeded": Seeded,
    "plain Thompson": PlainThompson,
}
OURS: Mapping[str, Maker] = {name: ours(name) for name in MODES if name not in {"cadmas", "cost"}}


def _lower(alpha: float, beta: float) -> float:
    """The reference rule's score of a posterior."""
    total = alpha + beta
    return float(alpha / total - 0.5 * (alpha * beta / (total * total * (total + 1.0))) ** 0.5)


def _first_best(scores: Sequence[float]) -> int:
    return scores.index(max(scores))
