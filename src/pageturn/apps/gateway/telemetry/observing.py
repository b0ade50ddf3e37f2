"""Watches calls on their way to upstreams, and tells observers of them from a thread of its own.

Traffic never waits for it: where too much waits to be told, calls are left out and counted.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from pageturn.apps.gateway.dispatch import Dispatch
from pageturn.apps.gateway.endpoints import CHATGPT, OPENAI
from pageturn.apps.gateway.exchange import MOST_BYTES, Ending, Exchange
from pageturn.apps.gateway.headers import REQUEST_ID, Headers, told, value_of
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.modes import Refuse
from pageturn.apps.gateway.reading import Answered, Seen, read_answer
from pageturn.apps.gateway.routes.requests import Told, read_told
from pageturn.apps.gateway.telemetry.facts import ClientRequest, ModelCall, Observer, read_note
from pageturn.apps.gateway.upstream import Answer, Cut, Unreachable
from pageturn.values.errors import InvalidInput

_LOG = logging.getLogger("pageturn.gateway")
_MOST_WAITING = 10_000  # calls
_MOST_WAITING_BYTES = 64 * 1024 * 1024
_ERRORS = 400


class _Round(NamedTuple):
    """A call as it passed, before anybody read it."""

    exchange: Exchange
    body: bytes
    status: int | None
    answer_headers: Headers
    origin: str
    chunks: tuple[bytes, ...]
    is_whole: bool
    began: int
    seconds: float
    first_byte_seconds: float | None
    error: str | None

    @property
    def size(self) -> int:
        return len(self.body) + sum(map(len, self.chunks))


class Observed:
    """A way for calls that is watched."""

    def __init__(self, inner: Dispatch, observers: Sequence[Observer]) -> None:
        self._inner = inner
        self._telling = Telling(observers)

    async def choose(self, exchange: Exchange) -> Refuse | None:
        """As the way says."""
        return await self._inner.choose(exchange)

    @asynccontextmanager
    async def ask(self, exchange: Exchange, headers: Headers, body: bytes) -> AsyncIterator[Answer]:
        """Ask, and watch the answer pass."""
        watching = _Watching()
        try:
            async with self._inner.ask(exchange, headers, body) as answer:
                watching.begins(answer)
                answer.headers = (*answer.headers, (REQUEST_ID, told(exchange.id)))
                watched = _Watched(answer, watching)
                yield watched
        except (Unreachable, Cut) as error:
            watching.error = type(error).__name__.lower()
            raise
        except asyncio.CancelledError:
            watching.error = "client left"
            raise
        finally:
            self._telling.offer(watching.round(exchange, body))

    async def over(self, exchange: Exchange) -> None:
        """Tell that a request is over."""
        self._telling.offer(exchange)
        await self._inner.over(exchange)

    def close(self) -> None:
        """Tell what waits."""
        self._inner.close()
        self._telling.close()


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

    def round(self, exchange: Exchange, body: bytes) -> _Round:
        return _Round(
            exchange,
            body,
            self._status,
            self._headers,
            self._origin,
            tuple(self._chunks),
            self._is_whole,
            self._began,
            time.monotonic() - self._clock,
            self._first,
            self.error,
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


class Telling:
    """The thread that tells observers."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._waiting: queue.SimpleQueue[_Round | Exchange | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._bytes = 0
        self.dropped = 0
        self._reader = ItemReader()
        self._thread = threading.Thread(target=self._run, name="pageturn-telemetry", daemon=True)
        self._thread.start()

    def offer(self, fact: "_Round | Exchange") -> None:
        """Take something to be told, unless too much waits."""
        size = fact.size if isinstance(fact, _Round) else 0
        with self._lock:
            if self._waiting.qsize() >= _MOST_WAITING or (self._bytes and self._bytes + size > _MOST_WAITING_BYTES):
                self.dropped += 1
                return
            self._bytes += size
        self._waiting.put(fact)

    def close(self) -> None:
        """Tell what waits, and close the observers."""
        self._waiting.put(None)
        self._thread.join()
        for observer in self._observers:
            try:
                observer.close()
            except Exception as error:  # noqa: BLE001 - the gateway ends all the same
                _LOG.warning("telemetry was not flushed (%s)", type(error).__name__)

    def _run(self) -> None:
        while (fact := self._waiting.get()) is not None:
            for observer in self._observers:
                try:
                    if isinstance(fact, _Round):
                        observer.model_call(self._call_of(fact))
                    else:
                        observer.client_request(_request_of(fact))
                except Exception as error:  # noqa: BLE001 - the traffic has passed
                    _LOG.warning("telemetry failed (%s)", type(error).__name__)
            with self._lock:
                self._bytes -= fact.size if isinstance(fact, _Round) else 0

    def _call_of(self, round_: _Round) -> ModelCall:
        exchange = round_.exchange
        asked, answered = self._read(round_)
        decision = exchange.decision
        place = urlsplit(round_.origin)
        error = round_.error
        if error is None and round_.status is not None and round_.status >= _ERRORS:
            error = str(round_.status)
        identity = identity_of(exchange.headers)
        model = asked.model if asked is not None else ""
        usage = answered.usage if answered is not None else None
        return ModelCall(
            request_id=exchange.id,
            endpoint=exchange.endpoint.path.strip("/"),
            provider=OPENAI if exchange.endpoint.vendor == CHATGPT else exchange.endpoint.vendor,
            address=place.hostname or "",
            port=place.port or (443 if place.scheme == "https" else 80),
            asked_model=exchange.asked_model or model,
            model=decision.choice.partition("/")[2] if decision is not None else model,
            answered_model=usage.model if usage is not None else None,
            conversation=identity.name if identity is not None else None,
            session=asked.session if asked is not None else "",
            is_stream=asked is not None and asked.is_stream,
            began=round_.began,
            seconds=round_.seconds,
            first_byte_seconds=round_.first_byte_seconds,
            status=round_.status,
            error=error,
            usage=usage,
            note=read_note(exchange.note),
            decision=decision.id if decision is not None else None,
            agent=decision.choice if decision is not None else None,
            why=decision.why if decision is not None else None,
            tenant=exchange.tenant,
            grant=exchange.grant,
            parent=value_of(exchange.headers, b"traceparent"),
        )

    def _read(self, round_: _Round) -> tuple[Told | None, Answered | None]:
        exchange = round_.exchange
        sent = Exchange(exchange.endpoint, exchange.method, "", exchange.headers, round_.body)
        sent.headers = tuple((name, value) for name, value in sent.headers if name != b"content-encoding")
        try:
            asked = read_told(sent, self._reader)
        except InvalidInput:
            asked = None
        if round_.status is None or round_.status >= _ERRORS or not round_.chunks:
            return asked, None
        assert exchange.endpoint.format is not None
        seen = Seen(
            format=exchange.endpoint.format,
            name="",
            identity=None,
            body=b"",
            encoding=None,
            status=round_.status,
            chunks=round_.chunks,
            answer_encoding=value_of(round_.answer_headers, b"content-encoding"),
            ending=Ending.WHOLE if round_.is_whole else Ending.CUT,
        )
        try:
            return asked, read_answer(seen)
        except InvalidInput:
            return asked, None


def _request_of(exchange: Exchange) -> ClientRequest:
    decision = exchange.decision
    return ClientRequest(
        request_id=exchange.id,
        endpoint=exchange.endpoint.path.strip("/"),
        status=exchange.status,
        ending=str(exchange.ending),
        rounds=exchange.rounds,
        seconds=time.monotonic() - exchange.began,
        request_bytes=len(exchange.body),
        answer_bytes=exchange.size,
        note=read_note(exchange.note),
        decision=decision.id if decision is not None else None,
        agent=decision.choice if decision is not None else None,
        tenant=exchange.tenant,
        grant=exchange.grant,
    )
