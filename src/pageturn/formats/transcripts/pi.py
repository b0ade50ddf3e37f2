"""Reads the sessions of pi and OpenClaw: `~/.pi/agent/sessions/**/*.jsonl`.

Each line is one message. A compaction keeps the end of the session and says where it begins.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pageturn.formats.fields import Fields
from pageturn.formats.transcripts.source import Damaged, Source
from pageturn.formats.transcripts.steps import Compacted, Said, Skipped, Step
from pageturn.formats.usage import Counts, usage_with_cache_apart
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Image, Message, Part, Role, Text, Thinking, ToolCall, assistant, tool_result, user

NAME = "pi"
_COUNTS = Counts(input="input", output="output", cache_read="cacheRead", cache_write="cacheWrite")


def recognises(first: Any) -> bool:
    match first:
        case {"type": "session", "id": str(), "timestamp": _}:
            return True
        case _:
            return False


def read(source: Source) -> Iterator[Step]:
    session = source.name
    settings: list[str] = []  # entries that are not messages, since the last message
    follows: dict[str, str] = {}  # such an entry -> the message after it
    for line in source.lines():
        if isinstance(line, Damaged):
            yield Skipped(line.reason, line.number)
            continue
        match line.value:
            case {"type": "session", "id": str() as name}:
                session = name
            case {"type": "message", "message": dict() as message} as record:
                follows |= dict.fromkeys(settings, _id_at(record, line.number))
                settings = []
                yield from _steps(session, message, record, line.number)
            case {"type": "compaction", "summary": str() as summary} as record:
                yield _compaction(session, summary, record, line.number, follows)
                yield Said(session, user(summary, synthetic=True), line.number, _id_at(record, line.number))
            case {"type": str() as kind} as record:
                settings.append(_id_at(record, line.number))
                yield Skipped(kind[:60], line.number)
            case _:
                yield Skipped("not a record", line.number)


def _id_at(record: dict[str, Any], line: int) -> str:
    """The id of an entry; older versions name an entry by its line, counted from 0."""
    id_ = record.get("id")
    return id_ if isinstance(id_, str) else str(line - 1)


def _compaction(session: str, summary: str, record: dict[str, Any], line: int, follows: Mapping[str, str]) -> Compacted:
    kept, tokens = record.get("firstKeptEntryId", record.get("firstKeptEntryIndex")), record.get("tokensBefore")
    return Compacted(
        session,
        summary,
        line,
        before_tokens=tokens if isinstance(tokens, int) else None,
        kept_from=follows.get(str(kept), str(kept)) if kept is not None else None,
    )


def _steps(session: str, raw: dict[str, Any], record: dict[str, Any], line: int) -> Iterator[Step]:
    fields = Fields(raw, "$.message")
    id_, at = _id_at(record, line), record.get("timestamp")
    try:
        message = _message(fields)
    except InvalidInput as error:
        yield Skipped("message not understood", line, str(error))
        return
    if not message.content:
        yield Skipped("empty message", line)
        return
    yield Said(session, message, line, id_, at if isinstance(at, str) else None)


def _message(fields: Fields) -> Message:
    match fields.text("role"):
        case "user":
            return user(*_parts(fields))
        case "assistant":
            return assistant(*_parts(fields), usage=usage_with_cache_apart(fields, _COUNTS))
        case "toolResult":
            content = tuple(part for part in _parts(fields) if isinstance(part, Text | Image))
            return tool_result(fields.text("toolCallId"), *content, is_error=fields.take("isError", bool) or False)
        case "bashExecution":  # a command that the person ran
            return user(f"$ {fields.text('command')}\n{fields.take('output', str) or ''}")
        case "system":
            return Message(role=Role.SYSTEM, content=tuple(_parts(fields)))
        case role:
            raise InvalidInput("$.message.role", expected="user, assistant, toolResult or system", got=show(role))


def _parts(fields: Fields) -> Iterator[Part]:
    content = fields.rest.pop("content", None)
    if isinstance(content, str):
        yield Text(text=content)
        return
    if not isinstance(content, list | None):
        raise InvalidInput("$.message.content", expected="text or a list", got=show(content))
    for raw in content or []:
        part = Fields(raw, "$.message.content")
        match part.text("type"):
            case "text":
                yield Text(text=part.text("text"))
            case "thinking":
                text = part.take("thinking", str) or ""
                yield Thinking(text=text, signature=part.take("thinkingSignature", str), extra={NAME: part.rest})
            case "toolCall":
                arguments = msgspec.json.encode(part.rest.get("arguments") or {}).decode()
                yield ToolCall(id=part.text("id"), name=part.text("name"), arguments=arguments)
            case "image":
                yield Image(url=f"data:{part.take('mimeType', str) or ''};base64,{part.text('data')}")
            case kind:
                raise InvalidInput(
                    "$.message.content.type", expected="text, thinking, toolCall or image", got=show(kind)
                )
