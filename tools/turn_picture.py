"""Draws docs/pictures/one-turn.svg: the layers of pyproject.toml, and the rooms that one turn enters, as tools/walk.py sees them.

make pictures
"""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from tools.pictures import FOLDER
from tools.walk import Step, layers, one_turn

NAME = "one-turn"
LEFT, COLUMN, ROW, TOP, PAD = 150, 176, 34, 64, 12
LEGEND = "numbers: the order in which a call enters the rooms, and by which function; dashed: passed down, and called from below"
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328 }
.head { font-weight: 600 } .small { font-size: 10.5px; fill: #59636e }
.number { font-size: 11px; fill: #ffffff; text-anchor: middle }
.band { fill: #f6f8fa } .edge { stroke: #d1d9e0 }
.way { fill: none; stroke: #0969da; stroke-width: 1.5; opacity: .5 } .stop { fill: #0969da }
.up { stroke: #bc4c00; stroke-width: 1.5; stroke-dasharray: 4 3; fill: none } .tip { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .band { fill: #151b23 } .edge { stroke: #3d444d }
.way { stroke: #4493f8 } .stop { fill: #1f6feb } .up { stroke: #f0883e } .tip { fill: #f0883e }
}
"""


def main() -> None:
    (FOLDER / f"{NAME}.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """The rooms as rows, the calls of a turn as columns; a number says in which order a call enters them."""
    steps = list(one_turn())
    bands = layers()
    rows = {room: TOP + at * ROW for at, room in enumerate(room for band in bands for room in band)}
    width, height = LEFT + COLUMN * len(steps) + PAD, TOP + ROW * len(rows) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        "<title>The layers of pageturn, and the rooms that one turn enters</title>",
        f"<style>{STYLE}</style>",
        f'<text x="{PAD}" y="22" class="head">layers</text>',
        f'<text x="{PAD}" y="40" class="small">imports and calls point down</text>',
        *_bands(bands, rows, width),
        *(part for at, step in enumerate(steps) for part in _column(step, LEFT + at * COLUMN, rows)),
        f'<text x="{PAD}" y="{height - 14}" class="small">{LEGEND}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bands(bands: Sequence[Sequence[str]], rows: dict[str, int], width: int) -> Iterator[str]:
    for number, band in enumerate(bands):
        top, height = rows[band[0]], ROW * len(band)
        if number % 2 == 0:
            yield f'<rect x="0" y="{top}" width="{width}" height="{height}" class="band"/>'
        for room in band:
            yield f'<text x="{PAD}" y="{rows[room] + 22}">{room}{".py" if room == "session" else ""}</text>'
    yield f'<line x1="{LEFT - PAD}" y1="{TOP}" x2="{LEFT - PAD}" y2="{TOP + ROW * len(rows)}" class="edge"/>'


def _column(step: Step, left: int, rows: dict[str, int]) -> Iterator[str]:
    """One call: the way through the rooms, where it stops, and what goes up."""
    yield f'<text x="{left}" y="22" class="head">{escape(step.name)}</text>'
    stops = [(left + 10, rows[entry.room] + 17) for entry in step.entries]
    points = " ".join(f"{x},{y}" for x, y in stops)
    yield f'<polyline points="{points}" class="way"/>'
    kinds = dict.fromkeys((ascent.kind[0].partition(".")[0], ascent.kind[1]) for ascent in step.ascents)
    for at, (below, above) in enumerate(kinds):
        x, bottom, top = left - 4 - at * 5, rows[below] + 17, rows[above] + 17
        yield f'<path d="M{left + 2} {bottom} H{x} V{top} H{left + 1}" class="up"/>'
        yield f'<path d="M{left + 3} {top} l-6 -3.5 v7 z" class="tip"/>'
    for number, (entry, (x, y)) in enumerate(zip(step.entries, stops, strict=True), start=1):
        yield f'<circle cx="{x}" cy="{y}" r="8" class="stop"/><text x="{x}" y="{y + 4}" class="number">{number}</text>'
        yield f'<text x="{x + 13}" y="{y + 4}" class="small">{escape(_short(entry.function))}</text>'


def _short(function: str) -> str:
    """The class and the name of a function, as far as there is room."""
    named = [part for part in function.split(".") if part != "<locals>"][-2:]
    return ".".join(named)[:25]


if __name__ == "__main__":
    main()
