"""Reads Codex's sessions: `~/.codex/sessions/**/rollout-*.jsonl`.

The items of a response follow each other up to the first that the model did not write. Events repeat what items say, except for the
usage, which comes before the results. A compaction is encrypted, or has its summary as text.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from pageturn.formats import openai_responses
from pageturn.formats.blocks.openai_responses import VENDOR
from pageturn.formats.transcripts.source import Damaged, Source
from pageturn.formats.transcripts.steps import Compacted, Said, Skipped, Step
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message, Native, Part, Role, system, user
from pageturn.values.usage import Usage

NAME = "codex"

_RECORDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_NOT_SAID = ("ghost_snapshot",)


def recognises(first: Any) -> bool:
    match first:
        case {"type": str() as kind, "payload": dict()}:
            return kind in _RECORDS
        case _:
            return False


def read(source: Source) -> Iterator[Step]:
    rollout = _Rollout(source.name)
    for line in source.lines():
        match line:
            case Damaged(number, reason):
                yield Skipped(reason, number)
            case (number, {"type": str() as kind, "payload": dict() as payload} as record):
                yield from rollout.take(kind, payload, number, record.get("timestamp"))
            case (number, _):
                yield Skipped("not a record", number)
    yield from rollout.flush()


def _kept(item: dict[str, Any]) -> Native:
    return Native(vendor=VENDOR, item=item, text=msgspec.json.encode(item).decode())


class _Rollout:
    """A session while it is read: the parts of the response that is being read, and its usage."""

    def __init__(self, name: str) -> None:
        self._session = name
        self._parts: list[Part] = []
        self._began: tuple[int, None, str | None] = (0, None, None)  # line, id, time
        self._usage: Usage | None = None
        self._model: str | None = None
        self._prompt_tokens: int | None = None
        self._counts: dict[str, Any] = {}
        self._has_begun = False

    def take(self, kind: str, payload: dict[str, Any], line: int, at: str | None) -> Iterator[Step]:
        match kind, payload:
            case "session_meta", _:
                yield from self._begin(payload, line, at)
            case "response_item", {"type": str() as type_} if type_ in _NOT_SAID:
                yield Skipped(f"response_item/{type_}", line)
            case "response_item", _:
                yield from self._item(payload, line, at)
            case "event_msg", {"type": "token_count", "info": {"last_token_usage": dict() as counts}}:
                self._count(counts)
                yield Skipped("event_msg/token_count", line)
            case "compacted", _:
                yield from self.flush()
                summary = payload.get("message")
                readable = summary if isinstance(summary, str) and summary.strip() else None
                yield Compacted(self._session, readable, line, before_tokens=self._prompt_tokens)
                if readable:
                    yield Said(self._session, user(readable, synthetic=True), line)
            case _:
                if kind == "turn_context" and isinstance(payload.get("model"), str):
                    self._model = payload["model"]
                yield Skipped(f"{kind}/{payload['type']}" if "type" in payload else kind, line)

    def _begin(self, payload: dict[str, Any], line: int, at: str | None) -> Iterator[Step]:
        if self._has_begun:
            yield Skipped("repeated session_meta", line)
            return
        self._has_begun = True
        if isinstance(payload.get("id"), str):
            self._session = payload["id"]
        match payload.get("base_instructions"):
            case {"text": str() as text} if text:
                yield Said(self._session, system(text), line, id="instructions", at=at)
            case _:
                yield Skipped("session_meta", line)

    def _item(self, item: dict[str, Any], line: int, at: str | None) -> Iterator[Step]:
        try:
            (message,) = openai_responses.load_messages([{"type": "message", **item}])
        except InvalidInput:  # kept unchanged
            message = Message(role=Role.USER, content=(_kept(item),), synthetic=True)
        if message.role is Role.ASSISTANT:
            if not self._parts:
                self._began = (line, None, at)
            self._parts += message.content
        else:
            yield from self.flush()
            yield Said(self._session, message, line, at=at)

    def _count(self, counts: dict[str, Any]) -> None:
        """Keep the usage of a response. After a compaction the counts are zeros, which mean nothing."""
        given = {name: value for name, value in counts.items() if type(value) is int and value >= 0}
        if given.get("input_tokens") and counts != self._counts:  # they are repeated at the end of a turn
            self._counts = counts
            self._prompt_tokens = given["input_tokens"]
            self._usage = Usage(
                input_tokens=given["input_tokens"],
                output_tokens=given.get("output_tokens", 0),
                cache_read_tokens=given.get("cached_input_tokens", 0),
                model=self._model,
            )

    def flush(self) -> Iterator[Step]:
        """The response, because something else begins."""
        if self._parts:
            message = Message(role=Role.ASSISTANT, content=tuple(self._parts), usage=self._usage)
            yield Said(self._session, message, *self._began)
            self._parts, self._usage = [], None
