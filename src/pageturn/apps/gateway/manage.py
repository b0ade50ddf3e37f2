"""Manage: from the first fold on, the history that is sent upstream is derived; until then it is what the client wrote.

Everything that touches a session happens in one thread, in the order in which requests and answers arrive. What a later request needs
is stored before anything is sent, so that a restarted gateway sends the same bytes.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakSet

from pageturn.apps.gateway.counts import Counts, Tally
from pageturn.apps.gateway.derived import (
    PLAIN,
    has_tool,
    name_for_tool,
    with_context,
    with_history,
    with_tool,
    without_billing_line,
)
from pageturn.apps.gateway.exchange import MOST_BYTES, TOO_LARGE, Derived, Exchange
from pageturn.apps.gateway.headers import Headers, is_subscription
from pageturn.apps.gateway.held_opening import HeldOpening
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.items import ItemReader, load_items
from pageturn.apps.gateway.journaling import Recorded, reply_fields, written
from pageturn.apps.gateway.managed import Managed
from pageturn.apps.gateway.model_request import ModelRequest, ToolTokens
from pageturn.apps.gateway.modes import Pass, Refuse, Send
from pageturn.apps.gateway.new_words import NewWords, capacity_for, derivation_for
from pageturn.apps.gateway.places import Terms
from pageturn.apps.gateway.reading import Seen, read_answer
from pageturn.apps.gateway.reasons import why_failed, why_unread
from pageturn.apps.gateway.reconcile import Located
from pageturn.apps.gateway.sessions import Sessions
from pageturn.apps.gateway.shortened import Shortened
from pageturn.apps.gateway.side_calls import shortened
from pageturn.apps.gateway.stored_messages import annotated
from pageturn.formats import anthropic
from pageturn.session import Session
from pageturn.values.errors import (
    BudgetTooSmall,
    Busy,
    Conflict,
    InvalidInput,
    ModelTooSmall,
    PageturnError,
    StoreError,
)
from pageturn.values.messages import Message
from pageturn.values.reasoning import without_reasoning

T = TypeVar("T")

_LOG = logging.getLogger("pageturn.gateway")
_UNPACKED: tuple[tuple[bytes, bytes | None], ...] = ((b"accept-encoding", b"identity"),)


class Manage:
    """The mode that derives what goes upstream."""

    def __init__(
        self, url: str, mode: str, room: int, scope: str | None = None, *, drops_billing_line: bool = False
    ) -> None:
        self._sessions = Sessions(url, scope)
        self._shortened = Shortened(self._sessions)
        self._mode, self._room, self._drops_billing_line = mode, room, drops_billing_line
        self._reader = ItemReader()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pageturn-sessions")
        # Requests in progress. A client may leave while the thread still works on its request; then `after` comes first, and what is
        # noted here later is dropped with the exchange.
        self._managed: WeakKeyDictionary[Exchange, Managed] = WeakKeyDictionary()
        self._passed: WeakSet[Exchange] = WeakSet()  # requests whose session was uncertain; they are counted
        # The beginnings of answers that may still turn out to be refusals.
        self._openings: WeakKeyDictionary[Exchange, HeldOpening] = WeakKeyDictionary()
        self._aside: WeakKeyDictionary[Exchange, ModelRequest] = WeakKeyDictionary()  # side calls
        self._is_busy = False  # another program has locked the store
        self._tools = ToolTokens()
        # Sessions whose last context was derived here and is not answered yet.
        self._derived_here: WeakSet[Session] = WeakSet()
        self._faults_told: WeakKeyDictionary[Session, int] = WeakKeyDictionary()
        self.counts = Counts()
        self.is_on = True  # a signal switches it

    # -- what the proxy asks

    async def before(self, exchange: Exchange) -> Pass | Send | Refuse:
        """What goes upstream."""
        plan = await self._in_thread(lambda: self._planned(exchange))
        if not isinstance(plan, Refuse) and plan.note.startswith("passed"):
            self.counts.pass_over(plan.note.partition("; ")[2] or plan.note)
            self._passed.add(exchange)
        if isinstance(plan, Refuse) or not plan.may_follow or exchange.endpoint.format is anthropic:
            return plan
        self._openings[exchange] = HeldOpening()
        return plan._replace(is_held=True)

    async def unread(self, headers: Headers) -> Pass | Refuse:
        """Pass a request that is too large to be read, unless its session is derived: then the client does not have the whole history."""
        self.counts.pass_over(TOO_LARGE)
        if await self._in_thread(lambda: self._shortened.has_name(headers)):
            reason = f"the request is larger than {MOST_BYTES:,} bytes, and this conversation was shortened before"
            return Refuse(
                413, f"{reason}; start a new one, or send less (large pictures, for example)", "refused; large"
            )
        return Pass(f"passed; {TOO_LARGE}")

    async def refused(self, exchange: Exchange, body: bytes) -> Send | None:
        """Another body where the provider found the first one too long, once; None for any other error."""
        managed, aside = self._managed.get(exchange), self._aside.get(exchange)
        if exchange.rounds > 1 or (managed is None and aside is None):
            return None
        if managed is None:
            return await self._in_thread(lambda: shortened(aside, body)) if aside is not None else None
        return await self._in_thread(lambda: self._tightened(managed, exchange, body))

    def on_chunk(self, exchange: Exchange, chunk: bytes) -> bytes:
        """The chunk as the upstream wrote it, once the model has said something; until then the beginning is held."""
        opening = self._openings.get(exchange)
        return opening.feed(exchange, chunk) if opening is not None else chunk

    def overdue(self, exchange: Exchange) -> bytes:
        """The beginning that was held."""
        opening = self._openings.pop(exchange, None)
        return opening.released() if opening is not None else b""

    async def proceed(self, exchange: Exchange) -> Send | bytes | None:
        """Another request after a stream that only says that the first one was too long."""
        opening = self._openings.get(exchange)
        if opening is None:
            return None
        again = await self.refused(exchange, opening.failure) if opening.failure else None
        return again or opening.released() or None

    async def after(self, exchange: Exchange) -> None:
        """Write down what was answered."""
        managed = self._managed.pop(exchange, None)
        self._aside.pop(exchange, None)
        self._openings.pop(exchange, None)
        was_passed = exchange in self._passed
        self._passed.discard(exchange)
        if was_passed or (exchange.is_off and managed is None):
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
        try:
            return self._plan_of(exchange)
        except InvalidInput as error:
            return _unsure(f"not understood: {error.path}")

    def _plan_of(self, exchange: Exchange) -> Pass | Send | Refuse:
        assert exchange.endpoint.format is not None
        identity = identity_of(exchange.headers)
        request = ModelRequest.read(exchange.endpoint.format, exchange.body, exchange.encoding, identity, self._reader)
        is_off = exchange.is_off or not self.is_on
        bare = without_billing_line(request) if self._drops_billing_line and not is_off else None
        if bare is None:
            return self._plan(exchange, request, is_off=is_off)
        plan = self._plan(exchange, ModelRequest(request.format, bare, request.identity, self._reader), is_off=False)
        return Send(bare, plan.note, PLAIN, may_follow=plan.may_follow) if isinstance(plan, Pass) else plan

    def _plan(self, exchange: Exchange, request: ModelRequest, *, is_off: bool) -> Pass | Send | Refuse:
        is_aside = request.is_side_call and not (request.identity is not None and request.identity.is_explicit)
        if is_aside:
            self._aside[exchange] = request
            return Pass("aside", may_follow=True)
        if request.is_kept_elsewhere:
            return _unsure("the provider keeps the conversation")
        try:
            with self._impatient():
                return self._again(lambda: self._managed_plan(exchange, request, is_off=is_off))
        except (BudgetTooSmall, ModelTooSmall) as error:
            advice = "a larger room (--room), or `x-pageturn: off`, lets it pass"
            return Refuse(400, f"{error}; {advice}", "refused; budget too small")
        except (PageturnError, OSError) as error:
            return self._failed(request, error, is_off=is_off)

    def _managed_plan(self, exchange: Exchange, request: ModelRequest, *, is_off: bool) -> Pass | Send | Refuse:
        located = self._sessions.locate(request)
        if request.follows and located.place is None:
            return _unsure("it follows an answer that nobody here knows")
        if is_off and (located.place is None or not self._sessions.is_held(located.place.session)):
            return Pass("off")
        managed = self._taken(request, located, is_subscription=is_subscription(exchange.headers))
        is_held = self._sessions.is_held(managed.ticket.session)
        if is_held:
            self._shortened.remember(managed.ticket.link)
        if is_off or (request.is_compaction and is_held) or (managed.terms.tool is not None and not request.can_recall):
            way = "off" if is_off else "compaction" if request.is_compaction else "without recall"
            whole = self._sent_whole(exchange, managed, way)
            if whole is not None:
                return whole
            if not is_off and not request.is_compaction:
                reason = "this conversation was shortened, and a request for several answers, or one in the background, cannot recall"
                return Refuse(400, f"{reason}; ask for one answer, or in the foreground", "refused; it cannot recall")
        return self._made(exchange, managed)

    def _taken(self, request: ModelRequest, located: Located, *, is_subscription: bool) -> Managed:
        """Write down what is new."""
        agreed = Terms(self._mode, self._room, name_for_tool(request) if self._mode == "recall" else None)
        ticket = self._sessions.take(
            request, located, terms=agreed, before_reply=lambda session: self._derive_again(session, request)
        )
        terms = self._sessions.places.terms(ticket.session)
        if terms is None:  # it began while somebody watched
            terms = Terms("manage", self._room)
            self._sessions.places.note_terms(ticket.session, terms)
        if terms.tool is not None and has_tool(request, terms.tool):  # the client has one of that name since
            terms = self._sessions.rename_tool(ticket.session, name_for_tool(request))
        whole = self._whole_tokens(self._sessions.session(ticket.session, request.model), request)
        self._sessions.ask(ticket)
        return Managed(request, ticket, terms, whole, is_subscription)

    def _whole_tokens(self, session: Session, request: ModelRequest) -> int:
        """The tokens of all of a conversation, with the tools."""
        return sum(page.tokens for page in session.reader.pages()) + self._tools.of(request)

    def _made(self, exchange: Exchange, managed: Managed) -> Pass | Send:
        """A derived history, or all of it as long as that says the same or no derived one has a person's newest words."""
        derived, id_ = self._derived(managed), managed.ticket.session
        if derived.words is NewWords.CUT and self._goes_whole(self._sessions.session(id_, None), managed.request):
            self.counts.note_new_words("sent with all of the history")
            self._sessions.reopen(id_)  # the context that nobody gets is not answered either
            return self._all_of(exchange, derived._replace(context=None, is_derived=False), "new words")
        if derived.words is not NewWords.FIT:
            self.counts.note_new_words("cut" if derived.words is NewWords.CUT else "sent beyond the room")
        if derived.is_derived or derived.tool is not None:
            return self._sent(exchange, derived)
        self._managed[exchange] = derived
        return Pass(derived.whole_note, may_follow=True)

    def _derived(self, managed: Managed) -> Managed:
        """The request with a context."""
        request, terms = managed.request, managed.terms
        session = self._sessions.session(managed.ticket.session, request.model)
        derivation = derivation_for(session, request, terms)
        self._derived_here.add(session)
        is_whole = derivation.is_whole and not terms.hidden and not self._sessions.has_erased(session.id)
        context, words = derivation
        return managed._replace(context=context, words=words, is_derived=not is_whole, is_apart=False)

    def _derive_again(self, session: Session, request: ModelRequest) -> bool:
        """Derive what was sent when the gateway stopped before its reply was written: the reply belongs to it.

        False if all of the history was sent, so that the reply stands behind another one than ours.
        """
        terms = self._sessions.places.terms(session.id)
        if terms is None or session in self._derived_here:
            return True
        with suppress(PageturnError):
            words = derivation_for(session, request, terms).words
            if words is NewWords.CUT and self._goes_whole(session, request):
                self._sessions.reopen(session.id)
                return False
        return True

    def _goes_whole(self, session: Session, request: ModelRequest) -> bool:
        """Whether new words that fit no derived history are sent with all of the client's.

        A client that has all of the conversation is told by the provider if that is too long, and can act on it.
        """
        return not self._sessions.is_held(session.id) or self._whole_tokens(session, request) <= capacity_for(request)

    def _sent(self, exchange: Exchange, managed: Managed) -> Send:
        """Send what was derived, or what the client wrote with the recall tool."""
        headers = PLAIN + (_UNPACKED if managed.tool is not None else ())
        if not managed.is_derived:
            assert managed.tool is not None
            self._managed[exchange] = managed
            return Send(with_tool(managed.request, managed.tool), managed.whole_note, headers)
        assert managed.context is not None
        self._shortened.remember(managed.ticket.link)
        made = with_context(managed.request, managed.context, managed.tool)
        self._managed[exchange] = managed._replace(sent_bytes=len(made.body))
        fold = "yes" if managed.context.fold is not None else "no"
        note = f"managed; in={managed.whole_tokens}; sent={managed.context.tokens}; fold={fold}"
        note += f"; {managed.words}" if managed.words else ""
        note += "; edits=off" if made.edits_off else ""
        exchange.derived = Derived(managed.context.budget_tokens, self._new_faults(managed))
        return Send(made.body, note, headers)

    def _new_faults(self, managed: Managed) -> Counter[str]:
        """The faults since the last derived request of the session, by code, and those of the context."""
        session = self._sessions.session(managed.ticket.session, None)
        codes = [record.entry.fault.code for record in session.reader.faults()]
        told, self._faults_told[session] = self._faults_told.get(session, len(codes)), len(codes)
        of_context = managed.context.faults if managed.context is not None else ()
        return Counter([*codes[told:], *(fault.code for fault in of_context)])

    def _sent_whole(self, exchange: Exchange, managed: Managed, way: str) -> Send | None:
        """Send all of the history; None where it no longer fits the model."""
        is_too_long = managed.whole_tokens > capacity_for(managed.request)
        return None if is_too_long else self._all_of(exchange, managed, way)

    def _all_of(self, exchange: Exchange, managed: Managed, way: str) -> Send:
        """All of the history, hidden rounds too.

        Reasoning that was made on a derived history, or beside other tools, is left out: its provider would refuse it.
        """
        request, id_ = managed.request, managed.ticket.session
        is_apart = self._sessions.is_folded(id_) or (managed.tool is None and managed.terms.tool is not None)
        self._managed[exchange] = managed._replace(is_apart=is_apart, note=way)
        messages, is_stripped = self._sessions.whole(id_, with_reasoning=not is_apart)
        note = f"{way}; whole; in={managed.whole_tokens}{'; reasoning=dropped' if is_stripped else ''}"
        headers = PLAIN + (_UNPACKED if managed.tool is not None else ())
        if is_stripped or managed.terms.hidden or self._sessions.has_erased(id_):
            return Send(with_history(request, messages, frozen=0, tool=managed.tool).body, note, headers)
        return Send(with_tool(request, managed.tool) if managed.tool is not None else request.body, note, headers)

    def _tightened(self, managed: Managed, exchange: Exchange, body: bytes) -> Send | None:
        """What to send instead of what was too long."""
        if managed.words is NewWords.CUT:
            return None  # less would not have a person's newest words, and nobody would know
        session = self._sessions.session(managed.ticket.session, None)
        try:
            if managed.context is None:  # the whole history was sent
                managed = self._derived(managed)
            if not session.overflow(body):
                return None
            derived = self._derived(managed)
            return (
                self._sent(exchange, derived._replace(is_derived=True)) if derived.words is not NewWords.CUT else None
            )
        except (PageturnError, OSError) as error:
            _LOG.warning("a prompt that was too long was not shortened (%s)", why_failed(error))
            return None

    def _recorded(self, seen: Seen, managed: Managed | None) -> None:
        try:
            recorded = self._again(lambda: self._record(seen, managed))
        except InvalidInput as error:
            self.counts.pass_over(f"not understood: {seen.name} {error.path}")
        except Exception as error:  # noqa: BLE001 - the traffic has passed
            _LOG.warning("not stored: %s", why_failed(error))
            self.counts.pass_over(f"not stored: {why_failed(error)}")
        else:
            self.counts.add(recorded, seen.ending)

    def _record(self, seen: Seen, managed: Managed | None) -> Recorded:
        answered = read_answer(seen)
        if managed is None:
            request = ModelRequest.read(seen.format, seen.body, seen.encoding, seen.identity, self._reader)
            return written(self._sessions, request, answered, seen, self._tools)
        has_reply = answered.reply is not None
        session = self._answer(managed, answered.reply) if answered.reply is not None else None
        return Recorded(session or managed.ticket.session, session is not None, has_reply, answered.usage)

    def _answer(self, managed: Managed, reply: Message, seen: Message | None = None) -> str | None:
        request = managed.request
        if managed.is_derived or managed.is_apart:
            self._shortened.remember(self._sessions.reply_link(managed.ticket.link, request, seen or reply))
        if managed.is_apart:
            reply = without_reasoning(reply) or reply
        fields = reply_fields(
            request,
            self._tools,
            request_bytes=len(request.body),
            sent_bytes=managed.sent_bytes,
            is_subscription=managed.is_subscription,
        )
        return self._sessions.answer(managed.ticket, request, annotated(reply, fields), seen)

    def _failed(self, request: ModelRequest, error: Exception, *, is_off: bool) -> Pass | Send | Refuse:
        """A request that the store, or a session in it, does not let us derive."""
        self._is_busy = isinstance(error, Busy)
        reason = why_failed(error) if isinstance(error, StoreError | OSError) else f"not derived: {why_failed(error)}"
        _LOG.warning("%s", reason)
        if not self._shortened.has(request):
            return Pass("off") if is_off else _unsure(reason)
        if is_off:
            # Reasoning of a derived history would be refused in the client's own, and it is not known which that is.
            loaded = load_items(request.format, request.raws)
            messages = [each for message in loaded if (each := without_reasoning(message))]
            made = with_history(request, messages, frozen=0, tool=None)
            return Send(made.body, f"off; {reason}; without what was recalled", PLAIN, may_follow=False)
        advice = "this conversation was shortened before, and its client does not have all of it"
        otherwise = "`x-pageturn: off` sends what the client has, without what was recalled"
        return Refuse(503, f"{reason}; {advice}; {otherwise}", "refused; store")

    @contextmanager
    def _impatient(self) -> Iterator[None]:
        """Inside this context, a store that another program has locked for long is not waited for again."""
        with self._sessions.store.at_once() if self._is_busy else nullcontext():
            yield
        self._is_busy = False

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
            _LOG.warning("the store was not closed (%s)", why_failed(error))

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(act))


def _unsure(reason: str) -> Pass:
    _LOG.warning("passed as it came: %s", reason)
    return Pass(f"passed; {reason}")
