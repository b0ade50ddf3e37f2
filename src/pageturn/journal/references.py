"""Makes the references of a page to the calls and results in its message, so that they are matched without reading it."""

import msgspec

from pageturn.values.digests import digest_of, digest_of_text
from pageturn.values.json import to_json
from pageturn.values.messages import Message, ToolCall, ToolResult
from pageturn.values.pages import CallReference, ResultReference


def calls_of(message: Message) -> tuple[CallReference, ...]:
    """The calls of a message."""
    return tuple([CallReference(call.id, call.name, _canonical(call)) for call in message.tool_calls])


def results_of(message: Message) -> tuple[ResultReference, ...]:
    """The results of a message."""
    return tuple(
        [
            ResultReference(result.tool_call_id, _content_digest(result), result.is_error)
            for result in message.tool_results
        ]
    )


def _content_digest(result: ToolResult) -> str:
    content = result.content
    return digest_of_text(content) if isinstance(content, str) else digest_of(to_json(content))


def _canonical(call: ToolCall) -> str:
    """The digest of a call's arguments, independent of the order of keys and of spacing."""
    value = call.parsed
    data = call.arguments.encode() if value is None else msgspec.json.encode(value, order="deterministic")
    return digest_of(data)
