"""Holds back Python's garbage collector while values are made that are freed by themselves, or that stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Many new tuples make the collector go through all that the process holds, again and again, and find nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
