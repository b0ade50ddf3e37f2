"""Reads logs of requests to a vendor, one body per file or per line, and lists of chat messages.

A log often has every request of a session, each with all messages before it; only the new ones are taken. Supported are bodies with
`messages` in the form of OpenAI's chat or of Anthropic, alone or under `request` or `body`.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from pageturn.formats import anthropic, openai_chat
from pageturn.formats.transcripts.source import Damaged, Source
from pageturn.formats.transcripts.steps import Said, Skipped, Step
from pageturn.values.errors import InvalidInput

NAME = "requests"

_IDS = ("session_id", "conversation_id", "thread_id", "id")
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")


def recognises(first: Any) -> bool:
    is_several = isinstance(first, list) and bool(first) and _messages_of(first) is None
    return _messages_of(first[0] if is_several else first) is not None


def read(source: Source) -> Iterator[Step]:
    whole = source.whole()
    if isinstance(whole, list) and _messages_of(whole) is None:
        values: Iterator[Any] = iter(list(enumerate(whole, start=1)))
    elif whole is not msgspec.UNSET:
        values = iter([(1, whole)])
    else:
        values = ((line.number, line if isinstance(line, Damaged) else line.value) for line in source.lines())
    log = _Log(source.name)
    for number, value in values:
        if isinstance(value, Damaged):
            yield Skipped(value.reason, number)
        elif (messages := _messages_of(value)) is None:
            yield Skipped("no messages", number)
        else:
            yield from log.take(_body_of(value), messages, number)


def _messages_of(value: Any) -> list[Any] | None:
    """The messages of a request, or of a list of messages; None if the value is neither."""
    match value:
        case {"messages": messages} | {"traj": messages}:
            return _messages_of(messages)
        case {"request": dict() as inner} | {"body": dict() as inner}:
            return _messages_of(inner)
        case [{"role": str()}, *_] as messages:
            return list(messages)
        case _:
            return None


def _body_of(value: Any) -> Any:
    """The request itself, with the name of the session that may be given with it."""
    match value:
        case {"request": dict() as inner} | {"body": dict() as inner}:
            return {**{name: value[name] for name in _IDS if name in value}, **_body_of(inner)}
        case _:
            return value


class _Log:
    """Finds the session of a request: the one whose messages it repeats, or a new one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._sessions = 0
        self._digests: dict[str | None, list[bytes]] = {}  # of the last request of each session; None: without a name

    def take(self, value: Any, messages: list[Any], line: int) -> Iterator[Step]:
        digests = [blake2b(msgspec.json.encode(message), digest_size=16).digest() for message in messages]
        name = _name_of(value)
        before = self._digests.get(name, [])
        known = len(before) if digests[: len(before)] == before else 0
        if name is None and not known:
            self._sessions += 1
        self._digests[name] = digests
        session = name if name is not None else f"{self._name}.{self._sessions}"
        if known:
            yield Skipped("repeated by the next request", line, f"{known} messages")
        yield from _steps(session, value, messages, known, line)


def _name_of(value: Any) -> str | None:
    names = (value.get(name) for name in _IDS) if isinstance(value, dict) else iter(())
    return next((name for name in names if isinstance(name, str) and name), None)


def _steps(session: str, value: Any, messages: list[Any], known: int, line: int) -> Iterator[Step]:
    vendor = anthropic if _is_anthropic(value, messages) else openai_chat
    given: list[tuple[str, Any]] = [(str(place), raw) for place, raw in enumerate(messages)][known:]
    if vendor is anthropic and not known and isinstance(value, dict) and value.get("system"):
        given.insert(0, ("system", {"role": "system", "content": value["system"]}))
    for id_, raw in given:
        try:
            loaded = vendor.load_messages([raw])
        except InvalidInput as error:
            yield Skipped("message not understood", line, f"messages[{id_}]: {error}")
            continue
        for number, message in enumerate(loaded):
            if message.content:
                yield Said(session, message, line, f"{id_}/{number}" if number else id_)
            else:
                yield Skipped("empty message", line)


def _is_anthropic(value: Any, messages: list[Any]) -> bool:
    if isinstance(value, dict) and "system" in value:
        return True
    roles = [message.get("role") for message in messages if isinstance(message, dict)]
    blocks = [
        block.get("type")
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for block in message["content"]
        if isinstance(block, dict)
    ]
    return "tool" not in roles and any(kind in _ANTHROPIC_BLOCKS for kind in blocks)
