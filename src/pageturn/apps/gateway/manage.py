"""Manage: what goes upstream of a conversation is derived, from the first fold on; until then it is what the client wrote.

Everything that touches a session happens in one thread, in the order in which requests and answers came. What a later request needs is
written before anything is sent, so that a gateway that was started anew goes on with the same bytes.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from pageturn.apps.gateway.asked import Asked, ItemReader, ToolTokens
from pageturn.apps.gateway.derived import Written, name_for_tool, with_context, with_history, with_tool
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.headers import is_subscription, value_of
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.journaling import Recorded, reply_fields, written
from pageturn.apps.gateway.modes import Pass, Refuse, Send
from pageturn.apps.gateway.places import Terms
from pageturn.apps.gateway.reading import Seen, read_answer, why_unread
from pageturn.apps.gateway.reconcile import Located
from pageturn.apps.gateway.sessions import Sessions, Ticket, annotated
from pageturn.apps.gateway.tallying import Counts, Tally
from pageturn.session import Session
from pageturn.tokens.windows import input_capacity, window_of
from pageturn.values.context import Context
from pageturn.values.errors import BudgetTooSmall, Conflict, InvalidInput, ModelTooSmall, PageturnError, StoreError
from pageturn.values.messages import Message, Role
from pageturn.values.pages import ResidencyLevel
from pageturn.values.recall_tool import RecallTool

T = TypeVar("T")

_LOG = logging.getLogger("pageturn.gateway")
_MOST_DERIVED = 4_096  # histories that are remembered as derived, for when the store fails
_UNPACKED = ((b"accept-encoding", b"identity"),)


class Managed(NamedTuple):
    """A request that is in a session, and what was made of it."""

    asked: Asked
    ticket: Ticket
    terms: Terms
    whole_tokens: int  # of the client's own history, by our count
    context: Context
    is_derived: bool  # or else it goes out as the client wrote it
    is_subscription: bool  # its client pays by the month

    @property
    def tool(self) -> RecallTool | None:
        """The recall tool, where the session has it."""
        return RecallTool(name=self.terms.tool) if self.terms.tool is not None else None


class Manage:
    """The mode that derives what goes upstream."""

    def __init__(self, url: str, mode: str, room: int) -> None:
        self._sessions = Sessions(url)
        self._mode, self._room = mode, room
        self._reader = ItemReader()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pageturn-sessions")
        # Requests that are on their way. A client may leave while the thread still works on its request, so that `after` comes first:
        # what is then noted here goes with the exchange.
        self._managed: WeakKeyDictionary[Exchange, Managed] = WeakKeyDictionary()
        self._passed: WeakSet[Exchange] = WeakSet()  # those of which nobody was sure, and which are counted
        self._derived: OrderedDict[str, None] = OrderedDict()  # histories that no client can send whole any more
        self._tools = ToolTokens()
        self._derived_here: WeakSet[Session] = WeakSet()  # whose last context has not been answered, and was made here
        self.counts = Counts()
        self.is_on = True  # a signal switches it

    # -- what the proxy asks

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """What goes upstream."""
        plan = await self._in_thread(lambda: self._planned(exchange))
        if isinstance(plan, Pass) and plan.note.startswith("passed"):
            self.counts.pass_over(plan.note.partition("; ")[2] or plan.note)
            self._passed.add(exchange)
        return plan

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:
        """Another body where the provider found the first one too long, once; None for any other error."""
        managed = self._managed.get(exchange)
        if managed is None or exchange.rounds > 1:
            return None
        return await self._in_thread(lambda: self._tightened(managed, exchange, body))

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:  # noqa: ARG002
        """As the upstream wrote it."""
        return chunk

    async def proceed(self, exchange: Exchange) -> Send | bytes | None:  # noqa: ARG002
        """Nothing follows."""
        return None

    async def after(self, exchange: Exchange) -> None:
        """Write down what was answered."""
        managed = self._managed.pop(exchange, None)
        was_passed = exchange in self._passed
        self._passed.discard(exchange)
        if exchange.is_off or was_passed:
            return
        if (reason := why_unread(exchange)) is not None:
            self.counts.pass_over(reason)
        else:
            seen = Seen.of(exchange, identity_of(exchange.headers))
            self._thread.submit(self._recorded, seen, managed)

    def tally(self) -> Tally:
        """What was done so far; after `close`, all of it."""
        return self.counts.tally()

    def close(self) -> None:
        """Write down what waits, and close the store; twice does no harm."""
        with suppress(RuntimeError):
            self._thread.submit(self._closed)
        self._thread.shutdown()

    # -- in the thread

    def _planned(self, exchange: Exchange) -> Pass | Send | Refuse:
        assert exchange.endpoint.format is not None
        try:
            encoding = value_of(exchange.headers, b"content-encoding")
            identity = identity_of(exchange.headers)
            asked = Asked.read(exchange.endpoint.format, exchange.body, encoding, identity, self._reader)
        except InvalidInput as error:
            return _unsure(f"not understood: {error.path}")
        is_aside = asked.is_side_call and not (asked.identity is not None and asked.identity.is_explicit)
        if is_aside or asked.is_kept_elsewhere:
            return Pass("aside") if is_aside else _unsure("the provider keeps the conversation")
        try:
            return self._again(lambda: self._managed_plan(exchange, asked))
        except (BudgetTooSmall, ModelTooSmall) as error:
            advice = "a larger room (--room), or `x-pageturn: off`, lets it pass"
            return Refuse(400, f"{error}; {advice}", "refused; budget too small")
        except (PageturnError, OSError) as error:
            return self._failed(asked, error)

    def _managed_plan(self, exchange: Exchange, asked: Asked) -> Pass | Send:
        located = self._sessions.locate(asked)
        if asked.follows and located.place is None:
            return _unsure("it follows an answer that nobody here knows")
        is_off = exchange.is_off or not self.is_on
        if is_off and (located.place is None or not self._is_held(located.place.session)):
            return Pass("off")
        managed = self._take(asked, located, is_subscription=is_subscription(exchange.headers))
        self._managed[exchange] = managed
        if not managed.is_derived and managed.tool is None:
            return Pass(f"whole; in={managed.whole_tokens}", may_follow=True)
        if is_off or asked.is_compaction:
            whole = self._whole(managed)
            if whole is not None:
                return Send(whole.body, f"{'off' if is_off else 'compaction'}; whole; in={managed.whole_tokens}")
        return self._sent(managed)

    def _is_held(self, session: str) -> bool:
        """Whether a session holds what its client does not have: folds, or hidden rounds."""
        terms = self._sessions.places.terms(session)
        opened = self._sessions.session(session, None)
        return bool(opened.reader.folds) or (terms is not None and terms.hidden)

    def _take(self, asked: Asked, located: Located, *, is_subscription: bool) -> Managed:
        """Write down what is new, and derive."""
        agreed = Terms(self._mode, self._room, name_for_tool(asked) if self._mode == "recall" else None)
        ticket = self._sessions.take(
            asked, located, terms=agreed, before_reply=lambda session: self._derive_again(session, asked)
        )
        terms = self._sessions.places.terms(ticket.session)
        if terms is None:  # it began while somebody watched
            terms = Terms("manage", self._room)
            self._sessions.places.note_terms(ticket.session, terms)
        session = self._sessions.session(ticket.session, asked.model)
        context = session.derive(asked.tools, model=asked.model, room_tokens=terms.room)
        self._derived_here.add(session)
        pages = session.reader.pages(uncounted=True)
        whole = sum(page.tokens for page in pages if page.counts) + self._tools.of(asked)
        is_whole = _is_whole(context) and not terms.hidden and not any(page.erased for page in pages)
        if not is_whole:
            self._remember(ticket.link)
        self._sessions.ask(ticket)
        return Managed(asked, ticket, terms, whole, context, not is_whole, is_subscription)

    def _derive_again(self, session: Session, asked: Asked) -> None:
        """Derive what was sent when the gateway stopped before its reply was written: the reply belongs to it."""
        terms = self._sessions.places.terms(session.id)
        if terms is not None and session not in self._derived_here:
            with suppress(PageturnError):
                session.derive(asked.tools, model=asked.model, room_tokens=terms.room)

    def _sent(self, managed: Managed) -> Send:
        if not managed.is_derived:
            assert managed.tool is not None
            return Send(with_tool(managed.asked, managed.tool), f"whole; in={managed.whole_tokens}", _UNPACKED)
        made = with_context(managed.asked, managed.context, managed.tool)
        fold = "yes" if managed.context.fold is not None else "no"
        note = f"managed; in={managed.whole_tokens}; sent={managed.context.tokens}; fold={fold}"
        note += "; edits=off" if made.edits_off else ""
        return Send(made.body, note, _UNPACKED if managed.tool is not None else ())

    def _whole(self, managed: Managed) -> Written | None:
        """The request with all of its history, hidden rounds too; None where it no longer fits the model."""
        model = managed.asked.model or ""
        if managed.whole_tokens > input_capacity(window_of(model)):
            return None
        if not managed.terms.hidden:
            body = with_tool(managed.asked, managed.tool) if managed.tool is not None else managed.asked.body
            return Written(body)
        session = self._sessions.session(managed.ticket.session, None)
        messages = [each for each in session.reader.messages(internal=True) if each.role is not Role.SYSTEM]
        return with_history(managed.asked, messages, frozen=0, tool=managed.tool)

    def _tightened(self, managed: Managed, exchange: Exchange, body: bytes) -> Send | None:
        """What to send instead of what was too long."""
        session = self._sessions.session(managed.ticket.session, None)
        try:
            if not session.overflow(body):
                return None
            context = session.derive(managed.asked.tools, model=managed.asked.model, room_tokens=managed.terms.room)
        except (PageturnError, OSError) as error:
            _LOG.warning("not tightened (%s)", type(error).__name__)
            return None
        self._remember(managed.ticket.link)
        managed = managed._replace(context=context, is_derived=True)
        self._managed[exchange] = managed
        return self._sent(managed)

    def _recorded(self, seen: Seen, managed: Managed | None) -> None:
        try:
            recorded = self._again(lambda: self._record(seen, managed))
        except InvalidInput as error:
            self.counts.pass_over(f"not understood: {seen.name} {error.path}")
        except Exception as error:  # noqa: BLE001 - the traffic has passed
            _LOG.warning("not stored: %s", type(error).__name__)
            self.counts.pass_over(f"not stored: {type(error).__name__}")
        else:
            self.counts.add(recorded, seen.ending)

    def _record(self, seen: Seen, managed: Managed | None) -> Recorded:
        answered = read_answer(seen)
        if managed is None:
            asked = Asked.read(seen.format, seen.body, seen.encoding, seen.identity, self._reader)
            return written(self._sessions, asked, answered, seen, self._tools)
        has_reply = answered.reply is not None
        session = self._answer(managed, answered.reply) if answered.reply is not None else None
        return Recorded(session or managed.ticket.session, session is not None, has_reply, answered.usage)

    def _answer(self, managed: Managed, reply: Message, seen: Message | None = None) -> str | None:
        asked = managed.asked
        if managed.is_derived:
            self._remember(self._sessions.reply_link(managed.ticket.link, asked, seen or reply))
        fields = reply_fields(
            asked, self._tools, request_bytes=len(asked.body), is_subscription=managed.is_subscription
        )
        return self._sessions.answer(managed.ticket, asked, annotated(reply, fields), seen)

    def _failed(self, asked: Asked, error: Exception) -> Pass | Refuse:
        """A request that the store, or a session in it, does not let us derive."""
        reason = f"{'the store failed' if isinstance(error, StoreError | OSError) else 'not derived'}: {type(error).__name__}"
        _LOG.warning("%s", reason)
        links = self._sessions.links(asked)
        if not any(link in self._derived for link in links):
            return _unsure(reason)
        advice = "this conversation was shortened before, and its client does not have all of it"
        return Refuse(503, f"{reason}; {advice}; `x-pageturn: off` sends what the client has", "refused; store")

    def _remember(self, link: str) -> None:
        self._derived[link] = None
        if len(self._derived) > _MOST_DERIVED:
            self._derived.popitem(last=False)

    def _again(self, act: Callable[[], T]) -> T:
        """Do something, once more where another gateway wrote to the same session meanwhile."""
        try:
            return act()
        except Conflict:
            self._sessions.forget()
            return act()

    def _closed(self) -> None:
        try:
            self._sessions.close()
        except Exception as error:  # noqa: BLE001
            _LOG.warning("the store was not closed (%s)", type(error).__name__)

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(act))


def _unsure(reason: str) -> Pass:
    _LOG.warning("passed as it came: %s", reason)
    return Pass(f"passed; {reason}")


def _is_whole(context: Context) -> bool:
    """Whether a context says all that was said, so that the client's own words will do."""
    return all(each.line is None and each.level is ResidencyLevel.FULL for each in context.folded)
