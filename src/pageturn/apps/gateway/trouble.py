"""Remembers that a store failed, so that not every request waits for it: it is asked again after a while."""

import re
from collections.abc import Callable

_LEFT_ALONE = 5.0  # seconds
_WAIT = re.compile(r"wait_seconds=[^&]*")
_MOMENT = "wait_seconds=0.25"  # for another process that is writing


class Trouble:
    """The trouble with a store."""

    def __init__(self, clock: Callable[[], float], seconds: float = _LEFT_ALONE) -> None:
        self._clock = clock
        self._seconds = seconds
        self._at: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether the store failed, and has not answered since."""
        return self._at is not None

    @property
    def is_fresh(self) -> bool:
        """Whether it failed a moment ago, so that it is not worth asking."""
        return self._at is not None and self._clock() - self._at < self._seconds

    def note(self) -> None:
        """It failed."""
        self._at = self._clock()

    def over(self) -> None:
        """It answered."""
        self._at = None


def impatient(url: str) -> str:
    """The URL of a store that clients wait for: a lock is waited for a moment only."""
    return _WAIT.sub(_MOMENT, url)
