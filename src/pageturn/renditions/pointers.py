"""Pointers: one line for a page or a unit, and one or two for a whole run of them. All of them lead back to every byte."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from pageturn.messages import ToolCall
from pageturn.renditions.content import material_of
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


def index(run: Sequence[Sequence[Voiced]]) -> str:
    """A run of units as one entry: the first and the last handle, how often each tool was called, and on what."""
    pages = [voiced for unit in run for voiced in unit]
    calls = [call for voiced in pages for call in voiced.message.tool_calls]
    tools = _counted(Counter(call.name for call in calls), _MOST_TOOLS)
    folders = _counted(Counter(filter(None, map(_folder, calls))), _MOST_FOLDERS)
    size = sum(_size(voiced) for voiced in pages)
    told = f"{pages[0].handle}..{pages[-1].handle} {len(pages):,} pages, {size:,} characters"
    return told + (f": {escaped(tools)}" if tools else "") + (f"; in {escaped(folders)}" if folders else "")


def _size(voiced: Voiced) -> int:
    message = voiced.message
    results = sum(len(part.text) for result in message.tool_results for part in result.parts if hasattr(part, "text"))
    return len(message.text) + results + sum(len(call.arguments) for call in message.tool_calls)


def _folder(call: ToolCall) -> str | None:
    path = material_of("", call).path
    return str(PurePosixPath(path).parent) if path and "/" in path else None


def _counted(counts: Counter[str], most: int) -> str:
    shown = ", ".join(f"{name} {count}" if count > 1 else name for name, count in counts.most_common(most))
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")
