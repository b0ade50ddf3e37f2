"""Renditions: all levels of one large tool result, their texts and their sizes, and how that grows with it.

Processor time of the thread, so that other work on the machine disturbs less; beside it a loop, for the speed of the machine.
"""

from time import thread_time

from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.stopwatch import best_ms
from pageturn.context.renditions import PageMessage, render
from pageturn.tokens.counters import counter_for
from pageturn.values.identifiers import Vocabulary, names_in

SIZE = 100_000


def show(console: Console) -> None:
    table = Table(title="All levels of one tool result: texts and sizes, in processor time", title_justify="left")
    for column in ("", "25 kB, ms", "100 kB, ms", "goal", "four times as long takes"):
        table.add_column(column, justify="left" if not column else "right")
    for name, line, arguments in (
        (
            "code",
            "    def handle_request_{n}(self, request): return self.store.load(request.path_{n})",
            '{"path":"a.py"}',
        ),
        ("log", "2026-01-01 10:00:00 INFO request {n} of user_{n} served in 12 ms", "{}"),
        ("search", "src/module_{n}.py:{n}: value = find_something(request_{n})", "{}"),
        ("prose", "The deployment of service number {n} failed because the database was full again.", "{}"),
    ):
        text = "\n".join(line.format(n=n) for n in range(2_500))
        short, long = (took(text[:size], arguments) for size in (SIZE // 4, SIZE))
        table.add_row(name, f"{short:.1f}", f"{long:.1f}", "10", f"{long / short:.1f}x")
    table.add_row("100,000 assignments", "", f"{best_ms(assignments, clock=thread_time):.1f}", "", "")
    console.print(table)


def assignments() -> None:
    kept = {}
    for number in range(100_000):
        kept[number % 977] = number


def took(text: str, arguments: str) -> float:
    call = pt.ToolCall(id="c", name="read", arguments=arguments)
    unit = [PageMessage("p1-abcd", pt.assistant(call)), PageMessage("p2-abcd", pt.tool_result(call, text))]
    counter = counter_for("gpt-5")

    def work() -> None:
        names_in.cache_clear()
        for level in list(pt.ResidencyLevel)[1:]:  # what the whole takes is known since the append
            assert sum(map(counter.message, render(unit, level, Vocabulary())))

    return best_ms(work, rounds=15, clock=thread_time)
