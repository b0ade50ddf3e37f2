"""Usage: the token counts that a provider reported for a call."""

from collections.abc import Iterable
from typing import Annotated

import msgspec

from pageturn.values.json import Open

# Larger values are not counts: no float holds them exactly, and their sums do not fit into a snapshot.
MOST_TOKENS = 2**53
Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]


class Usage(Open, kw_only=True):
    """The tokens of one call. `input_tokens` counts the whole prompt, cached or not."""

    input_tokens: Count
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    model: str | None = None


def total_usage(usages: Iterable[Usage]) -> Usage:
    """The sum over several calls, of any models."""
    each = tuple(usages)
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in each),
        output_tokens=sum(usage.output_tokens for usage in each),
        cache_read_tokens=sum(usage.cache_read_tokens for usage in each),
        cache_write_tokens=sum(usage.cache_write_tokens for usage in each),
    )
