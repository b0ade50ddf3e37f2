"""Keeps tenants apart: each scope has a mode and a way of its own, which see the sessions and the routing of that scope alone."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from pageturn.apps.gateway.counts import Tally
from pageturn.apps.gateway.dispatch import Dispatch
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.modes import Mode, Pass, Refuse, Send
from pageturn.apps.gateway.upstream import Answer
from pageturn.values.usage import Usage, total_usage

T = TypeVar("T")


class _OfScopes(Generic[T]):
    """One thing for each scope, made when it is first asked for."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make
        self._made: dict[str, T] = {}

    def of(self, scope: str | None) -> T:
        assert scope is not None, "nobody comes here without a key"
        if scope not in self._made:
            self._made[scope] = self._make(scope)
        return self._made[scope]

    def all(self) -> list[T]:
        return list(self._made.values())


class SeparatedModes:
    """A mode that is another one for each scope."""

    def __init__(self, make: Callable[[str], Mode]) -> None:
        self._modes: _OfScopes[Mode] = _OfScopes(make)

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """As the mode of the scope says."""
        return await self._modes.of(exchange.tenant).before(exchange)

    async def unread(self, headers: Headers) -> Refuse:  # noqa: ARG002 - the port says so
        """Refuse it: what cannot be read cannot be checked against what a key allows."""
        return Refuse(413, "the request is too large to be read", "refused; large")

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:
        """As the mode of the scope says."""
        return await self._modes.of(exchange.tenant).refused(exchange, body)

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:
        """As the mode of the scope says."""
        return self._modes.of(exchange.tenant).on_chunk(exchange, chunk)

    def overdue(self, exchange: Exchange) -> bytes:
        """As the mode of the scope says."""
        return self._modes.of(exchange.tenant).overdue(exchange)

    async def proceed(self, exchange: Exchange) -> Send | bytes | None:
        """As the mode of the scope says."""
        return await self._modes.of(exchange.tenant).proceed(exchange)

    async def after(self, exchange: Exchange) -> None:
        """As the mode of the scope says."""
        await self._modes.of(exchange.tenant).after(exchange)

    def tally(self) -> Tally:
        """What was done in all scopes."""
        tallies = [mode.tally() for mode in self._modes.all()]
        return Tally(
            sum(each.turns for each in tallies),
            frozenset().union(*(each.sessions for each in tallies)),
            total_usage([Usage(input_tokens=0), *(each.usage for each in tallies)]),
            sum((each.passed for each in tallies), start=Counter[str]()),
            sum((each.new_words for each in tallies), start=Counter[str]()),
        )

    def close(self) -> None:
        """Close all of them."""
        for mode in self._modes.all():
            mode.close()


class SeparatedWays:
    """A way that is another one for each scope."""

    def __init__(self, make: Callable[[str], Dispatch]) -> None:
        self._ways: _OfScopes[Dispatch] = _OfScopes(make)

    async def choose(self, exchange: Exchange) -> Refuse | None:
        """As the way of the scope says."""
        return await self._ways.of(exchange.tenant).choose(exchange)

    @asynccontextmanager
    async def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AsyncIterator[Answer]:
        """As the way of the scope does."""
        async with self._ways.of(exchange.tenant).ask(exchange, headers, body) as answer:
            yield answer

    async def over(self, exchange: Exchange) -> None:
        """As the way of the scope says."""
        await self._ways.of(exchange.tenant).over(exchange)

    def of(self, scope: str) -> Dispatch:
        """The way of a scope."""
        return self._ways.of(scope)

    def close(self) -> None:
        """Close all of them."""
        for way in self._ways.all():
            way.close()
