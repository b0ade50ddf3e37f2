"""Outlines logs and test or build output: errors with surrounding lines, then the ends; repetitions are shown once."""

from collections.abc import Iterator

from pageturn.context.renditions.contract import Line, Material
from pageturn.context.renditions.error_lines import counts, error_lines, warnings
from pageturn.values.identifiers import without_numbers

_WRONG, _COUNT, _END, _WARNING, _NEAR, _ANY = 3.0, 2.5, 2.0, 1.5, 1.0, 0.3
_ENDS = 5
_AROUND = 2


def outline(material: Material) -> list[Line]:
    """The lines, with runs that differ only in numbers as one."""
    lines = list(_collapsed(material.text))
    texts = [line.text for line in lines]
    weights = [_ANY if text.strip() else 0.0 for text in texts]

    def weigh(at: int, weight: float) -> None:
        weights[at] = max(weights[at], weight)

    for at in error_lines(texts):
        for near in range(max(0, at - 1), min(len(lines), at + _AROUND + 1)):
            weigh(near, _NEAR)
        weigh(at, _WRONG)
    for at in warnings(texts):
        weigh(at, _WARNING)
    for at in counts(texts):
        weigh(at, _COUNT)
    for at in (*range(min(_ENDS, len(lines))), *range(max(0, len(lines) - _ENDS), len(lines))):
        weigh(at, _END)
    # Among lines of equal weight, the last ones show the outcome.
    return [
        Line(text, weight + at * 1e-9, line.stands_for)
        for at, (line, text, weight) in enumerate(zip(lines, texts, weights, strict=True))
    ]


def _collapsed(text: str) -> Iterator[Line]:
    """The first line of each run of lines that differ only in numbers, with how many followed."""
    lines, shapes = text.split("\n"), without_numbers(text).split("\n")
    at = 0
    while at < len(lines):
        first = at
        at += 1
        while at < len(lines) and shapes[at] == shapes[first] and lines[first].strip():
            at += 1
        followed = at - first - 1
        more = f" [... {followed} more like this ...]" if followed else ""
        yield Line(lines[first] + more, stands_for=followed + 1)
