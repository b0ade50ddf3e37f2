"""Outlines diffs: files, hunk headers and changed lines; context lines are dropped first."""

from pageturn.context.renditions.contract import Line, Material

_FILE, _PLACE, _CHANGE, _AROUND = 4.0, 3.0, 1.0, 0.2
_OTHER_HEADS = ("rename ", "new file", "deleted file", "commit ", "Author:")


def outline(material: Material) -> list[Line]:
    """The lines of a diff."""
    lines = material.text.splitlines()
    file_heads = ("diff ",) if any(line.startswith("diff ") for line in lines) else ("--- ", "+++ ")
    return [Line(line, _weight(line, file_heads)) for line in lines]


def _weight(line: str, file_heads: tuple[str, ...]) -> float:
    if line.startswith((*file_heads, *_OTHER_HEADS)):
        return _FILE
    if line.startswith("@@"):
        return _PLACE
    if line.startswith(("--- ", "+++ ")):
        return _AROUND  # the line above names both files
    if line[:1] in ("+", "-"):
        return _CHANGE if line[1:].strip() else 0.0
    return _AROUND if line.strip() else 0.0
