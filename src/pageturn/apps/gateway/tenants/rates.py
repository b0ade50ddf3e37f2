"""Counts what virtual keys have asked for in the last minute, in this process."""

from collections import deque
from collections.abc import Callable

from pageturn.apps.gateway.tenants.keys import VirtualKey

_MINUTE = 60.0


class Rates:
    """The requests of each key in the last minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._recent: dict[str, deque[tuple[float, int]]] = {}

    def full(self, key: VirtualKey, tokens: int) -> str | None:
        """The limit that a request would exceed; a request that exceeds none is counted."""
        now = self._clock()
        recent = self._recent.setdefault(key.id, deque())
        while recent and now - recent[0][0] >= _MINUTE:
            recent.popleft()
        if key.requests_a_minute is not None and len(recent) >= key.requests_a_minute:
            return f"{key.requests_a_minute} requests a minute"
        if key.tokens_a_minute is not None and sum(each for _, each in recent) + tokens > key.tokens_a_minute:
            return f"{key.tokens_a_minute:,} tokens a minute"
        recent.append((now, tokens))
        return None
