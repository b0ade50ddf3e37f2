"""Watches calls on their way to upstreams. What it saw of them is reported elsewhere, so that no call waits for it."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pageturn.apps.gateway.dispatch import Dispatch
from pageturn.apps.gateway.exchange import MOST_BYTES, Exchange
from pageturn.apps.gateway.headers import REQUEST_ID, Headers, as_header
from pageturn.apps.gateway.modes import Refuse
from pageturn.apps.gateway.telemetry.facts import UNREACHABLE, Observer
from pageturn.apps.gateway.telemetry.reporting import PassedCall, Reporter
from pageturn.apps.gateway.upstream import Answer, Cut, Unreachable


class Observed:
    """A way for calls that is watched."""

    def __init__(self, inner: Dispatch, observers: Sequence[Observer]) -> None:
        self._inner = inner
        self._reporter = Reporter(observers)

    async def choose(self, exchange: Exchange) -> Refuse | None:
        """As the way says."""
        return await self._inner.choose(exchange)

    @asynccontextmanager
    async def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AsyncIterator[Answer]:
        """Ask, and watch the answer pass."""
        watching = _Watching()
        exchange.calls += 1
        try:
            async with self._inner.ask(exchange, headers, body) as answer:
                watching.begins(answer)
                answer.headers = (*answer.headers, (REQUEST_ID, as_header(exchange.id)))
                watched = _Watched(answer, watching)
                yield watched
        except Unreachable:
            watching.error = UNREACHABLE
            raise
        except Cut:
            watching.error = "cut"
            raise
        except asyncio.CancelledError:
            watching.error = "client left"
            raise
        finally:
            self._reporter.offer(watching.passed(exchange, body))

    async def over(self, exchange: Exchange) -> None:
        """Tell that a request is over."""
        self._reporter.offer(exchange)
        await self._inner.over(exchange)

    def close(self) -> None:
        """Tell what waits."""
        self._inner.close()
        self._reporter.close()


class _Watching:
    """An answer as it passes."""

    def __init__(self) -> None:
        self._began, self._clock = time.time_ns(), time.monotonic()
        self._first: float | None = None
        self._status: int | None = None
        self._headers: Headers = ()
        self._origin = ""
        self._chunks: list[bytes] = []
        self._size = 0
        self._is_whole = False
        self.error: str | None = None

    def begins(self, answer: Answer) -> None:
        self._status, self._headers, self._origin = answer.status, answer.headers, answer.origin

    def takes(self, chunk: bytes) -> None:
        if self._first is None:
            self._first = time.monotonic() - self._clock
        self._size += len(chunk)
        if self._size <= MOST_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def ends(self) -> None:
        self._is_whole = True

    def passed(self, exchange: Exchange, body: bytes) -> PassedCall:
        return PassedCall(
            exchange=exchange,
            body=body,
            status=self._status,
            answer_headers=self._headers,
            origin=self._origin,
            chunks=tuple(self._chunks),
            is_whole=self._is_whole,
            began=self._began,
            seconds=time.monotonic() - self._clock,
            first_byte_seconds=self._first,
            error=self.error,
        )


class _Watched(Answer):
    """An answer that is watched."""

    def __init__(self, answer: Answer, watching: _Watching) -> None:
        self.status, self.headers, self.origin = answer.status, answer.headers, answer.origin
        self._answer, self._watching = answer, watching

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.chunks():
            self._watching.takes(chunk)
            yield chunk
        self._watching.ends()
