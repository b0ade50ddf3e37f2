"""Picking: the lines of an outline that fit, in order, with a mark where some were left out."""

from collections.abc import Iterable, Sequence

from pageturn.renditions.contract import Line

_MARK = len("[... 12 lines ...]\n")


def pick(lines: Sequence[Line], room: int) -> str:
    """The weightiest lines that fit into so many characters; between them, how many are missing."""
    chosen: set[int] = set()
    for at in sorted(range(len(lines)), key=lambda at: -lines[at].weight):
        stands_alone = at - 1 not in chosen and at + 1 not in chosen
        cost = len(lines[at].text) + 1 + (_MARK if stands_alone else 0)
        if lines[at].weight > 0 and cost <= room:
            chosen.add(at)
            room -= cost
    return "\n".join(_joined(lines, chosen))


def _joined(lines: Sequence[Line], chosen: set[int]) -> Iterable[str]:
    missing: list[str] = []
    for at, line in enumerate(lines):
        if at in chosen:
            yield from _gap(missing)
            missing = []
            yield line.text
        elif line.text.strip():
            missing.append(line.text)
    yield from _gap(missing)


def _gap(missing: list[str]) -> Iterable[str]:
    """The mark for lines that were left out, or the one line that is no longer than its mark."""
    if len(missing) == 1 and len(missing[0]) <= len("[... 1 line ...]"):
        yield missing[0]
    elif missing:
        yield f"[... {len(missing)} line{'s' if len(missing) > 1 else ''} ...]"
