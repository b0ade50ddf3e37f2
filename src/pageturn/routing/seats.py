"""Remembers which agent has the prompt of a session in its provider's cache."""

from datetime import datetime, timedelta
from typing import NamedTuple

_MOST_SESSIONS = 10_000
_CACHE_LASTS = timedelta(minutes=5)  # the lifetime of a provider's prompt cache without another request


class _Seat(NamedTuple):
    """The agent that served a session last, and when."""

    agent: str
    at: datetime


class Seats:
    """The agents that served sessions last, as far as this process knows."""

    def __init__(self) -> None:
        self._seats: dict[str, _Seat] = {}

    def of(self, session: str, now: datetime) -> str | None:
        """The agent with the prompt of a session in its cache."""
        seat = self._seats.get(session)
        return None if seat is None or now - seat.at > _CACHE_LASTS else seat.agent

    def take(self, session: str, agent: str, now: datetime) -> None:
        """Record that an agent serves a session."""
        self._seats.pop(session, None)
        if len(self._seats) >= _MOST_SESSIONS:
            del self._seats[next(iter(self._seats))]
        self._seats[session] = _Seat(agent, now)
