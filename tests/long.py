"""How much of a long suite runs: a sample in `make test`, the whole in `make test-long`."""

import os


def examples(sample: int, *, whole: int) -> int:
    return whole if os.environ.get("PAGETURN_LONG") else sample
