"""Diffs: which files, which places, and what was changed; what only surrounds a change goes first."""

from pageturn.renditions.contract import Line, Material

_FILE, _PLACE, _CHANGE, _AROUND = 4.0, 3.0, 1.0, 0.2


def outline(material: Material) -> list[Line]:
    """The lines of a diff."""
    return [Line(line, _weight(line)) for line in material.text.splitlines()]


def _weight(line: str) -> float:
    if line.startswith(("diff ", "--- ", "+++ ", "rename ", "new file", "deleted file", "commit ", "Author:")):
        return _FILE
    if line.startswith("@@"):
        return _PLACE
    if line[:1] in ("+", "-"):
        return _CHANGE if line[1:].strip() else 0.0
    return _AROUND if line.strip() else 0.0
