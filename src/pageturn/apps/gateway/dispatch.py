"""Defines how a call of a model reaches an upstream. `Direct` sends it to its vendor; `routes` has a way that chooses."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from pageturn.apps.gateway.endpoints import Upstream
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.modes import Refuse
from pageturn.apps.gateway.upstream import Answer, Body, UpstreamClient


class Dispatch(Protocol):
    """What the proxy asks, in this order, for each call."""

    async def choose(self, exchange: Exchange) -> Refuse | None:
        """Decide who answers, before the mode sees the request, which may be given another model here; or refuse it."""
        ...

    def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AbstractAsyncContextManager[Answer]:
        """Send a request; raises `Unreachable` if there is no answer, and `Cut` if the answer broke off before it began."""
        ...

    async def over(self, exchange: Exchange) -> None:
        """Take notice that a call is over; always, once, also where it was refused."""
        ...

    def close(self) -> None:
        """Finish; nothing comes any more. It may wait for a store."""
        ...


class Direct:
    """Every call goes to the vendor whose endpoint it is."""

    def __init__(self, client: UpstreamClient, upstreams: Mapping[str, Upstream]) -> None:
        self._client = client
        self._upstreams = upstreams

    async def choose(self, exchange: Exchange) -> None:
        """There is no choice."""

    @asynccontextmanager
    async def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AsyncIterator[Answer]:
        """Ask the vendor."""
        url = self._upstreams[exchange.endpoint.vendor].url(exchange.endpoint, exchange.query)
        async with self._client.ask(exchange.method, url, headers, Body.whole(body)) as answer:
            yield answer

    async def over(self, exchange: Exchange) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is left to do."""
