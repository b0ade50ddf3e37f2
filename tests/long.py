"""How much of a long suite runs: a sample in `make test`, the whole in `make test-long`."""

import os


def examples(sample: int, *, whole: int) -> int:
    return whole if os.environ.get("PAGETURN_LONG") else sample


def tell(figures: str) -> None:
    """Print what a suite did, for `pytest -s`."""
    print(figures)  # noqa: T201
