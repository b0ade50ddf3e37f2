"""Reasoning stands only behind the unchanged prefix that it was made on.

A request is flattened into units in the order in which the model reads them: tools, instructions, then every block with the
role that speaks it. So it does not matter how neighbours of one role are grouped into messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.strict.findings import Finds, Found


@dataclass(frozen=True)
class Unit:
    """One block as the model reads it; `reasoning` is what tells a block of reasoning from all others."""

    content: str
    path: str
    reasoning: str | None = None


Units = Sequence[Unit]


def prefix_faults(units: Units, earlier: Sequence[Units]) -> Finds:
    """Reasoning whose prefix is not the one that it was made on.

    That prefix is what stood before it where it first came back. Reasoning that comes back now for the first time answers
    the newest earlier request, so that request must stand before it unchanged.
    """
    for at, unit in enumerate(units):
        if unit.reasoning is None:
            continue
        origin = _before(unit.reasoning, earlier)
        if origin is not None:
            yield from _compared(unit, units[:at], origin)
        elif earlier:
            yield from _compared(unit, units[: len(earlier[-1])][:at], earlier[-1])


def modified(units: Units, earlier: Sequence[Units]) -> Finds:
    """Reasoning that came back otherwise than before under the same mark."""
    first: dict[str, str] = {}
    for request in earlier:
        for unit in request:
            if unit.reasoning is not None:
                first.setdefault(unit.reasoning, unit.content)
    for unit in units:
        if unit.reasoning is not None and first.get(unit.reasoning, unit.content) != unit.content:
            yield Found("reasoning_modified", unit.path)


def _before(reasoning: str, earlier: Sequence[Units]) -> Units | None:
    for request in earlier:
        for at, unit in enumerate(request):
            if unit.reasoning == reasoning:
                return request[:at]
    return None


def _compared(block: Unit, now: Units, then: Units) -> Finds:
    if _contents(now) == _contents(then):
        return
    here = {unit.reasoning for unit in now}
    if _contents(now) == [unit.content for unit in then if unit.reasoning is None or unit.reasoning in here]:
        yield Found("reasoning_left_out", block.path)
        return
    changed = next((i for i, (a, b) in enumerate(zip(now, then, strict=False)) if a.content != b.content), None)
    first = now[changed].path if changed is not None else "what is missing or added"
    yield Found("reasoning_prefix_changed", block.path, f"The first change: {first}.")


def _contents(units: Units) -> list[str]:
    return [unit.content for unit in units]
