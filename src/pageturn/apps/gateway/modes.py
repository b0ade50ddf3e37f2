"""Modes: what the gateway does with a call of a model beside passing it on.

A mode is asked before a call goes out, sees and may replace each chunk of the answer, and is told when it is over, however it ended.
All three run on the event loop that moves the bytes: whatever takes longer belongs in a thread that `before` or `after` awaits.
"""

from typing import NamedTuple, Protocol

from pageturn.apps.gateway.exchange import Exchange


class Pass(NamedTuple):
    """Send the request as the client wrote it. `note` is what `x-pageturn` tells the client."""

    note: str


class Send(NamedTuple):
    """Send this body instead. Headers replace those of the same name; None takes one away."""

    body: bytes
    note: str
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


class Refuse(NamedTuple):
    """Send nothing; the client gets an error in its vendor's form."""

    status: int
    message: str
    note: str


class Mode(Protocol):
    """What a managed mode implements. `on_chunk` is not called where nothing came; `after` always is, once."""

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """What goes to the upstream. What is raised here refuses the request: a mode that may not fail catches its own."""
        ...

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:
        """What the client gets for a chunk of the answer, which may be nothing yet; the head has been sent."""
        ...

    async def after(self, exchange: Exchange) -> None:
        """Take notice that it is over: `exchange.ending` says how."""
        ...

    def close(self) -> None:
        """Finish what is left to do; nothing comes any more."""
        ...


class Passing:
    """The mode of every path at which no model answers, and of requests that want to be left alone."""

    def __init__(self, note: str = "off") -> None:
        self._pass = Pass(note)

    async def before(self, exchange: Exchange) -> Pass:  # noqa: ARG002 - the port says so
        """As it is."""
        return self._pass

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:  # noqa: ARG002
        """As it is."""
        return chunk

    async def after(self, exchange: Exchange) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""
