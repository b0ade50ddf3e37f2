"""Decides on each request that arrives: refused, answered by an endpoint of our own, or passed to an upstream."""

import hmac
from collections.abc import Mapping, MutableMapping
from typing import Any

from pageturn.apps.gateway.dispatch import Direct, Dispatch
from pageturn.apps.gateway.downstream import CLOSE, Answering, Client, Receive, TooSlow
from pageturn.apps.gateway.endpoints import Endpoint, Upstream, endpoint_of
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import OWN, TOKEN, Headers, lowered, value_of, wants_websocket
from pageturn.apps.gateway.limits import Limits, is_odd
from pageturn.apps.gateway.modes import Mode, Refuse
from pageturn.apps.gateway.own_endpoints import OwnAnswer, OwnEndpoint, OwnEndpoints
from pageturn.apps.gateway.passage import Passage
from pageturn.apps.gateway.readiness import PATH as READY
from pageturn.apps.gateway.routes.outcomes import PATH as OUTCOMES
from pageturn.apps.gateway.tenants.gate import KeyGate
from pageturn.apps.gateway.upstream import UpstreamClient

Scope = MutableMapping[str, Any]

HEALTH = "/healthz"
_OPEN = (HEALTH, READY)  # which supervisors ask, and which reveal nothing


class Proxy:
    """An ASGI application for every path."""

    def __init__(
        self,
        client: UpstreamClient,
        upstreams: Mapping[str, Upstream],
        mode: Mode,
        *,
        other: str,
        token: str | None = None,
        starts: int = 1,
        dispatch: Dispatch | None = None,
        own: OwnEndpoints | None = None,
        keys: KeyGate | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._client = client
        self._upstreams = upstreams
        self._mode = mode
        self._other = other
        self._token = token
        self._is_shut = (
            keys is not None and token is None
        )  # our own endpoints are closed to clients that only have a key
        self._starts = starts  # of gateways on this store, so far
        self._dispatch = dispatch or Direct(client, upstreams)
        self._keys = keys
        self._limits = limits or Limits()
        self._running = 0  # requests
        self._own: OwnEndpoints = {("GET", HEALTH): self._health, **(own or {})}
        self._own_paths = {path for _, path in self._own}

    async def __call__(self, scope: Scope, receive: Receive, send: Answering) -> None:
        """Answer one request."""
        self._running += 1
        try:
            await self._enter(scope, receive, send)
        finally:
            self._running -= 1

    async def _enter(self, scope: Scope, receive: Receive, send: Answering) -> None:
        headers = lowered(scope["headers"])
        path = scope["raw_path"].decode("latin-1")
        endpoint = endpoint_of(scope["method"], path, headers, self._other)
        client = Client(receive, send, headers, self._limits)
        own = self._own_endpoint(scope["method"], path)
        if is_odd(path):
            await client.refuse(endpoint, 400, "this path is none", CLOSE)
            return
        if self._running > self._limits.requests and own is None:
            await client.refuse(endpoint, 503, "too many requests are on their way", (b"retry-after", b"5"), CLOSE)
            return
        if client.is_too_large:
            await client.refuse(endpoint, 413, f"a request may have {self._limits.body_bytes:,} bytes", CLOSE)
            return
        may_pass = self._may_enter(headers) and not (own is not None and self._is_shut)
        may_look = own is not None and self._may_look(path, headers)
        if not (may_pass or may_look):
            await client.refuse(endpoint, 401, f"this gateway wants its token in the header {TOKEN.decode()}")
        elif own is not None:
            await client.answer(own)
        elif wants_websocket(headers):  # Codex falls back to HTTP at once for this status, and for no other
            await client.refuse(endpoint, 426, "WebSockets are not spoken here; use HTTP", CLOSE)
        else:
            if self._keys is not None and not await self._keys.unlocks(client, endpoint):
                return
            query = scope["query_string"].decode("latin-1")
            await Passage(self._client, self._upstreams[endpoint.vendor], client, self._dispatch).run(
                lambda passage: self._answer(passage, endpoint, scope["method"], query)
            )

    async def _answer(self, passage: "Passage", endpoint: Endpoint, method: str, query: str) -> None:
        client = passage.client
        if not endpoint.is_call:
            note = (OWN, b"passed") if endpoint.is_known else None  # every other path stays as it is
            await passage.stream(endpoint, method, query, client.body(), note)
            return
        try:
            body = await client.whole_body()
        except TooSlow:
            reason = f"the request was not whole after {self._limits.body_seconds} seconds"
            await client.refuse(endpoint, 408, reason, CLOSE)
            return
        if body is None:
            plan = await self._mode.unread(client.headers)
            if isinstance(plan, Refuse):
                await client.refuse(endpoint, plan.status, plan.message, (OWN, plan.note.encode()), CLOSE)
            else:
                await passage.stream(endpoint, method, query, client.body(), (OWN, plan.note.encode()))
            return
        exchange = Exchange(endpoint, method, query, client.headers, body)
        if self._keys is not None and (refused := await self._keys.admit(client, exchange)) is not None:
            await client.refuse(endpoint, refused.status, refused.message, (OWN, refused.note.encode()))
            return
        await passage.call(exchange, self._mode)

    def _own_endpoint(self, method: str, path: str) -> OwnEndpoint | None:
        """What of ours answers. A path of ours goes to no provider, whatever the method."""
        if path not in self._own_paths:
            return None
        return self._own.get(("GET" if method == "HEAD" else method, path), _wrong_method)

    async def _health(self, headers: Headers, _body: bytes) -> OwnAnswer:
        """What a supervisor asks: that it runs, how often one was started on this store, and what it has done since."""
        if self._is_shut or not self._may_enter(headers):
            return OwnAnswer.json(200, {"status": "ok"})
        tally = self._mode.tally()
        done = {"turns": tally.turns, "sessions": len(tally.sessions), "passed": dict(tally.passed)}
        return OwnAnswer.json(200, {"status": "ok", "starts": self._starts, **done})

    def _may_look(self, path: str, headers: Headers) -> bool:
        """Whether an endpoint of ours answers without the header of clients: supervisors and Prometheus cannot send it."""
        if path == OUTCOMES:  # which asks for a key itself
            return self._keys is not None
        given = (value_of(headers, b"authorization") or "").partition(" ")[2]
        is_known = self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())
        return path in _OPEN or is_known

    def _may_enter(self, headers: Headers) -> bool:
        given = value_of(headers, TOKEN) or ""
        return self._token is None or hmac.compare_digest(given.encode(), self._token.encode())


async def _wrong_method(_headers: Headers, _body: bytes) -> OwnAnswer:
    return OwnAnswer.error(405, "pageturn: this path of the gateway has no such method")
