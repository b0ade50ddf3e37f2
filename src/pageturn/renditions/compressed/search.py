"""Search results: every file with its first matches, then the others; a path that repeats is told once."""

import re
from collections import Counter

from pageturn.renditions.contract import Line, Material

_MATCH = re.compile(r"([\w./@~ -]+?\.\w{1,8})[:\-](\d+)[:\-](.*)")
_FIRST = 2  # matches of a file that come before the second of any other


def outline(material: Material) -> list[Line]:
    """The matches, each under its file."""
    lines: list[Line] = []
    seen: Counter[str] = Counter()
    before = None
    for line in material.text.splitlines():
        found = _MATCH.match(line)
        if found is None:
            lines.append(Line(line, 1.0 if line.strip() else 0.0))
            before = None
            continue
        path, number, text = found.groups()
        seen[path] += 1
        if path != before:
            lines.append(Line(f"{path}:", 4.0 if seen[path] == 1 else 1.0))
        lines.append(Line(f"{number}: {text.strip()}", 2.0 / seen[path] if seen[path] <= _FIRST else 0.5))
        before = path
    return lines
