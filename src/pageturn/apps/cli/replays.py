"""Replays recorded sessions under several policies and prints the results as tables."""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from pageturn.apps.cli.answers import CompactionsKept, Comparison, MethodLine, Pool
from pageturn.apps.cli.result_files import is_store, require_results
from pageturn.apps.cli.tables import bar, plain, show_whole
from pageturn.apps.cli.terminal import answered
from pageturn.apps.importing import Report, files_in, import_file
from pageturn.apps.importing.files import FileSource
from pageturn.lab.columns import (
    MISSES_PRICED,
    PRICED_BILL,
    TIMES_THE_LOWER_BOUND,
    WITH_REFETCHES,
    leading_cells,
    leading_heads,
    legend,
)
from pageturn.lab.compactions import Kept, compactions
from pageturn.lab.pareto import LEGACY, Point, Points, Versus, flip, front
from pageturn.lab.report.groups import groups
from pageturn.lab.results import Result, read_results
from pageturn.lab.stored_traces import stored_traces
from pageturn.lab.sweep import Setup, sweep
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace, read_traces
from pageturn.policies import Paged
from pageturn.stores import MemoryStore, open_store
from pageturn.values.errors import InvalidInput
from pageturn.values.json import from_json
from pageturn.values.model_prices import ModelPrice, money

Told = Callable[[int, int], None]

_TRACE = {"id", "source", "messages"}
_RESULT = b'{"trace":'  # the beginning of a line of results


class Selection(NamedTuple):
    """The sessions to replay."""

    paths: Sequence[Path] = ()
    generated: int = 0  # synthetic ones, in addition to those of the paths
    turns: int = 200  # of each synthetic session
    is_long: bool = False  # only long ones
    most: int | None = None  # from each path


def traces(selection: Selection, told: Told = lambda _done, _total: None) -> Iterator[Trace]:
    """The sessions of files and folders: traces, stores and other tools' logs; then synthetic ones.

    `told` is called with the number of sessions that were read, and of those that the files are known to have.
    """
    report = Report()
    files = list(files_in(selection.paths, report))
    missing = next((path for path in files if not path.is_file()), None)
    if missing is not None:
        raise InvalidInput("paths", expected="files or folders", got=f"{str(missing)!r}, which does not exist")
    counts = [_count(file, selection.most) for file in files]
    total, before = sum(counts) + selection.generated, 0
    for file, count in zip(files, counts, strict=True):
        kept = 0
        for at, trace in enumerate(_traces_of(file, report)):
            told(before + min(at, count), total)
            if trace.turns and (trace.is_long or not selection.is_long):
                kept += 1
                if selection.most is not None and kept > selection.most:
                    break
                yield trace
        before += count
        told(before, total)
    for file, why in report.failed.items():
        if file in selection.paths:  # a folder may hold other files
            raise InvalidInput("paths", expected="recorded sessions", got=f"{str(file)!r}: {why}")
    for seed in range(1, selection.generated + 1):
        told(before + seed - 1, total)
        yield coding_session(seed, selection.turns)
    told(total, total)


def _count(file: Path, most: int | None) -> int:
    """The number of sessions in a file: of a store its rows, of traces their lines, and one in a log."""
    if is_store(file):
        with closing(open_store(str(file))) as store:
            count = len(store.sessions())
    elif file.suffix == ".jsonl" and _is_trace(file):
        with file.open("rb") as lines:
            count = sum(1 for _ in lines)
    else:
        count = 1
    return count if most is None else min(count, most)


def _traces_of(file: Path, report: Report) -> Iterator[Trace]:
    source = file.name.split(".jsonl")[0].split(".json")[0]
    if is_store(file):
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
    with suppress(OSError, EOFError, zlib.error, ValueError):  # where it is packed and damaged, reading it says so
        first = FileSource(file).first()
    return isinstance(first, dict) and first.keys() >= _TRACE


def replay(console: Console, selection: Selection, setup: Setup, *, jobs: int, out: Path | None) -> list[Result]:
    """Replay what is not in the out file yet; returns all results, without their turns."""
    done = list(_resumed(out)) if out is not None else []
    known = frozenset(result.key for result in done)
    results = [result for result in done if setup.has(result.key)]
    with bar(console) as progress, _executor(jobs) as executor:
        for lines in sweep(
            traces(selection, _teller(progress, "replaying")), setup, executor, workers=jobs, known=known
        ):
            if out is not None and lines:
                with out.open("ab") as file:
                    file.writelines(lines)
            results += map(_without_turns, lines)
    return results


def _teller(progress: Progress, what: str) -> Told:
    """What moves a new bar."""
    task = progress.add_task(what, total=None)
    return lambda done, total: progress.update(task, completed=done, total=total)


def _executor(jobs: int) -> AbstractContextManager[ProcessPoolExecutor | None]:
    return ProcessPoolExecutor(jobs, initializer=_end_with_parent) if jobs > 1 else nullcontext()


