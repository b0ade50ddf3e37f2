"""Prompt: a request to a model in no vendor's form; formats write it, and read requests as it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pageturn.values.json import Closed
from pageturn.values.messages import Message
from pageturn.values.recall_tool import RecallTool
from pageturn.values.vendors import MOST_BREAKPOINTS

Tool = Mapping[str, Any] | RecallTool


class Bands(NamedTuple):
    """Where the bands of a prompt end, in messages: the base prompt, the notes behind it, and the history before the suffix."""

    base: int
    notes: int
    history: int


class Prompt(Closed, kw_only=True):
    """Messages and tools for one call."""

    messages: tuple[Message, ...]
    host_tools: tuple[Mapping[str, Any], ...] = ()  # the host's own, in its vendor's form
    recall_tool: RecallTool | None = None
    model: str | None = None  # that the call is for
    bands: Bands | None = None  # None where nobody knows them
    frozen: int = 0  # how many messages stay as they are until the next fold
    marks: tuple[int, ...] | None = None  # the messages that whoever wrote the request asked to be cached up to
    settings: Mapping[str, Any] = {}  # what the request says beyond messages and tools, in its vendor's form
    vendor: str | None = (
        None  # the format that read the request, whose form tools and settings have; None: no format did
    )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the call: the host's in their order, and the recall tool last."""
        return self.host_tools if self.recall_tool is None else (*self.host_tools, self.recall_tool)

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """The messages up to which a vendor's cache should keep the prompt, four at most."""
        return self.breakpoints_within(MOST_BREAKPOINTS)

    def breakpoints_within(self, most: int) -> tuple[int, ...]:
        """So many of them: the history, the instructions, the notes, and the rest spread over what is frozen.

        There the next fold may leave a beginning as it is, which is found again as far as one of them. The suffix is never
        among them, since it is in one prompt only. Where the request came with marks of its own, the last of those.
        """
        if self.marks is not None or self.bands is None:
            return tuple(sorted(self.marks or ())[-most:]) if most > 0 else ()
        base, notes, history = self.bands
        ends = [end for end in dict.fromkeys((history, base, notes)) if end > 0][:most]
        left = most - len(ends)
        frozen = max(self.frozen - notes, 0)
        ends += [notes + frozen * each // (left + 1) for each in range(1, left + 1)]
        return tuple(sorted({end - 1 for end in ends if end > 0}))
