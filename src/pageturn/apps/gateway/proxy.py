"""Moves bytes between a client and an upstream, and consults the mode on model calls.

If a client disconnects, its request at the upstream is cancelled. An answer that breaks off is passed on as such: the connection is
closed without the chunk that ends a body. No request is repeated.
"""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from pageturn.apps.gateway.decoding import can_unpack
from pageturn.apps.gateway.dispatch import Direct, Dispatch
from pageturn.apps.gateway.endpoints import Endpoint, Upstream, endpoint_of
from pageturn.apps.gateway.exchange import MOST_BYTES, Ending, Exchange
from pageturn.apps.gateway.headers import (
    OWN,
    TOKEN,
    Headers,
    for_client,
    for_upstream,
    lowered,
    value_of,
    wants_websocket,
    with_changes,
    with_patience,
)
from pageturn.apps.gateway.limits import Limits, is_odd
from pageturn.apps.gateway.modes import Mode, Pass, Refuse, Send
from pageturn.apps.gateway.own import MOST_BYTES as MOST_OWN
from pageturn.apps.gateway.own import OwnAnswer, OwnEndpoint, OwnEndpoints
from pageturn.apps.gateway.refusals import refusal
from pageturn.apps.gateway.tenants.holder import KeyHolder
from pageturn.apps.gateway.tenants.keys import VirtualKey
from pageturn.apps.gateway.upstream import Answer, Body, Cut, Unreachable, UpstreamClient

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Answering = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LOG = logging.getLogger("pageturn.gateway")
_ERRORS = 400  # statuses from here on
_LONGEST_HOLD = 10.0  # seconds for which a client sees nothing of an answer that is held back; many give up after 60
HEALTH = "/healthz"
OUTCOMES = "/outcomes"
_OPEN = (HEALTH, "/readyz")  # which supervisors ask, and which tell nothing
CLOSE = (b"connection", b"close")


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
        keys: KeyHolder | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._client = client
        self._upstreams = upstreams
        self._mode = mode
        self._other = other
        self._token = token
        self._is_shut = keys is not None and token is None  # what is ours is nobody's who has no more than a key
        self._starts = starts  # of gateways on this store, so far
        self._dispatch = dispatch or Direct(client, upstreams)
        self._keys = keys
        self._limits = limits or Limits()
        self._running = 0  # requests
        self._own = {("GET", HEALTH): self._health, **(own or {})}

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
        own = self._own.get((scope["method"], path))
        if is_odd(path):
            await client.refuse(endpoint, 400, "this path is none", CLOSE)
            return
        if self._running > self._limits.requests and own is None:
            await client.refuse(endpoint, 503, "too many requests are on their way", (b"retry-after", b"5"), CLOSE)
            return
        if client.is_too_large:
            await client.refuse(endpoint, 413, f"a request may have {self._limits.body_bytes:,} bytes", CLOSE)
            return
        is_open = self._may_enter(headers) if own is None or not self._is_shut else False
        if not (is_open or (own is not None and self._may_look(path, headers))):
            await client.refuse(endpoint, 401, f"this gateway wants its token in the header {TOKEN.decode()}")
        elif own is not None:
            await client.answer(own)
        elif wants_websocket(headers):  # Codex falls back to HTTP at once for this status, and for no other
            await client.refuse(endpoint, 426, "WebSockets are not spoken here; use HTTP", CLOSE)
        else:
            if self._keys is not None and not await self._keys.unlocks(client, endpoint):
                return
            query = scope["query_string"].decode("latin-1")
            await _Passage(self._client, self._upstreams[endpoint.vendor], client, self._dispatch).run(
                lambda passage: self._answer(passage, endpoint, scope["method"], query)
            )

    async def _answer(self, passage: "_Passage", endpoint: Endpoint, method: str, query: str) -> None:
        client = passage.client
        if not endpoint.is_call:
            note = (OWN, b"passed") if endpoint.is_known else None  # every other path stays as it is
            await passage.stream(endpoint, method, query, client.body(), note)
            return
        try:
            body = await client.whole_body()
        except _TooSlow:
            told = f"the request was not whole after {self._limits.body_seconds} seconds"
            await client.refuse(endpoint, 408, told, CLOSE)
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
        except _ClientLeft:
            return
        told = OwnAnswer.error(413, "too large") if body is None else await own(self.headers, body)
        await self.tell(told.status, told.body, content_type=told.content_type)

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
                raise _TooSlow from None
            if message["type"] == "http.disconnect":
                self.has_left = True
                raise _ClientLeft
            if not message.get("more_body", False):
                self._is_read.set()
            if piece := message.get("body", b""):
                size += len(piece)
                if size > self._limits.body_bytes:
                    self.is_excessive = True
                    raise _ClientLeft
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
            raise _ClientLeft from None

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


