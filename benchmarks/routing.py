"""Who should do the next task: regret of every method of choosing, on recorded outcomes and on synthetic ones.

    make bench-routing DATA=../shared/data

Regret is per task, against the best single agent of the pool in hindsight. Pools are of three to five agents that solve about as
much, or of any eight; forty seeded orders for each table, eight pools of five. The intervals are of a bootstrap over pools.
The expected widths of our pooling and the optimism of our modes were tuned on pools of the agents whose hash is even, of all tables but
tau_bench; the rows "other agents" are of pools of those whose hash is odd.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from rich.console import Console
from rich.table import Table as Shown

from benchmarks import cadmas
from pageturn.lab.routing_replay import (
    BASELINES,
    LEAST_SHARED,
    OURS,
    Maker,
    Ours,
    Problem,
    Result,
    Table,
    choices,
    comparable_pool,
    judged,
    mixed_pool,
    ours,
    problem,
    read_tables,
)
from pageturn.routing.modes import MODES, Thompson
from pageturn.routing.stored_state import STRENGTH_OF_DECLARED

POOLS = 8
ORDERS = 5
MOST = 300  # tasks of an order
DECLARED_WITHIN = 0.2
TAGS = (1.0, 0.85, 0.7, 0.5)
LITELLM = "LiteLLM adaptive router"
BEST = "best single, hindsight"


class DrawnApart(Ours):
    """Our estimates, where each candidate draws for itself."""

    def choose(self, bucket: str) -> int:
        scores = [self.rng.gauss(*aim) for aim in self.aims(bucket)]
        return scores.index(max(scores))


METHODS: Mapping[str, Maker] = {
    **BASELINES,
    **{f"ours: {name}": maker for name, maker in OURS.items()},
    "ours: a draw each": lambda agents, rng: DrawnApart(agents, rng, Thompson()),
    "ours: plain Thompson": lambda agents, rng: DrawnApart(agents, rng, Thompson(0.0, 1.0, 0.0)),
}
_LITELLM_PYTHON = Path(os.environ.get("PAGETURN_LITELLM", ".venv-litellm/bin/python"))


class Order(NamedTuple):
    """A problem, the pool that it is of, and the seed of those who draw."""

    pool: int
    seed: int
    given: Problem


def main(folder: Path, pools: int = POOLS) -> None:
    console = Console(width=150)
    cadmas.show(console)
    tables = read_tables(folder / "outcomes")
    if not tables:
        print(
            f"skipped: there are no tables in {folder / 'outcomes'}; give the data folder: make bench-routing DATA=..."
        )
        return
    for title, pool_of in (("comparable agents, pools of 3 to 5", comparable_pool), ("mixed pools of 8", mixed_pool)):
        orders = {name: made for name, table in tables.items() if (made := list(orders_of(table, pool_of, pools)))}
        results = run_all(orders)
        show_regret(console, title, orders, results)
    show_others(console, tables, pools)
    show_again(console, tables, pools)
    show_luck(console, tables, pools)
    show_drift(console, tables, pools)
    show_tags(console, tables, pools)


def orders_of(table: Table, pool_of: Callable[[Table, random.Random], tuple[str, ...]], pools: int) -> Iterable[Order]:
    made = tried = 0
    while made < pools and tried < 50 * pools:
        tried += 1
        rng = random.Random(f"{table.name} {tried}")
        if pool_of is mixed_pool and len(table.done()) < 8:
            return
        pool = pool_of(table, rng)
        if len(problem(table, pool, None).buckets) < LEAST_SHARED:
            continue
        for order in range(ORDERS):
            yield Order(made, tried * 100 + order, problem(table, pool, rng, MOST))
        made += 1


def run_all(orders: Mapping[str, Sequence[Order]]) -> dict[tuple[str, str], list[Result]]:
    """The results of every method on every table, order by order."""
    jobs = [(name, way, made) for name, made in orders.items() for way in METHODS]
    with ProcessPoolExecutor(2) as workers:
        found = list(workers.map(run_way, ((way, made) for _, way, made in jobs)))
    results = {(name, way): result for (name, way, _), result in zip(jobs, found, strict=True)}
    for name, made in orders.items():
        chosen = litellm(made)
        if chosen is not None:
            results[name, LITELLM] = [judged(each.given, at) for each, at in zip(made, chosen, strict=True)]
    return results


def run_way(job: tuple[str, Sequence[Order]]) -> list[Result]:
    way, orders = job
    return [judged(each.given, list(choices(made(way, each), each.given))) for each in orders]


def made(way: str, order: Order):  # noqa: ANN201
    return METHODS[way](order.given.agents, random.Random(order.seed))


def litellm(orders: Sequence[Order]) -> list[list[int]] | None:
    """Whom LiteLLM's bandit chooses; None where its environment is not there."""
    if not _LITELLM_PYTHON.exists() or not list(_LITELLM_PYTHON.parents[1].glob("lib/*/site-packages/litellm")):
        return None
    asked = [
        {"seed": each.seed, "agents": each.given.agents, "buckets": each.given.buckets, "outcomes": each.given.outcomes}
        for each in orders
    ]
    told = subprocess.run(
        [_LITELLM_PYTHON, "benchmarks/peers/litellm_bandit.py"],
        input=json.dumps(asked), capture_output=True, text=True, check=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )  # fmt: skip
    return json.loads(told.stdout)


