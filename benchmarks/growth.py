"""How the work grows with hostile text: every shape through every entry point, at one size and at four times that size.

    make bench-growth [ARGS="--size 16000 --point derive --shape slashes"]

For each entry point: the shape whose work grows the most (4 is linear, 16 a square; what takes under 50 ms counts as linear), the slowest
shape in microseconds of CPU time a character, and the median. Then very many small things of one kind, in the same way. `--rows` measures what
takes the square because each of them goes through the whole session.
"""

from argparse import ArgumentParser
from collections.abc import Mapping
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.hostile.crowds import CROWDS
from tests.hostile.entry_points import ENTRY_POINTS
from tests.hostile.growth import Growth, Prepared, looked_at, measure
from tests.hostile.operations import IN_A_ROW
from tests.hostile.shapes import SHAPES


def main() -> None:
    parser = ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--size", type=int, default=16_000)
    parser.add_argument("--point", default="", help="only entry points with this in their name")
    parser.add_argument("--shape", default="", help="only shapes with this in their name")
    parser.add_argument("--rows", action="store_true", help="only operations in a row, which take the square")
    options = parser.parse_args()
    console = Console(width=170)
    if options.rows:
        console.print(_many(IN_A_ROW))
        return
    shapes = {name: make for name, make in SHAPES.items() if options.shape in name}
    points = {name: enter for name, enter in ENTRY_POINTS.items() if options.point in name}
    table = Table("entry point", "grows the most", "times", "slowest", "us a character", "median", "too fast")
    worst = 0.0
    failed: list[str] = []
    for point, enter in track(points.items(), transient=True, console=console):
        looks = {
            shape: looked_at(lambda size, enter=enter, make=make: enter(make(size)), options.size)
            for shape, make in shapes.items()
        }
        grown = {shape: growth for shape, (growth, _) in looks.items()}
        too_fast = [f"{shape} at {point}: {growth}" for shape, (growth, is_too_fast) in looks.items() if is_too_fast]
        failed += too_fast
        table.add_row(point, *_cells(grown), str(len(too_fast)))
        worst = max(worst, *(growth.micros_per_unit for growth in grown.values()))
    console.print(f"{len(shapes)} shapes, {options.size:,} and {4 * options.size:,} characters")
    console.print(table)
    console.print(f"slowest of all: {worst:.2f} us a character; growing too fast: {len(failed)}")
    console.print(*failed, sep="\n")
    if not options.point and not options.shape:
        console.print(_many(CROWDS))


def _many(crowds: Mapping[str, tuple[Prepared, int]]) -> Table:
    table = Table("many", "from", "times", "us each")
    for name, (prepared, count) in crowds.items():
        growth = measure(prepared, count)
        table.add_row(name, f"{count:,}", f"{growth.times:.1f}", f"{growth.micros_per_unit:,.0f}")
    return table


def _cells(grown: dict[str, Growth]) -> list[str]:
    steepest = max(grown, key=lambda shape: grown[shape].times if grown[shape].large > 0.05 else 0)
    slowest = max(grown, key=lambda shape: grown[shape].micros_per_unit)
    is_seen = grown[steepest].large > 0.05
    return [
        steepest if is_seen else "-",
        f"{grown[steepest].times:.1f}" if is_seen else "-",
        slowest,
        f"{grown[slowest].micros_per_unit:.2f}",
        f"{median(growth.micros_per_unit for growth in grown.values()):.2f}",
    ]


if __name__ == "__main__":
    main()
