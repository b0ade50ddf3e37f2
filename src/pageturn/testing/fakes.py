"""Provides fakes for tests: a fixed clock, seeded randomness, a word counter, and a store that fails on request."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pageturn.stores.memory import MemoryStore
from pageturn.stores.ports import LAST, Batch, Broken, Found, Record, Span
from pageturn.values.errors import StoreError
from pageturn.values.json import to_json
from pageturn.values.messages import Message

_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_PICTURE = 300  # words that an image or a file counts as


class FixedClock:
    """A clock for `Session.open(clock=...)`: every reading is one step later, and the first is always the same. `now` can be set."""

    def __init__(self, now: datetime = _FIRST, *, step_seconds: float = 1.0) -> None:
        self.now = now
        self._step = timedelta(seconds=step_seconds)

    def __call__(self) -> datetime:
        self.now += self._step
        return self.now


def seeded(seed: int = 1) -> Callable[[int], bytes]:
    """Random bytes for `Session.open(entropy=...)` that are the same in every run."""
    return random.Random(seed).randbytes  # noqa: S311 (it is to repeat, not to be a secret)


class WordCounter:
    """A counter for `Session.open(counter=...)`: a word is a token, and every message has three more."""

    name = "words"
    exact = True
    described = "words between blanks"

    def text(self, text: str) -> int:
        """The words of a text."""
        return len(text.split())

    def message(self, message: Message) -> int:
        """The words of everything that a message contains: texts, arguments, results, reasoning."""
        return 3 + self.text(to_json(list(message.content)).decode()) + _PICTURE * _pictures(message)

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """The words of the definitions."""
        return sum(self.text(to_json(tool).decode()) for tool in tools)


def _pictures(message: Message) -> int:
    inside = [each for result in message.tool_results for each in result.parts]
    return sum(type(part).__name__ in ("Image", "File") for part in (*message.content, *inside))


class FailingStore(MemoryStore):
    """A store in memory that fails on demand: `fail_on=3` at the third append, or every call while `is_down` is true."""

    def __init__(self, *, fail_on: int | None = None) -> None:
        super().__init__()
        self.fail_on = fail_on
        self.is_down = False
        self.appends = 0  # attempted appends

    def append(self, session: str, after: int, batch: Batch) -> None:
        self._require_up()
        self.appends += 1
        if self.appends == self.fail_on:
            raise StoreError(f"append {self.appends} fails because it was told to")
        super().append(session, after, batch)

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record | Broken]:
        self._require_up()
        return super().records(session, after, upto)

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        self._require_up()
        return super().blob(digest, start, length)

    def search(self, spans: Sequence[Span], query: str, limit: int, *, every: bool = False) -> list[Found]:
        self._require_up()
        return super().search(spans, query, limit, every=every)

    def _require_up(self) -> None:
        if self.is_down:
            raise StoreError("the store is down because it was told to be")
