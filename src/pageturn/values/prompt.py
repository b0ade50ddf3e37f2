"""Prompt: a vendor-neutral request to a model; formats write it, and read requests into it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pageturn.values.json import Closed
from pageturn.values.messages import Message
from pageturn.values.recall_tool import RecallTool
from pageturn.values.vendors import MOST_BREAKPOINTS

Tool = Mapping[str, Any] | RecallTool


class Bands(NamedTuple):
    """Where the bands of a prompt end, in messages: the base prompt, the notes after it, and the history before the suffix."""

    base: int
    notes: int
    history: int


class Prompt(Closed, kw_only=True):
    """Messages and tools for one call."""

    messages: tuple[Message, ...]
    host_tools: tuple[Mapping[str, Any], ...] = ()  # the host's own, in the vendor's form
    recall_tool: RecallTool | None = None
    model: str | None = None  # the model that the call is for
    bands: Bands | None = None  # None if unknown
    frozen: int = 0  # how many messages stay unchanged until the next fold
    marks: tuple[int, ...] | None = None  # the messages up to which the writer of the request asked for caching
    settings: Mapping[str, Any] = {}  # other fields of the request, in the vendor's form
    # The format that read the request; tools and settings are in its form. None: no format did.
    vendor: str | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the call: the host's in their order, and the recall tool last."""
        return self.host_tools if self.recall_tool is None else (*self.host_tools, self.recall_tool)

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """The messages up to which a vendor's cache should keep the prompt, four at most."""
        return self.breakpoints_within(MOST_BREAKPOINTS)

    def breakpoints_within(self, most: int) -> tuple[int, ...]:
        """This many of them: the end of the history, of the instructions and of the notes, and the rest spread over the frozen part.

        The next fold may keep a beginning of the frozen part, and the cache finds it up to one of these. The suffix is never marked,
        since it is in one prompt only. If the request had cache marks of its own, the last of those are used.
        """
        if self.marks is not None or self.bands is None:
            return tuple(sorted(self.marks or ())[-most:]) if most > 0 else ()
        base, notes, history = self.bands
        ends = [end for end in dict.fromkeys((history, base, notes)) if end > 0][:most]
        left = most - len(ends)
        frozen = max(self.frozen - notes, 0)
        ends += [notes + frozen * each // (left + 1) for each in range(1, left + 1)]
        return tuple(sorted({end - 1 for end in ends if end > 0}))
