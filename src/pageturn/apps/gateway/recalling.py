"""Recall: as manage, and the gateway answers the model's calls of the recall tool in the middle of an answer.

A round that only recalls is hidden: it is recorded, its calls are answered from the store, and the provider is called again, while the
client waits for one answer. The client then has a projection, and what the model really said is sent from the journal with every later
request.
"""

import logging
from weakref import WeakKeyDictionary, WeakSet

from pageturn.apps.gateway.decoding import UNREADABLE
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.journaling import Recorded
from pageturn.apps.gateway.manage import Manage
from pageturn.apps.gateway.managed import Managed
from pageturn.apps.gateway.modes import Pass, Refuse, Send
from pageturn.apps.gateway.projected_answer import ProjectedAnswer
from pageturn.apps.gateway.projections import projection_for
from pageturn.apps.gateway.reasons import why_failed, why_no_reply
from pageturn.apps.gateway.upstream import Cut
from pageturn.values.errors import PageturnError
from pageturn.values.messages import Message

_LOG = logging.getLogger("pageturn.gateway")
_MOST_ROUNDS = 8  # of recalling within one answer
_REFUSALS = 2  # further rounds, whose calls get `_NO_MORE`, before the answer is ended
_SHARE = 2  # of the room, what the answers of the tool may take within one answer
_NO_MORE = "[no more can be recalled in this answer; go on with what is there]"


class Recalling(Manage):
    """The mode that derives, and answers the recall tool in the sessions that have it."""

    def __init__(
        self, url: str, mode: str, room: int, scope: str | None = None, *, drops_billing_line: bool = False
    ) -> None:
        super().__init__(url, mode, room, scope, drops_billing_line=drops_billing_line)
        self._answers: WeakKeyDictionary[Exchange, ProjectedAnswer] = WeakKeyDictionary()
        self._recalled: WeakKeyDictionary[Exchange, int] = WeakKeyDictionary()  # tokens that the tool has answered
        self._written: WeakSet[Exchange] = WeakSet()  # whose answers are in the journal

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """What goes upstream; where the tool is among it, the client gets a projection of the answer."""
        plan = await super().before(exchange)
        managed = self._managed.get(exchange)
        if isinstance(plan, Send) and managed is not None and managed.tool is not None:
            self._answers[exchange] = ProjectedAnswer(projection_for(managed.request.format, managed.tool.name))
            return _projected(plan)
        return plan

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:
        """As with manage; the answer to what is sent instead is projected too."""
        again = await super().refused(exchange, body)
        return _projected(again) if again is not None and exchange in self._answers else again

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:
        """What the client gets of a chunk: nothing of the recall tool."""
        answer = self._answers.get(exchange)
        return answer.feed(exchange, chunk) if answer is not None else super().on_chunk(exchange, chunk)

    def overdue(self, exchange: Exchange) -> bytes:
        """The beginning of the answer."""
        answer = self._answers.get(exchange)
        return answer.overdue() if answer is not None else super().overdue(exchange)

    async def proceed(self, exchange: Exchange) -> Send | bytes | None:
        """Answer the tool and ask again, or write down the answer and let the client have its end."""
        answer, managed = self._answers.get(exchange), self._managed.get(exchange)
        if answer is None or managed is None:
            return await super().proceed(exchange)
        if answer.is_passed:
            del self._answers[exchange]
            return None
        try:
            return await self._following(exchange, managed, answer)
        except UNREADABLE as error:
            if answer.projection.is_sent or answer.projection.rounds:
                raise Cut from error
            del self._answers[exchange]
            return answer.body  # the client may be able to read it

    async def _following(self, exchange: Exchange, managed: Managed, answer: ProjectedAnswer) -> Send | bytes:
        """What follows an answer that was projected."""
        projection, is_stream = answer.projection, bool(answer.is_stream)
        reply = projection.reply if is_stream else projection.take_whole(answer.body)
        if reply is None:
            return await self._without_reply(exchange, managed, answer)
        is_hidden = projection.has_ours and not projection.has_others
        if is_hidden and projection.rounds < _MOST_ROUNDS + _REFUSALS:
            projection.next_round()
            try:
                return await self._in_thread(lambda: self._hidden(exchange, managed, reply, projection.rounds))
            except (PageturnError, OSError) as error:
                _LOG.warning("a recall failed (%s)", why_failed(error))
                raise Cut from error
        ending = projection.finish() if is_stream else projection.whole()
        seen = projection.seen if is_stream else projection.whole_message()
        is_changed = projection.rounds > 0 or projection.has_ours
        await self._in_thread(lambda: self._final(exchange, managed, reply, seen if is_changed else None))
        return ending

    async def _without_reply(self, exchange: Exchange, managed: Managed, answer: ProjectedAnswer) -> Send | bytes:
        """What follows an error, or an answer that says nothing or has no end: it is the client's."""
        projection = answer.projection
        if projection.failure and not projection.is_sent:
            again = await self.refused(exchange, projection.failure)
            if again is not None:
                self._answers[exchange] = ProjectedAnswer(projection_for(managed.request.format, projection.tool))
                return again
        del self._answers[exchange]
        return projection.finish() if answer.is_stream and projection.is_whole else answer.rest()

    async def after(self, exchange: Exchange) -> None:
        """Forget the answer; what of it was not written yet is written as with manage."""
        is_changed = (answer := self._answers.pop(exchange, None)) is not None and answer.projection.rounds > 0
        self._recalled.pop(exchange, None)
        if is_changed and exchange in self._managed:  # the answer broke off in the middle of its rounds
            del self._managed[exchange]
            self.counts.pass_over(why_no_reply(exchange.ending))
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
        terms = self._sessions.places.terms(ticket.session) or managed.terms
        managed = managed._replace(ticket=ticket, terms=terms)
        if reply.usage is not None:
            self.counts.add(Recorded(None, is_turn=False, has_reply=True, usage=reply.usage), Ending.WHOLE)
        whole = self._sent_whole(exchange, managed, managed.note) if managed.is_apart else None
        plan = whole or self._made(exchange, managed)
        assert isinstance(plan, Send), "the request has the recall tool, so that it is not the client's"
        return _projected(plan)

    def _final(self, exchange: Exchange, managed: Managed, reply: Message, seen: Message | None) -> None:
        try:
            session = self._again(lambda: self._answer(managed, reply, seen))
        except Exception as error:  # noqa: BLE001 - the client has most of its answer, and sends it again with the next request
            _LOG.warning("not stored: %s", why_failed(error))
            self.counts.pass_over(f"not stored: {why_failed(error)}")
        else:
            recorded = Recorded(
                session or managed.ticket.session, session is not None, has_reply=True, usage=reply.usage
            )
            self.counts.add(recorded, Ending.WHOLE)
        self._managed.pop(exchange, None)
        self._written.add(exchange)


def _projected(plan: Send) -> Send:
    return plan._replace(is_held=True, is_rewritten=True)
