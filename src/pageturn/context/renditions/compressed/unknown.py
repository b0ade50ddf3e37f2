"""Outlines text of an unknown type: its head and its tail."""

from pageturn.context.renditions.contract import Line, Material

_LONGEST = 400


def outline(material: Material) -> list[Line]:
    """The lines, long ones in pieces; lines nearer to either end have more weight."""
    pieces = [
        line[start : start + _LONGEST]
        for line in material.text.splitlines()
        for start in range(0, max(len(line), 1), _LONGEST)
    ]
    last = len(pieces) - 1
    return [
        Line(piece, 1 / (1 + min(at, 2 * (last - at))) if piece.strip() else 0.0) for at, piece in enumerate(pieces)
    ]
