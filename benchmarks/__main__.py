"""`make bench`: every table, ratios within one run."""

from rich.console import Console

from benchmarks import derive_speed, formats, journal, levels, routing_speed, stopwatch, values


def main() -> None:
    console = Console(width=100)
    console.print(f"[dim]{stopwatch.machine()}; best of several runs; compare ratios, not milliseconds[/]")
    values.show(console)
    journal.show(console)
    formats.show(console)
    levels.show(console)
    derive_speed.show(console)
    routing_speed.show(console)


if __name__ == "__main__":
    main()