def _end_with_parent() -> None:
    """Exit when the parent process dies, so that a killed replay leaves no workers behind."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


def _resumed(out: Path) -> Iterator[Result]:
    """The results of an earlier run, without their turns; an incomplete last line is removed if it is a result's."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists():
        return
    whole, rest = 0, b""
    with out.open("r+b") as file:
        for line in file:
            whole, rest = (whole + len(line), b"") if line.endswith(b"\n") else (whole, line)
        if rest[: len(_RESULT)] == _RESULT[: len(rest)]:  # any other text is not ours, and reading it raises an error
            file.truncate(whole)
    yield from map(_bare, read_results(out))


def _without_turns(line: bytes) -> Result:
    return _bare(from_json(Result, line))


def _bare(result: Result) -> Result:
    return msgspec.structs.replace(result, turns=())


def show_results(console: Console, results: Iterable[Result], *, is_long: bool = False) -> None:
    """Print a table for each budget, and the flip rule; separately for each counter and vendor."""
    pools: dict[tuple[str, str], Points] = {}
    for result in results:
        pools.setdefault((result.counter, result.vendor), Points()).add(result)
    if answered(Comparison(tuple(_pool(*units, points) for units, points in sorted(pools.items())))):
        return
    if not pools:
        console.print("no session to replay" + (": none is as long as --long asks for" if is_long else ""))
    for (counter, vendor), points in sorted(pools.items()):
        _show_points(console, points, f"tokens counted as {counter}, billed as {vendor}")


def _pool(counter: str, vendor: str, points: Points) -> Pool:
    pooled = points.pooled()
    best = set(map(id, front(pooled)))
    methods = tuple(
        MethodLine(
            policy=point.policy,
            budget_tokens=point.budget_tokens,
            sessions=point.sessions,
            priced_bill=point.cost,
            bill=point.score.bill,
            coverage=point.coverage,
            dollars=point.dollars,
            faults=point.faults,
            fetched_again=point.fetched_again,
            is_best=id(point) in best,
            score=point.score,
        )
        for point in pooled
    )
    is_comparable = any(point.policy == LEGACY and not point.score.is_refused for point in pooled)
    elected = flip(pooled).elected if is_comparable else None
    return Pool(counter, vendor, methods, elected, conclusion(pooled, points.prices))


def _show_points(console: Console, points: Points, units: str) -> None:
    pooled = points.pooled()
    best = set(map(id, front(pooled)))
    for budget in points.budgets:
        rows = [point for point in pooled if point.budget_tokens == budget]
        if not rows:
            console.print(
                f"\nbudget {budget:,}: no session was replayed under every policy, so nothing can be compared, {units}"
            )
            continue
        console.print(
            f"\nbudget {budget:,}, {rows[0].sessions:,} {'session' if rows[0].sessions == 1 else 'sessions'}, {units}",
            soft_wrap=True,
        )
        show_whole(console, _table(rows, best))
        if refused := [plain(point.policy) for point in rows if point.score.is_refused and not point.is_oracle]:
            console.print(
                f"nothing was sent under {', '.join(refused)}: the required pages do not fit into {budget:,} tokens",
                soft_wrap=True,
            )
    if best:
        console.print(
            f"* no other method is as good in {_cost_of(points)}, coverage and faults, and better in one of them",
            soft_wrap=True,
        )
    if not points.is_priced:
        console.print(
            "some results were written before misses were priced: replay them again to get a priced bill",
            soft_wrap=True,
        )
    if pooled:
        console.print(legend(points.prices), soft_wrap=True, highlight=False)
    _show_flip(console, points, pooled)
    if told := conclusion(pooled, points.prices):
        console.print(f"\n{told}", soft_wrap=True, highlight=False)


def conclusion(points: Sequence[Point], prices: Sequence[ModelPrice]) -> str:
    """The result in one sentence: sending everything compared with Paged where that is cheapest; empty if unknown.

    If the default is among the rows, the sentence is about it, because that is what readers take "Paged" to mean.
    """
    ours = [point for point in points if point.policy.startswith("paged") and point.score.is_priced]
    ours = [point for point in ours if point.policy == "paged"] or ours
    known = [point for point in ours if point.dollars is not None and not point.score.refused]
    point = min(known, key=lambda point: point.dollars or 0.0, default=None)
    if point is None or point.dollars is None or point.dollars_for_everything is None:
        return ""
    these, ran, they = (
        ("This session", "as it ran", "it")
        if point.sessions == 1
        else (f"These {point.sessions:,} sessions", "as they ran", "they")
    )
    whole = money(point.dollars_for_everything)
    cost = f"cost {whole} {ran}"
    if point.compacted:
        cost = f"would have cost {whole} with everything sent ({point.compacted:,} of {point.sessions:,} were compacted {ran})"
    models = " and ".join(f"{price.model}, {price.as_of}" for price in prices)
    return (
        f"{these} {cost}; with {_called(point.policy)} at {point.budget_tokens:,} tokens {they} "
        f"would have cost {money(point.dollars)}, re-fetches included (prices of {models})."
    )


