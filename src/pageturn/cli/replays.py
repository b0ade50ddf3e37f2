"""Replays on the command line: recorded sessions under many policies, and what came of it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segments
from rich.table import Table

from pageturn.cli.journals import plain
from pageturn.errors import InvalidInput
from pageturn.imports import Report, files_in, import_file
from pageturn.imports.source import Source
from pageturn.lab.coding import coding_session
from pageturn.lab.compactions import Kept, compactions
from pageturn.lab.pareto import LEGACY, Point, Points, Versus, flip, front
from pageturn.lab.report.chapters import chapters
from pageturn.lab.results import MISS_TOKENS, Result, Score, read_results
from pageturn.lab.stored import stored_traces
from pageturn.lab.sweep import Setup, sweep
from pageturn.lab.traces import Trace, read_traces
from pageturn.stores import MemoryStore, open_store
from pageturn.wire import from_json

_SQLITE = b"SQLite format 3\0"
_TRACE = {"id", "source", "messages"}
_WIDEST = 400  # columns
_RESULT = b'{"trace":'  # how a line of results begins
PRICED = (
    "priced",
    *(f"at {tokens:,} a miss" for tokens in MISS_TOKENS[1:]),
    "turns missing",
)  # what every table begins with


class Selection(NamedTuple):
    """Which of the sessions are replayed."""

    paths: Sequence[Path] = ()
    generated: int = 0  # how many made-up ones, beside those of the paths
    turns: int = 200  # of each of these
    is_long: bool = False  # only long ones
    most: int | None = None  # of each path


def traces(selection: Selection) -> Iterator[Trace]:
    """The sessions of files and folders, one after the other: traces, stores, and other tools' logs; then made-up ones."""
    report = Report()
    files = list(files_in(selection.paths, report))
    missing = next((path for path in files if not path.is_file()), None)
    if missing is not None:
        raise InvalidInput("paths", expected="files or folders", got=f"{str(missing)!r}, which is not there")
    for file in files:
        kept = 0
        for trace in _traces_of(file, report):
            if trace.turns and (trace.is_long or not selection.is_long):
                kept += 1
                if selection.most is not None and kept > selection.most:
                    break
                yield trace
    for file, why in report.failed.items():
        if file in selection.paths:  # in folders there may be other things
            raise InvalidInput("paths", expected="recorded sessions", got=f"{str(file)!r}: {why}")
    for seed in range(1, selection.generated + 1):
        yield coding_session(seed, selection.turns)


def _traces_of(file: Path, report: Report) -> Iterator[Trace]:
    source = file.name.split(".jsonl")[0].split(".json")[0]
    with file.open("rb") as opened:
        is_store = opened.read(len(_SQLITE)) == _SQLITE
    if is_store:
        with closing(open_store(str(file))) as store:
            yield from stored_traces(store, source)
    elif _is_trace(file):
        yield from read_traces(file)
    else:
        with closing(MemoryStore()) as store:
            import_file(store, file, report)
            yield from stored_traces(store, source)


def _is_trace(file: Path) -> bool:
    first = None
    with suppress(OSError, EOFError, ValueError):
        first = Source(file).first()
    return isinstance(first, dict) and first.keys() >= _TRACE


def replay(console: Console, selection: Selection, setup: Setup, *, jobs: int, out: Path | None) -> list[Result]:
    """Replay what is not in the out file yet; gives the results without their turns, old ones too."""
    done = list(_resumed(out)) if out is not None else []
    known = frozenset(result.key for result in done)
    results = [result for result in done if setup.has(result.key)]
    with _bar(console) as progress, _executor(jobs) as executor:
        task = progress.add_task("replaying", total=None)
        for lines in sweep(traces(selection), setup, executor, workers=jobs, known=known):
            if out is not None and lines:
                with out.open("ab") as file:
                    file.writelines(lines)
            results += map(_without_turns, lines)
            progress.update(task, advance=1)
    return results


