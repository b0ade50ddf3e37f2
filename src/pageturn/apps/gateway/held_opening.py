"""Holds the beginning of a stream that passes unchanged, until it is known that the provider answers."""

import msgspec

from pageturn.apps.gateway.decoding import UNREADABLE, EventReader, Unpacking, can_unpack, is_object
from pageturn.apps.gateway.exchange import Exchange

_BEFORE_OUTPUT = ("response.created", "response.queued", "response.in_progress")


class HeldOpening:
    """The beginning of a stream, held until the first output of the model: until then the provider may still reject the request.

    Some providers do so in the stream itself, and a client that is told that its prompt is too long may stop.
    """

    def __init__(self) -> None:
        self._rounds = 0
        self._begin(None)

    def _begin(self, encoding: str | None) -> None:
        self.failure = b""  # what the provider says instead of an answer
        self._reader = EventReader()
        self._is_over = not can_unpack(encoding)
        self._unpacking = Unpacking(None if self._is_over else encoding)
        self._held = bytearray()

    def feed(self, exchange: Exchange, chunk: bytes) -> bytes:
        """What the client gets for a chunk."""
        if self._rounds != exchange.rounds:
            self._rounds = exchange.rounds
            self._begin(exchange.answer_encoding)
        if self._is_over:
            return chunk
        self._held += chunk
        try:
            self._is_over = self._is_output(chunk)
        except UNREADABLE:
            self._is_over = True
        return self.released() if self._is_over else b""

    def released(self) -> bytes:
        """What was held."""
        self._is_over = True
        held, self._held = bytes(self._held), bytearray()
        return held

    def _is_output(self, chunk: bytes) -> bool:
        piece = self._unpacking.feed(chunk)
        if is_object(piece):
            return True
        for data in self._reader.feed(piece):
            event = msgspec.json.decode(data)
            kind = event.get("type")
            if kind in ("response.failed", "error") or (kind is None and event.get("error")):
                self.failure = data
            elif kind not in _BEFORE_OUTPUT:
                return True
        return False
