"""What a choice costs: among twenty candidates, warm and after an outcome, beside the draws of a plain bandit.

Time is that of the processor, so that other work on the machine does not count.
"""

import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from rich.console import Console
from rich.table import Table

import pageturn as pt
from pageturn.routing import Decision

AGENTS = [f"provider/model-{number}" for number in range(20)]
TIMES = 50


def microseconds(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """The best of twenty runs, each of many times; what must be done before a run is not counted."""
    found = []
    for _ in range(20):
        before()
        start = process_time()
        for _ in range(TIMES):
            work()
        found.append((process_time() - start) / TIMES * 1_000_000)
    return min(found)


def show(console: Console) -> None:
    rng = random.Random(1)
    router = pt.Router(rng=rng)
    domains = ("sql", "web", "shell", "files", "mail")

    def choose(domain: str = "sql") -> Decision:
        return router.choose(AGENTS, "model_call", {"domain": domain})

    for number in range(400):
        decision = choose(domains[number % 5])
        router.observe(decision, rng.random() < 0.3 + AGENTS.index(decision.choice) / 40)
    draws = microseconds(lambda: [rng.betavariate(3.0, 2.0) for _ in AGENTS])
    warm = microseconds(choose, before=router.flush)  # what a choice leaves to be written is written with its outcome
    learned = microseconds(lambda: router.observe(choose(), True))
    with TemporaryDirectory() as folder, pt.Router.open(Path(folder) / "agent.db", rng=rng) as filed:
        filed.beliefs.take(router.beliefs.state)
        in_a_file = microseconds(lambda: filed.observe(filed.choose(AGENTS, "model_call", {"domain": "sql"}), True))
    table = Table(
        title=f"Choosing among 20 candidates, {len(router.beliefs.state.beliefs)} cells", title_justify="left"
    )
    for at, column in enumerate(("", "microseconds", "to 20 Beta draws")):
        table.add_column(column, justify="right" if at else "left")
    for name, took in (
        ("20 Beta draws", draws),
        ("choose, warm", warm),
        ("choose and observe", learned),
        ("the same in a file, without the wait for the disk", in_a_file),
    ):
        table.add_row(name, f"{took:.0f}", f"{took / draws:.1f}")
    console.print(table)
