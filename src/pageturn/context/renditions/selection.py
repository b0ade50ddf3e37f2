"""Selects the lines of an outline that fit, in order, with a mark where some were left out."""

from collections.abc import Iterator, Mapping, Sequence

from pageturn.context.renditions.contract import Line

_MARK = len("[... 12 lines ...]\n")
_WEIGHTY = 1.0  # lines of that weight are cut if they do not fit; others are left out
_SHORTEST_CUT = 80


def pick(lines: Sequence[Line], room: int) -> str:
    """The lines of greatest weight that fit into a number of characters; marks between them say how many are missing."""
    chosen: dict[int, str] = {}
    weights = [line.weight for line in lines]
    shortest = min((len(line.text) for line in lines if line.weight > 0), default=0)
    for at in sorted(range(len(lines)), key=weights.__getitem__, reverse=True):
        if weights[at] <= 0 or room <= min(shortest, _SHORTEST_CUT):
            break
        stands_alone = at - 1 not in chosen and at + 1 not in chosen
        left = room - 1 - (_MARK if stands_alone else 0)
        text = lines[at].text
        if weights[at] >= _WEIGHTY:
            text = _cut(text, max(left // 3, _SHORTEST_CUT))
        if len(text) <= left:
            chosen[at] = text
            room = left - len(text)
    return "\n".join(_joined(lines, chosen))


def _cut(text: str, most: int) -> str:
    """An important line, cut to the room for it."""
    return text if len(text) <= most else f"{text[:most]} [... {len(text) - most:,} characters ...]"


def _joined(lines: Sequence[Line], chosen: Mapping[int, str]) -> Iterator[str]:
    missing: list[Line] = []
    for at, line in enumerate(lines):
        if at in chosen:
            yield from _gap(missing)
            missing = []
            yield chosen[at]
        elif line.text.strip():
            missing.append(line)
    yield from _gap(missing)


def _gap(missing: list[Line]) -> Iterator[str]:
    """The mark for omitted lines, or the one omitted line if it is no longer than its mark."""
    count = sum(line.stands_for for line in missing)
    if len(missing) == 1 and len(missing[0].text) <= len("[... 1 line ...]"):
        yield missing[0].text
    elif missing:
        yield f"[... {count} line{'s' if count != 1 else ''} ...]" if count else "[...]"
