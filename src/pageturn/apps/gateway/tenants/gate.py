"""Lets requests in that have a key of the gateway, and answers the others."""

from collections.abc import Mapping
from typing import Protocol

from pageturn.apps.gateway.endpoints import Endpoint
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import OWN, Headers
from pageturn.apps.gateway.modes import Refuse
from pageturn.apps.gateway.routes.settings import Server
from pageturn.apps.gateway.tenants.admission import Admission
from pageturn.apps.gateway.tenants.keyed import with_server_key
from pageturn.apps.gateway.tenants.keys import VirtualKey

_NOT_HERE = "there is nothing at this path for a key of this gateway"


class _Client(Protocol):
    """A client, as far as it matters here."""

    headers: Headers
    key: VirtualKey | None

    async def refuse(self, endpoint: Endpoint, status: int, message: str, *headers: tuple[bytes, bytes]) -> None: ...


class KeyGate:
    """Asks each request for its key. A path that calls no model passes only if it is known to reveal nothing about other keys."""

    def __init__(self, admission: Admission, servers: Mapping[str, Server]) -> None:
        self._admission = admission
        self._servers = servers

    async def unlocks(self, client: _Client, endpoint: Endpoint) -> bool:
        """Whether a client may come in; if not, it has its answer. What is no call gets the provider's key here."""
        key = await self.key_of(client.headers)
        refused = key if isinstance(key, Refuse) else None
        if refused is None and not endpoint.is_known:
            refused = Refuse(404, _NOT_HERE, "refused; path")
        if refused is None and not endpoint.is_call:
            keyed = with_server_key(client.headers, self._servers.get(endpoint.vendor))
            if keyed is None:
                refused = Refuse(404, _NOT_HERE, "refused; path")
            else:
                client.headers = keyed
        if refused is not None:
            await client.refuse(endpoint, refused.status, refused.message, (OWN, refused.note.encode()))
            return False
        client.key = key if isinstance(key, VirtualKey) else None
        return True

    async def admit(self, client: _Client, exchange: Exchange) -> Refuse | None:
        """Whether a call may pass."""
        assert client.key is not None
        return await self._admission.admit(client.key, exchange)

    async def key_of(self, headers: Headers) -> VirtualKey | Refuse:
        """Whose request it is."""
        return await self._admission.enter(headers)

    def close(self) -> None:
        """Nothing comes any more."""
        self._admission.close()
