"""Splitting: vendors put results and instructions into one user message, and we keep them apart."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pageturn.formats.openings import is_synthetic, marked
from pageturn.messages import Message, Part, Role, ToolResult


def split(parts: Sequence[Part], extra: Mapping[str, Any] | None = None) -> Iterator[Message]:
    """One message for each result, and one for each run of anything else; all but the first are joined to the one before."""
    joined = False
    for is_result, run in groupby(parts, key=lambda part: isinstance(part, ToolResult)):
        for content in ((part,) for part in run) if is_result else (tuple(run),):
            role = Role.TOOL if is_result else Role.USER
            synthetic = not is_result and is_synthetic(content)
            shown = content if is_result else marked(content)
            yield Message(role=role, content=shown, synthetic=synthetic, joined=joined, extra=None if joined else extra)
            joined = True
