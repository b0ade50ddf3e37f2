"""References: what a page says of the calls and the results in its message, so that they can be matched without its words."""

import msgspec

from pageturn.bodies import digest_of
from pageturn.messages import Message, ToolCall, ToolResult
from pageturn.pages import CallReference, ResultReference
from pageturn.wire import to_json


def calls_of(message: Message) -> tuple[CallReference, ...]:
    """The calls of a message."""
    return tuple(CallReference(call.id, call.name, _canonical(call)) for call in message.tool_calls)


def results_of(message: Message) -> tuple[ResultReference, ...]:
    """The results of a message."""
    return tuple(
        ResultReference(result.tool_call_id, _content_digest(result), result.is_error)
        for result in message.tool_results
    )


def _content_digest(result: ToolResult) -> str:
    content = result.content
    return digest_of(content.encode() if isinstance(content, str) else to_json(content))


def _canonical(call: ToolCall) -> str:
    """The digest of a call's arguments, the same for every order of keys and every spacing."""
    value = call.parsed
    data = call.arguments.encode() if value is None else msgspec.json.encode(value, order="deterministic")
    return digest_of(data)
