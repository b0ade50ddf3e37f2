"""The way to a vendor with the gateway's own key: a client has none, and never gets to use another's."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pageturn.apps.gateway.dispatch import Direct
from pageturn.apps.gateway.endpoints import Upstream
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.routes.requests import with_key
from pageturn.apps.gateway.routes.settings import RouteSettings, Server
from pageturn.apps.gateway.upstream import Answer, Unreachable, UpstreamClient
from pageturn.values.errors import InvalidInput


class Keyed(Direct):
    """Every call goes to its vendor, with the gateway's key."""

    def __init__(
        self, client: UpstreamClient, upstreams: Mapping[str, Upstream], servers: Mapping[str, Server]
    ) -> None:
        super().__init__(client, upstreams)
        self._servers = servers

    @asynccontextmanager
    async def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AsyncIterator[Answer]:
        """Ask the vendor; raises `Unreachable` where there is no key for it."""
        async with super().ask(exchange, self.keyed(exchange.endpoint.vendor, headers), body) as answer:
            yield answer

    def keyed(self, vendor: str, headers: Headers) -> Headers:
        """Headers with the key for a vendor."""
        keyed = with_server_key(headers, self._servers.get(vendor))
        if keyed is None:
            raise Unreachable(f"this gateway has no key for {vendor}")
        return keyed


def with_server_key(headers: Headers, server: Server | None) -> Headers | None:
    """Headers with the key of the gateway; None where it has none that can be read."""
    if server is None or server.key is None:
        return None
    try:
        return with_key(headers, server)
    except InvalidInput:
        return None


def require_keys(settings: RouteSettings) -> None:
    """Refuse settings under which a client's key would go to a provider: it is one of ours."""
    if not any(server.key is not None for server in settings.servers.values()):
        raise InvalidInput("upstreams", expected="a key of the gateway, as [upstreams.openai] key = ...", got="none")
    for model in settings.models.values():
        for candidate in model.candidates:
            if candidate.server.key is None:
                raise InvalidInput(f"upstreams.{candidate.server.name}", expected="a key of the gateway", got="none")
    for server in settings.servers.values():
        if server.key is not None:
            server.key.read()
