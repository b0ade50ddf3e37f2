"""Asks one upstream, and says whether it began to answer. Until then the client has seen nothing, and another upstream can be asked.

An answer has begun with its first byte; one that is a stream, with its first event that is neither an error nor an announcement. What was
read until then is passed on first.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.decoding import EventReader, Unpacking, can_unpack, is_object
from pageturn.apps.gateway.headers import Headers, value_of
from pageturn.apps.gateway.upstream import Answer, Body, Cut, Unreachable, UpstreamClient
from pageturn.values.errors import InvalidInput

_ERRORS = 400
_MOST_OF_AN_ERROR = 1 << 20  # bytes of it that are kept
_MOST_HELD = 1 << 18
_LONGEST_HOLD = 10.0  # seconds for which the beginning of a stream is held back
_ANNOUNCED = ("message_start", "ping", "content_block_start", "response.created", "response.queued", "response.in_progress")  # fmt: skip
_STATUSES = {  # of an error that comes in a stream
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
}
_SERVER_ERROR = 500


class NoAnswer(Exception):
    """An upstream did not begin to answer. The router reads status, headers and body; the client gets them if no other upstream answers."""

    def __init__(self, status: int | None, headers: Headers, body: bytes, why: str) -> None:
        super().__init__(why)
        self.status_code = status
        self.raw_headers = headers
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        self.body = body
        self.is_stream = False  # the error came in a stream under status 200


class UpstreamRequest(NamedTuple):
    """What an upstream is asked."""

    method: str
    url: str
    headers: Headers
    body: bytes
    first_byte_seconds: float


class BegunAnswer(Answer):
    """An answer that has begun, or the last error where no candidate answered: what was read of it comes first."""

    def __init__(self, status: int, headers: Headers, held: list[bytes], rest: "_Reading | None", origin_: str) -> None:
        self.status, self.headers, self.origin = status, headers, origin_
        self._held, self._rest = held, rest

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body; raises `Cut` after the last byte where more was promised."""
        for chunk in self._held:
            yield chunk
        while self._rest is not None and (more := await self._rest.next()) is not None:
            yield more


async def attempt(client: UpstreamClient, request: UpstreamRequest, connection: AsyncExitStack) -> BegunAnswer:
    """The answer of an upstream as soon as it has begun; raises `NoAnswer`. The stack holds the connection."""
    try:
        async with asyncio.timeout(request.first_byte_seconds):
            asked = client.ask(request.method, request.url, request.headers, Body.whole(request.body))
            answer = await connection.enter_async_context(asked)
            if answer.status >= _ERRORS:
                raise NoAnswer(answer.status, answer.headers, await _error_of(answer), f"status {answer.status}")
            reading = _Reading(answer)
            connection.push_async_callback(reading.stop)
            first = await reading.next()
        held = [] if first is None else await _held_opening(answer, reading, first)
    except TimeoutError as error:
        raise NoAnswer(None, (), b"", f"no first byte in {request.first_byte_seconds:g} seconds") from error
    except Unreachable as error:
        raise NoAnswer(None, (), b"", str(error)) from error
    except Cut as error:
        raise NoAnswer(None, (), b"", "the answer broke off before it had begun") from error
    return BegunAnswer(answer.status, answer.headers, held, reading, answer.origin)


async def _error_of(answer: Answer) -> bytes:
    body = bytearray()
    with suppress(Cut):
        async for chunk in answer.chunks():
            body += chunk
            if len(body) > _MOST_OF_AN_ERROR:
                break
    return bytes(body)


class _Reading:
    """The chunks of an answer, which may be waited for a while and then longer."""

    def __init__(self, answer: Answer) -> None:
        self._chunks = answer.chunks()
        self._coming: asyncio.Future[bytes | None] | None = None

    async def next(self, seconds: float | None = None) -> bytes | None:
        """The next chunk, None at the end; raises `TimeoutError` after so many seconds, and nothing is lost."""
        if self._coming is None:
            self._coming = asyncio.ensure_future(_next(self._chunks))
        done, _ = await asyncio.wait({self._coming}, timeout=seconds)
        if not done:
            raise TimeoutError
        coming, self._coming = self._coming, None
        return coming.result()

    async def stop(self) -> None:
        """Wait for nothing any more."""
        if self._coming is not None:
            self._coming.cancel()
            with suppress(asyncio.CancelledError, Cut):
                await self._coming


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


async def _held_opening(answer: Answer, reading: _Reading, first: bytes) -> list[bytes]:
    """What comes before a stream says something; raises `NoAnswer` where that is an error."""
    held = [first]
    opening = _Opening(value_of(answer.headers, b"content-encoding"))
    clock = asyncio.get_running_loop().time
    end = clock() + _LONGEST_HOLD
    size = len(first)
    chunk: bytes | None = first
    while chunk is not None and opening.waits(chunk):
        try:
            chunk = await reading.next(max(0.0, end - clock()))
        except TimeoutError:
            break
        held += [chunk] if chunk else []
        size += len(chunk or b"")
        if size > _MOST_HELD:
            break
    if opening.error is not None:
        failed = NoAnswer(opening.error, answer.headers, b"".join(held), f"status {opening.error} in the stream")
        failed.is_stream = True
        raise failed
    return held


class _Opening:
    """Looks for the first event of a stream that says something."""

    def __init__(self, encoding: str | None) -> None:
        self._is_readable = can_unpack(encoding)
        self._unpacking = Unpacking(encoding if self._is_readable else None)
        self._events = EventReader()
        self.error: int | None = None

    def waits(self, chunk: bytes) -> bool:
        """Whether nothing was said yet."""
        if not self._is_readable:
            return False
        try:
            piece = self._unpacking.feed(chunk)
            if is_object(piece):
                return False
            return all(map(self._is_announcement, self._events.feed(piece)))
        except (InvalidInput, ValueError):  # an unknown form is left to the client
            return False

    def _is_announcement(self, data: bytes) -> bool:
        event = msgspec.json.decode(data)
        if not isinstance(event, dict):
            return False
        kind = event.get("type")
        if kind in ("response.failed", "error") or (kind is None and event.get("error")):
            self.error = _status_of(event)
            return False
        return kind in _ANNOUNCED


def _status_of(event: dict[str, Any]) -> int:
    """The status that an error in a stream would have had."""
    response = event.get("response")
    details = response.get("error") if isinstance(response, dict) else event.get("error", event)
    details = details if isinstance(details, dict) else {}
    number = details.get("code", details.get("status"))
    if isinstance(number, int) and _ERRORS <= number < 600:
        return number
    names = (str(details.get(name)) for name in ("type", "code"))
    return next((_STATUSES[name] for name in names if name in _STATUSES), _SERVER_ERROR)
