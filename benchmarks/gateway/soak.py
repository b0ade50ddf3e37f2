"""The gateway under the same load for long: whether its memory and its open files stay as they are, and how late answers begin.

    python -m benchmarks.gateway.soak [CLIENTS] [SECONDS] [MODE]

Each client has a connection, and a conversation of ten turns after the other. The slopes are of a straight line through the samples after
the first third, in which caches fill. The load is on loopback, so the machine is busy all the time.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import NamedTuple

import uvloop

from benchmarks.gateway.load import Asking, requests
from benchmarks.gateway.subjects import provider, subject
from benchmarks.stopwatch import machine

TURNS, MESSAGES = 10, 10
SAMPLES = 60
_WARM = 1 / 3


class Sample(NamedTuple):
    """The process at one moment."""

    seconds: float
    megabytes: float
    files: int


class Soaked(NamedTuple):
    """What was seen."""

    answers: int
    failures: int
    firsts: list[float]  # milliseconds to the first byte, in order
    samples: list[Sample]

    def at(self, part: float) -> float:
        """A quantile of the milliseconds."""
        return self.firsts[min(int(len(self.firsts) * part), len(self.firsts) - 1)]

    @property
    def warm(self) -> list[Sample]:
        """The samples after caches have filled."""
        return self.samples[int(len(self.samples) * _WARM) :]


def main() -> None:
    """Soak a gateway, and print what was seen."""
    clients, seconds, mode = [*sys.argv[1:], *("256", "600", "watch")[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory(prefix="pageturn-soak-") as given, ExitStack() as stack:
        folder = Path(given)
        upstream = stack.enter_context(provider(folder))
        running = stack.enter_context(subject(mode, upstream.url, folder))
        found = uvloop.run(soak(running.port, int(clients), float(seconds), lambda: look(running.pid)))
    print(machine())
    print(f"{clients} clients, {float(seconds):g} s, {mode}: {found.answers:,} answers, {found.failures} failures")
    print(f"first byte: p50 {found.at(0.5):.0f} ms, p99 {found.at(0.99):.0f} ms")
    for name, unit in (("megabytes", "MB"), ("files", "files")):
        values = [getattr(each, name) for each in found.warm]
        slope = 60 * slope_of([each.seconds for each in found.warm], values)
        print(
            f"{name}: {values[0]:.0f} to {values[-1]:.0f} (most {max(values):.0f}), slope {slope:+.2f} {unit} a minute"
        )


async def soak(port: int, clients: int, seconds: float, look_: Callable[[], tuple[float, int]]) -> Soaked:
    """Ask all the time, and look at the process now and then."""
    found = Soaked(0, 0, [], [])
    begun = perf_counter()
    is_over = asyncio.Event()
    failures = [0]

    async def talk(number: int) -> None:
        conversation = 0
        while not is_over.is_set():
            _, asking = await asyncio.get_running_loop().create_connection(Asking, "127.0.0.1", port)
            make = requests(f"127.0.0.1:{port}", MESSAGES, f"soak-{number}-{conversation}")
            for turn in range(TURNS):
                try:
                    first, _ = await asking.ask(make(turn))
                    found.firsts.append(first * 1_000)
                except (RuntimeError, OSError):
                    failures[0] += 1
                    break
                if is_over.is_set():
                    break
            asking.transport.close()
            conversation += 1

    talking = asyncio.gather(*(talk(number) for number in range(clients)))
    for number in range(SAMPLES):
        await asyncio.sleep(max(0.0, begun + seconds * (number + 1) / SAMPLES - perf_counter()))
        found.samples.append(Sample(perf_counter() - begun, *look_()))
    is_over.set()
    await talking
    found.firsts.sort()
    return found._replace(answers=len(found.firsts), failures=failures[0])


def look(pid: int) -> tuple[float, int]:
    """The memory of a process in megabytes, and how many files it has open (Linux)."""
    folder = Path(f"/proc/{pid}")
    lines = (folder / "status").read_text().splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return resident / 1_000, len(list((folder / "fd").iterdir()))


def slope_of(times: Sequence[float], values: Sequence[float]) -> float:
    """How much a straight line through these points rises in a second."""
    middle, height = fmean(times), fmean(values)
    spread = sum((time - middle) ** 2 for time in times)
    return sum((time - middle) * (value - height) for time, value in zip(times, values, strict=True)) / spread


if __name__ == "__main__":
    main()