def _executor(jobs: int) -> AbstractContextManager[ProcessPoolExecutor | None]:
    return ProcessPoolExecutor(jobs, initializer=_end_with_parent) if jobs > 1 else nullcontext()


def _end_with_parent() -> None:
    """A replay that was killed leaves nobody behind who waits for its work."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


def _resumed(out: Path) -> Iterator[Result]:
    """The results of an earlier run, without their turns; a line that was cut off in the middle is taken back, if it is a result's."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists():
        return
    whole, rest = 0, b""
    with out.open("r+b") as file:
        for line in file:
            whole, rest = (whole + len(line), b"") if line.endswith(b"\n") else (whole, line)
        if rest[: len(_RESULT)] == _RESULT[: len(rest)]:  # else it is not ours, and whoever reads it complains
            file.truncate(whole)
    yield from map(_bare, read_results(out))


def _without_turns(line: bytes) -> Result:
    return _bare(from_json(Result, line))


def _bare(result: Result) -> Result:
    return msgspec.structs.replace(result, turns=())


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show_results(console: Console, results: Iterable[Result]) -> None:
    """A table for each budget, and the flip rule; what was counted or billed in another way stands apart."""
    pools: dict[tuple[str, str], Points] = {}
    for result in results:
        pools.setdefault((result.counter, result.vendor), Points()).add(result)
    if not pools:
        console.print("no session to replay")
    for (counter, vendor), points in sorted(pools.items()):
        _show_points(console, points, f"tokens of the {counter} counter, billed as {vendor}")


def _show_points(console: Console, points: Points, told: str) -> None:
    pooled = points.pooled()
    best = set(map(id, front(pooled)))
    for budget in points.budgets:
        rows = [point for point in pooled if point.budget_tokens == budget]
        if not rows:
            console.print(f"\nbudget {budget:,}: no session is in every row, so that nothing can be compared, {told}")
            continue
        console.print(
            f"\nbudget {budget:,}, {rows[0].sessions:,} {'session' if rows[0].sessions == 1 else 'sessions'}, {told}"
        )
        show_whole(console, _table(rows, best))
        if refused := [plain(point.policy) for point in rows if point.score.is_refused and not point.is_oracle]:
            console.print(f"nothing was sent under {', '.join(refused)}: what must stand does not fit into {budget:,}")
    if best:
        console.print(
            f"* no other way is as good in {_cost_of(points)}, coverage and faults, and better in one", soft_wrap=True
        )
    if not points.is_priced:
        console.print(
            "some were written before misses were priced: replay them again for a priced bill", soft_wrap=True
        )
    _show_flip(console, points, pooled)


def _cost_of(points: Points) -> str:
    return "priced bill" if points.is_priced else "cost with re-fetches"


def priced_cells(score: Score) -> list[str]:
    """The columns of `PRICED`; dashes in lines from before misses were priced."""
    if not score.is_priced:
        return ["-"] * len(PRICED)
    return [*(f"{score.priced(tokens):.3f}" for tokens in MISS_TOKENS), f"{score.share_missing:.3f}"]


def _table(rows: Sequence[Point], best: set[int]) -> Table:
    table = Table(box=None, pad_edge=False)
    has_gaps = any(point.gap is not None for point in rows)
    names = (
        *PRICED,
        "cost",
        "with re-fetches",
        "times the floor",
        "coverage",
        "verbatim",
        "faults",
        "fetched again",
        "folds",
        "refused",
        "largest",
    )
    for name in ("", *names, *(("missed", "oracle", "bound") if has_gaps else ())):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for point in rows:
        score = point.score
        cells = [
            *priced_cells(score),
            f"{score.cost:.3f}",
            f"{score.cost_with_refetches:.3f}",
            f"{score.over_floor:.2f}",
            f"{point.coverage:.3f}",
            f"{score.verbatim_coverage:.3f}",
            f"{point.faults:,}",
            f"{point.fetched_again:,}",
            f"{score.rewritten:,}",
            f"{score.refused:,}",
            f"{score.largest:,}",
        ]
        if point.gap is not None:
            cells += [f"{count:,}" for count in (point.gap.missed, point.gap.oracle_missed, point.gap.bound)]
        table.add_row(f"{plain(point.policy)}{' *' if id(point) in best else ''}", *cells)
    return table


