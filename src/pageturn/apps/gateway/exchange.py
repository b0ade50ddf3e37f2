"""Represents one request of a client and its answer. It does no I/O: the code that moves the bytes reports them here."""

import secrets
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pageturn.apps.gateway.endpoints import Endpoint
from pageturn.apps.gateway.headers import OWN, Headers, value_of
from pageturn.apps.gateway.tenants.grants import Grant
from pageturn.routing import Decision

MOST_BYTES = 32 * 1024 * 1024  # of a body that is read; a larger one passes all the same
TOO_LARGE = "too large"
_OFF, _ON = ("off", "false", "no", "0"), ("", "on", "true", "yes", "1")  # what a client may say in `x-pageturn`


class Ending(StrEnum):
    """How an exchange ended."""

    WHOLE = "whole"
    CUT = "cut"  # the upstream broke off
    LEFT = "left"  # the client went away
    UNREACHED = "unreached"  # the upstream gave no answer at all


class Derived(NamedTuple):
    """What is told of a derived context: no text of it."""

    budget_tokens: int
    faults: Mapping[str, int]  # of the session since its last one, by code


class Exchange:
    """A request with its whole body, and what has arrived of its answer.

    Its headers contain the client's keys: they are sent to the upstream, and to nobody else.
    """

    def __init__(self, endpoint: Endpoint, method: str, query: str, headers: Headers, body: bytes) -> None:
        self.endpoint = endpoint
        self.method = method
        self.query = query
        self.headers = headers
        self.body = body
        self.status: int | None = None
        self.answer_headers: Headers = ()
        self.chunks: list[bytes] = []  # of the answer, as the upstream sent them
        self.is_too_large = False  # so that the chunks are not all
        self.ending: Ending | None = None
        self.rounds = 0  # of asking the upstream
        self.calls = 0  # that were sent and may be billed, answered or not
        self.id = secrets.token_hex(8)
        self.began = time.monotonic()
        self.note = ""  # what the client gets as `x-pageturn`
        self.derived: Derived | None = None  # where a derived context was sent
        self.asked_model: str | None = None  # as the client named it, where another one answers
        self.decision: Decision | None = None  # who that is, and why
        self.tenant: str | None = None  # the scope of who asks, where keys are given out
        self.grant: Grant | None = None
        self._size = 0

    def __repr__(self) -> str:
        return f"<Exchange {self.method} {self.endpoint.path} {self.status} {self.ending}>"

    @property
    def size(self) -> int:
        """The bytes of the answer, so far."""
        return self._size

    @property
    def encoding(self) -> str | None:
        """The compression of the request."""
        return value_of(self.headers, b"content-encoding")

    @property
    def answer_encoding(self) -> str | None:
        """The compression of the answer."""
        return value_of(self.answer_headers, b"content-encoding")

    @property
    def is_off(self) -> bool:
        """Whether the client asked the gateway not to manage this request."""
        return self._wish in _OFF

    @property
    def remark(self) -> str:
        """What the client is told of its own `x-pageturn`, where nobody knows what it means by it."""
        return "" if self._wish in (*_ON, *_OFF) else "; the x-pageturn of the request is neither on nor off"

    @property
    def _wish(self) -> str:
        return (value_of(self.headers, OWN) or "").strip().lower()

    def begin_answer(self, status: int, headers: Headers) -> None:
        """Take the head of an answer; if the upstream is called again, earlier output is no longer the answer."""
        self.status, self.answer_headers = status, headers
        self.rounds += 1
        self.chunks = []
        self._size = 0

    def take(self, chunk: bytes) -> None:
        """Take more of the answer's body."""
        self._size += len(chunk)
        if self._size > MOST_BYTES:
            self.is_too_large = True
            self.chunks.clear()
        else:
            self.chunks.append(chunk)

    def end(self, ending: Ending) -> None:
        """Record how it ended; only the first call counts. A client that left after the whole announced length had all of it."""
        if ending is Ending.LEFT and value_of(self.answer_headers, b"content-length") == str(self._size):
            ending = Ending.WHOLE
        self.ending = self.ending or ending
