"""Reads Gemini CLI's sessions: `~/.gemini/tmp/*/chats/session-*.json`, or JSON lines since 0.40.

A call and its result are one object.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from pageturn.formats.fields import Fields
from pageturn.formats.transcripts.source import Damaged, Source
from pageturn.formats.transcripts.steps import Said, Skipped, Step
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message, Part, Text, Thinking, ToolCall, assistant, tool_result, user
from pageturn.values.usage import Usage

NAME = "gemini-cli"


def recognises(first: Any) -> bool:
    return isinstance(first, dict) and "sessionId" in first and "projectHash" in first


def read(source: Source) -> Iterator[Step]:
    session = source.name
    for number, value in _records(source):
        match value:
            case Damaged(reason=reason):
                yield Skipped(reason, number)
            case {"sessionId": str() as name}:
                session = name
            case {"type": str()}:
                yield from _steps(session, value, number)
            case _:
                yield Skipped(
                    "update of the header" if isinstance(value, dict) and "$set" in value else "not a message", number
                )


def _records(source: Source) -> Iterator[tuple[int, Any]]:
    """The header, then the messages, in either layout of the file."""
    whole = source.whole()
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        yield 0, whole
        yield from enumerate(whole["messages"], start=1)
        return
    for line in source.lines():
        yield (line.number, line) if isinstance(line, Damaged) else line


def _steps(session: str, record: dict[str, Any], number: int) -> Iterator[Step]:
    kind, id_, at = record["type"], record.get("id"), record.get("timestamp")
    try:
        if kind == "user":
            yield Said(session, user(*_texts(record)), number, id_, at)
        elif kind in ("gemini", "model"):
            calls = [Fields(call, "$.toolCalls") for call in _list(record, "toolCalls")]
            said = assistant(*_thoughts(record), *_texts(record), *map(_call, calls), usage=_usage(record))
            if not said.content:
                yield Skipped("empty answer", number)
                return
            yield Said(session, said, number, id_, at)
            for call in calls:
                if (result := _result(call)) is not None:
                    yield Said(session, result, number, f"{id_}/{result.tool_results[0].tool_call_id}", at)
        else:
            yield Skipped(kind[:60], number)
    except InvalidInput as error:
        yield Skipped("message not understood", number, str(error))


def _list(record: dict[str, Any], name: str) -> list[Any]:
    return Fields(record, "$").take(name, list) or []


def _texts(record: dict[str, Any]) -> list[Part]:
    content = record.get("content", record.get("parts"))
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    if not isinstance(content, list):
        return []
    return [Text(text=Fields(part, "$.content").text("text")) for part in content]


def _thoughts(record: dict[str, Any]) -> list[Part]:
    thoughts = (Fields(thought, "$.thoughts") for thought in _list(record, "thoughts"))
    return [
        Thinking(text=f"{each.take('subject', str) or ''}\n{each.take('description', str) or ''}".strip())
        for each in thoughts
    ]


def _call(fields: Fields) -> ToolCall:
    arguments = fields.rest.get("args") or {}
    name = fields.rest.get("name")
    return ToolCall(id=_id_of(fields), name=str(name), arguments=msgspec.json.encode(arguments).decode())


def _id_of(fields: Fields) -> str:
    return str(fields.rest.get("id") or fields.rest.get("name"))


def _result(fields: Fields) -> Message | None:
    match fields.rest.get("result"):
        case [{"functionResponse": {"response": dict() as response}}, *_]:
            text = response.get("output", response.get("error"))
            words = text if isinstance(text, str) else msgspec.json.encode(response).decode()
            is_error = fields.rest.get("status") not in ("success", None) or "error" in response
            return tool_result(_id_of(fields), words, is_error=is_error)
        case _:
            return None


def _usage(record: dict[str, Any]) -> Usage | None:
    if not isinstance(record.get("tokens"), dict):
        return None
    tokens = Fields(record["tokens"], "$.tokens")
    model = record.get("model")
    return Usage(
        input_tokens=tokens.count("input"),
        output_tokens=tokens.count("output") + tokens.count("thoughts"),
        cache_read_tokens=tokens.count("cached"),
        model=model if isinstance(model, str) else None,
    )
