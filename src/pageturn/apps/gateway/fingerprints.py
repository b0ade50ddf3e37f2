"""Fingerprints: digests of what an item of a request says, however a client writes it.

Clients write the same history differently from request to request: cache marks move, a text becomes a list of one text, arguments are
reformatted, results are reordered, reminders come and go next to a person's words. None of that is a change. A *fingerprint* is the
digest of what remains, and a history is the chain of its fingerprints.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

import msgspec

from pageturn.formats import openai_responses
from pageturn.values.digests import digest_of
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, Thinking, ToolCall, ToolResult

BILLING = "x-anthropic-billing-header:"  # a line that Claude Code puts into its prompt, and changes
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_UNSAID = ("id", "cache_control", "status", "prompt_cache_breakpoint")  # fields without meaning
_MOST_LINKS = 32_768
_UNIQUE_ID = 12  # from this many characters on, the id of a call counts as random, and not as a number
_ENCODER = msgspec.json.Encoder(order="sorted")


def fingerprints_of(format_: ModuleType, messages: Sequence[Message]) -> tuple[str, ...]:
    """The fingerprints of an item that was read as these messages, or of a reply. One, except for OpenAI's responses, where each part is
    an item.
    """
    if format_ is openai_responses:
        role = _role(messages)
        said = [unit for message in messages for part in message.content for unit in _said(part)]
        return tuple(_digest([role, unit]) for unit in said) or (() if _is_reasoning(messages) else (_empty(messages),))
    return (_digest([_role(messages), *_units(messages)]) if _has_words(messages) else _empty(messages),)


def text_fingerprint(texts: Iterable[str]) -> str:
    """One digest for the texts of an opening prompt."""
    return _digest([unit for text in texts for unit in _said(Text(text=text))])


@lru_cache(maxsize=_MOST_LINKS)
def chained(link: str, fingerprints: tuple[str, ...]) -> str:
    """The name of a history after these further fingerprints; cached, since the same histories occur again and again."""
    for fingerprint in fingerprints:
        link = digest_of(f"{link}{fingerprint}".encode())
    return link


def _units(messages: Sequence[Message]) -> list[Any]:
    """What the messages of one item say: results by the ids of their calls, then everything else in order."""
    parts = [part for message in messages for part in message.content]
    results = sorted((_said(part)[0] for part in parts if isinstance(part, ToolResult)), key=lambda unit: str(unit[1]))
    calls = [part for part in parts if isinstance(part, ToolCall)]
    # Words around calls are left out by some clients; the ids are enough where they are unique.
    is_known_by_ids = bool(calls) and all(len(call.id) >= _UNIQUE_ID for call in calls)
    others: list[Any] = []
    for message in messages:
        for part in message.content:
            is_left_out = isinstance(part, Text) and (is_known_by_ids or part.synthetic)
            if not isinstance(part, ToolResult) and not is_left_out:
                # A message of a harness's text alone counts by that text; next to a person's words the text does not count.
                others += [] if message.synthetic and len(messages) > 1 and isinstance(part, Text) else _said(part)
    return [*results, *others]


def _has_words(messages: Sequence[Message]) -> bool:
    return bool(_units(messages))


def _said(part: Part) -> list[Any]:
    match part:
        case Text(text=text):
            stripped = text.strip()
            return [stripped] if stripped and not stripped.startswith(BILLING) else []
        case ToolResult(tool_call_id=id_):
            return [["result", id_, *(each for inner in part.parts for each in _said(inner))]]
        case ToolCall(id=id_, name=name):
            parsed = part.parsed
            return [["call", id_, name, _plain(parsed) if parsed is not None else part.arguments.strip()]]
        case Image(url=where) | File(path=where):
            return [["media", where]]
        case Native(item=item):
            return [["native", {name: item[name] for name in item if name not in _UNSAID}]]
        case _:
            return []


def _plain(value: Any) -> Any:
    """A value in a canonical form: some languages write 1.0 as 1."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _role(messages: Sequence[Message]) -> str:
    role = messages[0].role if messages else Role.USER
    return str(Role.SYSTEM if role in _INSTRUCTIONS else Role.USER if role is Role.TOOL else role)


def _is_reasoning(messages: Sequence[Message]) -> bool:
    parts = [part for message in messages for part in message.content]
    return bool(parts) and all(isinstance(part, Thinking) for part in parts)


def _empty(messages: Sequence[Message]) -> str:
    """The fingerprint of an item without text, by its other fields and its reminders."""
    texts = [part.text.strip() for message in messages for part in message.content if isinstance(part, Text)]
    return _digest(["empty", _role(messages), *texts, *(message.extra for message in messages if message.extra)])


def _digest(value: Any) -> str:
    try:
        return digest_of(_ENCODER.encode(value))
    except (UnicodeEncodeError, OverflowError, RecursionError) as error:
        # Streams are read by a decoder that takes more.
        raise InvalidInput("text", expected="what JSON can hold", got=str(error)) from error
