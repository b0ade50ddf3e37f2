"""Repeated results: what a session fetched again, by what the recording says; for those who keep no account of their faults.

As a session counts them: the same call with the same result is a duplicate tool, another way to the same bytes a refetch, and
neither is a fault as long as the result from before stands in the request. What calls of one turn bring twice nobody could have shown.
"""

from typing import NamedTuple

import msgspec

from pageturn.faults import DuplicateTool, Refetch
from pageturn.lab.traces import Trace, study_tokens
from pageturn.messages import ToolCall
from pageturn.wire import to_json

_TRIVIAL = 50  # tokens; what is shorter is often the same by chance


class Again(NamedTuple):
    """A result that came before: the fault that it is where nobody shows that, and the message that brought it."""

    code: str
    before: int


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
            asked, content = _canonical(call), to_json(result.content)
            last, same = by_call.get(asked), by_content.get(content)
            again = None
            if last is not None and last[1] == content:
                again = Again(DuplicateTool().code, last[0])
            elif same is not None and same[1] != asked and study_tokens(message) >= _TRIVIAL:
                again = Again(Refetch().code, same[0])
            if again is not None and again.before < turn:
                found.setdefault(turn, []).append(again)
            by_call[asked] = (place, content)
            by_content[content] = (place, asked)
    return found


def _canonical(call: ToolCall) -> bytes:
    """A call, the same for every order of keys and every spacing."""
    return msgspec.json.encode([call.name, call.parsed], order="deterministic")
