"""Cache breakpoints: how many, on what, how long they live."""

from tests.strict.anthropic.reading import Reading
from tests.strict.findings import Finds, Found
from tests.strict.shapes import ANY, Shape

_MOST = 4
_BREAKPOINT = Shape(may={"type": ANY, "ttl": ANY})


def breakpoints(reading: Reading) -> Finds:
    marked = [(path, raw, raw["cache_control"]) for path, raw in reading.everything if raw.get("cache_control")]
    automatic = 1 if reading.raw.get("cache_control") else 0
    if len(marked) + automatic > _MOST:
        yield Found("cache_too_many", marked[_MOST - automatic][0], f"There are {len(marked) + automatic}.")
    has_short = False
    for path, raw, mark in marked:
        place = f"{path}.cache_control"
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            yield Found("cache_type", place)
            continue
        yield from _BREAKPOINT.faults(mark, place, "cache_")
        ttl = mark.get("ttl") or "5m"
        if ttl not in ("5m", "1h"):
            yield Found("cache_ttl", f"{place}.ttl")
        if ttl == "1h" and has_short:
            yield Found("cache_ttl_order", f"{place}.ttl")
        has_short = has_short or ttl == "5m"
        if raw.get("type") in ("thinking", "redacted_thinking"):
            yield Found("cache_on_thinking", place)
        if raw.get("type") == "text" and raw.get("text") == "":
            yield Found("cache_on_empty_text", place)
        if raw.get("defer_loading") is True:
            yield Found("cache_on_deferred_tool", place)


RULES = (breakpoints,)
