"""Draws the timeline of faults under each policy."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pageturn.lab.report.axes import Frame, colour, cut, mark
from pageturn.lab.report.scales import Scale
from pageturn.lab.report.svg import Node, add, label, node, picture, rule, svg_group
from pageturn.lab.report.turns import Drawn, named, turns_across
from pageturn.lab.results import ReplayedTurn

_LANE, _HEAD, _PIXELS = 19, 24, 4
_SMALL = 0.9  # of the usual letters
_REFUSED, _MISSED = "refused", "names missed"


def timeline(drawn: Sequence[Drawn], width: float) -> Node:
    """A lane for each fault of each policy; taller marks are more of them."""
    left = 190 if width > 500 else 128
    lanes = [_lanes(each.result.turns) for each in drawn]
    height = sum(_HEAD + _LANE * max(len(each), 1) + 8 for each in lanes) + 44
    x = turns_across(max(len(each.result.turns) for each in drawn), left, width - 52)
    description = "; ".join(f"{each.result.policy}: {_summed(own)}" for each, own in zip(drawn, lanes, strict=True))
    drawing = picture(width, height, f"Faults and misses by turn. {description}")
    top = 0.0
    for each, own in zip(drawn, lanes, strict=True):
        add(drawing, mark(each.number, 7, top + 12, 5))
        add(drawing, label(cut(each.result.policy, width - 30), 18, top + 16, class_="title"))
        top += _HEAD
        if not own:
            add(drawing, label("nothing", 18, top + 13, class_="faint small"))
            add(drawing, rule(x.start, top + _LANE - 4, x.end, top + _LANE - 4, "grid"))
            top += _LANE
        for name, counts in own.items():
            add(drawing, svg_group(*_lane(name, counts, each, x, top)))
            top += _LANE
        top += 8
    across = Frame(x, Scale(0, 1, top, 0))
    return add(drawing, *across.bottom(lambda turn: f"{turn:,.0f}", "turn", ticks=8 if width > 500 else 4))


def _lanes(turns: Sequence[ReplayedTurn]) -> dict[str, Counter[int]]:
    """How often each problem occurred at which turn: faults by code, then what was needed and missing."""
    lanes: dict[str, Counter[int]] = {}
    for code in sorted({code for turn in turns for code, times in turn.faults.items() if times}):
        lanes[code] = Counter({at: turn.faults[code] for at, turn in enumerate(turns) if turn.faults.get(code)})
    if any(turn.refused for turn in turns):
        lanes[_REFUSED] = Counter({at: 1 for at, turn in enumerate(turns) if turn.refused})
    if any(turn.missed for turn in turns):
        lanes[_MISSED] = Counter({at: len(turn.missed) for at, turn in enumerate(turns) if turn.missed})
    return lanes


def _summed(lanes: dict[str, Counter[int]]) -> str:
    return ", ".join(f"{name} {counts.total():,}" for name, counts in lanes.items()) or "nothing"


def _lane(name: str, counts: Counter[int], each: Drawn, x: Scale, top: float) -> Iterator[Node]:
    base = top + _LANE - 4
    yield label(cut(name.replace("_", " "), (x.start - 22) / _SMALL), 18, base, class_="faint small")
    yield rule(x.start, base, x.end, base, "grid")
    yield label(f"{counts.total():,}", x.end + 8, base, class_="small")
    class_ = "other" if name == _MISSED else colour(each.number)
    binned: dict[int, list[int]] = {}
    for turn in sorted(counts):
        binned.setdefault(int((x(turn + 1) - x.start) // _PIXELS), []).append(turn)
    most = max(sum(counts[turn] for turn in turns) for turns in binned.values())
    for place, turns in binned.items():
        count = sum(counts[turn] for turn in turns)
        tall = 4 + (_LANE - 8) * count / most
        bar = node("rect", x=x.start + place * _PIXELS, y=base - tall, width=_PIXELS - 1, height=tall, class_=class_)
        yield svg_group(bar, tip=f"{each.result.policy}\n{named([turns[0], turns[-1]])}: {name} {count:,}")
