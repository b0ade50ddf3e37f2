"""Writes the HTML report of replay results, and optionally its plots as images."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console

from pageturn.apps.cli.journals import plain
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
    report = report_of(chain.from_iterable(map(read_results, results)), session=session, budget_tokens=budget)
    # Images come first: without the extra they fail, and then nothing must be written.
    drawn = {name: images.png(picture) for name, picture in report.pictures.items()} if png is not None else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report.html, encoding="utf-8")
    console.print(plain(f"{out}: {len(report.html.encode()):,} bytes"), highlight=False, soft_wrap=True)
    if svg is not None:
        _write_all(svg, {f"{name}.svg": text.encode() for name, text in report.pictures.items()})
        console.print(plain(f"{svg}: {len(report.pictures)} pictures"), highlight=False, soft_wrap=True)
    if png is not None:
        _write_all(png, {f"{name}.png": data for name, data in drawn.items()})
        console.print(plain(f"{png}: {len(drawn)} pictures"), highlight=False, soft_wrap=True)


def _write_all(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
