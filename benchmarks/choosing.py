"""What a choice costs: among twenty candidates, warm and after an outcome, beside the draws of a plain bandit."""

import random
from time import perf_counter

from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.stopwatch import best_ms

AGENTS = [f"provider/model-{number}" for number in range(20)]
CHOICES = 50


def choosing(router: pt.Router) -> float:
    """Microseconds a choice; what it leaves to be written is written with the outcome, and not counted here."""
    router.flush()
    start = perf_counter()
    for _ in range(CHOICES):
        router.choose(AGENTS, "model_call", {"domain": "sql"})
    return (perf_counter() - start) / CHOICES * 1_000_000


def show(console: Console) -> None:
    chance = random.Random(1)
    router = pt.Router(chance=chance)
    domains = ("sql", "web", "shell", "files", "mail")
    for number in range(400):
        decision = router.choose(AGENTS, "model_call", {"domain": domains[number % 5]})
        router.observe(decision, chance.random() < 0.3 + AGENTS.index(decision.choice) / 40)
    draws = best_ms(lambda: [chance.betavariate(3.0, 2.0) for _ in range(20 * CHOICES)]) / CHOICES * 1_000
    warm = min(choosing(router) for _ in range(20))

    def learning() -> None:
        for _ in range(CHOICES // 10):
            router.observe(router.choose(AGENTS, "model_call", {"domain": "sql"}), True)

    learned = best_ms(learning) / (CHOICES // 10) * 1_000
    table = Table(title="Choosing among 20 candidates, 100 cells", title_justify="left")
    for at, column in enumerate(("", "microseconds", "to 20 Beta draws")):
        table.add_column(column, justify="right" if at else "left")
    for name, took in (("20 Beta draws", draws), ("choose, warm", warm), ("choose and observe", learned)):
        table.add_row(name, f"{took:.0f}", f"{took / draws:.1f}")
    console.print(table)
