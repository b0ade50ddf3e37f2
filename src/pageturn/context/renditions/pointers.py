"""Renders pointers: one line for a page or a unit, one or two for a run, each with handles to fetch the content."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from pageturn.context.renditions.structured import PageMessage, subject
from pageturn.values.fencing import escaped

_WORDS = 60
_MOST_TOOLS, _MOST_FOLDERS = 6, 6


def pointer(unit: Sequence[PageMessage]) -> str:
    """The handle of a unit, what it is, and how large."""
    calls = [call for page in unit for call in page.message.tool_calls]
    size = sum(_size(page) for page in unit)
    first, last = unit[0], unit[-1]
    handle = first.handle if len(unit) == 1 else f"{first.handle}..{last.handle}"
    what = subject(calls[0]) if calls else f"{first.message.role} {' '.join(first.message.text[:200].split())}"
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return f"{handle} {escaped(what[:_WORDS].strip())}{more}, {size:,} characters"


class Run(NamedTuple):
    """Facts about a run of pages without their text, and the folders that its calls were about."""

    first: str  # handles
    last: str
    pages: int
    size: int  # in bytes
    tools: Mapping[str, int]
    folders: Mapping[str, int]
    began: int = 0  # in microseconds; 0 if unknown
    ended: int = 0


def index(run: Run) -> str:
    """A run of units as one entry: the first and the last handle, how often each tool was called, on what, and when."""
    line = f"{run.first}..{run.last} {run.pages:,} pages, {run.size:,} bytes"
    if run.began and run.ended:
        line += f", {_time(run.began)} to {_time(run.ended)}"
    tools, folders = _counted(run.tools, _MOST_TOOLS), _counted(run.folders, _MOST_FOLDERS)
    return line + (f": {escaped(tools)}" if tools else "") + (f"; in {escaped(folders)}" if folders else "")


def summed_up(run: Run, summary: str) -> str:
    """A run of units as its written summary, whose fences and handles were escaped when it was admitted."""
    return f"{run.first}..{run.last} {run.pages:,} pages, {run.size:,} bytes, summed up:\n{summary.strip()}"


def missing(steps: int) -> str:
    """The text about missing steps for a model without the recall tool."""
    return "1 earlier step is not shown" if steps == 1 else f"{steps:,} earlier steps are not shown"


def summed_up_only(summary: str) -> str:
    """A summary for a model that cannot ask for more."""
    return f"earlier steps, summed up:\n{summary.strip()}"


def folder_of(path: str | None) -> str | None:
    """The folder of a file, as index lines show it."""
    return str(PurePosixPath(path).parent) if path and "/" in path else None


@lru_cache(maxsize=1_024)  # a fold asks again for the runs that it tries
def _time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")


def _size(page: PageMessage) -> int:
    message = page.message
    results = sum(len(part.text) for result in message.tool_results for part in result.parts if hasattr(part, "text"))
    return len(message.text) + results + sum(len(call.arguments) for call in message.tool_calls)


def _counted(counts: Mapping[str, int], most: int) -> str:
    shown = ", ".join(f"{name} {count}" if count > 1 else name for name, count in Counter(counts).most_common(most))
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")