class _ClientLeft(Exception):
    """The client went away before its request was whole, or before it had read the answer."""


class _TooSlow(_ClientLeft):
    """The client takes too long to send its request."""


class _Passage:
    """One request on its way to an upstream, and the answer on its way back."""

    def __init__(self, upstream: UpstreamClient, place: Upstream, client: Client, dispatch: Dispatch) -> None:
        self._upstream = upstream
        self._place = place
        self.client = client
        self._dispatch = dispatch

    async def run(self, answer: Callable[["_Passage"], Awaitable[None]]) -> None:
        """Answer, or stop when the client goes away. A failure of ours ends as a cut or an error, never as a clean end."""
        answering = asyncio.ensure_future(answer(self))
        leaving = asyncio.ensure_future(self.client.left())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answering, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, _ClientLeft):
                await answering
            with suppress(asyncio.CancelledError):
                await leaving

    async def stream(
        self, endpoint: Endpoint, method: str, query: str, body: Body | None, note: tuple[bytes, bytes] | None
    ) -> None:
        """Pass a request and its answer, neither of which is looked at."""
        sent, url = for_upstream(self.client.headers), self._place.url(endpoint, query)
        try:
            async with self._upstream.ask(method, url, sent, body) as answer:
                await self.client.begin(answer.status, (*for_client(answer.headers), *((note,) if note else ())))
                async for chunk in answer.chunks():
                    await self.client.send(chunk)
                await self.client.send(b"", more=False)
        except Cut:
            return
        except Unreachable as error:
            if self.client.is_excessive:
                await self.client.refuse(endpoint, 413, "the request is larger than any may be", CLOSE)
            elif not self.client.has_left:
                _LOG.warning("%s", error)
                await self.client.refuse(endpoint, 502, str(error))

    async def call(self, exchange: Exchange, mode: Mode) -> None:
        """Pass a call of a model, as its mode wants it."""
        try:
            plan = await self._dispatch.choose(exchange) or await mode.before(exchange)
            if isinstance(plan, Refuse):
                exchange.note = plan.note
                await self.client.refuse(exchange.endpoint, plan.status, plan.message, (OWN, plan.note.encode()))
                exchange.end(Ending.UNREACHED)
            else:
                await self._converse(exchange, mode, plan)
        except Cut:
            exchange.end(Ending.CUT)
            if not self.client.has_head and not self.client.has_left:
                await self.client.refuse(exchange.endpoint, 502, "the provider's answer broke off before it had begun")
        except Unreachable as error:
            exchange.end(Ending.UNREACHED)
            _LOG.warning("%s", error)
            await self.client.refuse(exchange.endpoint, 502, str(error))
        finally:
            exchange.end(Ending.LEFT)  # unless it ended otherwise
            try:
                await self._dispatch.over(exchange)
            finally:
                await mode.after(exchange)

    async def _converse(self, exchange: Exchange, mode: Mode, plan: Pass | Send) -> None:
        """Ask the upstream, and again as long as the mode wants to; the client sees one answer."""
        head: Head | None = None
        overdue = _Overdue(exchange, mode)
        following: Pass | Send | None = plan
        while following is not None:
            plan, following = following, None
            exchange.note = plan.note
            headers, body = for_upstream(exchange.headers), exchange.body
            if isinstance(plan, Send):
                headers, body = with_changes(headers, plan.headers), plan.body
            async with self._dispatch.ask(exchange, headers, body) as answer:
                exchange.begin_answer(answer.status, answer.headers)
                if head is None or not head.is_sent:
                    head = Head(answer, plan)
                elif answer.status >= _ERRORS:
                    raise Cut  # the client has the beginning of an answer, and nobody can take that back
                if answer.status >= _ERRORS and plan.may_follow:
                    following = await self._pass_error(exchange, mode, head, answer)
                    continue
                if not head.is_held:
                    await head.send(self.client)
                async for shown in overdue.shown(answer.chunks(), head):
                    if shown:
                        await head.send(self.client)
                        await self.client.send(shown)
            then = await mode.proceed(exchange)
            if isinstance(then, bytes):
                await head.send(self.client)
                await self.client.send(then)
            following = then if isinstance(then, Send) else None
        assert head is not None
        await head.send(self.client)
        await self.client.send(b"", more=False)
        exchange.end(Ending.WHOLE)

    async def _pass_error(self, exchange: Exchange, mode: Mode, head: "Head", answer: Answer) -> Send | None:
        """Let the mode answer an error with another request, or pass it on as it is."""
        async for chunk in answer.chunks():
            exchange.take(chunk)
            if exchange.is_too_large:
                break
        again = None if exchange.is_too_large else await mode.refused(exchange, b"".join(exchange.chunks))
        if again is None:
            await head.send(self.client)
            for chunk in exchange.chunks:
                await self.client.send(chunk)
        return again


