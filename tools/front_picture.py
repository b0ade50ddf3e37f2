"""Draws docs/pictures/front.svg and front-outer.svg from the tables of docs/results-tables.md: the priced bill against the share of turns that miss.

make pictures
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pageturn.lab.report.axes import Box, Frame, Labels, colour, mark
from pageturn.lab.report.scales import around, by_ratio, percent, times
from pageturn.lab.report.style import drawing_style
from pageturn.lab.report.svg import Node, add, label, node, path, picture, standalone
from tools.pictures import FOLDER

RESULTS = FOLDER.parent / "results-tables.md"
PICTURES = {"front": (32_000, 64_000), "front-outer": (16_000, 128_000)}  # and their budgets
NAMES = ("thrifty", "balanced", "faithful")  # in the order of the curve
WIDTH, HEIGHT = 470, 300  # of a panel
_LEFT, _TOP, _BOTTOM, _RIGHT = 56, 34, 44, 18
_TITLE = re.compile(r"\*\*(?P<source>[^*]+)\*\*, \d+ sessions?$")
_ROW = re.compile(
    r"\| (?P<budget>[\d,]+) \| (?P<method>[\w -]+) \| (?P<priced>[\d.]+) \|(?: [\d.]+ \|){3} (?P<missing>[\d.]+) \|"
)


class Point(NamedTuple):
    """A method at a budget."""

    method: str
    budget: int
    priced: float
    missing: float


def main() -> None:
    for name, budgets in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(drawn(RESULTS.read_text(encoding="utf-8"), budgets), encoding="utf-8")


def tables(text: str) -> dict[str, list[Point]]:
    """The points of each source, as the page tells them."""
    found: dict[str, list[Point]] = {}
    source = ""
    for line in text.splitlines():
        if title := _TITLE.match(line):
            source = title["source"]
        elif (row := _ROW.match(line)) and source:
            budget = int(row["budget"].replace(",", ""))
            found.setdefault(source, []).append(
                Point(row["method"], budget, float(row["priced"]), float(row["missing"]))
            )
    return found


def drawn(text: str, budgets: Sequence[int]) -> str:
    """A row of panels for each source, with one panel for each budget."""
    points = tables(text)
    whole = picture(
        len(budgets) * WIDTH,
        len(points) * HEIGHT,
        "The priced bill against the share of turns that miss, by source and budget",
    )
    for row, (source, every) in enumerate(points.items()):
        for column, budget in enumerate(budgets):
            shown = [point for point in every if point.budget == budget and point.method != "everything"]
            panel = node("g", transform=f"translate({column * WIDTH} {row * HEIGHT})")
            add(whole, add(panel, *_panel(f"{source}, {budget:,} tokens", shown)))
    return standalone(whole, drawing_style())


def _panel(title: str, points: Sequence[Point]) -> Iterator[Node]:
    """The names of Paged as a curve, and the other methods as points."""
    frame = Frame(
        by_ratio((point.priced for point in points), _LEFT, WIDTH - _RIGHT),
        around([0.0, *(point.missing for point in points)], HEIGHT - _BOTTOM, _TOP, margin=0.04),
    )
    yield label(title, _LEFT, 14, class_="title")
    yield from frame.grid(percent, ticks=5)
    yield from frame.bottom(times, "priced bill, relative to sending everything", ticks=6)
    places = {point.method: (frame.x(point.priced), frame.y(point.missing)) for point in points}
    yield path([places[name] for name in NAMES if name in places], f"line {colour(0)}")
    room = Box(frame.x.start, frame.y.end, frame.x.end, frame.y.start)
    labels = Labels(room, [Box(x - 6, y - 6, x + 6, y + 6) for x, y in places.values()])
    for method, place in places.items():
        yield mark(0 if method in NAMES else 1, *place, size=4)
    for method, place in places.items():
        yield from labels.place(method, [place], "small" if method in NAMES else "faint small")


if __name__ == "__main__":
    main()
