"""Serves an ASGI app to local programs and browsers: on loopback, or elsewhere to whoever has the token."""

import logging
import socket

import uvicorn
from starlette.types import ASGIApp

from pageturn.apps.addresses import is_loopback
from pageturn.values.errors import InvalidInput


def require_token(host: str, token: str | None) -> None:
    """Refuse to listen at any address but loopback without a token."""
    if not is_loopback(host) and not token:
        raise InvalidInput("token", expected=f"one, since {host} is not this machine alone", got="none")


def listening_at(host: str, port: int) -> socket.socket:
    """A socket that listens; raises `InvalidInput` if the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        where = f"{host}, port {port}"
        raise InvalidInput("host", expected="an address to listen at", got=f"{where} ({error.strerror})") from error


def run_app(app: ASGIApp, listening: socket.socket, *, most_clients: int, grace_seconds: int) -> None:
    """Answer until a signal says to stop, and close the socket."""
    config = uvicorn.Config(
        app,
        ws="none",
        log_config=None,
        log_level=logging.CRITICAL,  # it would log addresses and headers, which may have a token in them
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=most_clients,
        timeout_graceful_shutdown=grace_seconds,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
