"""What a strict provider rejects of a chat request: the rules that methods of shortening a history break."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

_ROLES = ("system", "developer", "user", "assistant", "tool")


def rejection(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Why a provider rejects these messages; None if it accepts them."""
    return next(_problems(messages), None)


def _problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages:
        yield "messages: empty"
        return
    for at, message in enumerate(messages):
        role = message.get("role")
        if role not in _ROLES:
            yield f"messages[{at}].role: {role!r}"
        if not _says_something(message):
            yield f"messages[{at}].content: empty"
    for at, (before, message) in enumerate(pairwise(messages), start=1):
        if before["role"] == message["role"] and message["role"] in ("user", "assistant"):
            yield f"messages[{at}].role: {message['role']} twice in a row"
    yield from _unpaired(messages)
    if messages[-1]["role"] == "assistant":
        yield f"messages[{len(messages) - 1}].role: nothing to answer"


def _says_something(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if message.get("role") == "tool":
        return isinstance(content, str | list)
    if isinstance(content, list):
        return bool(content) and all(part.get("type") != "text" or part.get("text") for part in content)
    return bool(content or message.get("tool_calls"))


def _unpaired(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Every call has its result directly behind it, every result its call before it."""
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            call = str(message.get("tool_call_id"))
            if call not in waiting:
                yield f"messages[{at}].tool_call_id: no call {call} before it"
            waiting.discard(call)
            continue
        if waiting:
            yield f"messages[{at}]: no result of {', '.join(sorted(waiting))} before it"
        calls = message.get("tool_calls") or []
        waiting = {call["id"] for call in calls}
        yield from (f"messages[{at}].tool_calls: {call['id']}" for call in calls if not _is_sound(call))
    if waiting:
        yield f"no result of {', '.join(sorted(waiting))}"


def _is_sound(call: Mapping[str, Any]) -> bool:
    """Whether a call names its tool and has a JSON object as arguments."""
    body = call.get("function") or {}
    try:
        arguments = json.loads(body.get("arguments", ""))
    except (TypeError, ValueError):
        return False
    return bool(body.get("name")) and isinstance(arguments, dict)
