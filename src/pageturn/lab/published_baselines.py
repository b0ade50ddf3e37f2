"""Implements published methods as their papers describe them, for comparison. None of them has a token budget.

Summaries, and summaries with masking, are those of The Complexity Trap (arXiv:2508.21433), stubs those of Pichay (arXiv:2603.09023).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from pageturn.context.renditions.content import file_of
from pageturn.context.renditions.edits import REPLACED
from pageturn.lab.baselines import masked
from pageturn.lab.our_policies import first_lines
from pageturn.lab.replay import Shows
from pageturn.lab.traces import Trace, estimated_tokens
from pageturn.values.messages import Message, ToolCall, ToolResult, user

# Fields that mark a call as an edit or a search, and so as no reading.
_NO_READ = {*REPLACED, "new_string", "content", "edits", "patch", "pattern"}


class RollingSummary:
    """The newest turns in full; whenever there are a chunk more, those are summarized, together with the previous summary.

    With `unmasked`, the results of all but this many of the newest turns are also masked: the paper's hybrid.
    """

    def __init__(
        self,
        chunk: int = 21,
        keep: int = 10,
        *,
        unmasked: int | None = None,
        summarise: Callable[[Sequence[Message]], str] = first_lines,
    ) -> None:
        self.read_tokens = 0  # of the summarizer
        self.written_tokens = 0
        self._chunk = chunk
        self._keep = keep
        self._unmasked = unmasked
        self._summarise = summarise

    def __call__(self, trace: Trace) -> Iterator[list[Message]]:
        """What it shows of a session, turn by turn."""
        opening, *rounds = rounds_of(trace)
        past: list[Message] = []  # the summary, if there is one
        first = 0
        for number in range(len(trace.turns)):
            if number - first >= self._chunk + self._keep:
                past = [self._summary([*past, *_joined(rounds[first : number - self._keep])])]
                first = number - self._keep
            shown = rounds[first:number]
            masks = max(0, len(shown) - self._unmasked) if self._unmasked is not None else 0
            hidden = [masked(message) for message in _joined(shown[:masks])]
            yield [*opening, *past, *hidden, *_joined(shown[masks:])]

    def _summary(self, messages: Sequence[Message]) -> Message:
        summary = user(f"What happened so far:\n{self._summarise(messages)}")
        self.read_tokens += sum(map(estimated_tokens, messages))
        self.written_tokens += estimated_tokens(summary)
        return summary


def stubs(age: int = 4, least_bytes: int = 500) -> Shows:
    """Everything, except that large results that this many requests have shown become one line each. Errors stay.

    So does a file that had to be read again, as long as its content is the same.
    """

    def shows(trace: Trace) -> Iterator[list[Message]]:
        files = files_read(trace)
        shown: list[Message] = []
        # The first request that showed a result, its place, and the result.
        waiting: list[tuple[int, int, ToolResult]] = []
        evicted: dict[str, ToolResult] = {}  # by file
        pinned: dict[str, ToolResult] = {}
        for number, messages in enumerate(rounds_of(trace)[:-1]):
            for message in messages:
                for result in message.tool_results:
                    path = files.get(result.tool_call_id)
                    if path in evicted:
                        is_same = evicted[path].content == result.content
                        pinned = {**_without(pinned, path), **({path: result} if is_same else {})}
                    if not result.is_error and len(str(result.content).encode()) >= least_bytes:
                        waiting.append((number, len(shown), result))
                shown.append(message)
            still = []
            for since, place, result in waiting:
                path = files.get(result.tool_call_id)
                is_pinned = path in pinned and pinned[path].content == result.content
                if is_pinned or number - since < age:
                    still.append((since, place, result))
                    continue
                shown[place] = _stubbed(shown[place], result, path)
                if path is not None:
                    evicted[path] = result
            waiting = still
            yield list(shown)

    return shows


def rounds_of(trace: Trace) -> list[tuple[Message, ...]]:
    """What came before the first turn, and then each turn with everything up to the next one."""
    places = [0, *trace.turns, len(trace.messages)]
    return [trace.messages[start:end] for start, end in pairwise(places)]


def files_read(trace: Trace) -> dict[str, str]:
    """The files that calls read, by the ids of the calls."""
    calls = [call for message in trace.messages for call in message.tool_calls]
    return {call.id: path for call in calls if (path := _read_by(call)) is not None}


def _read_by(call: ToolCall) -> str | None:
    arguments = call.parsed
    is_other = isinstance(arguments, dict) and not _NO_READ.isdisjoint(arguments)
    return None if is_other else file_of(call)


def _joined(rounds: Sequence[Sequence[Message]]) -> list[Message]:
    return [message for each in rounds for message in each]


def _without(pinned: dict[str, ToolResult], path: str) -> dict[str, ToolResult]:
    return {kept: result for kept, result in pinned.items() if kept != path}


def _stubbed(message: Message, result: ToolResult, path: str | None) -> Message:
    mark = f"[{path or 'a result'}, {len(str(result.content)):,} characters: not shown]"
    parts = (
        replace(part, content=mark)
        if isinstance(part, ToolResult) and part.tool_call_id == result.tool_call_id
        else part
        for part in message.content
    )
    return replace(message, content=tuple(parts))
