"""Reads Claude Code's sessions: `~/.claude/projects/*/SESSION.jsonl`.

A response is spread over several lines, one block on each, with results between them; its id holds it together. Sub-agents are
sessions of their own, in their own file or inside their parent's. A compaction is a marker line, followed by a user line with the summary.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from pageturn.formats import anthropic
from pageturn.formats.transcripts.source import Damaged, Source
from pageturn.formats.transcripts.steps import Compacted, Said, Skipped, Step
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message, Role

NAME = "claude-code"

_MESSAGES = ("user", "assistant")
_OTHERS = (
    *("system", "progress", "attachment", "summary", "file-history-snapshot", "permission-mode", "queue-operation"),
    *("mode", "custom-title", "ai-title", "agent-name", "last-prompt", "pr-link"),
)


def recognises(first: Any) -> bool:
    match first:
        case {"type": "user" | "assistant", "uuid": _, "sessionId": _, "message": {"parts": _}} | {"systemPayload": _}:
            return False  # another tool that uses the same envelope with other content
        case {"type": str() as kind, "uuid": _, "sessionId": _} if kind in (*_MESSAGES, *_OTHERS):
            return True
        case {"type": "summary", "leafUuid": _} | {"type": "file-history-snapshot", "snapshot": _}:
            return True
        case {"type": str() as kind, "sessionId": _} if kind in _OTHERS:
            return "role" not in first and kind != "system"
        case _:
            return False


def read(source: Source) -> Iterator[Step]:
    chains: dict[str, _Chain] = {}
    seen: dict[str, Any] = {}
    for line in source.lines():
        if isinstance(line, Damaged):
            yield Skipped(line.reason, line.number)
            continue
        record = line.value
        if not isinstance(record, dict):
            yield Skipped("not an object", line.number)
            continue
        session, record = _placed(record, source.name)
        if _is_repeated(record, seen):
            yield Skipped("repeated line", line.number)
            continue
        chain = chains.setdefault(session, _Chain(session))
        yield from chain.take(record, line.number)
    for chain in chains.values():
        yield from chain.flush()


def _is_repeated(record: dict[str, Any], seen: dict[str, Any]) -> bool:
    """Whether this record occurred before: the same id, and the same text."""
    id_ = record.get("uuid")
    if not isinstance(id_, str) or record.get("type") not in _MESSAGES:
        return False
    message = record.get("message")
    words = hash(msgspec.json.encode(message.get("content") if isinstance(message, dict) else message))
    before, seen[id_] = seen.get(id_), words
    return before == words


def _placed(record: dict[str, Any], file: str) -> tuple[str, dict[str, Any]]:
    """The session that a record belongs to, and the record as it would be in a file of that session."""
    session = record.get("sessionId") if isinstance(record.get("sessionId"), str) else file
    match record:
        case {
            "type": "progress",
            "data": {"type": "agent_progress", "agentId": str() as agent, "message": dict() as inner},
        }:
            return f"{session}.{agent}", {**inner, "model": None}
        case {"isSidechain": True, "agentId": str() as agent}:
            return f"{session}.{agent}", record
        case _:
            return str(session), record


def _loaded(raw: Any) -> list[Message]:
    """The messages of a record; a block that is not understood is kept unchanged."""
    if not isinstance(raw, dict):
        raise InvalidInput("$.message", expected="an object", got=show(raw))
    fields = {**raw, "type": "message"} if raw.get("role") == "assistant" else raw
    try:
        return anthropic.load_messages([fields])
    except InvalidInput:
        if not isinstance(fields.get("content"), list):
            raise
        return anthropic.load_messages([{**fields, "content": [_kept(block) for block in fields["content"]]}])


def _kept(block: Any) -> Any:
    try:
        anthropic.load_messages([{"role": "user", "content": [block]}])
    except InvalidInput:
        return {"type": "not understood", "content": msgspec.json.encode(block).decode()}
    return block


class _Chain:
    """One session while it is read: the response that is being assembled, and the results that arrived meanwhile."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._response: Said | None = None
        self._response_id: str | None = None
        self._results: list[Said] = []
        self._mark: dict[str, Any] = {}

    def take(self, record: dict[str, Any], line: int) -> Iterator[Step]:
        match record:
            case {
                "attachment": {"type": "queued_command", "prompt": str() | list() as prompt}
            }:  # typed while it worked
                record = {**record, "type": "user", "message": {"role": "user", "content": prompt}}
        kind = record.get("type")
        if kind not in _MESSAGES:
            name = f"{kind}/{record['subtype']}" if "subtype" in record else str(kind)
            if name == "system/compact_boundary":
                yield from self.flush()
                mark = record.get("compactMetadata")
                self._mark = mark if isinstance(mark, dict) else {}
            else:
                yield Skipped(name[:60], line)
            return
        try:
            messages = _loaded(record.get("message"))
        except InvalidInput as error:
            yield Skipped("message not understood", line, str(error))
            return
        if not messages or not messages[0].content:
            yield Skipped("empty message", line)
        elif kind == "assistant":
            yield from self._answered(record, messages[0], line)
        else:
            yield from self._heard(record, messages, line)

    def _answered(self, record: dict[str, Any], message: Message, line: int) -> Iterator[Step]:
        raw = record["message"]
        if raw.get("model") == "<synthetic>":
            yield Skipped("written by the tool itself", line)
            return
        said = self._said(record, message, line)
        if self._response is not None and raw.get("id") is not None and raw.get("id") == self._response_id:
            whole = (*self._response.message.content, *message.content)
            grown = msgspec.structs.replace(self._response.message, content=whole, usage=message.usage)
            self._response = self._response._replace(message=grown)
            return
        yield from self.flush()
        self._response, self._response_id = said._replace(id=raw.get("id") or said.id), raw.get("id")

    def _heard(self, record: dict[str, Any], messages: list[Message], line: int) -> Iterator[Step]:
        if record.get("isCompactSummary"):
            yield from self.flush()
            yield Compacted(
                self._session,
                messages[0].text,
                line,
                trigger=self._mark.get("trigger"),
                before_tokens=self._mark.get("preTokens"),
            )
        for number, message in enumerate(messages):
            said = self._said(record, message, line, number)
            if message.role is Role.TOOL and self._response is not None:
                self._results.append(said)
            else:
                yield from self.flush()
                yield said

    def _said(self, record: dict[str, Any], message: Message, line: int, number: int = 0) -> Said:
        by_tool = message.role is Role.USER and bool(record.get("isMeta") or record.get("isCompactSummary"))
        message = msgspec.structs.replace(message, synthetic=message.synthetic or by_tool, metadata=None)
        id_ = record.get("uuid")
        return Said(
            self._session,
            message,
            line,
            id=f"{id_}/{number}" if number else id_,
            at=record.get("timestamp"),
        )

    def flush(self) -> Iterator[Step]:
        """What is complete, because something else begins: the response, then its results."""
        if self._response is not None:
            yield self._response
        yield from self._results
        self._response, self._response_id, self._results = None, None, []
