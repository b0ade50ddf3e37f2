"""Outlines file listings: the first and last of long runs of one folder; the names themselves are kept as names."""

from pageturn.context.renditions.contract import Line, Material


def outline(material: Material) -> list[Line]:
    """The entries; the first of each folder names the folder."""
    lines = []
    before = None
    for line in material.text.splitlines():
        folder = line.rpartition("/")[0]
        lines.append(Line(line, 0.0 if not line.strip() else 2.0 if folder != before else 1.0))
        before = folder
    return lines
