"""Usage: what a provider says that a call took."""

from typing import Annotated

import msgspec

from pageturn.values.json import Open

MOST_TOKENS = 2**53  # what is more is no count: no float holds it exactly, and sums of it no snapshot
Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]


class Usage(Open, kw_only=True):
    """Tokens of one call. `input_tokens` counts the whole prompt, cached or not."""

    input_tokens: Count
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    model: str | None = None
