"""Reasoning stands only behind the unchanged prefix that it was made on.

A request is flattened into units in the order in which the model reads them: tools, instructions, then every block with the
role that speaks it. So it does not matter how neighbours of one role are grouped into messages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.shapes import canonical


@dataclass(frozen=True)
class Unit:
    """One block as the model reads it, and who speaks it; `reasoning` tells a block of reasoning from all others."""

    speaker: str
    raw: Any
    plain: Callable[[Any], Any]
    path: str
    reasoning: str | None = None

    @cached_property
    def content(self) -> str:
        """What counts of it: without cache breakpoints and other marks."""
        return canonical(self.plain(self.raw))

    @property
    def is_compaction(self) -> bool:
        return isinstance(self.raw, dict) and self.raw.get("type") == "compaction"

    def says(self, other: "Unit") -> bool:
        """Whether both are the same to the model. Equal JSON is, without a closer look."""
        return self.speaker == other.speaker and (self.raw == other.raw or self.content == other.content)


Units = Sequence[Unit]


def reasoning_faults(units: Units, earlier: Sequence[Units]) -> Finds:
    """Reasoning that is not as it came, or whose prefix is not the one that it was made on.

    That prefix is what stood before it where it first came back. Reasoning that comes back now for the first time answers
    the newest earlier request, so that request must stand before it unchanged.
    """
    first: dict[str, tuple[Units, int]] = {}
    for request in earlier:
        for at, unit in enumerate(request):
            if unit.reasoning is not None:
                first.setdefault(unit.reasoning, (request, at))
    for at, unit in enumerate(units):
        if unit.reasoning is None:
            continue
        if unit.reasoning in first:
            then, place = first[unit.reasoning]
            if not unit.says(then[place]):
                yield Found("reasoning_modified", unit.path)
            yield from _compared(unit, *_since_compaction(units[:at], then[:place]))
        elif earlier:
            now, asked = _since_compaction(units[:at], earlier[-1])
            yield from _compared(unit, now[: len(asked)], asked)


def _since_compaction(now: Units, then: Units) -> tuple[Units, Units]:
    """Where the vendor has compacted, nothing before its summary counts; one that was not there then came with the reply."""
    start = max((at for at, unit in enumerate(now) if unit.is_compaction), default=None)
    if start is None:
        return now, then
    place = next((at for at, unit in enumerate(then) if unit.says(now[start])), None)
    return ((), ()) if place is None else (now[start:], then[place:])


def _compared(block: Unit, now: Units, then: Units) -> Finds:
    if _same(now, then):
        return
    here = {unit.reasoning for unit in now}
    if _same(now, [unit for unit in then if unit.reasoning is None or unit.reasoning in here]):
        yield Found("reasoning_left_out", block.path)
        return
    changed = next((a.path for a, b in zip(now, then, strict=False) if not a.says(b)), None)
    detail = f"The first change: {changed}." if changed else "Something is missing or has been added."
    yield Found("reasoning_prefix_changed", block.path, detail)


def _same(now: Units, then: Units) -> bool:
    return len(now) == len(then) and all(a.says(b) for a, b in zip(now, then, strict=True))
