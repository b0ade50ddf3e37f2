"""Calls a provider and returns its answer as it arrives, byte for byte.

It keeps connections open, follows no redirects, decompresses nothing, keeps no cookies, and adds no headers of its own. Proxies and
private certificate authorities are those of the environment.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from pageturn.apps.gateway.headers import Headers, lowered
from pageturn.values.errors import InvalidInput, show

_KEEP_ALIVE = 55.0  # seconds; common load balancers close after 60
_CONNECT = 30.0
_PIECE = 1 << 16  # of a body that is in memory, written at a time
_WHOLE = 1 << 19  # a body up to this size is written at once
_LONGEST_HEADER = 1 << 16
_CAUSES: tuple[tuple[type[Exception], str], ...] = (  # those that have no message of their own, the narrower first
    (aiohttp.ClientConnectorDNSError, "no address is known for that name; is this machine online?"),
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted here; --ca-file names one that is"),
    (aiohttp.ClientConnectorSSLError, "it does not speak TLS as we do"),
    (aiohttp.ServerDisconnectedError, "it closed the connection"),
    (aiohttp.ClientConnectionResetError, "it closed the connection"),
    (ConnectionResetError, "it closed the connection"),
    (TimeoutError, "it did not answer in time"),
    (aiohttp.ClientProxyConnectionError, "the proxy that the environment names cannot be reached"),
    (aiohttp.ClientHttpProxyError, "the proxy that the environment names refused"),
    (aiohttp.ClientResponseError, "what it answered is not HTTP"),
)
_NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Unreachable(Exception):
    """The upstream gave no answer; the message names no key and no path."""


class Cut(Exception):
    """The answer of the upstream broke off."""


class Body(NamedTuple):
    """The body of a request as it is sent: in memory or still coming, of a length that may not be known."""

    content: bytes | AsyncIterator[bytes]
    length: int | None

    @classmethod
    def whole(cls, body: bytes) -> "Body":
        """A body that is in memory."""
        return cls(body if len(body) <= _WHOLE else _pieces(body), len(body))


class Answer:
    """An answer whose head has come."""

    def __init__(self, response: aiohttp.ClientResponse, origin_: str, idle_seconds: float | None = None) -> None:
        self._response = response
        self._idle_seconds = idle_seconds
        self.origin = origin_  # who answered
        self.status = response.status
        self.headers: Headers = lowered(response.raw_headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; raises `Cut` after the last byte where more was promised, or where nothing comes for too long."""
        content = self._response.content
        try:
            while True:
                async with asyncio.timeout(self._idle_seconds):
                    chunk = await content.readany()
                if not chunk:
                    return
                yield chunk
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is one
            # What came before the cut and was not read yet is the client's, and aiohttp has no public way to ask for it.
            with suppress(Exception):
                if rest := content._read_nowait(-1):  # noqa: SLF001
                    yield rest
            raise Cut from error


class UpstreamClient:
    """One pool of connections to all providers. Open it on the event loop that uses it."""

    def __init__(self, ca_file: str | None = None, idle_seconds: float | None = None) -> None:
        self._trust = trusted(ca_file)
        self._idle_seconds = idle_seconds
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Create the pool; nothing is connected yet."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._trust, keepalive_timeout=_KEEP_ALIVE),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NOT_ADDED,
            auto_decompress=False,
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def ask(self, method: str, url: str, headers: Headers, body: Body | None) -> AsyncIterator[Answer]:
        """Send a request and wait for the head of its answer; leaving early closes the connection."""
        assert self._session is not None, "opened before the first request"
        sent = CIMultiDict((_text(name), _text(value)) for name, value in headers)
        if body is not None and body.length is not None:
            sent["Content-Length"] = str(body.length)
        try:
            response = await self._session.request(
                method,
                URL(url, encoded=True),
                headers=sent,
                data=body.content if body is not None else None,
                proxy=proxy_for(url),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(f"{origin(url)} gave no answer ({_reason(error)})") from error
        try:
            yield Answer(response, origin(url), self._idle_seconds)
        finally:
            response.close()


def trusted(ca_file: str | None) -> ssl.SSLContext:
    """The certificate authorities that are trusted: the system's, those of `SSL_CERT_FILE`, Node's extra ones, and this file's."""
    context = ssl.create_default_context()
    for name, path in (("NODE_EXTRA_CA_CERTS", os.environ.get("NODE_EXTRA_CA_CERTS")), ("ca_file", ca_file)):
        if path:
            try:
                context.load_verify_locations(path)
            except OSError as error:
                raise InvalidInput(name, expected="a file of certificates", got=show(path)) from error
    return context


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address, as `HTTPS_PROXY` and `NO_PROXY` do."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise Unreachable(
            f"the environment names a proxy of the kind {proxy.partition(':')[0]}, which is not supported"
        )
    return proxy


def origin(url: str) -> str:
    """The host of an address, without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"


def _reason(error: Exception) -> str:
    for kind, words in _CAUSES:
        if isinstance(error, kind):
            return words
    inner = getattr(error, "os_error", error)
    number = getattr(inner, "errno", None)
    return os.strerror(number) if number else type(inner).__name__


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), _PIECE):
        yield body[at : at + _PIECE]