# -- tables


def show_regret(console: Console, title: str, orders: Mapping[str, Sequence[Order]], results: Mapping) -> None:
    names = list(orders)
    heads = [name.partition("_2")[0] for name in names]
    for what, index in (("Regret a task", 0), ("The same in the last half", 1)):
        table = sheet(f"{what}, {title}: mean and 95 % interval", "", *heads, "mean")
        for way in (BEST, *METHODS, LITELLM):
            if way == BEST:
                table.add_row(way, *["0"] * len(names), "0")
            elif (names[0], way) not in results:
                table.add_row(way, *["not installed"] * len(names), "")
            else:
                cells = [[result[index] for result in results[name, way]] for name in names]
                table.add_row(way, *(interval(cell, orders[name]) for cell, name in zip(cells, names, strict=True)),
                              f"{fmean(map(fmean, cells)):.4f}")  # fmt: skip
        console.print(table)
    rivals = [way for way in ("CADMAS-CTX rank_candidates", "plain Thompson", LITELLM) if (names[0], way) in results]
    table = sheet(f"Regret of ours: thompson less that of others, {title}; paired, negative is better", "", *heads)
    for rival in rivals:
        differences = [
            [
                mine[0] - theirs[0]
                for mine, theirs in zip(results[name, "ours: thompson"], results[name, rival], strict=True)
            ]
            for name in names
        ]
        table.add_row(rival, *(interval(cell, orders[name]) for cell, name in zip(differences, names, strict=True)))
    console.print(table)


def interval(values: Sequence[float], orders: Sequence[Order]) -> str:
    """The mean, and where it lies: a bootstrap over pools, since orders of one pool are alike."""
    by_pool: dict[int, list[float]] = {}
    for value, order in zip(values, orders, strict=True):
        by_pool.setdefault(order.pool, []).append(value)
    means = [fmean(each) for each in by_pool.values()]
    rng = random.Random(1)
    drawn = sorted(fmean(rng.choices(means, k=len(means))) for _ in range(1_000))
    return f"{fmean(values):.4f} [{drawn[25]:.3f}, {drawn[974]:.3f}]"


