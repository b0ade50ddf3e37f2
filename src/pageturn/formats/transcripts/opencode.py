"""Reads OpenCode's sessions: the output of `opencode export`, or the tree of files under `storage/`.

A call and its result are one part. In the tree, a session is a file, its messages are a folder, and the parts of each message
another folder; the session's file represents all of them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from pageturn.formats.fields import Fields
from pageturn.formats.transcripts.source import Source
from pageturn.formats.transcripts.steps import Compacted, Said, Skipped, Step
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import File, Image, Message, Part, Role, Text, Thinking, ToolCall, tool_result
from pageturn.values.usage import Usage

NAME = "opencode"
_FOLDER = re.compile(r"[A-Za-z0-9_-]{1,200}")

_BOOKKEEPING = ("step-start", "step-finish", "patch", "snapshot", "compaction", "agent", "retry")


def recognises(first: Any) -> bool:
    match first:
        case {"info": {"id": str()}, "messages": list()}:
            return True
        case {"id": str(), "projectID": _, "directory": _}:
            return True
        case {"sessionID": str(), "role": "user" | "assistant"}:
            return True
        case {"id": str(), "type": str() as kind}:
            return kind in (*_BOOKKEEPING, "text", "tool", "reasoning", "file") and "payload" not in first
        case _:
            return False


def read(source: Source) -> Iterator[Step]:
    match source.whole():
        case {"info": {"id": str() as session}, "messages": list() as messages}:
            yield from _steps(session, messages)
        case {"id": str() as session, "projectID": _}:
            yield from _steps(session, _stored(source, session))
        case {"sessionID": _} | {"type": _}:
            yield Skipped("read with its session")
        case _:
            yield Skipped("not a session")


def _stored(source: Source, session: str) -> list[dict[str, Any]]:
    """The messages of a session in the tree of files that its own file is in."""
    infos = [info for file in _files(source, "message", session) if isinstance(info := file.whole(), dict)]
    loose: dict[str, list[Any]] = {}
    for file in _files(source, "part"):
        part = file.whole()
        if isinstance(part, dict):
            loose.setdefault(str(part.get("messageID")), []).append(part)
    return [
        {
            "info": info,
            "parts": [file.whole() for file in _files(source, "part", str(info.get("id")))]
            or loose.get(str(info.get("id")), []),
        }
        for info in sorted(infos, key=lambda info: _created(info) or 0)
    ]


def _files(source: Source, *folders: str) -> Iterable[Source]:
    """The JSON files of a folder of the tree; none if a name is not a plain name of a folder."""
    if not all(_FOLDER.fullmatch(folder) for folder in folders):
        return ()
    return source.around(2, "/".join((*folders, "*.json")))


def _created(info: dict[str, Any]) -> int | None:
    match info.get("time"):
        case {"created": int() as millis}:
            return millis
        case _:
            return None


def _steps(session: str, messages: list[Any]) -> Iterator[Step]:
    for number, message in enumerate(messages, start=1):
        try:
            fields = Fields(message, f"$.messages[{number - 1}]")
            info, parts = fields.inner("info"), fields.take("parts", list) or []
            yield from _message(session, info, [part for part in parts if isinstance(part, dict)], number)
        except InvalidInput as error:
            yield Skipped("message not understood", number, str(error))


def _message(session: str, info: Fields, raw_parts: list[dict[str, Any]], number: int) -> Iterator[Step]:
    role, id_ = info.text("role"), info.take("id", str)
    if role not in ("user", "assistant", "system"):
        raise InvalidInput("$.info.role", expected="user or assistant", got=show(role))
    created = _created(info.rest)
    at = str(created) if created is not None else None
    parts, results = [], []
    for raw in raw_parts:
        part, result = _part(raw)
        if part is None:
            yield Skipped(str(raw.get("type"))[:60], number)
        else:
            parts.append(part)
        if result is not None:
            results.append(result)
    if not parts and isinstance(body := info.inner("summary").rest.get("body"), str):
        parts = [Text(text=body)]
    if not parts:
        yield Skipped("empty message", number)
        return
    synthetic = role == "user" and all(raw.get("synthetic") for raw in raw_parts if raw.get("type") == "text")
    said = Message(role=Role(role), content=tuple(parts), synthetic=synthetic and bool(raw_parts), usage=_usage(info))
    if role == "assistant" and (info.rest.get("summary") is True or info.rest.get("mode") == "compaction"):
        yield Compacted(session, said.text, number)
    yield Said(session, said, number, id_, at)
    for result in results:
        yield Said(session, result, number, f"{id_}/{result.tool_results[0].tool_call_id}", at)


def _part(raw: dict[str, Any]) -> tuple[Part | None, Message | None]:
    """A part, and its result if it is a call that was answered."""
    fields = Fields(raw, "$.parts")
    match fields.text("type"):
        case "text":
            return Text(text=fields.text("text")), None
        case "reasoning":
            return Thinking(text=fields.take("text", str) or ""), None
        case "file":
            url, mime_type = fields.text("url"), fields.take("mime", str)
            is_image = mime_type is not None and mime_type.startswith("image/")
            return (Image(url=url, mime_type=mime_type) if is_image else File(path=url, mime_type=mime_type)), None
        case "tool":
            return _tool(fields)
        case _:
            return None, None


def _tool(fields: Fields) -> tuple[Part, Message | None]:
    id_, name, state = fields.text("callID"), fields.text("tool"), fields.inner("state")
    call = ToolCall(id=id_, name=name, arguments=msgspec.json.encode(state.rest.get("input") or {}).decode())
    status = state.take("status", str)
    if status in ("completed", "success", "error"):
        output = state.rest.get("output", state.rest.get("error"))
        words = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        return call, tool_result(id_, words, is_error=status == "error")
    return call, None


def _usage(info: Fields) -> Usage | None:
    if "tokens" not in info.rest:
        return None
    tokens = info.inner("tokens")
    cache = tokens.inner("cache")
    read, written = cache.count("read"), cache.count("write")
    return Usage(
        input_tokens=tokens.count("input") + read + written,
        output_tokens=tokens.count("output") + tokens.count("reasoning"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        model=info.take("modelID", str),
    )
