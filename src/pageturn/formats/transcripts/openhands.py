"""Reads OpenHands' `output.jsonl`: one task on each line, with its events in `history`.

An action with the model's response is an answer; the observation of the same call is its result. Usage is taken from
actions, because observations repeat the whole response.
"""

from collections.abc import Iterator
from typing import Any

from pageturn.formats import openai_chat
from pageturn.formats.fields import Fields
from pageturn.formats.transcripts.source import Damaged, Source
from pageturn.formats.transcripts.steps import Said, Skipped, Step
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message, system, tool_result, user

NAME = "openhands"


def recognises(first: Any) -> bool:
    return isinstance(first, dict) and "instance_id" in first and isinstance(first.get("history"), list)


def read(source: Source) -> Iterator[Step]:
    for line in source.lines():
        match line:
            case Damaged(number, reason):
                yield Skipped(reason, number)
            case (number, {"instance_id": str() as session, "history": list() as history}):
                yield from _task(session, history, number)
            case (number, _):
                yield Skipped("not a task", number)


def _task(session: str, history: list[Any], line: int) -> Iterator[Step]:
    responses: set[str] = set()
    for place, event in enumerate(history):
        try:
            fields = Fields(event, f"$.history[{place}]")
            message = _message(fields, responses)
        except InvalidInput as error:
            yield Skipped("event not understood", line, str(error))
            continue
        if message is None:
            kind = fields.rest.get("action") or fields.rest.get("observation")
            yield Skipped(str(kind)[:60], line)
        else:
            at = fields.rest.get("timestamp")
            yield Said(session, message, line, str(fields.rest.get("id", place)), at if isinstance(at, str) else None)


def _message(fields: Fields, responses: set[str]) -> Message | None:
    """The message of an event; None for bookkeeping, and for further calls of a response that was read already."""
    args = fields.inner("args")
    match fields.rest:
        case {"action": "system"}:
            return system(args.text("content"))
        case {"action": "message", "source": "user"}:
            return user(args.text("content"))
        case {"action": str(), "tool_call_metadata": {"model_response": dict() as response}}:
            if str(response.get("id")) in responses:
                return None
            responses.add(str(response.get("id")))
            return openai_chat.load_reply(response)
        case {"observation": str() as kind, "tool_call_metadata": {"tool_call_id": str() as call}}:
            failed = kind == "error" or fields.rest.get("success") is False
            return tool_result(call, fields.take("content", str) or "", is_error=failed)
        case {"observation": "error", "content": str() as text}:
            return user(text, synthetic=True)
        case _:
            return None
