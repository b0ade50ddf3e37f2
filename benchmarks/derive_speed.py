"""The context of the next turn: what it costs between folds and with them, as a session grows, beside trimming by another library."""

import random
import tracemalloc
from statistics import median
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import pageturn as pt
from pageturn.journal.journal import Journal
from pageturn.stores import MemoryStore

SIZES = (100, 1_000, 10_000, 100_000)
BUDGET = 32_000
TURNS = 300
WORDS = "the request failed after one retry because worker had no lease and config was stale again today".split()


class Times(NamedTuple):
    between: float  # microseconds, median
    amortised: float  # microseconds a turn, with folds
    folds: int
    fold: float  # milliseconds, mean
    trimming: float | None  # microseconds a turn


def body(chance: random.Random, number: int) -> str:
    """A kilobyte of what a tool might print."""
    lines = (f"{' '.join(chance.choices(WORDS, k=10))} job_{number}_{line % 7}" for line in range(14))
    return "\n".join(lines)[:1_000]


def grown(pages: int) -> pt.Session:
    """A session of so many pages of a kilobyte that has been derived before."""
    chance = random.Random(1)
    session = pt.Session.open(MemoryStore(), id="bench", policy=pt.Paged(budget_tokens=BUDGET))
    session.extend([pt.system("You are careful."), pt.user("Find out why the nightly job fails, and fix it.")])
    session.derive()
    while (missing := pages - len(session.reader.pages(uncounted=True))) > 1:
        batch: list[pt.Message] = []
        for number in range(min(missing // 2, 1_000)):
            call = pt.ToolCall(id=f"b{missing}-{number}", name="logs", arguments=f'{{"job": {number}}}')
            batch += [pt.assistant("next", call), pt.tool_result(call, body(chance, number))]
        session.extend(batch)
    session.derive()
    session.append(pt.assistant("on we go"))
    return session


def measure(pages: int, trim: bool, notes: int = 0) -> Times:
    chance = random.Random(2)
    session = grown(pages)
    for number in range(notes):
        make = (pt.ContextMessage.system, pt.ContextMessage.suffix_system)[number % 2]
        session.inject(make(f"note {number}", body(chance, number), cooldown_turns=number % 3))
    between, folds = [], []
    for number in range(TURNS):
        start = perf_counter()
        context = session.derive()
        (folds if context.fold else between).append(perf_counter() - start)
        call = pt.ToolCall(id=f"t{number}", name="logs", arguments=f'{{"job": {number}}}')
        session.append(pt.assistant("next", call))
        session.append(pt.tool_result(call, body(chance, number)))
    return Times(
        between=1e6 * median(between),
        amortised=1e6 * (sum(between) + sum(folds)) / TURNS,
        folds=len(folds),
        fold=1e3 * sum(folds) / max(len(folds), 1),
        trimming=trimming(session) if trim else None,
    )


def trimming(session: pt.Session) -> float | None:
    """What the same messages take with LangChain's trim_messages, where it is installed."""
    try:
        from langchain_core import messages as lc  # noqa: PLC0415
    except ImportError:
        return None
    theirs: list[lc.BaseMessage] = []
    for message in session.reader.messages():
        if message.tool_results:
            result = message.tool_results[0]
            theirs.append(lc.ToolMessage(str(result.content), tool_call_id=result.tool_call_id))
        elif message.role == "assistant":
            calls = [{"name": call.name, "args": {}, "id": call.id} for call in message.tool_calls]
            theirs.append(lc.AIMessage(message.text, tool_calls=calls))
        else:
            theirs.append((lc.SystemMessage if message.role == "system" else lc.HumanMessage)(message.text))
    times = []
    for _ in range(3):
        start = perf_counter()
        lc.trim_messages(
            theirs,
            max_tokens=BUDGET,
            token_counter=lc.utils.count_tokens_approximately,
            include_system=True,
            strategy="last",
        )
        times.append(perf_counter() - start)
    return 1e6 * min(times)


def opened_journal(store: MemoryStore, session: str) -> Journal:
    journal = Journal.open(store, session)
    assert journal is not None
    return journal


def memory_per_page() -> int:
    """Bytes of a session's state and working set for each page, opened with 10,000 of them."""
    store = MemoryStore()
    session = pt.Session.open(store, id="bench", policy=pt.Paged(budget_tokens=BUDGET))
    chance = random.Random(3)
    session.extend(pt.user(body(chance, number), synthetic=True) for number in range(10_000))
    session.derive()
    session.append(pt.assistant("ok"))
    tracemalloc.start()
    again = pt.Session(opened_journal(store, session.id))
    again.derive()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used // 10_000


def show(console: Console) -> None:
    table = Table(title=f"Deriving, budget {BUDGET:,}, pages of 1 kB", title_justify="left")
    columns = ("pages", "between folds", "with folds", "folds", "a fold", "trim_messages", "ratio")
    for column in columns:
        table.add_column(column, justify="right")
    for pages in SIZES:
        times = measure(pages, trim=pages <= 10_000)
        slower = f"{times.trimming / times.between:,.0f}x" if times.trimming else ""
        trim = f"{times.trimming / 1e3:,.1f} ms" if times.trimming else ""
        table.add_row(
            f"{pages:,}",
            f"{times.between:.0f} us",
            f"{times.amortised:,.0f} us",
            str(times.folds),
            f"{times.fold:.1f} ms",
            trim,
            slower,
        )
    console.print(table)
    noted = ", ".join(f"{notes}: {measure(1_000, trim=False, notes=notes).between:.0f} us" for notes in (0, 2, 10))
    console.print(f"  between folds at 1,000 pages by number of notes, {noted}")
    console.print(f"  in memory: {memory_per_page():,} bytes a page, of 10,000 pages with a derived context")
    console.print(
        "  goals: 20 us between folds, 5 ms a fold, at any number of pages; trim_messages 50x slower at 10,000"
    )


if __name__ == "__main__":
    show(Console(width=100))
