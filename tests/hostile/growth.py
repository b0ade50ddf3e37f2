"""Growth: whether four times the text takes four times the work, or sixteen times.

Work is CPU time of this process without its garbage collector, which goes through whatever the process holds; so others on the machine,
and tests that ran before, hardly matter. What grows too fast must do so every time that it is looked at, and from the size to twice the size as
well as from there to four times: work that begins at some size, such as putting a text shorter, is only a step.
"""

import gc
from collections.abc import Callable
from time import process_time
from typing import NamedTuple

from pageturn.values.identifiers import names_in

TIMES = 4
_MOST = 9.0  # times the work for four times the text; linear is 4, and a square 16
_FLOOR = 0.05  # seconds; what takes less is lost in the noise
_LOOKS = 3
_EACH_HALF = 2.6  # times the work for twice the text; linear is 2, and a square 4

Prepared = Callable[[int], Callable[[], object]]
"""Makes ready what work on so many characters, or things, needs; what it gives back is the work."""


class Growth(NamedTuple):
    """The seconds that work took for a size, and for four times that size."""

    size: int
    small: float
    large: float

    @property
    def times(self) -> float:
        return self.large / max(self.small, 1e-4)

    @property
    def micros_per_unit(self) -> float:
        return self.large * 1e6 / (TIMES * self.size)

    @property
    def seems_too_fast(self) -> bool:
        return self.large > _FLOOR and self.times > _MOST


def measure(prepared: Prepared, size: int) -> Growth:
    """How the work grows."""
    small = min(_seconds(prepared, size), _seconds(prepared, size))
    return Growth(size, small, _seconds(prepared, TIMES * size))


def looked_at(prepared: Prepared, size: int) -> tuple[Growth, bool]:
    """How the work grows, and whether that is too fast however often it is looked at."""
    for _ in range(_LOOKS):
        growth = measure(prepared, size)
        if not growth.seems_too_fast or not _grows_all_along(prepared, growth):
            return growth, False
    return growth, True


def _grows_all_along(prepared: Prepared, growth: Growth) -> bool:
    middle = min(_seconds(prepared, 2 * growth.size) for _ in range(2))
    return middle > _EACH_HALF * growth.small and growth.large > _EACH_HALF * middle


def _seconds(prepared: Prepared, size: int) -> float:
    work = prepared(size)
    names_in.cache_clear()  # what was read before must be read again
    gc.disable()
    try:
        start = process_time()
        work()
        return process_time() - start
    finally:
        gc.enable()
