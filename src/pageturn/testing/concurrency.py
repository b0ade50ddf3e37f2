"""Runs several threads at once for a suite, and reports what fails in any of them."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

_PATIENCE_SECONDS = 60.0  # a guard against waiting forever, not a measurement


def in_threads(work: Callable[[T], object], inputs: Sequence[T]) -> None:
    """Run the same function for each input, all at once; raises the first error."""
    failures: list[Exception] = []

    def run(given: T) -> None:
        try:
            work(given)
        except Exception as error:  # noqa: BLE001 (raised again in the thread that waits)
            failures.append(error)

    threads = [threading.Thread(target=run, args=(given,), daemon=True) for given in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE_SECONDS)
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError(f"a thread did not finish within {_PATIENCE_SECONDS:g} s")
    if failures:
        raise failures[0]
