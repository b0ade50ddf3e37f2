"""Runs a gateway as a server, in this thread or in its own."""

import asyncio
import errno
import logging
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from pageturn.apps.addresses import is_loopback, url_of
from pageturn.apps.gateway.config import VIRTUAL, Config
from pageturn.apps.gateway.connections import limited
from pageturn.apps.gateway.dispatch import Direct, Dispatch
from pageturn.apps.gateway.endpoints import OPENAI
from pageturn.apps.gateway.headers import Headers
from pageturn.apps.gateway.inspected import Inspected
from pageturn.apps.gateway.modes import Mode, Refuse
from pageturn.apps.gateway.own_endpoints import OwnAnswer, OwnEndpoints
from pageturn.apps.gateway.proxy import Proxy
from pageturn.apps.gateway.readiness import PATH as READY
from pageturn.apps.gateway.readiness import Readiness
from pageturn.apps.gateway.routes.chooser import Chooser
from pageturn.apps.gateway.routes.outcomes import PATH as OUTCOMES
from pageturn.apps.gateway.routes.outcomes import Outcomes
from pageturn.apps.gateway.routes.routed import Routed
from pageturn.apps.gateway.telemetry.observers import observers_for
from pageturn.apps.gateway.telemetry.observing import Observed
from pageturn.apps.gateway.tenants.accounting import Accounting
from pageturn.apps.gateway.tenants.admission import Admission
from pageturn.apps.gateway.tenants.gate import KeyGate
from pageturn.apps.gateway.tenants.keyed import Keyed, require_keys
from pageturn.apps.gateway.tenants.separated import SeparatedWays
from pageturn.apps.gateway.upstream import UpstreamClient
from pageturn.values.errors import InvalidInput

_KEEP_ALIVE = 620  # seconds that an idle client may stay connected; longer than clients wait before they connect anew


class Gateway:
    """A gateway on a socket of its own, which is bound at once, so that its address is known before it runs."""

    def __init__(self, config: Config, mode: Mode, *, starts: int = 1, inspected: Inspected | None = None) -> None:
        self._client = UpstreamClient(config.ca_file, config.idle_seconds)
        routed = dispatch_for(config, self._client)
        observers, shown = observers_for(config, starts)
        keys = None
        if config.keys == VIRTUAL:
            assert config.store is not None, "checked when the settings were read"
            keys = KeyGate(Admission(config.store, config.routes.models), config.routes.servers)
            observers.append(Accounting(config.store, config.routes.models))
        self._keys = keys
        self._dispatch = Observed(routed, observers) if observers else routed
        self._socket = _bound(config)
        self.url = url_of(self._socket)
        _require_others(config, self._socket.getsockname()[1])
        self._mode = mode
        other = config.other or OPENAI
        proxy = Proxy(
            self._client,
            config.upstreams,
            mode,
            other=other,
            token=config.token,
            starts=starts,
            dispatch=self._dispatch,
            keys=keys,
            limits=config.limits,
            own={
                **_own_endpoints(config, routed, keys),
                **shown,
                ("GET", READY): Readiness(config.store, lambda: self._server.should_exit),
            },
        )
        self._inspected = inspected
        pages = inspected.routes(lambda: self._server.should_exit) if inspected is not None else []
        app = Starlette(routes=[*pages, Mount("/", app=proxy)], lifespan=self._lifespan)
        self._server = _server_for(app, config)
        self._thread: threading.Thread | None = None
        self._is_ready = threading.Event()
        self._is_stopping = False
        self.failure: BaseException | None = None  # why it stopped by itself

    def serve(self) -> None:
        """Answer requests until a signal says to stop."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()  # from now on connections are refused

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="pageturn-gateway", daemon=True)
        self._thread.start()
        self._is_ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._thread is not None
        self._is_stopping = not self._server.should_exit  # or else it is ending by itself
        self._server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        try:
            self.serve()
            if not self._is_stopping:
                raise RuntimeError("the server stopped by itself")  # noqa: TRY301
        except BaseException as error:  # noqa: BLE001 - reported when the client has ended
            self.failure = error
        finally:
            self._is_ready.set()

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        await self._client.open()
        self._is_ready.set()
        try:
            yield
        finally:
            await self._client.close()
            await asyncio.to_thread(self._dispatch.close)
            await asyncio.to_thread(self._mode.close)
            if self._keys is not None:
                await asyncio.to_thread(self._keys.close)
            if self._inspected is not None:
                await asyncio.to_thread(self._inspected.close)


def _server_for(app: Starlette, config: Config) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=limited(config.limits),
            ws="none",  # so that an upgrade reaches the proxy as a plain request
            lifespan="on",
            log_config=None,
            log_level=logging.CRITICAL,  # it would log addresses, which may have keys in them
            access_log=False,
            proxy_headers=False,
            server_header=False,  # the client sees the upstream's
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=config.grace,
        )
    )


def dispatch_for(config: Config, client: UpstreamClient) -> Dispatch:
    """How calls reach their upstreams: by a choice where the settings name candidates, with virtual keys for each scope its own."""
    direct = Direct(client, config.upstreams)
    if config.keys == VIRTUAL:
        require_keys(config.routes)
        keyed = Keyed(client, config.upstreams, config.routes.servers)
        return SeparatedWays(lambda scope: _way(config, client, keyed, scope))
    return _way(config, client, direct, None)


def _way(config: Config, client: UpstreamClient, direct: Direct, scope: str | None) -> Dispatch:
    if not config.routes.models:
        return direct
    models = tuple(config.routes.models.values())
    for model in models:
        for candidate in model.candidates:
            if candidate.server.key is not None:
                candidate.server.key.read()  # a key that is missing is said now, and not to the first client
    half_life = timedelta(days=config.half_life_days) if config.half_life_days is not None else None
    chooser = Chooser(config.store, scope, models, half_life)
    return Routed(direct, client, config.routes, chooser, None if config.mode == "watch" else config.room)


def _own_endpoints(config: Config, way: Dispatch, keys: KeyGate | None) -> OwnEndpoints:
    """The endpoints besides the health of the proxy."""
    if not config.routes.models:
        return {}

    async def find(headers: Headers) -> Routed | OwnAnswer:
        found: object = way
        if keys is not None and isinstance(way, SeparatedWays):
            key = await keys.key_of(headers)
            if isinstance(key, Refuse):
                return OwnAnswer.error(key.status, key.message)
            found = way.of(key.scope)
        assert isinstance(found, Routed)
        return found

    return {("POST", OUTCOMES): Outcomes(find)}


def _bound(config: Config) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=2048)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0].lower()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            expected = "a port that is free and open to you (0 picks one)"
            raise InvalidInput("port", expected=expected, got=f"{config.port} ({why})") from error
        raise InvalidInput("host", expected="an address of this machine", got=f"{config.host} ({why})") from error


def _require_others(config: Config, port: int) -> None:
    """Raise if the upstream is the gateway itself, for example because a variable for its clients is set for the gateway too."""
    for vendor, base in config.bases.items():
        there = urlsplit(base)
        is_near = there.hostname == config.host or is_loopback(there.hostname or "")
        if is_near and there.port == port:
            raise InvalidInput(f"upstream {vendor}", expected="another address than the gateway's own", got=base)
