"""Logs and output of tests and builds: errors with what surrounds them, then the ends; repeats are told once."""

import re

from pageturn.renditions.contract import Line, Material
from pageturn.renditions.troubles import counts, troubles, warnings

_DIGITS = re.compile(r"\d+")
_WRONG, _COUNT, _END, _WARNING, _NEAR, _ANY = 3.0, 2.5, 2.0, 1.5, 1.0, 0.3
_ENDS = 5
_AROUND = 2


def outline(material: Material) -> list[Line]:
    """The lines, of which runs that differ only in numbers are one."""
    lines = _collapsed(material.text.split("\n"))
    texts = [line.text for line in lines]
    weights = [_ANY if line.text.strip() else 0.0 for line in lines]

    def weigh(at: int, weight: float) -> None:
        weights[at] = max(weights[at], weight)

    for at in troubles(texts):
        for near in range(max(0, at - 1), min(len(lines), at + _AROUND + 1)):
            weigh(near, _NEAR)
        weigh(at, _WRONG)
    for at in warnings(texts):
        weigh(at, _WARNING)
    for at in counts(texts):
        weigh(at, _COUNT)
    for at in (*range(min(_ENDS, len(lines))), *range(max(0, len(lines) - _ENDS), len(lines))):
        weigh(at, _END)
    # Of lines that weigh the same, the last say how it ended.
    return [
        line._replace(weight=weight + at * 1e-9) for at, (line, weight) in enumerate(zip(lines, weights, strict=True))
    ]


def _collapsed(lines: list[str]) -> list[Line]:
    """The first line of each run of lines that are the same but for their numbers, with how many followed."""
    kept: list[Line] = []
    shape = None
    for line in lines:
        now = _DIGITS.sub("0", line)
        if now == shape and line.strip():
            kept[-1] = kept[-1]._replace(stands_for=kept[-1].stands_for + 1)
        else:
            kept.append(Line(line))
        shape = now
    return [_with_followers(line) for line in kept]


def _with_followers(line: Line) -> Line:
    followed = line.stands_for - 1
    return line._replace(text=f"{line.text} [... {followed} more like this ...]") if followed else line
