"""Logs and output of tests and builds: errors with what surrounds them, then the ends; repeats are told once."""

import re

from pageturn.renditions.contract import Line, Material
from pageturn.renditions.scanning import lines_with

_WRONG = re.compile(
    r"(?:[Ee]rror|ERROR|[Ee]xception|[Ff]ail|FAIL|[Ff]atal|FATAL|[Pp]anic|Traceback|[Aa]ssert|[Uu]ndefined|not found|denied"
    r"|refused|[Tt]imed out|[Cc]annot|[Uu]nable|[Mm]issing|[Ii]nvalid|[Uu]nexpected|[Ww]arn|WARN|✗|✘|×|\nE  )"
)
_COUNTED = re.compile(r"\b\d+ (?:passed|failed|errors?|warnings?|tests?|skipped)\b|\n(?:PASS|FAIL|ok)\b|[Ee]xit code")
_DIGITS = re.compile(r"\d+")
_ENDS = 5
_AROUND = 2


def outline(material: Material) -> list[Line]:
    """The lines, of which runs that differ only in numbers are one."""
    lines = _collapsed(material.text.splitlines())
    text = "\n".join(lines)
    weights = [0.3 if line.strip() else 0.0 for line in lines]
    for at in lines_with(_WRONG, text):
        for near in range(max(0, at - 1), min(len(lines), at + _AROUND + 1)):
            weights[near] = max(weights[near], 3.0 if near == at else 1.0)
    for at in lines_with(_COUNTED, text):
        weights[at] = max(weights[at], 2.5)
    for at in (*range(min(_ENDS, len(lines))), *range(max(0, len(lines) - _ENDS), len(lines))):
        weights[at] = max(weights[at], 2.0)
    return [Line(line, weight) for line, weight in zip(lines, weights, strict=True)]


def _collapsed(lines: list[str]) -> list[str]:
    """The first line of each run of lines that are the same but for their numbers, and how many followed."""
    kept: list[str] = []
    shape, followed = None, 0
    for line in lines:
        now = _DIGITS.sub("0", line)
        if now == shape and line.strip():
            followed += 1
            continue
        if followed:
            kept.append(f"[... {followed} more like this ...]")
        kept.append(line)
        shape, followed = now, 0
    return [*kept, f"[... {followed} more like this ...]"] if followed else kept
