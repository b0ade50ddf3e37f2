"""Pointers: one line for a page or a unit, and one or two for a whole run of them. All of them lead back to every byte."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from pageturn.renditions.fencing import escaped
from pageturn.renditions.structured import Voiced, subject

_WORDS = 60
_MOST_TOOLS, _MOST_FOLDERS = 6, 6


def pointer(unit: Sequence[Voiced]) -> str:
    """The handle of a unit, what it is, and how large."""
    calls = [call for voiced in unit for call in voiced.message.tool_calls]
    size = sum(_size(voiced) for voiced in unit)
    first, last = unit[0], unit[-1]
    handle = first.handle if len(unit) == 1 else f"{first.handle}..{last.handle}"
    what = subject(calls[0]) if calls else f"{first.message.role} {' '.join(first.message.text[:200].split())}"
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return f"{handle} {escaped(what[:_WORDS].strip())}{more}, {size:,} characters"


class Run(NamedTuple):
    """What is known of a run of pages without their words; which folders its calls were about is told beside."""

    first: str  # handles
    last: str
    pages: int
    size: int  # in bytes
    tools: Mapping[str, int]
    folders: Mapping[str, int]
    began: int = 0  # in microseconds; 0 where nobody knows
    ended: int = 0


def index(run: Run) -> str:
    """A run of units as one entry: the first and the last handle, how often each tool was called, on what, and when."""
    told = f"{run.first}..{run.last} {run.pages:,} pages, {run.size:,} bytes"
    if run.began and run.ended:
        told += f", {_time(run.began)} to {_time(run.ended)}"
    tools, folders = _counted(run.tools, _MOST_TOOLS), _counted(run.folders, _MOST_FOLDERS)
    return told + (f": {escaped(tools)}" if tools else "") + (f"; in {escaped(folders)}" if folders else "")


def summed_up(run: Run, summary: str) -> str:
    """A run of units as the summary that somebody wrote of it; what in it looks like ours was escaped when it was admitted."""
    return f"{run.first}..{run.last} {run.pages:,} pages, {run.size:,} bytes, summed up:\n{summary.strip()}"


def missing(steps: int) -> str:
    """What is told of steps that are not shown to a model which cannot ask for them."""
    return "1 earlier step is not shown" if steps == 1 else f"{steps:,} earlier steps are not shown"


def summed_up_only(summary: str) -> str:
    """A summary for a model that cannot ask for more."""
    return f"earlier steps, summed up:\n{summary.strip()}"


def folder_of(path: str | None) -> str | None:
    """The folder of a file, as index lines tell it."""
    return str(PurePosixPath(path).parent) if path and "/" in path else None


def _time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")


def _size(voiced: Voiced) -> int:
    message = voiced.message
    results = sum(len(part.text) for result in message.tool_results for part in result.parts if hasattr(part, "text"))
    return len(message.text) + results + sum(len(call.arguments) for call in message.tool_calls)


def _counted(counts: Mapping[str, int], most: int) -> str:
    shown = ", ".join(f"{name} {count}" if count > 1 else name for name, count in Counter(counts).most_common(most))
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")
