"""Counts evictions: which file reads a method removes from the context, and how often those files are read again.

Counted as in Pichay (arXiv:2603.09023): a result that read a file, of 500 bytes or more and no error, is evicted once, at the first request
that no longer has it in full; a fault is a later call that reads the same file. Commands and searches are not counted, since they are
run again to see the present state. The published rate divides by every request that lacks a result; that rate is reported as well.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pageturn.lab.published_baselines import files_read
from pageturn.lab.replay import Seen, Shown
from pageturn.lab.traces import Trace
from pageturn.values.messages import ToolResult

_LEAST_BYTES = 500


class Evictions(NamedTuple):
    """The number of evictions, and their outcomes. `total` adds up those of several sessions."""

    unique: int = 0
    requests: int = 0  # that lack a result, counted once per missing result
    faults: int = 0
    in_need: int = 0  # of the faults: the newest result of the file was not in the request in full either

    @property
    def rate(self) -> float:
        """Faults per unique eviction."""
        return self.faults / self.unique if self.unique else 0.0

    @property
    def rate_of_requests(self) -> float:
        """Faults per result that a request lacks."""
        return self.faults / self.requests if self.requests else 0.0


def total(found: Iterable[Evictions]) -> Evictions:
    """The sum over sessions."""
    return Evictions(*map(sum, zip(*found, strict=True)))


def evictions(trace: Trace, requests: Iterable[Seen]) -> Evictions:
    """What was evicted from the requests of a session, and read again."""
    paths = files_read(trace)
    read: list[tuple[str, ToolResult]] = []  # that may be evicted
    newest: dict[str, ToolResult] = {}
    gone: set[str] = set()  # the calls whose results were evicted
    files: set[str] = set()  # that these had read
    found = Evictions()
    heard = 0
    for turn, seen in zip(trace.turns, requests, strict=True):
        for message in trace.messages[heard:turn]:
            for result in message.tool_results:
                path = paths.get(result.tool_call_id)
                if path is not None and not result.is_error and len(str(result.content).encode()) >= _LEAST_BYTES:
                    read.append((path, result))
                    newest[path] = result
        heard = turn
        if seen is None:
            continue
        messages = seen.messages if isinstance(seen, Shown) else seen
        whole = {result.tool_call_id: result.content for message in messages for result in message.tool_results}
        lacking = [(path, result) for path, result in read if whole.get(result.tool_call_id) != result.content]
        fresh = {result.tool_call_id for _, result in lacking} - gone
        gone |= fresh
        files |= {path for path, _ in lacking}
        again = [path for call in trace.messages[turn].tool_calls if (path := paths.get(call.id)) in files and path]
        found = Evictions(
            found.unique + len(fresh),
            found.requests + len(lacking),
            found.faults + len(again),
            found.in_need + sum(whole.get(newest[path].tool_call_id) != newest[path].content for path in again),
        )
    return found
