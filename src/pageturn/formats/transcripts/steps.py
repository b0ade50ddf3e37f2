"""Defines what a transcript reader returns: the steps of a recorded session, in order.

A reader is a module with `NAME`, `recognises(first)`, which looks at the first JSON value of a file, and `read(source)`. It
streams, never raises on input that it does not understand, and reports why it skipped anything.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from pageturn.formats.transcripts.source import Source
from pageturn.values.messages import Message


class Said(NamedTuple):
    """A message, and its place in the recording. An id is the same whenever the file is read again."""

    session: str
    message: Message
    line: int = 0
    id: str | None = None
    at: str | None = None


class Compacted(NamedTuple):
    """The other tool replaced what came before with a summary, from here on or up to the message `kept_from`."""

    session: str
    summary: str | None  # None if only its vendor can read it
    line: int = 0
    trigger: str | None = None
    before_tokens: int | None = None
    kept_from: str | None = None


class Skipped(NamedTuple):
    """Something that is not a message, and why it was skipped."""

    reason: str
    line: int = 0
    detail: str = ""


Step = Said | Compacted | Skipped


class Reader(Protocol):
    """A module that reads the files of one tool."""

    NAME: str

    def recognises(self, first: Any) -> bool:
        """Whether a file that begins with this JSON value is from this tool."""
        ...

    def read(self, source: Source) -> Iterator[Step]:
        """The steps of a file."""
        ...