def _called(row: str) -> str:
    """A row of Paged in the spelling of a program."""
    names = {"paged": "Paged", f"paged:miss_tokens={Paged.thrifty().miss_tokens}": "Paged.thrifty"}
    names[f"paged:miss_tokens={Paged.faithful().miss_tokens}"] = "Paged.faithful"
    return names.get(row, plain(row).replace("paged", "Paged", 1))


def _cost_of(points: Points) -> str:
    return PRICED_BILL.head if points.is_priced else f"bill {WITH_REFETCHES.head}"


def _table(rows: Sequence[Point], best: set[int]) -> Table:
    table = Table(box=None, pad_edge=False)
    has_gaps = any(point.gap is not None for point in rows)
    others = (*MISSES_PRICED, WITH_REFETCHES, TIMES_THE_LOWER_BOUND)
    counted = ("faults", "re-fetched", "refused", "largest")
    names = (*leading_heads(), *(column.head for column in others), *counted)
    for name in ("", *names, *(("missed", "oracle", "bound") if has_gaps else ())):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for point in rows:
        score = point.score
        cells = [
            *leading_cells(score, point.dollars),
            *(column.cell(score) for column in others),
            f"{point.faults:,}",
            f"{point.fetched_again:,}",
            f"{score.refused:,}",
            f"{score.largest:,}",
        ]
        if point.gap is not None:
            cells += [f"{count:,}" for count in (point.gap.missed, point.gap.oracle_missed, point.gap.bound)]
        table.add_row(f"{plain(point.policy)}{' *' if id(point) in best else ''}", *cells)
    return table


def _show_flip(console: Console, points: Points, pooled: Sequence[Point]) -> None:
    """Print each of our policies compared with legacy, with confidence intervals, and the flip rule's choice."""
    table = Table(box=None, pad_edge=False)
    differing = (_cost_of(points), "coverage", "faults per session", "re-fetched")
    for name in ("compared with legacy", "budget", *differing, "dominates"):
        table.add_column(name, justify="left" if name == "compared with legacy" else "right", no_wrap=True)
    versus: dict[tuple[str, int], Versus] = {}
    legacy = {point.budget_tokens: point for point in pooled if point.policy == LEGACY and not point.score.is_refused}
    for point in pooled:
        budget = point.budget_tokens
        found = points.versus(point.policy, LEGACY, budget) if point.is_own and point.policy != LEGACY else None
        if found is None or budget not in legacy:
            continue
        versus[point.policy, budget] = found
        verdict = "yes" if point.dominates(legacy[budget]) else "within error" if found.dominates else "no"
        table.add_row(plain(point.policy), f"{budget:,}", *map(str, found), verdict)
    if not versus:
        console.print(
            "the flip rule has nothing to compare: it needs results of legacy and of another policy, neither of them refused",
            soft_wrap=True,
        )
        return
    console.print()
    show_whole(console, table)
    surely = flip(pooled, lambda point, _: versus[point.policy, point.budget_tokens].dominates)
    console.print(f"default selected by the flip rule: {plain(flip(pooled).elected)}")
    if all(point.sessions == 1 for point in pooled):
        console.print("one session is too few for confidence intervals")
    else:
        console.print(f"with differences significant under resampling of sessions: {plain(surely.elected)}")
    hits = flip(pooled, Point.dominates_if_pointers_are_hits)
    console.print(f"if re-fetches through a pointer were not counted as faults: {plain(hits.elected)}")


def show_compactions(console: Console, selection: Selection) -> None:
    """Print how much of what later calls needed recorded compactions kept, and other methods in the same tokens."""
    found: list[Kept] = []
    with bar(console) as progress:
        for trace in traces(selection, _teller(progress, "reading")):
            found += compactions(trace)
    kept = CompactionsKept(
        compactions=len(found),
        before_tokens=sum(each.before_tokens for each in found),
        after_tokens=sum(each.tokens for each in found),
        asked=sum(each.asked for each in found),
        by_summary=sum(each.by_summary for each in found),
        by_newest=sum(each.by_newest for each in found),
        by_paged=sum(each.by_paged or 0 for each in found),
    )
    if answered(kept):
        return
    if not found:
        console.print("no compaction was recorded")
        return
    console.print(
        f"{kept.compactions:,} compactions, {kept.before_tokens:,} tokens became {kept.after_tokens:,}; "
        f"later calls used {kept.asked:,} items from before them"
    )
    table = Table("in the same tokens", box=None, pad_edge=False)
    table.add_column("kept", justify="right")
    rows = {
        "the recorded summary": kept.by_summary,
        "the newest messages": kept.by_newest,
        "paged": kept.by_paged,
    }
    for name, count in rows.items():
        table.add_row(name, f"{count / max(kept.asked, 1):.3f}")
    console.print(table)


def show_flip(console: Console, paths: Sequence[Path]) -> None:
    """Print the tables and the flip rule of results in files."""
    require_results(paths)
    found = groups(_bare(result) for path in paths for result in read_results(path))
    show_results(console, (result for group in found for result in group.results))
