"""Reports calls that have passed to the observers, in a thread of its own.

Traffic never waits for it: where too much waits to be reported, calls are left out and counted.
"""

import logging
import queue
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from pageturn.apps.gateway.endpoints import CHATGPT, OPENAI
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.headers import Headers, value_of
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.reading import Answered, Seen, read_answer
from pageturn.apps.gateway.routes.requests import RequestOutline, read_outline
from pageturn.apps.gateway.telemetry.facts import ClientRequest, ModelCall, Observer, read_note
from pageturn.values.errors import InvalidInput

_LOG = logging.getLogger("pageturn.gateway")
_MOST_WAITING = 10_000  # calls
_MOST_WAITING_BYTES = 64 * 1024 * 1024
_ERRORS = 400


class PassedCall(NamedTuple):
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


class Reporter:
    """The thread that calls the observers."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._waiting: queue.SimpleQueue[PassedCall | Exchange | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._bytes = 0
        self.dropped = 0
        self._reader = ItemReader()
        self._thread = threading.Thread(target=self._run, name="pageturn-telemetry", daemon=True)
        self._thread.start()

    def offer(self, fact: "PassedCall | Exchange") -> None:
        """Queue something to be reported, unless too much waits."""
        size = fact.size if isinstance(fact, PassedCall) else 0
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
            try:
                self._tell(fact)
            except Exception as error:  # noqa: BLE001 - the traffic has passed
                _LOG.warning("telemetry failed (%s)", type(error).__name__)
            with self._lock:
                self._bytes -= fact.size if isinstance(fact, PassedCall) else 0

    def _tell(self, fact: PassedCall | Exchange) -> None:
        """Read what passed once, for all observers; one that fails keeps nothing from the others."""
        made = self._call_of(fact) if isinstance(fact, PassedCall) else _request_of(fact)
        for observer in self._observers:
            try:
                if isinstance(made, ModelCall):
                    observer.model_call(made)
                else:
                    observer.client_request(made)
            except Exception as error:  # noqa: BLE001 - the traffic has passed
                _LOG.warning("telemetry failed (%s)", type(error).__name__)

    def _call_of(self, passed: PassedCall) -> ModelCall:
        exchange = passed.exchange
        outline, answered = self._read(passed)
        decision = exchange.decision
        place = urlsplit(passed.origin)
        error = passed.error
        if error is None and passed.status is not None and passed.status >= _ERRORS:
            error = str(passed.status)
        identity = identity_of(exchange.headers)
        model = outline.model if outline is not None else ""
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
            session=outline.session if outline is not None else "",
            is_stream=outline is not None and outline.is_stream,
            began=passed.began,
            seconds=passed.seconds,
            first_byte_seconds=passed.first_byte_seconds,
            status=passed.status,
            error=error,
            is_whole=passed.is_whole or (answered is not None and answered.reply is not None),
            usage=usage,
            note=read_note(exchange.note),
            budget_tokens=exchange.derived.budget_tokens if exchange.derived is not None else None,
            faults=exchange.derived.faults if exchange.derived is not None else {},
            decision=decision.id if decision is not None else None,
            agent=decision.choice if decision is not None else None,
            why=decision.why if decision is not None else None,
            tenant=exchange.tenant,
            grant=exchange.grant,
            parent=value_of(exchange.headers, b"traceparent"),
        )

    def _read(self, passed: PassedCall) -> tuple[RequestOutline | None, Answered | None]:
        exchange = passed.exchange
        sent = Exchange(exchange.endpoint, exchange.method, "", exchange.headers, passed.body)
        sent.headers = tuple((name, value) for name, value in sent.headers if name != b"content-encoding")
        try:
            outline = read_outline(sent, self._reader)
        except InvalidInput:
            outline = None
        if passed.status is None or passed.status >= _ERRORS or not passed.chunks:
            return outline, None
        assert exchange.endpoint.format is not None
        seen = Seen(
            format=exchange.endpoint.format,
            name="",
            identity=None,
            body=b"",
            encoding=None,
            status=passed.status,
            chunks=passed.chunks,
            answer_encoding=value_of(passed.answer_headers, b"content-encoding"),
            ending=Ending.WHOLE if passed.is_whole else Ending.CUT,
        )
        try:
            return outline, read_answer(seen)
        except InvalidInput:
            return outline, None


def _request_of(exchange: Exchange) -> ClientRequest:
    decision = exchange.decision
    return ClientRequest(
        request_id=exchange.id,
        endpoint=exchange.endpoint.path.strip("/"),
        status=exchange.status,
        ending=str(exchange.ending),
        rounds=exchange.rounds,
        calls=exchange.calls,
        seconds=time.monotonic() - exchange.began,
        request_bytes=len(exchange.body),
        answer_bytes=exchange.size,
        note=read_note(exchange.note),
        decision=decision.id if decision is not None else None,
        agent=decision.choice if decision is not None else None,
        tenant=exchange.tenant,
        grant=exchange.grant,
    )
