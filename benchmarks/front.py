"""The priced bill against the share of turns that miss: the three names of Paged beside baselines and providers, by source and budget.

    python -m benchmarks.front ../shared/data [--budgets 32000,64000] [--sessions 8] [--half tuning] [--fixed 15000]
    python -m benchmarks.front --read results.jsonl

Long recorded sessions, tokens of four characters, the half that nothing is tuned on (of a file with no long session there, the other). Of each source
the first so many sessions in the order of their ids' digests. `--fixed` puts a system prompt of so many tokens before each, as clients send one
with their tools; recordings mostly have none. `--out` keeps results as `pageturn replay` does.
Differences carry the interval that holds 95 % of resampled sets of sessions.
"""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.renditions import SOURCES
from pageturn.lab.bootstrap import paired
from pageturn.lab.results import Result, Score, read_results, to_line
from pageturn.lab.sweep import Method, Setup, results
from pageturn.lab.traces import Trace, read_traces
from pageturn.values.json import from_json

NAMES = {"thrifty": 0, "balanced": pt.Paged().miss_tokens, "faithful": pt.Paged.faithful().miss_tokens}
OURS = {name: f"paged:miss_tokens={price}" for name, price in NAMES.items()}
BASELINES = (
    "everything",
    "keep-last",
    "cut",
    "masking",
    "reset",
    "anthropic-compact",
    "anthropic-clear-tool-uses",
    "openai-compact",
)
Rows = dict[tuple[str, int, str], dict[str, Score]]  # by source, budget and method: the score of each session


def chosen(data: Path, half: str, most: int, fixed: int) -> Iterator[Trace]:
    """The sessions that are replayed."""
    for source in SOURCES:
        long = sorted(
            (each for each in read_traces(data / "traces" / f"{source}.jsonl.gz") if each.is_long), key=_digest
        )
        of_half = [each for each in long if each.is_for_tuning == (half == "tuning")]
        for trace in (of_half or long)[:most]:
            opening = (pt.system("Follow the rules of the house. " * (fixed * 4 // 31)),) if fixed else ()
            yield trace._replace(source=source, messages=(*opening, *trace.messages))


def _digest(trace: Trace) -> bytes:
    return blake2b(trace.id.encode()).digest()


def _replayed(job: tuple[Trace, Setup]) -> list[Result]:
    found = (from_json(Result, line) for line in results(*job))
    return [msgspec.structs.replace(result, turns=()) for result in found]


def rows_of(found: Iterable[Result]) -> Rows:
    """The scores by source, budget and method."""
    names = {label: name for name, label in OURS.items()}
    rows: Rows = {}
    for result in found:
        key = (result.source, result.budget_tokens, names.get(result.policy, result.policy))
        rows.setdefault(key, {})[result.trace] = result.score
    return rows


def pooled(scores: Mapping[str, Score]) -> Score:
    return sum(scores.values(), Score())


def show(console: Console, rows: Rows) -> None:
    """A table for each source and budget, and where a baseline is cheaper than thrifty, or misses less for less than a name of ours."""
    for source, budget in sorted({key[:2] for key in rows}):
        methods = {method: scores for (of, at, method), scores in rows.items() if (of, at) == (source, budget)}
        table = Table("method", title=f"{source}, {budget:,} tokens, {len(next(iter(methods.values())))} sessions")
        for column in ("priced", "bill", "coverage", "verbatim", "turns that miss", "folds", "thrifty is cheaper by"):
            table.add_column(column, justify="right")
        for method, scores in sorted(methods.items(), key=lambda item: pooled(item[1]).priced()):
            score = pooled(scores)
            ours = methods.get("thrifty", {})
            both = sorted(scores.keys() & ours.keys())
            less = (
                paired([scores[each] for each in both], [ours[each] for each in both], _priced)
                if len(both) > 1
                else "-"
            )
            shown = (score.priced(), score.bill, score.coverage, score.verbatim_coverage, score.share_missing)
            table.add_row(
                method,
                *(f"{value:.3f}" for value in shown),
                f"{score.folds:,}",
                str(less) if method != "thrifty" else "",
            )
        console.print(table)
        console.print(*_not_below(methods) or ("no baseline is below the curve of the three names",), sep="\n")


def _priced(scores: Sequence[Score]) -> float:
    return sum(scores, Score()).priced()


def _not_below(methods: Mapping[str, Mapping[str, Score]]) -> list[str]:
    """The baselines that no name of ours beats in both the priced bill and the share of turns that miss."""
    ours = [pooled(methods[name]) for name in NAMES if name in methods]
    found = []
    for method, scores in methods.items():
        score = pooled(scores)
        is_beaten = any(one.priced() <= score.priced() and one.share_missing <= score.share_missing for one in ours)
        if method not in NAMES and method != "everything" and not is_beaten:
            found.append(
                f"not beaten in both: {method}, priced {score.priced():.3f}, missing {score.share_missing:.3f}"
            )
    return found


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.front")
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--budgets", default="16000,32000,64000,128000")
    parser.add_argument("--half", choices=("tuning", "reporting"), default="reporting")
    parser.add_argument("--sessions", type=int, default=8, help="of each source, at most")
    parser.add_argument("--fixed", type=int, default=0, help="tokens of a system prompt before each session")
    parser.add_argument("--only", action="append", default=None, help="a method, instead of all")
    parser.add_argument("--out", type=Path, default=None, help="where results are kept")
    parser.add_argument("--read", type=Path, action="append", default=[], help="only show these results")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    console = Console(width=150)
    if options.read:
        show(console, rows_of(result for path in options.read for result in read_results(path)))
        return
    if not (options.data / "traces").is_dir():
        console.print(f"skipped: there is no {options.data / 'traces'}; give the data folder")
        return
    labels = options.only or [*OURS.values(), *BASELINES]
    setup = Setup(
        tuple(Method.parse(OURS.get(label, label)) for label in labels), tuple(map(int, options.budgets.split(",")))
    )
    jobs = [(trace, setup) for trace in chosen(options.data, options.half, options.sessions, options.fixed)]
    found: list[Result] = []
    with ProcessPoolExecutor(options.workers) as executor:
        for lines in executor.map(_replayed, jobs):
            found += lines
            if options.out is not None:
                with options.out.open("ab") as file:
                    file.writelines(map(to_line, lines))
    show(console, rows_of(found))


if __name__ == "__main__":
    main()
