"""Bounds what a connection may hold before a request is known: bytes of headers, and time. uvicorn's parser has no limits of its own."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pageturn.apps.gateway.limits import MOST_HEADER_BYTES, MOST_HEADERS, Limits

_ANSWERS = {
    408: b"HTTP/1.1 408 Request Timeout\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
    503: b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n",
}
_END = b"content-length: 0\r\nconnection: close\r\n\r\n"


class _TooLarge(Exception):
    """Headers of a size that no client needs."""


class LimitedProtocol(HttpToolsProtocol):
    """A connection of a client."""

    limits = Limits()

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._is_in_head = True
        self._head_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._close_with(503)
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read, as long as the headers do not grow without an end."""
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MOST_HEADER_BYTES and not self.transport.is_closing():
            self._close_with(431)

    def on_message_begin(self) -> None:
        """Begin to count."""
        super().on_message_begin()
        self._arm()

    def on_headers_complete(self) -> None:
        """Check the headers before the application gets them."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MOST_HEADER_BYTES or len(self.headers) > MOST_HEADERS:
            self._is_too_large = True
            raise _TooLarge
        self._is_in_head = False
        self._disarm()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """From here on the next request may come."""
        super().on_message_complete()
        self._is_in_head, self._head_bytes = True, 0

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed."""
        if self._is_too_large:
            self._close_with(431)
        else:
            super().send_400_response(msg)

    def _arm(self) -> None:
        self._disarm()
        self._timer = self.loop.call_later(self.limits.header_seconds, self._too_slow)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self._close_with(408)

    def _close_with(self, status: int) -> None:
        self._disarm()
        self.transport.write(_ANSWERS[status] + _END)
        self.transport.close()


def limited(limits: Limits) -> type[LimitedProtocol]:
    """A protocol with these limits."""
    return type("GatewayProtocol", (LimitedProtocol,), {"limits": limits})
