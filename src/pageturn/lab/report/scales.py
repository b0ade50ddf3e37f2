"""Maps values to positions on a drawing, with ticks at round values and short number labels."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LOG_STEPS = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
_FAR = 3.0  # times


class Scale(NamedTuple):
    """Values between `low` and `high`, at positions between `start` and `end`; logarithmic if wanted."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value."""
        low, high, here = (math.log(each) if self.is_log else each for each in (self.low, self.high, value))
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values on the scale, about as many as wanted and at most one more."""
        return self._log_ticks(most) if self.is_log else self._even_ticks(most)

    def _even_ticks(self, most: int) -> list[float]:
        step = _step(self.high - self.low, most)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(at * step, 12) for at in range(first, last + 1)]

    def _log_ticks(self, most: int) -> list[float]:
        """Round values of as many decades as there are, or if those are too many, every other one, every third one and so on."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = [(steps, 1) for steps in _LOG_STEPS] + [((1,), apart) for apart in range(2, len(powers) + 1)]
        for steps, apart in every:
            values = [step * 10.0**power for power in powers[::apart] for step in steps]
            found = [value for value in values if self.low <= value <= self.high]
            if len(found) <= most + 1:
                return [float(f"{value:.6g}") for value in found]
        return []


def around(values: Iterable[float], start: float, end: float, *, margin: float = 0.06) -> Scale:
    """A scale that holds all values, with some room at both ends."""
    known = sorted(values)
    low, high = known[0], known[-1]
    is_one = high - low <= 1e-9 * max(abs(low), abs(high), 1.0)  # as far as anybody could see
    room = max(abs(high) * 0.05, 0.005) if is_one else (high - low) * margin
    return Scale(low - room, high + room, start, end)


def by_ratio(values: Iterable[float], start: float, end: float, *, margin: float = 0.06) -> Scale:
    """The same, logarithmic if the values are far apart, so that small ones can be distinguished."""
    known = sorted(values)
    low, high = known[0], known[-1]
    if low <= 0 or high / low < _FAR:
        return around(known, start, end, margin=margin)
    room = (high / low) ** margin
    return Scale(low / room, high * room, start, end, is_log=True)


def from_nothing(highest: float, start: float, end: float) -> Scale:
    """A scale from 0 up to a value."""
    return Scale(0.0, highest * 1.04 if highest > 0 else 1.0, start, end)


def _step(span: float, most: int) -> float:
    """The smallest round step that divides a span into at most that many."""
    rough = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(step for step in _STEPS if step >= rough / power - 1e-9)


def compact(value: float) -> str:
    """A number of tokens as a label: 950, 8k, 1.25M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def times(value: float) -> str:
    """A multiple as a label."""
    return f"{value:.3g}×"


def percent(value: float) -> str:
    """A share as a label, with as many digits as it has."""
    return f"{value * 100:.4g} %"


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The positions, moved as little as necessary so that neighbours are a gap apart; in order."""
    order = sorted(range(len(places)), key=lambda at: (places[at], at))
    gap = min(gap, (high - low) / max(len(places) - 1, 1))

    def first(run: Sequence[float]) -> float:
        """The start of a run of labels that touch each other: as near to their wanted positions as there is room."""
        middle = sum(place - number * gap for number, place in enumerate(run)) / len(run)
        return min(max(middle, low), high - (len(run) - 1) * gap)

    runs: list[list[float]] = []
    for at in order:
        runs.append([places[at]])
        while len(runs) > 1 and first(runs[-2]) + len(runs[-2]) * gap > first(runs[-1]):
            touching = runs.pop()
            runs[-1] = runs[-1] + touching
    moved = [first(run) + number * gap for run in runs for number in range(len(run))]
    return [place for _, place in sorted(zip(order, moved, strict=True))]


def kept(values: Sequence[float], most: int) -> list[int]:
    """The values that are drawn of many: the first, the last, and the minimum and maximum of equal stretches."""
    if len(values) <= most:
        return list(range(len(values)))
    stretches = max((most - 2) // 2, 1)
    chosen = {0, len(values) - 1}
    for stretch in _stretches(len(values), stretches):
        chosen.add(min(stretch, key=lambda at: (values[at], at)))
        chosen.add(max(stretch, key=lambda at: (values[at], -at)))
    return sorted(chosen)


def _stretches(length: int, count: int) -> Iterator[range]:
    return (range(length * n // count, length * (n + 1) // count) for n in range(count))