def show_others(console: Console, tables: Mapping[str, Table], pools: int) -> None:
    """Mixed pools of agents that nothing was tuned on, without and with declared scores."""
    orders = {}
    for name, table in tables.items():
        agents = {agent for agent in table.done() if hashlib.blake2b(agent.encode()).digest()[0] % 2}
        tasks = [
            task._replace(outcomes={agent: task.outcomes[agent] for agent in task.outcomes if agent in agents})
            for task in table.tasks
        ]
        made = list(orders_of(table._replace(tasks=tasks), mixed_pool, pools))
        if made:
            orders[name] = made
    table = sheet("Mixed pools of 8 of other agents than tuned on: regret a task", "", *orders, "mean")
    for way in ("plain Thompson", "ours: thompson", "... with declared scores"):
        cells = []
        for made in orders.values():
            if way.startswith("..."):
                cells.append(
                    [judged(each.given, list(choices(with_declared(each), each.given))).regret for each in made]
                )
            else:
                cells.append([result.regret for result in run_way((way, made))])
        shown = (interval(cell, made) for cell, made in zip(cells, orders.values(), strict=True))
        table.add_row(way, *shown, f"{fmean(map(fmean, cells)):.4f}")
    console.print(table)


def with_declared(order: Order) -> Ours:
    """Ours, where each agent has a declared score that is right to within .2."""
    rng = random.Random(f"declared {order.seed}")
    chooser = Ours(order.given.agents, random.Random(order.seed), MODES["thompson"])
    for at, column in enumerate(zip(*order.given.outcomes, strict=True)):
        score = fmean(column) + rng.uniform(-DECLARED_WITHIN, DECLARED_WITHIN)
        chooser.seen["declared", at] = (
            min(max(score, 0.0), 1.0) * STRENGTH_OF_DECLARED,
            STRENGTH_OF_DECLARED,
        )
    return chooser


def show_again(console: Console, tables: Mapping[str, Table], pools: int) -> None:
    """The same where a task may come again, judged by overall rates: nobody's luck is behind him."""
    names = [name for name in tables if name == "tau_bench"]
    table = sheet("Tasks that may come again: loss of rate a task, comparable agents", "", *names)
    for way in ("random", "CADMAS-CTX rank_candidates", "plain Thompson", "ours: thompson"):
        cells = [
            fmean(rate_lost(way, each) for each in orders_of(tables[name], comparable_pool, pools)) for name in names
        ]
        table.add_row(way, *(f"{cell:.4f}" for cell in cells))
    console.print(table)


def rate_lost(way: str, order: Order) -> float:
    given = order.given
    rates = [fmean(column) for column in zip(*given.outcomes, strict=True)]
    drawn = random.Random(order.seed).choices(range(len(given.buckets)), k=len(given.buckets))
    again = given._replace(buckets=[given.buckets[at] for at in drawn], outcomes=[given.outcomes[at] for at in drawn])
    return max(rates) - fmean(rates[at] for at in choices(made(way, order), again))


