"""Outlines Markdown and HTML: headings, the first words under each, and code; then the rest."""

import re

from pageturn.context.renditions.contract import Line, Material

_HEADING = re.compile(r"\s*(?:#{1,6} |<h[1-6]\b|<title\b)", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:[-*+] |\d+[.)] |\|)")


def outline(material: Material) -> list[Line]:
    """The lines of a document."""
    lines = []
    since_heading = 0
    for line in material.text.splitlines():
        if not line.strip():
            lines.append(Line(line, 0.0))
            continue
        is_heading = _HEADING.match(line) is not None
        since_heading = 0 if is_heading else since_heading + 1
        weight = 4.0 if is_heading else 2.0 if since_heading == 1 else 1.2 if _LISTED.match(line) else 0.8
        lines.append(Line(line, weight))
    return lines
