"""The priced bill against the share of turns that miss: the three names of Paged beside baselines and providers, by source and budget.

    python -m benchmarks.front ../shared/data [--budgets 32000,64000] [--sessions 8] [--half tuning] [--fixed 15000]
    python -m benchmarks.front --read results.jsonl [--into docs]

Long recorded sessions, tokens of four characters, the half that nothing is tuned on (of a file with no long session there, the other). Of each source
the first so many sessions in the order of their ids' digests. `--fixed` puts a system prompt of so many tokens before each, as clients send one
with their tools; recordings mostly have none. `--out` keeps results as `pageturn replay` does. `--into` writes an overview into results.md of a folder and all
tables into its results-tables.md, between two marks. `--before` adds the Paged of an earlier revision, from results that its own `pageturn replay
--policy paged --policy cut` wrote: for the same sessions, and sources on which its `cut` comes to the same as ours.
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
from pageturn.lab.server_compaction import SUMMARY_TOKENS
from pageturn.lab.sweep import Method, Setup, results
from pageturn.lab.traces import Trace, read_traces
from pageturn.values.json import from_json
from pageturn.values.vendors import IDEAL_CACHE

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
BEFORE = "Paged before"
SUMMED_UP = ("anthropic-compact", "openai-compact")  # whose summaries nobody is charged for
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


def with_earlier(rows: Rows, found: Iterable[Result]) -> Rows:
    """The rows, with those of Paged from results of an earlier revision."""
    known = {(each.trace, each.budget_tokens, each.policy): each.score for each in found}
    cuts = {key: scores for key, scores in rows.items() if key[2] == "cut"}
    others = {
        source
        for (source, budget, cut), scores in cuts.items()
        for trace, score in scores.items()
        if _figures(known.get((trace, budget, cut))) != _figures(score)
    }
    earlier = {
        (source, budget, BEFORE): {trace: known[trace, budget, "paged"] for trace in scores}
        for (source, budget, _), scores in cuts.items()
        if source not in others
    }
    return rows | earlier


def _figures(score: Score | None) -> tuple[float, ...]:
    return (score.priced(), score.bill, score.coverage, score.verbatim_coverage) if score is not None else ()


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
            shown = (score.priced(), score.bill, score.coverage, score.verbatim_coverage, score.share_missing)
            table.add_row(
                method,
                *(f"{value:.3f}" for value in shown),
                f"{score.folds:,}",
                _cheaper(method, methods),
            )
        console.print(table)
        console.print(*_not_below(methods) or ("no baseline is below the curve of the three names",), sep="\n")


def overview(rows: Rows) -> str:
    """A table for each budget: the priced bill of each method on each source, and the share of turns that miss."""
    sources = [source for source in SOURCES if any(key[0] == source for key in rows)]
    told = []
    for budget in sorted({key[1] for key in rows}):
        scores = {(of, method): pooled(found) for (of, at, method), found in rows.items() if at == budget}
        told.append(f"| {budget:,} | {' | '.join(_TITLES[source] for source in sources)} |")
        told.append("|---" * (len(sources) + 1) + "|")
        for method in (*NAMES, BEFORE, *BASELINES):
            cells = (_cell(scores.get((source, method))) for source in sources)
            told.append(f"| {method} | {' | '.join(cells)} |")
        for method in SUMMED_UP:
            cells = (_cell(scores.get((source, method)), budget) for source in sources)
            told.append(f"| {method}, summaries billed | {' | '.join(cells)} |")
        told.append("")
    return "\n".join(told)


def _cell(score: Score | None, summed_up_from: int = 0) -> str:
    """The priced bill, and the share of turns that miss; with the making of summaries, each one more call that reads such a prompt."""
    if score is None:
        return "-"
    making = IDEAL_CACHE.prices.read * summed_up_from + IDEAL_CACHE.output * SUMMARY_TOKENS if summed_up_from else 0
    return f"{score.priced() + score.folds * making / score.whole:.3f}, {score.share_missing:.1%}"


def markdown(rows: Rows) -> str:
    """A table for each source, and what no name of ours beats."""
    told = []
    for source in SOURCES:
        of = {key[1:]: scores for key, scores in rows.items() if key[0] == source}
        if not of:
            continue
        sessions = len(next(iter(of.values())))
        told += [f"**{_TITLES[source]}**, {sessions} session{'s' if sessions > 1 else ''}", "", *_HEAD]
        for budget in sorted({budget for budget, _ in of}):
            methods = {method: scores for (at, method), scores in of.items() if at == budget}
            told += [
                _line(budget, method, methods)
                for method in sorted(methods, key=lambda each: pooled(methods[each]).priced())
            ]
        told.append("")
        told += [
            f"- {budget:,}: {found}"
            for budget in sorted({at for at, _ in of})
            for found in _not_below({method: scores for (at, method), scores in of.items() if at == budget})
        ]
        told.append("")
    return "\n".join(told)


_TITLES = dict(zip(SOURCES, ("Claude Code", "Codex", "pi", "OpenCode"), strict=True))
_HEAD = (
    "| budget | method | priced | bill | coverage | verbatim | turns that miss | folds | thrifty is cheaper by |",
    "|---|---|---|---|---|---|---|---|---|",
)


def _line(budget: int, method: str, methods: Mapping[str, Mapping[str, Score]]) -> str:
    score = pooled(methods[method])
    shown = (score.priced(), score.bill, score.coverage, score.verbatim_coverage, score.share_missing)
    cells = (f"{value:.3f}" for value in shown)
    return f"| {budget:,} | {method} | {' | '.join(cells)} | {score.folds:,} | {_cheaper(method, methods)} |"


def _cheaper(method: str, methods: Mapping[str, Mapping[str, Score]]) -> str:
    """By how much thrifty is cheaper over the sessions that both have; nothing of one session is sure."""
    both = sorted(methods[method].keys() & methods.get("thrifty", {}).keys())
    if method == "thrifty" or len(both) < 2:
        return ""
    return str(paired([methods[method][each] for each in both], [methods["thrifty"][each] for each in both], _priced))


def write_into(page: Path, text: str) -> None:
    """Put the tables between the marks of a page."""
    before, mark, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not mark or not end:
        raise SystemExit(f"{page} has no {_BEGIN} ... {_END} to write the tables between")
    page.write_text(f"{before}{mark}\n\n{text}\n{end}{after}", encoding="utf-8")


_BEGIN, _END = "<!-- tables of benchmarks.front -->", "<!-- end of the tables -->"


def _priced(scores: Sequence[Score]) -> float:
    return sum(scores, Score()).priced()


def _not_below(methods: Mapping[str, Mapping[str, Score]]) -> list[str]:
    """The baselines that no name of ours beats in both the priced bill and the share of turns that miss."""
    ours = [pooled(methods[name]) for name in NAMES if name in methods]
    found = []
    for method, scores in methods.items():
        score = pooled(scores)
        is_beaten = any(one.priced() <= score.priced() and one.share_missing <= score.share_missing for one in ours)
        if method not in (*NAMES, "everything", BEFORE) and not is_beaten:
            found.append(
                f"not beaten in both: {method}, priced {score.priced():.3f}, missing {score.share_missing:.3f}"
            )
    return found


def _tell(console: Console, rows: Rows, docs: Path | None) -> None:
    if docs is not None:
        write_into(docs / "results.md", overview(rows))
        write_into(docs / "results-tables.md", markdown(rows))
    else:
        show(console, rows)


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
    parser.add_argument("--peers", type=Path, default=None, help="the commands of other libraries, to replay them too")
    parser.add_argument(
        "--oracle", type=int, default=None, help="how many turns an oracle sees ahead, to replay it too"
    )
    parser.add_argument("--before", type=Path, default=None, help="results of an earlier revision")
    parser.add_argument(
        "--into", type=Path, default=None, help="the folder of the pages to write the tables into, such as docs"
    )
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    console = Console(width=150)
    if options.read:
        rows = rows_of(result for path in options.read for result in read_results(path))
        earlier = read_results(options.before) if options.before is not None else ()
        _tell(console, with_earlier(rows, earlier), options.into)
        return
    if not (options.data / "traces").is_dir():
        console.print(f"skipped: there is no {options.data / 'traces'}; give the data folder")
        return
    labels = options.only or [*OURS.values(), *BASELINES]
    methods = [Method.parse(OURS.get(label, label)) for label in labels]
    peers = Method.peers(options.peers) if options.peers is not None else ()
    setup = Setup((*methods, *peers), tuple(map(int, options.budgets.split(","))), lookahead=options.oracle)
    jobs = [(trace, setup) for trace in chosen(options.data, options.half, options.sessions, options.fixed)]
    found: list[Result] = []
    with ProcessPoolExecutor(options.workers) as executor:
        for lines in executor.map(_replayed, jobs):
            found += lines
            if options.out is not None:
                with options.out.open("ab") as file:
                    file.writelines(map(to_line, lines))
    _tell(console, rows_of(found), options.into)


if __name__ == "__main__":
    main()
