"""Takes one request to an upstream, and its answer back to the client, and consults the mode on a model call.

If a client disconnects, its request at the upstream is cancelled. An answer that breaks off is passed on as such: the connection is
closed without the chunk that ends a body. No request is repeated.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from pageturn.apps.gateway.decoding import can_unpack
from pageturn.apps.gateway.dispatch import Dispatch
from pageturn.apps.gateway.downstream import CLOSE, Client, ClientLeft
from pageturn.apps.gateway.endpoints import Endpoint, Upstream
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.headers import (
    OWN,
    for_client,
    for_upstream,
    value_of,
    with_changes,
    with_patience,
)
from pageturn.apps.gateway.modes import Mode, Pass, Refuse, Send
from pageturn.apps.gateway.upstream import Answer, Body, Cut, Unreachable, UpstreamClient

_LOG = logging.getLogger("pageturn.gateway")
_ERRORS = 400  # statuses from here on
# Seconds for which a client sees nothing of an answer that is held back; many give up after 60.
_LONGEST_HOLD = 10.0


class Passage:
    """One request on its way to an upstream, and the answer on its way back."""

    def __init__(self, upstream: UpstreamClient, place: Upstream, client: Client, dispatch: Dispatch) -> None:
        self._upstream = upstream
        self._place = place
        self.client = client
        self._dispatch = dispatch

    async def run(self, answer: Callable[["Passage"], Awaitable[None]]) -> None:
        """Answer, or stop when the client goes away. A failure of ours ends as a cut or an error, never as a clean end."""
        answering = asyncio.ensure_future(answer(self))
        leaving = asyncio.ensure_future(self.client.left())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answering, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, ClientLeft):
                await answering
            with suppress(asyncio.CancelledError):
                await leaving

    async def stream(
        self, endpoint: Endpoint, method: str, query: str, body: Body | None, note: tuple[bytes, bytes] | None
    ) -> None:
        """Pass a request and its answer without reading either."""
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
                note = plan.note + exchange.remark
                await self.client.refuse(exchange.endpoint, plan.status, plan.message, (OWN, note.encode()))
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
            exchange.end(Ending.LEFT)  # unless it ended in another way
            try:
                await self._dispatch.over(exchange)
            finally:
                await mode.after(exchange)

    async def _converse(self, exchange: Exchange, mode: Mode, plan: Pass | Send) -> None:
        """Ask the upstream, and again as long as the mode wants to; the client sees one answer."""
        head: _Head | None = None
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
                    head = _Head(answer, plan, plan.note + exchange.remark)
                elif answer.status >= _ERRORS:
                    raise Cut  # the client has the beginning of an answer, which cannot be taken back
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

    async def _pass_error(self, exchange: Exchange, mode: Mode, head: "_Head", answer: Answer) -> Send | None:
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
    """The time for which a client may see nothing of an answer, over all of its rounds."""

    def __init__(self, exchange: Exchange, mode: Mode) -> None:
        self._exchange, self._mode = exchange, mode
        self._clock = asyncio.get_running_loop().time
        self._end = self._clock() + _LONGEST_HOLD
        self._is_over = False

    async def shown(self, chunks: AsyncIterator[bytes], head: "_Head") -> AsyncIterator[bytes]:
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


class _Head:
    """The head of an answer, which is sent once."""

    def __init__(self, answer: Answer, plan: Pass | Send, note: str) -> None:
        headers = with_patience(for_client(answer.headers), answer.status)
        if isinstance(plan, Send) and answer.status < _ERRORS:
            is_plain = plan.is_rewritten and can_unpack(value_of(headers, b"content-encoding"))
            gone = (b"content-length", *((b"content-encoding",) if is_plain else ()))
            headers = with_changes(headers, ((name, None) for name in gone))
        self._status, self._headers = answer.status, (*headers, (OWN, note.encode("ascii", "replace")))
        self.is_held = plan.is_held
        self.is_sent = False

    async def send(self, client: Client) -> None:
        """Send it, unless that was done."""
        if not self.is_sent:
            self.is_sent = True
            await client.begin(self._status, self._headers)
