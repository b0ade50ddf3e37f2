"""Recall: as manage, and the model can look back. Its calls of the recall tool are answered here, in the middle of its answer.

A round that does nothing but recall is hidden: it is written down, its calls are answered from the store, and the provider is asked
again, while the client waits for one answer. What the client then has is a projection, and what the model really said goes upstream
from the journal with every later request.
"""

import logging
from weakref import WeakKeyDictionary, WeakSet

from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.journaling import Recorded
from pageturn.apps.gateway.manage import Manage, Managed
from pageturn.apps.gateway.modes import Pass, Refuse, Send
from pageturn.apps.gateway.projections import Projection, projection_for
from pageturn.apps.gateway.upstream import Cut
from pageturn.values.errors import InvalidInput, PageturnError
from pageturn.values.messages import Message

_LOG = logging.getLogger("pageturn.gateway")
_MOST_ROUNDS = 8  # of recalling within one answer
_REFUSALS = 2  # further rounds, whose calls get `_NO_MORE`, before the answer is ended
_SHARE = 2  # of the room, what the answers of the tool may take within one answer
_NO_MORE = "[no more can be recalled in this answer; go on with what is there]"


class Recalling(Manage):
    """The mode that answers the recall tool."""

    def __init__(self, url: str, mode: str, room: int) -> None:
        super().__init__(url, mode, room)
        self._projections: WeakKeyDictionary[Exchange, Projection] = WeakKeyDictionary()
        self._recalled: WeakKeyDictionary[Exchange, int] = WeakKeyDictionary()  # tokens that the tool has answered
        self._written: WeakSet[Exchange] = WeakSet()  # whose answers are in the journal

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """What goes upstream; where the tool is among it, the answer is looked at before the client has it."""
        plan = await super().before(exchange)
        managed = self._managed.get(exchange)
        if isinstance(plan, Send) and managed is not None and managed.tool is not None:
            self._projections[exchange] = projection_for(managed.asked.format, managed.tool.name)
            return plan._replace(is_held=True)
        return plan

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:
        """As with manage; the answer to what is sent instead is looked at too."""
        again = await super().refused(exchange, body)
        return again._replace(is_held=exchange in self._projections) if again is not None else None

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:
        """What the client gets of a chunk: nothing of the recall tool."""
        projection = self._projections.get(exchange)
        if projection is None:
            return chunk
        if not exchange.is_stream:
            return b""
        try:
            return projection.feed(chunk)
        except (InvalidInput, ValueError) as error:
            _LOG.warning("an answer was not understood (%s)", type(error).__name__)
            if projection.has_begun or projection.rounds:
                raise Cut from error
            del self._projections[exchange]
            return b"".join(exchange.chunks)

    async def proceed(self, exchange: Exchange) -> Send | bytes | None:
        """Answer the tool and ask again, or write down the answer and let the client have its end."""
        projection, managed = self._projections.get(exchange), self._managed.get(exchange)
        if projection is None or managed is None:
            return None
        is_stream = exchange.is_stream
        reply = projection.reply if is_stream else projection.take_whole(b"".join(exchange.chunks))
        if reply is None:  # an error, or an answer without an end: it is the client's
            del self._projections[exchange]
            return projection.rest() if is_stream else b"".join(exchange.chunks)
        is_hidden = projection.has_ours and not projection.has_others
        if is_hidden and projection.rounds < _MOST_ROUNDS + _REFUSALS:
            projection.next_round()
            try:
                return await self._in_thread(lambda: self._hidden(exchange, managed, reply, projection.rounds))
            except (PageturnError, OSError) as error:
                _LOG.warning("a recall failed (%s)", type(error).__name__)
                raise Cut from error
        ending = projection.finish() if is_stream else projection.whole()
        seen = projection.seen if is_stream else projection.whole_message()
        is_changed = projection.rounds > 0 or projection.has_ours
        await self._in_thread(lambda: self._final(exchange, managed, reply, seen if is_changed else None))
        return ending

    async def after(self, exchange: Exchange) -> None:
        """Forget the answer; what of it was not written yet is written as with manage."""
        is_changed = (projection := self._projections.pop(exchange, None)) is not None and projection.rounds > 0
        self._recalled.pop(exchange, None)
        if is_changed and exchange in self._managed:  # it broke off in the middle of its rounds
            del self._managed[exchange]
            self.counts.pass_over(f"reply {exchange.ending}")
            return
        if exchange in self._written:
            self._written.discard(exchange)
            return
        await super().after(exchange)

    # -- in the thread

    def _hidden(self, exchange: Exchange, managed: Managed, reply: Message, rounds: int) -> Send:
        """Write down a round, answer its calls, and make the next request."""
        recalled = self._recalled.get(exchange, 0)
        is_enough = rounds > _MOST_ROUNDS or recalled > managed.terms.room // _SHARE
        ticket, tokens = self._sessions.hide(managed.ticket, reply, _NO_MORE if is_enough else None)
        self._recalled[exchange] = recalled + tokens
        session = self._sessions.session(ticket.session, None)
        context = session.derive(managed.asked.tools, model=managed.asked.model, room_tokens=managed.terms.room)
        terms = self._sessions.places.terms(ticket.session) or managed.terms
        managed = managed._replace(ticket=ticket, terms=terms, context=context, is_derived=True)
        self._managed[exchange] = managed
        self._remember(ticket.link)
        if reply.usage is not None:
            self.counts.add(Recorded(None, is_turn=False, has_reply=True, usage=reply.usage), Ending.WHOLE)
        return self._sent(managed)._replace(is_held=True)

    def _final(self, exchange: Exchange, managed: Managed, reply: Message, seen: Message | None) -> None:
        try:
            session = self._again(lambda: self._answer(managed, reply, seen))
        except Exception as error:  # noqa: BLE001 - the client has most of its answer, and sends it again with the next request
            _LOG.warning("not stored: %s", type(error).__name__)
            self.counts.pass_over(f"not stored: {type(error).__name__}")
        else:
            recorded = Recorded(
                session or managed.ticket.session, session is not None, has_reply=True, usage=reply.usage
            )
            self.counts.add(recorded, Ending.WHOLE)
        self._managed.pop(exchange, None)
        self._written.add(exchange)