class _Overdue:
    """The time for which a client may wait for an answer without a word, over all rounds of it."""

    def __init__(self, exchange: Exchange, mode: Mode) -> None:
        self._exchange, self._mode = exchange, mode
        self._clock = asyncio.get_running_loop().time
        self._end = self._clock() + _LONGEST_HOLD
        self._is_over = False

    async def shown(self, chunks: AsyncIterator[bytes], head: "Head") -> AsyncIterator[bytes]:
        """What the client gets for the chunks of an answer, and once the time is over for what came so far."""
        while not (head.is_sent or self._is_over):
            coming = asyncio.ensure_future(anext(chunks, None))
            try:
                done, _ = await asyncio.wait({coming}, timeout=max(0.0, self._end - self._clock()))
                if not done:
                    self._is_over = True
                    yield self._mode.overdue(self._exchange)
                chunk = await coming
            finally:
                coming.cancel()
            if chunk is None:
                return
            yield self._taken(chunk)
        async for chunk in chunks:
            yield self._taken(chunk)

    def _taken(self, chunk: bytes) -> bytes:
        self._exchange.take(chunk)
        return self._mode.on_chunk(self._exchange, chunk)


class Head:
    """The head of an answer, which is sent once."""

    def __init__(self, answer: Answer, plan: Pass | Send) -> None:
        headers = with_patience(for_client(answer.headers), answer.status)
        if isinstance(plan, Send) and answer.status < _ERRORS:
            is_plain = plan.is_rewritten and can_unpack(value_of(headers, b"content-encoding"))
            gone = (b"content-length", *((b"content-encoding",) if is_plain else ()))
            headers = with_changes(headers, ((name, None) for name in gone))
        self._status, self._headers = answer.status, (*headers, (OWN, plan.note.encode("ascii", "replace")))
        self.is_held = plan.is_held
        self.is_sent = False

    async def send(self, client: Client) -> None:
        """Send it, unless that was done."""
        if not self.is_sent:
            self.is_sent = True
            await client.begin(self._status, self._headers)
