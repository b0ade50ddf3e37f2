"""Whether anything got worse: the same recorded sessions under our policies, before a change and after it.

    python -m benchmarks.regression ../shared/data --out before.json
    python -m benchmarks.regression ../shared/data --against before.json [--out after.json]

The sample is always the same: of the long sessions that nothing is tuned on (OpenCode's only one is an exception), the first few of each
file in the order of their ids' digests; about three minutes on one core. A file has one line for each session, policy and budget, as `pageturn replay --out` writes them, without the
turns, so `pageturn flip before.json` reads it too. Rows are pooled per file; beside each figure stands what it is relative to the earlier
one, and `!` marks what is worse by more than 5 %.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pageturn.lab.results import Result, Score, read_results, to_line
from pageturn.lab.sweep import Method, Setup, results
from pageturn.lab.traces import Trace, read_traces
from pageturn.values.json import from_json

SESSIONS = {  # of each file, at most
    "claude-code.entireio-cli": 30,
    "codex-cli.session-bridge": 3,
    "opencode.session-bridge": 1,
    "pi.pi-mono": 1,
}
SETUP = Setup(tuple(map(Method.parse, ("paged", "legacy", "reset", "incremental"))), (16_000, 32_000, 64_000))
TOLERANCE = 0.05


class Pooled(NamedTuple):
    """One policy at one budget over the sessions of a file."""

    score: Score
    faults: int


class Measure(NamedTuple):
    """A figure of a row, and whether more of it is worse."""

    of: Callable[[Pooled], float]
    digits: int = 3
    more_is_worse: bool = True

    def is_worse(self, now: float, before: float) -> bool:
        """Whether it got worse by more than is tolerated."""
        ours, theirs = (now, before) if self.more_is_worse else (before, now)
        return ours > theirs * (1 + TOLERANCE)


MEASURES = {
    "priced bill": Measure(lambda row: row.score.priced()),
    "bill": Measure(lambda row: row.score.bill),
    "coverage": Measure(lambda row: row.score.coverage, more_is_worse=False),
    "verbatim": Measure(lambda row: row.score.verbatim_coverage, more_is_worse=False),
    "faults": Measure(lambda row: row.faults, digits=0),
    "turns that miss": Measure(lambda row: row.score.share_missing),
    "refused": Measure(lambda row: row.score.refused, digits=0),
}
Rows = dict[tuple[str, int, str], Pooled]


def sample(data: Path) -> Iterator[Trace]:
    """The sessions that are always replayed."""
    for source, most in SESSIONS.items():
        path = data / "traces" / f"{source}.jsonl.gz"
        long = sorted((trace for trace in read_traces(path) if trace.is_long), key=_digest)
        reported = [trace for trace in long if not trace.is_for_tuning]
        for trace in (reported or long)[:most]:  # a file whose only long session is for tuning is better than none
            yield trace._replace(source=source)


def _digest(trace: Trace) -> bytes:
    return blake2b(trace.id.encode()).digest()


def replayed(traces: Iterable[Trace]) -> Iterator[Result]:
    """What our policies make of sessions, without the turns."""
    for trace in traces:
        for line in results(trace, SETUP):
            yield msgspec.structs.replace(from_json(Result, line), turns=())


def pooled(found: Iterable[Result]) -> Rows:
    """The results of each file, policy and budget together."""
    rows: Rows = {}
    for result in found:
        key = (result.source, result.budget_tokens, result.policy)
        score, faults = rows.get(key, Pooled(Score(), 0))
        rows[key] = Pooled(score + result.score, faults + result.policy_faults)
    return rows


def table_of(now: Rows, before: Rows) -> tuple[Table, int]:
    """Every row with its figures, relative to the earlier ones where there are some; and how many of them are worse."""
    table = Table(box=None, pad_edge=False)
    for column in ("file", "budget", "policy", *MEASURES):
        table.add_column(column, justify="left" if column in ("file", "policy") else "right", no_wrap=True)
    worse = 0
    for key, row in sorted(now.items()):
        cells = []
        for measure in MEASURES.values():
            value = measure.of(row)
            told = f"{value:,.{measure.digits}f}"
            if key in before:
                was = measure.of(before[key])
                is_worse = measure.is_worse(value, was)
                worse += is_worse
                ratio = f"x{value / was:.3f}" if was else "x1.000" if value == was else "new"
                told = f"{told} {ratio}{'!' if is_worse else ' '}"
            cells.append(told)
        table.add_row(key[0], f"{key[1]:,}", key[2], *cells)
    return table, worse


def common(ours: Sequence[Result], theirs: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """The results that both have, so that like is compared with like."""
    both = {result.key for result in ours} & {result.key for result in theirs}
    return [result for result in ours if result.key in both], [result for result in theirs if result.key in both]


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.regression")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=None, help="where the results are written")
    parser.add_argument("--against", type=Path, default=None, help="earlier results")
    options = parser.parse_args()
    console = Console(width=160)
    if not (options.data / "traces").is_dir():
        console.print(f"skipped: there is no {options.data / 'traces'}; give the data folder")
        return
    start = perf_counter()
    traces = list(sample(options.data))
    found = list(replayed(track(traces, "replaying", transient=True, console=console, disable=not console.is_terminal)))
    if options.out is not None:
        options.out.write_bytes(b"".join(map(to_line, found)))
    earlier = list(read_results(options.against)) if options.against is not None else []
    ours, theirs = common(found, earlier) if earlier else (found, [])
    table, worse = table_of(pooled(ours), pooled(theirs))
    console.print(f"{len(traces)} long sessions, tokens counted as chars/4")
    console.print(table)
    if earlier:
        left_out = len(found) - len(ours)
        console.print(f"worse by more than {TOLERANCE:.0%}: {worse}; results without an earlier one: {left_out}")
    console.print(f"{perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
