"""Timing: the best of several runs, so that other work on the machine disturbs little."""

import gc
import platform
from collections.abc import Callable
from pathlib import Path
from time import perf_counter


def best_ms(work: Callable[[], object], *, rounds: int = 7, clock: Callable[[], float] = perf_counter) -> float:
    """The fastest of several runs, in milliseconds."""
    times = []
    for _ in range(rounds):
        gc.collect()
        start = clock()
        work()
        times.append(clock() - start)
    return min(times) * 1_000


def machine() -> str:
    """The processor and the Python that the figures belong to, and how quick they are at the moment."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    name = names[0] if names else platform.processor() or platform.machine()
    loop = best_ms(_count_to_a_million, rounds=5)
    return f"{name}, Python {platform.python_version()}, which counts to a million in {loop:.0f} ms"


def _count_to_a_million() -> int:
    """A fixed piece of work, to compare machines by."""
    number = 0
    while number < 1_000_000:
        number += 1
    return number
