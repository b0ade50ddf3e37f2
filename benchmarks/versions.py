"""Appending and opening by this version and by another revision of it, in turns: `python -m benchmarks.versions [REVISION]`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

ROUNDS = 9
PROGRAM = """
import sys, time, pageturn as pt
path, what = sys.argv[1:]
if what == "open":
    for _ in range(2):
        start = time.perf_counter(); session = pt.Session.open(path, id="long"); took = time.perf_counter() - start
    print(took * 1e3)
else:
    durability = what
    with pt.Session.open(f"sqlite:{path}?durability={durability}", id="long") as session:
        messages = [pt.user(f"page {at} " + "some words of it " * 35) for at in range(1_500)]
        times = []
        for message in messages:
            start = time.perf_counter(); session.append(message); times.append(time.perf_counter() - start)
        print(sum(sorted(times)[: len(times) * 3 // 4]) / (len(times) * 3 // 4) * 1e6)
        add = getattr(session, "extend", session.append)  # an older revision has one method for both
        for batch in range(40):
            add([pt.user(f"more {batch} {at} " + "words " * 20) for at in range(500)])
"""


def main(revision: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "before")
        before.mkdir()
        archive = subprocess.run(["git", "archive", revision, "src"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", before], input=archive, check=True)
        sources = {revision: before / "src", "this": Path("src").absolute()}
        table = Table(title=f"Median of {ROUNDS} rounds, taken in turns", title_justify="left")
        for column in ("", revision, "this", "difference"):
            table.add_column(column, justify="right" if column else "left")
        for name, unit in (
            ("full", "us an append, fsync"),
            ("normal", "us an append, no fsync"),
            ("open", "ms to open 21,500 pages"),
        ):
            took: dict[str, list[float]] = {key: [] for key in sources}
            for number in range(ROUNDS):
                for key, source in sources.items() if number % 2 else reversed(sources.items()):
                    file = Path(folder, f"{key.replace('/', '_')}-{'open' if name == 'open' else f'{name}{number}'}.db")
                    if name == "open" and not file.exists():
                        run(source, file, "normal")
                    took[key].append(run(source, file, name))
            old, new = (median(took[key]) for key in sources)
            table.add_row(unit, f"{old:.1f}", f"{new:.1f}", f"{new / old - 1:+.1%}")
        Console().print(table)


def run(source: Path, file: Path, what: str) -> float:
    command = [sys.executable, "-c", PROGRAM, str(file), what]
    beside = os.environ.get("PYTHONPATH")  # an older revision may need packages that this one does not
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(source), beside)))}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "main")
