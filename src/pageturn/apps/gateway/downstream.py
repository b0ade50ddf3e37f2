"""The client's side of one request: reads its body as it comes, and writes the answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from pageturn.apps.gateway.endpoints import Endpoint
from pageturn.apps.gateway.exchange import MOST_BYTES
from pageturn.apps.gateway.headers import Headers, value_of
from pageturn.apps.gateway.limits import Limits
from pageturn.apps.gateway.own_endpoints import MOST_BYTES as MOST_OWN
from pageturn.apps.gateway.own_endpoints import OwnAnswer, OwnEndpoint
from pageturn.apps.gateway.refusals import refusal
from pageturn.apps.gateway.tenants.keys import VirtualKey
from pageturn.apps.gateway.upstream import Body

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Answering = Callable[[MutableMapping[str, Any]], Awaitable[None]]

CLOSE = (b"connection", b"close")


class Client:
    """The client's side of one request."""

    def __init__(self, receive: Receive, send: Answering, headers: Headers, limits: Limits) -> None:
        self._receive, self._send = receive, send
        self._limits = limits
        self._end = asyncio.get_running_loop().time() + limits.body_seconds  # of the time for its body
        self.headers = headers
        self._begun: list[bytes] = []  # of the body, where it turned out to be too large to wait for
        self._is_read = asyncio.Event()  # the whole body, so that the next word can only be that the client went away
        self.key: VirtualKey | None = None  # of the gateway, where it gives keys out
        self.has_left = False
        self.has_head = False  # of an answer
        self.is_excessive = False  # its body turned out to be larger than any may be

    async def answer(self, own: OwnEndpoint) -> None:
        """Answer from an endpoint of ours."""
        try:
            body = await self.whole_body(MOST_OWN)
        except ClientLeft:
            return
        answer = OwnAnswer.error(413, "too large") if body is None else await own(self.headers, body)
        await self.tell(answer.status, answer.body, content_type=answer.content_type)

    @property
    def is_too_large(self) -> bool:
        """Whether a request says of itself that it is larger than any may be."""
        length = value_of(self.headers, b"content-length") or ""
        return length.isdecimal() and int(length[:20]) > self._limits.body_bytes

    async def whole_body(self, most: int | None = None) -> bytes | None:
        """The body, or None where it is too large to be held."""
        pieces: list[bytes] = []
        size = 0
        async for piece in self._pieces():
            pieces.append(piece)
            size += len(piece)
            if size > (MOST_BYTES if most is None else most):
                self._begun = pieces
                return None
        return b"".join(pieces)

    def body(self) -> Body | None:
        """The body as it comes, None where the request says that it has none."""
        length = value_of(self.headers, b"content-length")
        is_chunked = value_of(self.headers, b"transfer-encoding") is not None
        if not is_chunked and (length is None or length == "0"):
            self._is_read.set()
            return None if length is None else Body(b"", 0)
        return Body(self._all_pieces(), None if is_chunked else int(length or 0))

    async def _all_pieces(self) -> AsyncIterator[bytes]:
        for piece in self._begun:
            yield piece
        async for piece in self._pieces():
            yield piece

    async def _pieces(self) -> AsyncIterator[bytes]:
        size = 0
        while not self._is_read.is_set():
            try:
                async with asyncio.timeout_at(self._end):
                    message = await self._receive()
            except TimeoutError:
                raise TooSlow from None
            if message["type"] == "http.disconnect":
                self.has_left = True
                raise ClientLeft
            if not message.get("more_body", False):
                self._is_read.set()
            if piece := message.get("body", b""):
                size += len(piece)
                if size > self._limits.body_bytes:
                    self.is_excessive = True
                    raise ClientLeft
                yield piece

    async def left(self) -> None:
        """Wait until the client goes away."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_left = True

    async def begin(self, status: int, headers: Headers) -> None:
        """Send the head of the answer."""
        self.has_head = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, chunk: bytes, *, more: bool = True) -> None:
        """Send more of the answer, or its end. A client that reads nothing for long has left."""
        try:
            async with asyncio.timeout(self._limits.reading_seconds):
                await self._send({"type": "http.response.body", "body": chunk, "more_body": more})
        except TimeoutError:
            self.has_left = True
            raise ClientLeft from None

    async def refuse(self, endpoint: Endpoint, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        """Answer with an error of our own."""
        await self.tell(status, refusal(endpoint.vendor, status, message), *headers)

    async def tell(
        self, status: int, body: bytes, *headers: tuple[bytes, bytes], content_type: bytes = b"application/json"
    ) -> None:
        """Answer with something of our own."""
        own = ((b"content-type", content_type), (b"content-length", str(len(body)).encode()))
        await self.begin(status, (*own, *headers))
        await self.send(body, more=False)


class ClientLeft(Exception):
    """The client went away before its request was whole, or before it had read the answer."""


class TooSlow(ClientLeft):
    """The client takes too long to send its request."""
