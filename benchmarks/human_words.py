"""How much people type in a session, and how much of it fits where their words stay verbatim.

    python -m benchmarks.human_words ../shared/data

Human is every message of the role user that no harness wrote and that answers no call. Tokens are a quarter of the characters. A context
keeps human words verbatim up to a quarter of its budget, 4,000 tokens at most, and compresses the longest messages first beyond that; the
newest message is the task, which has room of its own and is left out of the second table.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from pageturn.lab.traces import Trace, estimated_tokens, read_traces
from pageturn.values.messages import Message, Role

BUDGETS = (8_000, 16_000, 32_000, 64_000)
MOST_TOKENS = 4_000
FEW_TOKENS = (2_000, 4_000)


class Split(NamedTuple):
    """The words of one session within a room: tokens that stay verbatim, tokens and messages that are compressed."""

    verbatim: int
    compressed: int
    messages: int


def human_tokens(trace: Trace) -> list[int]:
    """The tokens of each message that a person wrote, in order."""
    return [estimated_tokens(message) for message in trace.messages if is_human(message)]


def is_human(message: Message) -> bool:
    """Whether a person wrote a message."""
    return message.role is Role.USER and not message.synthetic and not message.tool_results


def room_of(budget_tokens: int) -> int:
    """How many tokens of human words stay verbatim under a budget."""
    return min(budget_tokens // 4, MOST_TOKENS)


def split(sizes: Sequence[int], room: int) -> Split:
    """Compress the longest messages until the rest fits."""
    kept = sorted(sizes)
    while sum(kept) > room:
        kept.pop()
    return Split(sum(kept), sum(sizes) - sum(kept), len(sizes) - len(kept))


def quantile(values: Sequence[int], share: float) -> int:
    """The value that this share of the others does not exceed (nearest rank)."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.human_words")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    options = parser.parse_args()
    console = Console(width=150)
    files = sorted((options.data / "traces").glob("*.jsonl*"))
    if not files:
        console.print(f"skipped: there are no recorded sessions in {options.data / 'traces'}")
        return
    rooms = {room_of(budget): f"{room_of(budget):,} tokens" for budget in BUDGETS}  # several budgets have the same
    under = (f"under {few:,}" for few in FEW_TOKENS)
    typed, kept = _table("sessions", "messages", "tokens", "longest message", *under), _table(*rooms.values())
    for name, sessions in _groups(files):
        typed.add_row(name, *_typed(sessions))
        kept.add_row(name, *(_kept([split(sizes[:-1], room) for sizes in sessions]) for room in rooms))
    console.print("human messages and their tokens a session: median, 90 %, most")
    console.print(typed)
    budgets = "; ".join(f"{room_of(budget):,} at {budget:,}" for budget in BUDGETS)
    console.print(f"\nverbatim room by budget: {budgets}.")
    console.print(
        "the newest message apart: sessions verbatim as a whole; tokens verbatim / compressed a session; messages compressed; most verbatim tokens"
    )
    console.print(kept)


def _groups(files: Sequence[Path]) -> Iterator[tuple[str, list[list[int]]]]:
    """The sessions of each file, and beside them the long ones."""
    for path in files:
        traces = list(read_traces(path))
        name = path.name.split(".jsonl", maxsplit=1)[0]
        yield name, [human_tokens(trace) for trace in traces]
        if long := [human_tokens(trace) for trace in traces if trace.is_long]:
            yield "  long ones", long


def _typed(sessions: Sequence[Sequence[int]]) -> Iterator[str]:
    sums = [sum(sizes) for sizes in sessions]
    yield str(len(sessions))
    yield _spread([len(sizes) for sizes in sessions])
    yield _spread(sums)
    yield _spread([max(sizes, default=0) for sizes in sessions])
    for few in FEW_TOKENS:
        yield f"{sum(tokens < few for tokens in sums) / len(sums):.0%}"


def _kept(splits: Sequence[Split]) -> str:
    whole = sum(not one.messages for one in splits) / len(splits)
    verbatim, compressed, messages = (sum(values) for values in zip(*splits, strict=True))
    mean = f"{verbatim / len(splits):,.0f} / {compressed / len(splits):,.0f}"
    return f"{whole:.0%}; {mean}; {messages}; {max(one.verbatim for one in splits):,}"


def _spread(values: Sequence[int]) -> str:
    return ", ".join(f"{quantile(values, share):,}" for share in (0.5, 0.9, 1.0))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("", *columns):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    return table


if __name__ == "__main__":
    main()
