"""Usage: what a provider says that a call took."""

from typing import Annotated

import msgspec

from pageturn.wire import Open

Count = Annotated[int, msgspec.Meta(ge=0)]


class Usage(Open, kw_only=True):
    """Tokens of one call. `input_tokens` counts the whole prompt, cached or not."""

    input_tokens: Count
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    model: str | None = None
