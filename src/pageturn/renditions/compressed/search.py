"""Search results: every file with its first matches, then the others."""

import re
from collections import Counter

from pageturn.renditions.contract import Line, Material

_MATCH = re.compile(r"([\w./@~ -]+?\.\w{1,8})[:\-](\d+)[:\-](.*)")
_FIRST, _SECOND, _MORE, _OTHER = 4.0, 2.0, 0.5, 1.0


def outline(material: Material) -> list[Line]:
    """The matches; the first of each file comes before the second of any."""
    lines: list[Line] = []
    seen: Counter[str] = Counter()
    for line in material.text.split("\n"):
        found = _MATCH.match(line)
        if found is None:
            lines.append(Line(line, _OTHER if line.strip() else 0.0))
            continue
        path, number, text = found.groups()
        seen[path] += 1
        weight = _FIRST if seen[path] == 1 else _SECOND if seen[path] == 2 else _MORE
        lines.append(Line(f"{path}:{number}: {text.strip()}", weight))
    return lines
