"""Remembers which agent has the prompt of a session in its provider's cache."""

from datetime import datetime
from typing import NamedTuple

from pageturn.values.vendors import profile_of

_MOST_SESSIONS = 10_000


class _Served(NamedTuple):
    """The agent that served a session last, and when."""

    agent: str
    at: datetime


class WarmCaches:
    """The agents that served sessions last, as far as this process knows."""

    def __init__(self) -> None:
        self._last: dict[str, _Served] = {}

    def of(self, session: str, now: datetime) -> str | None:
        """The agent with the prompt of a session in its cache."""
        last = self._last.get(session)
        if last is None:
            return None
        is_warm = profile_of(last.agent).billing.is_warm_after((now - last.at).total_seconds())
        return last.agent if is_warm else None

    def note(self, session: str, agent: str, now: datetime) -> None:
        """Record that an agent serves a session."""
        self._last.pop(session, None)
        if len(self._last) >= _MOST_SESSIONS:
            del self._last[next(iter(self._last))]
        self._last[session] = _Served(agent, now)
