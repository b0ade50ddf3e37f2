"""Repeated results: what a session fetched again, by what the recording says; counted alike for everybody who shows it.

As a session counts them: the same call with the same result is a duplicate tool, another way to the same bytes a refetch, and
neither is a fault as long as those bytes stand whole in the request. What calls of one turn bring twice nobody could have shown.
"""

from typing import NamedTuple

import msgspec

from pageturn.faults import DuplicateTool, Refetch
from pageturn.lab.traces import Trace, study_tokens
from pageturn.messages import ToolCall, ToolResult
from pageturn.wire import to_json

_TRIVIAL = 50  # tokens; what is shorter is often the same by chance


class Again(NamedTuple):
    """A result that came before: the fault that it is where nobody shows that, the message that brought it, and what it says."""

    code: str
    before: int
    content: bytes


def repeated(trace: Trace) -> dict[int, list[Again]]:
    """What the calls of each turn brought again, by the place of the turn."""
    calls: dict[str, tuple[int, ToolCall]] = {}
    by_call: dict[bytes, tuple[int, bytes]] = {}
    by_content: dict[bytes, tuple[int, bytes]] = {}
    found: dict[int, list[Again]] = {}
    for place, message in enumerate(trace.messages):
        calls |= {call.id: (place, call) for call in message.tool_calls}
        for result in message.tool_results:
            if result.tool_call_id not in calls:
                continue
            turn, call = calls[result.tool_call_id]
            asked, content = _canonical(call), content_of(result)
            last, same = by_call.get(asked), by_content.get(content)
            again = None
            if last is not None and last[1] == content:
                again = Again(DuplicateTool().code, last[0], content)
            elif same is not None and same[1] != asked and study_tokens(message) >= _TRIVIAL:
                again = Again(Refetch().code, same[0], content)
            if again is not None and again.before < turn:
                found.setdefault(turn, []).append(again)
            by_call[asked] = (place, content)
            by_content[content] = (place, asked)
    return found


def content_of(result: ToolResult) -> bytes:
    """What a result says, to be compared."""
    return to_json(result.content)


def _canonical(call: ToolCall) -> bytes:
    """A call, the same for every order of keys and every spacing."""
    return msgspec.json.encode([call.name, call.parsed], order="deterministic")
