"""CADMAS-CTX's simulations in our hands: where its lower bound works, and where it locks in.

Rates are synthetic, as in the publication; misroutes and regret are against the best agent of the bucket. The publication gives
neither its prior nor its mix, so shapes are to be compared, not figures: prior Beta(1, 1), buckets half and half.
"""

import random
from collections.abc import Mapping, Sequence
from statistics import fmean

from rich.console import Console
from rich.table import Table

from pageturn.lab.routing_replay import BASELINES, OURS, Cells, Maker, Problem, choices, ours

SEEDS = 60
FLIP = {"easy": (0.9, 0.25), "hard": (0.25, 0.9)}
GENERALIST = {"easy": (0.5, 0.9, 0.25), "hard": (0.5, 0.25, 0.9)}
CLOSE = {"easy": (0.65, 0.5), "hard": (0.45, 0.6)}
SPARSE = {"easy": (0.4, 0.35, 0.35)}


class BucketMean(Cells):
    """The mean of the cell."""

    def choose(self, bucket: str) -> int:
        counts = [self.counts(bucket, agent) for agent in range(len(self.agents))]
        means = [(won + 1.0) / (won + lost + 2.0) for won, lost in counts]
        return means.index(max(means))


METHODS: Mapping[str, Maker] = {
    "static": BASELINES["static scores"],
    "bucket mean": BucketMean,
    "Thompson by bucket": BASELINES["plain Thompson"],
    "CADMAS (lower bound)": BASELINES["CADMAS-CTX lcb, pre-seeded"],
    **{f"ours: {name}": maker for name, maker in OURS.items()},
}


def show(console: Console) -> None:
    table = Table(title=f"CADMAS-CTX's shapes, {SEEDS} seeds: hard tasks misrouted; regret", title_justify="left")
    heads = (
        "",
        "A/B: misrouted",
        "regret 200",
        "with generalist: misrouted",
        "lock-ins",
        "regret 100",
        "200",
        "close gaps: 500",
        "1000",
    )
    for at, head in enumerate(heads):
        table.add_column(head, justify="right" if at else "left", no_wrap=not at)
    for name, maker in METHODS.items():
        flip = [run(maker, FLIP, 200, seed) for seed in range(SEEDS)]
        mixed = [run(maker, GENERALIST, 200, seed) for seed in range(SEEDS)]
        close = [run(maker, CLOSE, 1_000, seed) for seed in range(SEEDS // 4)]
        wrong = [misrouted(each) for each in mixed]
        table.add_row(
            name,
            f"{fmean(map(misrouted, flip)):.3f}", f"{fmean(regret(each) for each in flip):.1f}",
            f"{fmean(wrong):.3f}", f"{sum(each > 0.5 for each in wrong)} of {SEEDS}",
            f"{fmean(regret(each[:100]) for each in mixed):.1f}", f"{fmean(regret(each) for each in mixed):.1f}",
            f"{fmean(regret(each[:500]) for each in close):.1f}", f"{fmean(regret(each) for each in close):.1f}",
        )  # fmt: skip
    console.print(table)
    show_sudden(console)


def show_sudden(console: Console) -> None:
    """One generalist (.5) and four specialists, of which the best falls from .9 to .2 in the middle of 500 tasks."""
    table = Table(title="A specialist that falls from .9 to .2: misrouted in the second half", title_justify="left")
    table.add_column("")
    table.add_column("misrouted", justify="right")
    ways = {
        **METHODS,
        **{f"ours: thompson, lambda {memory:g}": ours("thompson", memory) for memory in (0.98, 0.95, 0.9)},
    }
    before, after = (0.5, 0.9, 0.7, 0.7, 0.7), (0.5, 0.2, 0.7, 0.7, 0.7)
    for name, maker in ways.items():
        shares = []
        for seed in range(SEEDS // 2):
            rng = random.Random(seed)
            rates = [before if at < 250 else after for at in range(500)]
            rows = [tuple(float(rng.random() < rate) for rate in each) for each in rates]
            given = Problem(tuple("gabcd"), ["easy"] * 500, rows)
            chosen = list(choices(maker(given.agents, rng), given))
            shares.append(fmean(after[at] < max(after) for at in chosen[250:]))
        table.add_row(name, f"{fmean(shares):.3f}")
    console.print(table)


Step = tuple[str, float, float]  # the bucket, the rate of the choice, and the best rate


def run(maker: Maker, rates: Mapping[str, Sequence[float]], tasks: int, seed: int) -> list[Step]:
    rng = random.Random(seed)
    buckets = rng.choices(sorted(rates), k=tasks)
    rows = [tuple(float(rng.random() < rate) for rate in rates[bucket]) for bucket in buckets]
    agents = tuple("sABCD"[: len(rows[0])])
    chosen = choices(maker(agents, rng), Problem(agents, buckets, rows))
    return [(bucket, rates[bucket][at], max(rates[bucket])) for bucket, at in zip(buckets, chosen, strict=True)]


def misrouted(steps: Sequence[Step]) -> float:
    return fmean(rate < best for bucket, rate, best in steps if bucket == "hard")


def regret(steps: Sequence[Step]) -> float:
    return sum(best - rate for _, rate, best in steps)
