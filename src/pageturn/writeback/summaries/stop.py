"""Signals from another thread that work is no longer needed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class Stop:
    """Signals that work is no longer needed; its callbacks are called at once, from another thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: list[Callable[[], None]] = []
        self.is_set = False
        self.is_late = False  # because it took too long, and not because the session was closed

    def set(self, *, is_late: bool = False) -> None:
        """Stop what is running, and what starts later."""
        with self._lock:
            self.is_set = True
            self.is_late = is_late
            calls, self._calls = self._calls, []
        for call in calls:
            call()

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """While this context is active, a stop calls `call`."""
        with self._lock:
            if not self.is_set:
                self._calls.append(call)
        if self.is_set:
            call()
        try:
            yield
        finally:
            with self._lock:
                if call in self._calls:
                    self._calls.remove(call)
