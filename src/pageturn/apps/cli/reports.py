"""Writes the HTML report of replay results, and optionally its plots as images."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console

from pageturn.apps.cli.answers import FilesWritten, FileWritten
from pageturn.apps.cli.result_files import require_results
from pageturn.apps.cli.tables import many, plain
from pageturn.apps.cli.terminal import answered
from pageturn.lab.report import images, report_of
from pageturn.lab.results import read_results


def write_report(
    console: Console,
    results: Sequence[Path],
    *,
    out: Path,
    svg: Path | None,
    png: Path | None,
    session: str | None,
    budget: int | None,
) -> None:
    """Write the report of result files, and its plots into the given folders."""
    require_results(results)
    report = report_of(chain.from_iterable(map(read_results, results)), session=session, budget_tokens=budget)
    # Images come first: without the extra they fail, and then nothing must be written.
    drawn = {name: images.png(picture) for name, picture in report.pictures.items()} if png is not None else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report.html, encoding="utf-8")
    files = [FileWritten(str(out), len(report.html.encode()))]
    if svg is not None:
        files += _write_all(svg, {f"{name}.svg": text.encode() for name, text in report.pictures.items()})
    if png is not None:
        files += _write_all(png, {f"{name}.png": data for name, data in drawn.items()})
    if answered(FilesWritten(tuple(files))):
        return
    console.print(plain(f"{out}: {files[0].bytes:,} bytes"), highlight=False, soft_wrap=True)
    for folder in (each for each in (svg, png) if each is not None):
        console.print(plain(f"{folder}: {many(len(report.pictures), 'picture')}"), highlight=False, soft_wrap=True)


def _write_all(folder: Path, files: dict[str, bytes]) -> list[FileWritten]:
    folder.mkdir(parents=True, exist_ok=True)
    return [FileWritten(str(folder / name), (folder / name).write_bytes(data)) for name, data in files.items()]
