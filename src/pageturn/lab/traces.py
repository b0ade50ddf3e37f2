"""Reads traces: recorded sessions to replay, one JSON line each, with messages in OpenAI's chat format.

A summary by which the recording tool replaced its history is not a message of the session: it is stored separately.
"""

import gzip
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pageturn.formats import openai_chat
from pageturn.formats.fields import Fields
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message
from pageturn.values.search_text import search_text as text_of

__all__ = ["Compaction", "Trace", "estimated_tokens", "read_traces", "text_of"]

LONG_TOKENS = 60_000
_CHARS_PER_TOKEN = 4


class Compaction(NamedTuple):
    """A compaction by the recording tool: the message before which it happened, and its summary."""

    before: int
    summary: str


class Trace(NamedTuple):
    """One recorded session."""

    id: str
    source: str
    messages: tuple[Message, ...]
    compactions: tuple[Compaction, ...] = ()
    times: tuple[float, ...] = ()  # seconds since the first message, one for each; empty if unknown

    @property
    def turns(self) -> list[int]:
        """The places of the assistant's messages; the context of each is made from everything before it."""
        return [index for index, message in enumerate(self.messages) if message.role == "assistant"]

    @property
    def tokens(self) -> int:
        """The size of the whole session, in tokens of four characters."""
        return sum(estimated_tokens(message) for message in self.messages)

    @property
    def is_long(self) -> bool:
        """Whether the session is long enough for a budget to matter."""
        return self.tokens >= LONG_TOKENS

    @property
    def is_for_tuning(self) -> bool:
        """Whether this session may be used for tuning; the others are for reporting."""
        return int(blake2b(self.id.encode()).hexdigest(), 16) % 2 == 0


def estimated_tokens(message: Message) -> int:
    """A quarter of the characters: the unit in which policies are compared with each other."""
    return len(text_of(message)) // _CHARS_PER_TOKEN


def read_traces(path: Path) -> Iterator[Trace]:
    """The sessions of one file."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):  # noqa: B007
                yield _trace(msgspec.json.decode(line))
    except (ValueError, RecursionError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInput(f"{path}:{number}", expected="a recorded session", got=str(error)) from error


def _trace(raw: Any) -> Trace:
    fields = Fields(raw, "$")
    loaded = openai_chat.load_messages(fields.need("messages", list))
    marks = fields.inner("annotations").take("compactions", list) or []
    places = sorted(Fields(mark, "$.annotations.compactions").need("index", int) for mark in marks)
    kept = [message for index, message in enumerate(loaded) if index not in places]
    compactions = [
        Compaction(place - before, text_of(loaded[place])) for before, place in enumerate(places) if place < len(loaded)
    ]
    return Trace(fields.text("id"), fields.text("source"), tuple(kept), tuple(compactions))