def show_whole(console: Console, table: Table) -> None:
    """A table as wide as it is: lines that a narrow screen wraps can be read, figures that it cuts off cannot."""
    console.print(Segments(console.render(table, console.options.update_width(_WIDEST))), crop=False, end="")


def _show_flip(console: Console, points: Points, pooled: Sequence[Point]) -> None:
    """Every policy of ours beside legacy, with how sure the differences are, and what the flip rule makes of it."""
    table = Table(box=None, pad_edge=False)
    differing = (_cost_of(points), "coverage", "faults a session", "fetched again")
    for name in ("beside legacy", "budget", *differing, "dominates"):
        table.add_column(name, justify="left" if name == "beside legacy" else "right", no_wrap=True)
    versus: dict[tuple[str, int], Versus] = {}
    legacy = {point.budget_tokens: point for point in pooled if point.policy == LEGACY and not point.score.is_refused}
    for point in pooled:
        budget = point.budget_tokens
        found = points.versus(point.policy, LEGACY, budget) if point.is_own and point.policy != LEGACY else None
        if found is None or budget not in legacy:
            continue
        versus[point.policy, budget] = found
        said = "yes" if point.dominates(legacy[budget]) else "as far as can be told" if found.dominates else "no"
        table.add_row(plain(point.policy), f"{budget:,}", *map(str, found), said)
    if not versus:
        console.print(
            "the flip rule has nothing to compare: it asks for rows of legacy and of another policy that sent something"
        )
        return
    console.print()
    show_whole(console, table)
    surely = flip(pooled, lambda point, _: versus[point.policy, point.budget_tokens].dominates)
    console.print(f"the default that the flip rule elects: {plain(flip(pooled).elected)}")
    if all(point.sessions == 1 for point in pooled):
        console.print("with one session nothing can be said about chance")
    else:
        console.print(f"and by differences that resampled sessions are sure of: {plain(surely.elected)}")
    hits = flip(pooled, Point.dominates_if_pointers_are_hits)
    console.print(f"if what a pointer leads back to were no fault: {plain(hits.elected)}")


def show_compactions(console: Console, selection: Selection) -> None:
    """What recorded compactions kept of what was asked for later, beside what as many tokens could have kept."""
    found: list[Kept] = []
    with _bar(console) as progress:
        task = progress.add_task("reading", total=None)
        for trace in traces(selection):
            found += compactions(trace)
            progress.update(task, advance=1)
    if not found:
        console.print("no compaction was recorded")
        return
    asked = sum(kept.asked for kept in found) or 1
    console.print(
        f"{len(found):,} compactions, {sum(kept.before_tokens for kept in found):,} tokens became "
        f"{sum(kept.tokens for kept in found):,}; later calls named {asked:,} things from before"
    )
    table = Table("in the same tokens", box=None, pad_edge=False)
    table.add_column("kept", justify="right")
    rows = {
        "the recorded summary": sum(kept.by_summary for kept in found),
        "the newest messages": sum(kept.by_newest for kept in found),
        "paged": sum(kept.by_paged or 0 for kept in found),
    }
    for name, kept in rows.items():
        table.add_row(name, f"{kept / asked:.3f}")
    console.print(table)


def show_flip(console: Console, paths: Sequence[Path]) -> None:
    """The tables and the flip rule of results that were written down."""
    told = chapters(_bare(result) for path in paths for result in read_results(path))
    show_results(console, (result for chapter in told for result in chapter.results))
