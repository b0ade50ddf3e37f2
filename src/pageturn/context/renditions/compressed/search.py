"""Outlines search results: every file with its first matches, then the others."""

import re

from pageturn.context.renditions.contract import Line, Material

_MATCH = re.compile(r"([\w./@~ -]+?\.\w{1,8})[:\-](\d+)[:\-](.*)")
_FIRST, _SECOND, _MORE, _OTHER = 4.0, 2.0, 0.5, 1.0


def outline(material: Material) -> list[Line]:
    """The matches; the first of each file before the second of any."""
    lines = material.text.split("\n")
    weights = []
    seen: dict[str, int] = {}
    for at, line in enumerate(lines):
        found = _MATCH.match(line)
        if found is None:
            weights.append(_OTHER if line.strip() else 0.0)
            continue
        path, number, text = found.groups()
        seen[path] = matches = seen.get(path, 0) + 1
        weights.append(_FIRST if matches == 1 else _SECOND if matches == 2 else _MORE)
        lines[at] = f"{path}:{number}: {text.strip()}"
    return list(map(Line, lines, weights))
