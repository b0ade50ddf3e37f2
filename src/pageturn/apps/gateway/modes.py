"""Defines the modes: what the gateway does with a model call besides passing it on.

A mode is called before a call is sent and may send another one after an error or after an answer, sees and may replace each chunk of
an answer, and is told when it is over, however it ended. All of that runs on the event loop that moves the bytes: anything slow
belongs in a thread that `before` or `after` awaits.
"""

from typing import NamedTuple, Protocol

from pageturn.apps.gateway.counts import Tally
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import Headers


class Pass(NamedTuple):
    """Send the request as the client wrote it. `note` is what the client gets as `x-pageturn`.

    `may_follow`: the mode wants to see an error before the client does. `is_held`: the client sees nothing of the answer, not even
    that there is one, before `on_chunk` or `overdue` returns something for it.
    """

    note: str
    may_follow: bool = False
    is_held: bool = False


class Send(NamedTuple):
    """Send this body instead. Headers replace those of the same name; None removes one.

    `is_held` as with `Pass`. `is_rewritten`: what `on_chunk` returns is not the original, and is not compressed.
    """

    body: bytes
    note: str
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    is_held: bool = False
    is_rewritten: bool = False
    may_follow: bool = True


class Refuse(NamedTuple):
    """Send nothing; the client gets an error in its vendor's form."""

    status: int
    message: str
    note: str


class Mode(Protocol):
    """The interface of a mode. `on_chunk` is not called if nothing arrived; `after` always is, once."""

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """What to send upstream. An exception refuses the request: a mode that must not fail catches its own."""
        ...

    async def unread(self, headers: Headers) -> Pass | Refuse:
        """What to do with a request that is too large to be held, and is streamed if it passes."""
        ...

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:
        """What to send after an error of the provider of which the client has seen nothing; None passes the error on."""
        ...

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:
        """What the client gets for a chunk of the answer, which may be nothing yet."""
        ...

    def overdue(self, exchange: Exchange) -> bytes:
        """What the client may get of an answer that has been held for long, so that it sees that there is one; may be nothing."""
        ...

    async def proceed(self, exchange: Exchange) -> Send | bytes | None:
        """What follows a complete answer: another call before the client sees the end, a last chunk for it, or nothing."""
        ...

    async def after(self, exchange: Exchange) -> None:
        """Record that it is over: `exchange.ending` says how."""
        ...

    def tally(self) -> Tally:
        """The counts so far."""
        ...

    def close(self) -> None:
        """Finish the remaining work; no more requests arrive."""
        ...
