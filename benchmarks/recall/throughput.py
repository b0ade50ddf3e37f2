"""How many passages the small model embeds in a second of one core, and what share of an agent's turn that is.

    python -m benchmarks.recall.throughput ../shared/data

The passages are of recorded coding sessions; a turn is an assistant message with the results and words before it.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, quantiles
from time import process_time

import pageturn as pt
from benchmarks.recall.questions import coding
from pageturn.recall.embedders.minilm import MiniLm
from pageturn.values.passages import passages_of
from pageturn.values.search_text import search_text

_MOST = 200  # passages of a page that are embedded
_AT_ONCE = 64


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--passages", type=int, default=2_000, help="that are embedded to be timed")
    given = parser.parse_args(arguments)
    turns: list[int] = []
    passages: list[str] = []
    for case in coding(given.data, tuning=False, most=given.sessions):
        count = 0
        for message in case.messages:
            text = search_text(message)
            found = [text[start:end] for start, end in passages_of(text)][:_MOST]
            passages += found
            count += len(found)
            if message.role is pt.Role.ASSISTANT:
                turns.append(count)
                count = 0
    chosen = passages[:: max(1, len(passages) // given.passages)][: given.passages]
    model = MiniLm()
    model.embed(chosen[:_AT_ONCE])
    start = process_time()
    for first in range(0, len(chosen), _AT_ONCE):
        model.embed(chosen[first : first + _AT_ONCE])
    rate = len(chosen) / (process_time() - start)
    characters = mean(len(text) for text in chosen)
    cut = quantiles(turns, n=100)
    print(f"{rate:,.0f} passages of {characters:,.0f} characters a second of CPU, of {len(chosen):,}")
    print(
        f"passages of a turn, of {len(turns):,} turns: mean {mean(turns):.1f}, median {cut[49]:.0f}, 99 % {cut[98]:.0f}"
    )
    print(
        f"seconds of CPU for a turn: mean {mean(turns) / rate:.2f}, median {cut[49] / rate:.2f}, 99 % {cut[98] / rate:.2f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
