"""Sends one JSON POST over HTTP, which another thread can cancel. Needs the extra `summaries`.

The client follows no redirects and reads no environment variables, so that text goes to the given address only.
"""

import socket
import ssl
import time
from functools import cache
from typing import Any

import httpx2

from pageturn.values.errors import SummaryFailed
from pageturn.writeback.summaries.stop import Stop

_MOST_BYTES = 4_000_000  # of an answer


def post(url: str, body: bytes, headers: dict[str, str], *, timeout_seconds: float, stop: Stop) -> bytes:
    """The body of the answer. An error says what failed, and never quotes the server."""
    line = _Line()
    late = f"no answer in {timeout_seconds:g} s"
    until = time.monotonic() + timeout_seconds
    # A compressed answer could be a thousand times as large as what is read.
    sent = headers | {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
    try:
        with (
            stop.calling(line.end),
            client(timeout_seconds) as connected,
            connected.stream("POST", url, content=body, headers=sent, extensions={"trace": line.watch}) as response,
        ):
            if response.status_code != httpx2.codes.OK:
                raise SummaryFailed(f"HTTP {response.status_code}")
            data = bytearray()
            for piece in response.iter_raw():
                data += piece
                if len(data) > _MOST_BYTES:
                    raise SummaryFailed(f"the answer is larger than {_MOST_BYTES:,} bytes")
                if time.monotonic() > until:
                    raise SummaryFailed(late)
            return bytes(data)
    except httpx2.TimeoutException as error:
        raise SummaryFailed(late) from error
    except (httpx2.HTTPError, OSError) as error:
        raise SummaryFailed(f"no connection: {type(error).__name__}") from error


def client(timeout_seconds: float) -> httpx2.Client:
    """A client that sends to the given address and nowhere else: no redirects, no proxy from the environment."""
    return httpx2.Client(timeout=timeout_seconds, follow_redirects=False, trust_env=False, verify=_certificates())


@cache
def _certificates() -> ssl.SSLContext:
    """The system's certificates. Loading them takes longer than a request to a local server."""
    return httpx2.create_ssl_context(trust_env=False)


class _Line:
    """The socket of a request. Closing the client would not wake a thread that waits for the answer; a shutdown does."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._is_ended = False

    def watch(self, event: str, info: dict[str, Any]) -> None:
        """Take the client's trace events."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")
            if self._is_ended:
                self.end()

    def end(self) -> None:
        """End the connection, or the one about to be made."""
        self._is_ended = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it has ended by itself
