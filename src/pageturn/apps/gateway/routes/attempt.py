"""Asks one upstream, and says whether it began to answer. Until then the client has seen nothing, and another upstream can be asked.

An answer has begun with the first byte of an object; one that is a stream, with its first event that is neither an error nor an
announcement. What is neither an object nor events of JSON, or ends before it said anything, is no answer, whatever its status. What was read
until then is passed on first.
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

_REDIRECTS, _ERRORS = 300, 400
_MOST_OF_AN_ERROR = 1 << 20  # bytes of it that are kept
_MOST_HELD = 1 << 18
_FIRST = 8  # bytes that show what a body is
_OF_EVENTS = (b"", b"d", b"e", b"i", b"r", b":", b"\xef")  # which begin a line of a stream, or a mark of the encoding
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
        self.may_cost = False  # it was at work, and may be billed


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
        held = await _held_opening(answer, reading, first)
    except TimeoutError as error:
        raise _silent(f"no first byte in {request.first_byte_seconds:g} seconds") from error
    except Unreachable as error:
        raise NoAnswer(None, (), b"", str(error)) from error
    except Cut as error:
        raise _silent("the answer broke off before it had begun") from error
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


async def _held_opening(answer: Answer, reading: _Reading, first: bytes | None) -> list[bytes]:
    """What comes before an answer says something; raises `NoAnswer` where that is an error, or no answer."""
    held = [first or b""]
    opening = _Opening(answer)
    clock = asyncio.get_running_loop().time
    end = clock() + _LONGEST_HOLD
    size = len(held[0])
    chunk = first
    while chunk is not None and opening.waits(chunk):
        try:
            chunk = await reading.next(max(0.0, end - clock()))
        except TimeoutError:
            break
        held += [chunk] if chunk else []
        size += len(chunk or b"")
        if size > _MOST_HELD:
            break
    if chunk is None and opening.is_open:
        opening.dead = "the answer ended before it said anything"
    if opening.dead is not None:
        raise _silent(opening.dead)
    if opening.error is not None:
        failed = NoAnswer(opening.error, answer.headers, b"".join(held), f"status {opening.error} in the stream")
        failed.is_stream = True
        raise failed
    return held


def _silent(why: str) -> NoAnswer:
    """No answer, of an upstream that was at work."""
    failed = NoAnswer(None, (), b"", why)
    failed.may_cost = True
    return failed


class _Opening:
    """Looks for the first event of a stream that says something, or the beginning of an object."""

    def __init__(self, answer: Answer) -> None:
        encoding = value_of(answer.headers, b"content-encoding")
        # A redirect is the client's, and what is packed in a way that is not known here too.
        self.is_open = answer.status < _REDIRECTS and can_unpack(encoding)  # nothing was said yet
        self._unpacking = Unpacking(encoding if self.is_open else None)
        self._events = EventReader()
        self._begun = b""
        self.error: int | None = None
        self.dead: str | None = None  # why it is no answer

    def waits(self, chunk: bytes) -> bool:
        """Whether nothing was said yet."""
        if self.is_open:
            try:
                self.is_open = self._is_opening(self._unpacking.feed(chunk))
            except InvalidInput:
                self.is_open, self.dead = False, "what it answered cannot be unpacked"
            except (ValueError, RecursionError):
                self.is_open, self.dead = False, "what it answered is not JSON"
        return self.is_open

    def _is_opening(self, piece: bytes) -> bool:
        if len(self._begun) < _FIRST:
            self._begun = (self._begun + piece).lstrip()[:_FIRST]
            if is_object(self._begun):
                return False
            if self._begun[:1] not in _OF_EVENTS:
                raise ValueError
        return all(map(self._is_announcement, self._events.feed(piece)))

    def _is_announcement(self, data: bytes) -> bool:
        event = msgspec.json.decode(data)
        if not isinstance(event, dict):
            raise ValueError  # noqa: TRY004 - of what came, and not of ours
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