def show_luck(console: Console, tables: Mapping[str, Table], pools: int) -> None:
    """Tables in which nobody is better, since who of a pool did what is drawn anew for each task: all that is lost is luck."""
    if "tau_bench" not in tables:
        return
    orders = [each._replace(given=redrawn(each)) for each in orders_of(tables["tau_bench"], comparable_pool, 4 * pools)]
    leads = [lead(each.given) for each in orders]
    middle = sorted(leads)[len(leads) // 2]
    is_close = [each <= middle for each in leads]
    close_head, apart_head = f"{sum(is_close)} close by luck", f"{len(orders) - sum(is_close)} apart by luck"
    table = sheet(
        "tau_bench where nobody is better: regret a task", "", f"{len(orders)} orders", close_head, apart_head
    )
    for way in ("random", "plain Thompson", "ours: thompson"):
        lost = [result.regret for result in run_way((way, orders))]
        close = fmean(each for each, here in zip(lost, is_close, strict=True) if here)
        apart = fmean(each for each, here in zip(lost, is_close, strict=True) if not here)
        table.add_row(way, interval(lost, orders), f"{close:.4f}", f"{apart:.4f}")
    console.print(table)


def redrawn(order: Order) -> Problem:
    rng = random.Random(order.seed)
    return order.given._replace(outcomes=[tuple(rng.sample(row, len(row))) for row in order.given.outcomes])


def lead(given: Problem) -> float:
    """How far the best of a pool is ahead of the others, on average."""
    rates = [fmean(column) for column in zip(*given.outcomes, strict=True)]
    return max(rates) - fmean(rates)


def show_drift(console: Console, tables: Mapping[str, Table], pools: int) -> None:
    ways: dict[str, Maker] = {
        "CADMAS-CTX lcb, pre-seeded": METHODS["CADMAS-CTX lcb, pre-seeded"],
        "plain Thompson": METHODS["plain Thompson"],
    }
    for memory in (1.0, 0.98, 0.95, 0.9):
        ways[f"ours: thompson, lambda {memory:g}"] = ours("thompson", memory)
    table = sheet("Drift: reward a task; by time (livecodebench), and in mixed pools after the agents swapped places",
                  "", "by time", *(name.partition("_2")[0] for name in tables if name != "tau_bench"))  # fmt: skip
    by_time = [
        problem(tables["livecodebench"], comparable_pool(tables["livecodebench"], random.Random(seed)), None)
        for seed in range(pools if "livecodebench" in tables else 0)
    ]
    swaps = {
        name: [swapped(each.given) for each in orders_of(table, mixed_pool, pools)]
        for name, table in tables.items()
        if name != "tau_bench"
    }
    for way, maker in ways.items():
        cells = [
            fmean(reward(maker, given, seed, 0) for seed, given in enumerate(by_time)) if by_time else float("nan"),
            *(
                fmean(reward(maker, given, seed, len(given.buckets) // 2) for seed, given in enumerate(problems[::5]))
                for problems in swaps.values()
            ),
        ]
        table.add_row(way, *(f"{cell:.3f}" for cell in cells))
    console.print(table)


def swapped(given: Problem) -> Problem:
    """The same, where from the middle on the best does what the worst did, and so on."""
    order = sorted(range(len(given.agents)), key=lambda at: sum(row[at] for row in given.outcomes))
    turned = dict(zip(order, reversed(order), strict=True))
    half = len(given.outcomes) // 2
    rows = [
        row if at < half else tuple(row[turned[agent]] for agent in range(len(row)))
        for at, row in enumerate(given.outcomes)
    ]
    return given._replace(outcomes=rows)


def reward(maker: Maker, given: Problem, seed: int, first: int) -> float:
    chosen = list(choices(maker(given.agents, random.Random(seed)), given))
    return fmean(row[at] for row, at in list(zip(given.outcomes, chosen, strict=True))[first:])


def show_tags(console: Console, tables: Mapping[str, Table], pools: int) -> None:
    names = [name for name in tables if name != "tau_bench"]
    table = sheet("Buckets that are right only so often: regret a task, comparable agents", "", *names)
    for way in ("plain Thompson", "ours: thompson"):
        for share in TAGS:
            cells = []
            for name in names:
                orders = list(orders_of(tables[name], comparable_pool, pools))[::5]
                cells.append(fmean(run_tagged(way, each, share) for each in orders))
            table.add_row(f"{way}, {share:.0%} right", *(f"{cell:.4f}" for cell in cells))
    console.print(table)


def run_tagged(way: str, order: Order, share: float) -> float:
    rng = random.Random(order.seed)
    kinds = sorted(set(order.given.buckets))
    told = [bucket if rng.random() < share else rng.choice(kinds) for bucket in order.given.buckets]
    return judged(order.given, list(choices(made(way, order), order.given, told))).regret


def sheet(title: str, *columns: str) -> Shown:
    shown = Shown(title=title, title_justify="left")
    for at, column in enumerate(columns):
        shown.add_column(column, justify="right" if at else "left", no_wrap=not at)
    return shown


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"), *map(int, sys.argv[2:3]))
