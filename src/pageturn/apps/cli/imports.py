"""Runs imports on the command line: finds the folders of other tools, shows progress and the outcome."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pageturn.apps.cli.answers import Import, SessionRenamed, Skipped, Unread
from pageturn.apps.cli.tables import many, one_line, plain
from pageturn.apps.cli.terminal import answered, complain, has_progress, hint
from pageturn.apps.importing import Report, files_in, import_file
from pageturn.stores import open_store, shown

_SHOWN = 12  # shown reasons, renamed sessions and failures, each; more would hide the others


def claude_code_folder() -> Path:
    """The folder in which Claude Code keeps its sessions."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"


def codex_folder() -> Path:
    """The folder in which Codex keeps its sessions."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "sessions"


def import_paths(
    console: Console,
    into: str,
    paths: Sequence[Path],
    *,
    named: set[Path],
    scope: str | None = None,
    shows_all: bool = False,
) -> bool:
    """Import files and folders and print the outcome; returns whether every named file could be read."""
    report = Report()
    files = list(files_in(paths, report))
    with closing(open_store(into)) as store, _bar(console) as progress:
        task = progress.add_task("importing", total=sum(_size(file) for file in files))
        done = 0
        for file in files:
            read = 0

            def advance(count: int, before: int = done) -> None:
                nonlocal read
                read += count
                progress.update(task, completed=before + read)

            progress.update(task, description=f"importing {plain(file.name)[:30]}")
            import_file(store, file, report, scope=scope, on_read=advance)
            done += _size(file)
            progress.update(task, completed=done)
    missed = {file: why for file, why in report.failed.items() if file in named}
    for file, why in report.failed.items():
        if file not in missed:
            report.skip(f"file: {why}", file)
    if not answered(_answer(into, report, missed)):
        _show(console, into, report, missed, most=None if shows_all else _SHOWN)
    return not missed


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not has_progress(console))


def _answer(into: str, report: Report, missed: dict[Path, str]) -> Import:
    return Import(
        into=into,
        files=dict(report.tools.most_common()),
        sessions=tuple(sorted(report.sessions)),
        messages=report.messages,
        calls=report.calls,
        results=report.results,
        known=report.known,
        compactions=report.compactions,
        skipped=tuple(Skipped(n, reason, report.examples[reason]) for reason, n in report.skipped.most_common()),
        renamed=tuple(SessionRenamed(each.wanted, each.taken, str(each.file)) for each in report.renamed),
        unread=tuple(Unread(str(file), why) for file, why in missed.items()),
    )


def _show(console: Console, into: str, report: Report, missed: dict[Path, str], *, most: int | None) -> None:
    tools = ", ".join(f"{count:,} {tool}" for tool, count in report.tools.most_common()) or "none"
    console.print(f"files: {tools}")
    taken = f"{report.messages:,} messages with {report.calls:,} calls and {report.results:,} results"
    known = f"; {report.known:,} already imported" if report.known else ""
    console.print(f"{many(len(report.sessions), 'session')}, {taken}{known}")
    if report.compactions:
        console.print(f"{report.compactions:,} compactions by the other tool")
    if report.skipped:
        table = Table(box=None, pad_edge=False, title="skipped", title_justify="left")
        table.add_column("", justify="right")
        table.add_column("reason")
        table.add_column("for example", overflow="fold")
        for reason, count in report.skipped.most_common(most):
            table.add_row(f"{count:,}", plain(reason), f"[dim]{plain(report.examples[reason])}[/]")
        console.print(table)
        _left(console, len(report.skipped), most, "other reasons")
    for renamed in report.renamed[:most]:
        console.print(f"[yellow]session {plain(str(renamed))}[/]", highlight=False, soft_wrap=True)
    _left(console, len(report.renamed), most, "other sessions under a new id")
    for file, why in list(missed.items())[:most]:
        complain(f"pageturn: {file}: {one_line(why)}")
    _left(console, len(missed), most, "other files that could not be read")
    if report.sessions:
        hint(console, f"pageturn sessions {one_line(shown(into))}")


def _left(console: Console, count: int, most: int | None, what: str) -> None:
    """Say how many are not listed."""
    if most is not None and count > most:
        hint(console, f"and {count - most:,} {what}; --all-reasons lists them")
