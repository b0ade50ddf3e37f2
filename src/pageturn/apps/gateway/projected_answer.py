"""Reads an answer into a projection before its client gets it: recognised by its content, not by its headers, and decompressed."""

from pageturn.apps.gateway.decoding import UNREADABLE, Unpacking, can_unpack, is_object
from pageturn.apps.gateway.exchange import MOST_BYTES, Exchange
from pageturn.apps.gateway.projections import Projection
from pageturn.apps.gateway.upstream import Cut


class ProjectedAnswer:
    """The rounds of one answer on their way into a projection."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.is_stream: bool | None = None  # of this round, as soon as it is known
        self.is_passed = False  # it cannot be understood, and is passed on unchanged
        self._rounds = 0  # of asking the upstream
        self._unpacking = Unpacking(None)
        self._unsent = bytearray()  # of this round, as long as the client has seen nothing of the answer
        self._is_overdue = False

    def feed(self, exchange: Exchange, chunk: bytes) -> bytes:
        """What the client gets for a chunk."""
        if self._rounds != exchange.rounds:
            self._begin(exchange)
        try:
            return self._seen(self._unpacking.feed(chunk))
        except UNREADABLE as error:
            if self.projection.is_sent or self.projection.rounds or not can_unpack(exchange.answer_encoding):
                raise Cut from error
            return self._given_up()

    def overdue(self) -> bytes:
        """The beginning of the answer, so that the client sees that there is one. A single JSON object has none."""
        self._is_overdue = True
        return self._opened() if self.is_stream and not self.is_passed else b""

    @property
    def body(self) -> bytes:
        """The whole round if it is one object, or could not be understood."""
        return bytes(self._unsent)

    def rest(self) -> bytes:
        """The rest of an answer that did not end, or could not be understood."""
        is_told = self.is_stream and self.projection.has_events
        return self.projection.rest() if is_told else self.body

    def _begin(self, exchange: Exchange) -> None:
        self._rounds = exchange.rounds
        self._unsent.clear()
        encoding = exchange.answer_encoding
        self.is_passed = not can_unpack(encoding)
        self._unpacking = Unpacking(None if self.is_passed else encoding)
        if self.is_passed and (self.projection.is_sent or self.projection.rounds):
            raise Cut
        self.is_stream = None

    def _seen(self, piece: bytes) -> bytes:
        if self.is_passed:
            return piece
        if not self.projection.is_sent:
            self._unsent += piece
        if self.is_stream is None:
            is_whole = is_object(piece)  # all before it was blank
            if is_whole is None:
                return b""
            self.is_stream = not is_whole
            piece = bytes(self._unsent or piece)
            if is_whole and self.projection.is_sent:
                raise Cut  # an object after the beginning of a stream
        if self.is_stream:
            return self._streamed(piece)
        return self._given_up() if len(self._unsent) > MOST_BYTES else b""

    def _streamed(self, piece: bytes) -> bytes:
        is_blank = self.projection.is_sent and piece.lstrip().startswith(b":")
        shown = self.projection.feed(piece)
        if self._is_overdue and not self.projection.is_sent:
            shown += self._opened()
        if not shown and is_blank:
            return piece  # a comment with which a provider shows that it is still there
        if shown:
            self._sent()
        elif len(self._unsent) > MOST_BYTES:
            self._unsent.clear()
        return shown

    def _opened(self) -> bytes:
        if shown := self.projection.opened():
            self._sent()
        return shown

    def _sent(self) -> None:
        self.projection.is_sent = True
        self._unsent.clear()

    def _given_up(self) -> bytes:
        self.is_passed = True
        return self.body
