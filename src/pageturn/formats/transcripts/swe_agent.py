"""Reads SWE-agent's `*.traj` files. The session is in `history`; `trajectory` repeats it.

Agents without function calls write their action as text and get the observation as a user message; these stay plain messages.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from pageturn.formats import openai_chat
from pageturn.formats.transcripts.source import Source
from pageturn.formats.transcripts.steps import Said, Skipped, Step
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message, Role

NAME = "swe-agent"

_CHAT = ("role", "content", "tool_calls", "tool_call_id")


def recognises(first: Any) -> bool:
    match first:
        case {"trajectory": list(), "history": list()}:
            return True
        case {"history": [{"message_type": _} | {"agent": _}, *_]}:
            return True
        case _:
            return False


def read(source: Source) -> Iterator[Step]:
    whole = source.whole()
    history = whole.get("history") if isinstance(whole, dict) else None
    if not isinstance(history, list):
        yield Skipped("no history")
        return
    has_acted = False
    for number, item in enumerate(history, start=1):
        try:
            message = _message(item)
        except InvalidInput as error:
            yield Skipped("message not understood", number, str(error))
            continue
        # After the task, whatever a user says is the environment's answer.
        is_observation = has_acted and message.role is Role.USER
        yield Said(source.name, msgspec.structs.replace(message, synthetic=is_observation), number)
        has_acted = has_acted or message.role is Role.ASSISTANT


def _message(item: Any) -> Message:
    if not isinstance(item, dict):
        raise InvalidInput("$.history", expected="objects", got=show(item))
    fields = {name: item[name] for name in _CHAT if name in item}
    match item:
        case {"role": "tool", "tool_call_ids": [str() as call, *_]}:
            fields["tool_call_id"] = call
    (message,) = openai_chat.load_messages([fields])
    return message
