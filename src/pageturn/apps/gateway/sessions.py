"""Keeps the sessions of one store in step with what clients send. One thread owns it."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import msgspec

from pageturn.apps.gateway.fingerprints import chained, fingerprints_of
from pageturn.apps.gateway.items import changes_tools, load_items
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.places import End, Place, Places, Terms
from pageturn.apps.gateway.reconcile import Located, chain, first_link, locate
from pageturn.apps.gateway.stored_messages import answer_id, stored, without_reminders, words_link
from pageturn.journal.blobs import pack
from pageturn.journal.retention import has_expired
from pageturn.session import Session
from pageturn.stores import FullStore, open_store
from pageturn.values.ids import fitting_session_id
from pageturn.values.messages import Message, Role, system, tool_result
from pageturn.values.reasoning import has_reasoning, without_reasoning
from pageturn.values.recall_tool import RecallTool
from pageturn.values.usage import Usage

_MOST_ORIGINS = 8
_MOST_OPEN = 32  # sessions that are held open
_LONGEST_NAME = 110  # of a session's id, before a number is appended to it
# The beginning of a message after a compaction.
_SUMMARIES = "This session is being continued from a previous conversation"

BeforeReply = Callable[[Session], bool]  # whether the reply stands behind the history that the session derives


class Ticket(NamedTuple):
    """A request whose messages are in a session, for its reply."""

    session: str
    seq: int  # of the last entry of the request
    link: str  # of its history
    name: str | None
    hidden: str = ""  # the link after hidden rounds, if any came since

    @property
    def last_link(self) -> str:
        """The link that the session must end with, so that the reply can be added to it."""
        return self.hidden or self.link


class Sessions:
    """The sessions of one store, of one scope or of none."""

    def __init__(self, url: str, scope: str | None = None) -> None:
        self._url, self._scope = url, scope
        self._store: FullStore | None = None
        self._open: OrderedDict[str, Session] = OrderedDict()

    @property
    def store(self) -> FullStore:
        """The store, which is opened at the first use."""
        if self._store is None:
            self._store = open_store(self._url)
        return self._store

    @property
    def places(self) -> Places:
        """What is known of histories."""
        return Places(self.store, self._scope)

    def close(self) -> None:
        """Close every session, and the store."""
        try:
            self.forget()
        finally:
            if self._store is not None:
                self._store.close()
                self._store = None

    def forget(self) -> None:
        """Close every session; another gateway may have written to one of them."""
        while self._open:
            self._open.popitem()[1].close()

    # -- where a request goes on

    def locate(self, request: ModelRequest) -> Located:
        """Where a request goes on; changes nothing."""
        places = self.places
        identity = request.identity
        name = identity.name if identity is not None and (identity.is_explicit or not request.is_side_call) else None
        follows = places.link_after(request.follows) if request.follows else None
        fingerprints = [item.fingerprints for item in request.items]
        names = [name, identity.parent] if identity is not None and name is not None and identity.parent else [name]
        chains = [
            chain(first_link(each, request.opening_digest if each is None else "", follows), fingerprints)
            for each in names
        ]
        return locate(name, chains, _Known(self), from_nothing=name is not None or follows is not None)

    def links(self, request: ModelRequest) -> tuple[str, ...]:
        """The history after each number of items, without a look into the store."""
        name = request.identity.name if request.identity is not None else None
        return chain(
            first_link(name, request.opening_digest if name is None else ""),
            [each.fingerprints for each in request.items],
        )

    def session_of(self, link: str) -> str | None:
        """A session that has that history."""
        places = self.places.at(link)
        return places[-1].session if places else None

    def named(self, name: str) -> list[str]:
        """The sessions that a client calls by a name."""
        return [place.session for place in self.places.at(first_link(name, ""))]

    def is_held(self, session: str) -> bool:
        """Whether a session has what its client lacks, or lacks what its client has: folds, hidden rounds, erased text."""
        terms = self.places.terms(session)
        return (terms is not None and terms.hidden) or self.is_folded(session) or self.has_erased(session)

    def has_erased(self, session: str) -> bool:
        """Whether text of a session was erased that its client still has."""
        return any(page.erased for page in self.session(session, None).reader.pages(uncounted=True))

    def is_folded(self, session: str) -> bool:
        """Whether a session was shortened, so that newer replies were made on less than its client has."""
        return bool(self.session(session, None).reader.folds)

    def whole(self, session: str, *, with_reasoning: bool) -> tuple[list[Message], bool]:
        """All messages of a conversation; and whether reasoning was left out of it."""
        messages = [
            each for each in self.session(session, None).reader.messages(internal=True) if each.role is not Role.SYSTEM
        ]
        if with_reasoning or not any(map(has_reasoning, messages)):
            return messages, False
        return [bare for each in messages if (bare := without_reasoning(each)) is not None], True

    def rename_tool(self, session: str, name: str) -> Terms:
        """Rename the recall tool of a session, since its client now has a tool of the old name."""
        terms = self.places.terms(session)
        assert terms is not None
        terms = msgspec.structs.replace(terms, tool=name)
        self.places.note_terms(session, terms)
        self.reopen(session)
        return terms

    def reopen(self, session: str) -> None:
        """Open a session anew when it is next asked for: the one that is open has another tool, or a context that nobody gets."""
        if (held := self._open.pop(session, None)) is not None:
            held.close()

    def reply_link(self, ticket_link: str, request: ModelRequest, reply: Message) -> str:
        """The history with a reply at its end."""
        return chained(ticket_link, fingerprints_of(request.format, [reply]))

    # -- what is new

    def take(
        self,
        request: ModelRequest,
        located: Located,
        *,
        terms: Terms | None = None,
        before_reply: BeforeReply | None = None,
        usage: Usage | None = None,
    ) -> Ticket:
        """Record what is new in a request. `before_reply` is called if the first new item is the reply to the last request."""
        place = located.place
        if place is not None and request.is_compaction:  # a side call, whether the conversation continues or not
            located = located._replace(is_end=False)
            if located.name is not None:
                self.places.note_compacted(located.name, place.session)
        session, opening = self._session_for(request, located, terms)
        links: list[tuple[str, int]] = []
        if not located.is_end and (located.known or located.name is not None):
            links.append((located.links[located.known], session.reader.head))
        end = self.places.end(session.id)
        groups = request.new_messages(located.known)
        is_reply = bool(groups) and located.is_end and end.is_asked and request.items[located.known].by_model
        is_ours = is_reply and (before_reply is None or before_reply(session))
        session = self.session(session.id, request.model)  # which may have been opened anew
        if session.reader.folds:  # what follows a different history has reasoning that is valid only there
            ours = 1 if is_ours else 0
            groups = groups[:ours] + [list(filter(None, map(without_reasoning, group))) for group in groups[ours:]]
        links += self._extend(session, request, located, groups, usage)
        ended = End(
            link=located.links[-1],
            opening=opening,
            pages=session.reader.page_count,
            is_asked=end.is_asked and not groups,
        )
        if links or ended != end:
            self.places.note(session.id, ended, links)
        return Ticket(session.id, session.reader.head, located.links[-1], located.name)

    def _session_for(self, request: ModelRequest, located: Located, terms: Terms | None) -> tuple[Session, str]:
        """The session that a request goes on with, which may be a new one or a fork, and the digest of how it opens."""
        place = located.place
        if place is None:
            session = self._begin(located.name, request.model, terms)
            session.extend([system(request.system)] if request.system else [])
            return session, request.opening_digest
        if located.is_end:
            session = self.session(place.session, request.model)
        else:
            session = self._fork(place, located.name, request.model)
        opening = self.places.end(place.session).opening
        if request.system and request.opening_digest != opening:
            session.set_system(request.system)
            opening = request.opening_digest
        if not located.is_end and not located.known:
            self._note_origin(session, place, located.name, request)
        return session, opening

    def _extend(
        self,
        session: Session,
        request: ModelRequest,
        located: Located,
        groups: Sequence[list[Message]],
        usage: Usage | None,
    ) -> list[tuple[str, int]]:
        """Add the messages of groups of items; the link of each with the last entry of it."""
        kept = [[each for message in group if (each := self._kept(message, request)) is not None] for group in groups]
        messages = [message for group in kept for message in group]
        if len(messages) < sum(map(len, groups)):
            self._note_hidden(session)
        if messages and usage is not None:
            messages[-1] = msgspec.structs.replace(messages[-1], usage=usage)
        pages = session.extend(messages)
        for page, message in zip(pages, messages, strict=True):
            if changes_tools(message):
                session.pin(page)
            if (words := without_reminders(message)) is not message:
                self.places.note_form(words_link(request, words), page.digest)
        links: list[tuple[str, int]] = []
        at, taken = located.known, 0
        for group in kept:
            at = request.group_end(at)
            taken += len(group)
            seq = pages[taken].seq - 1 if taken < len(pages) else session.reader.head
            links.append((located.links[at], seq))
        return links

    def _note_origin(self, session: Session, place: Place, name: str | None, request: ModelRequest) -> None:
        """Keep which session a client compacted, where it goes on with a summary of it."""
        source = self.places.compacted(name) if name is not None else None
        if source is None:
            messages = load_items(request.format, request.raws[:1])
            source = place.session if any(each.text.lstrip().startswith(_SUMMARIES) for each in messages) else None
        if source is not None:
            self.places.note_origin(session.id, source)
            if name is not None:
                self.places.note_compacted(name, None)

    def ask(self, ticket: Ticket) -> None:
        """Say that a request was sent, so that what comes next is its reply."""
        end = self.places.end(ticket.session)
        if end.link == ticket.link and not end.is_asked:
            self.places.note(ticket.session, msgspec.structs.replace(end, is_asked=True), [])

    # -- replies

    def answer(self, ticket: Ticket, request: ModelRequest, reply: Message, seen: Message | None = None) -> str | None:
        """Record the reply to a request; returns the session, or None if it was recorded already.

        `seen`: the client's version of it, if that differs.
        """
        shown = seen if seen is not None else reply
        link = self.reply_link(ticket.link, request, shown)
        end = self.places.end(ticket.session)
        session = self.session(ticket.session, None)
        if not self._is_at(ticket, session):
            if self.session_of(link) is not None:
                return None
            session = self._fork(Place(ticket.session, ticket.seq), ticket.name, request.model)
        session.extend([reply])
        before = session.reader.page_count
        session.answer(self._origins(session.id))  # calls of the recall tool beside those of the client
        if session.reader.page_count > before or seen is not None:
            self._note_hidden(session)
        ended = End(link=link, opening=end.opening, pages=session.reader.page_count)
        self.places.note(session.id, ended, [(link, session.reader.head)], answer_id(shown))
        return session.id

    def hide(self, ticket: Ticket, reply: Message, refusal: str | None = None) -> tuple[Ticket, int]:
        """Record a round that only recalls, with the answers to its calls; returns where it continues, and the tokens of the answers.

        With a refusal, that is all that the calls get.
        """
        session = self.session(ticket.session, None)
        if not self._is_at(ticket, session):
            session = self._fork(Place(ticket.session, ticket.seq), ticket.name, None)
        opening = self.places.end(session.id).opening or self.places.end(ticket.session).opening
        self._note_hidden(session)
        session.extend([reply])
        before = session.reader.page_count
        if refusal is None:
            session.answer(self._origins(session.id))
        else:
            session.extend([tool_result(call, refusal, is_error=True) for call in reply.tool_calls])
        tokens = sum(page.tokens for page in session.reader.pages(uncounted=True)[before:])
        link = chained(ticket.last_link, ("hidden",))
        self.places.note(session.id, End(link=link, opening=opening, pages=session.reader.page_count), [])
        return ticket._replace(session=session.id, hidden=link), tokens

    def _origins(self, session: str) -> list[str]:
        """The sessions that a client compacted on its way to this one, the nearest first."""
        found: list[str] = []
        while (
            (origin := self.places.origin(session)) is not None and origin not in found and len(found) < _MOST_ORIGINS
        ):
            found.append(origin)
            session = origin
        return found

    def _is_at(self, ticket: Ticket, session: Session) -> bool:
        end = self.places.end(ticket.session)
        return end.link == ticket.last_link and end.pages == session.reader.page_count

    def _note_hidden(self, session: Session) -> None:
        """Record that a session is no longer what its client has."""
        terms = self.places.terms(session.id)
        if terms is not None and not terms.hidden:
            self.places.note_terms(session.id, msgspec.structs.replace(terms, hidden=True))

    # -- sessions

    def session(self, id_: str, model: str | None) -> Session:
        """A session of the store, up to date."""
        held = self._open.pop(id_, None)
        if held is None or (model is not None and held.reader.model != model):
            terms = self.places.terms(id_)
            tool = RecallTool(name=terms.tool) if terms is not None and terms.tool is not None else None
            if held is not None:
                held.close()
            held = Session.open(self.store, id=id_, model=model, recall=tool, scope=self._scope)
        else:
            held.refresh()  # another gateway may have gone on with it
        return self._hold(held)

    def _begin(self, name: str | None, model: str | None, terms: Terms | None) -> Session:
        tool = RecallTool(name=terms.tool) if terms is not None and terms.tool is not None else None
        session = Session.open(self.store, id=self._free(name), model=model, recall=tool, scope=self._scope)
        if terms is not None:
            self.places.note_terms(session.id, terms)
        return self._hold(session)

    def _fork(self, place: Place, name: str | None, model: str | None) -> Session:
        """A new session that is what another one was at a place."""
        parent = self.session(place.session, None)
        id_ = self._free(name if name is not None else parent.id.partition(".")[0])
        parent.fork(id_, upto=place.seq).close()
        terms = self.places.terms(parent.id)
        if terms is not None:
            self.places.note_terms(str(id_), terms)
        return self.session(str(id_), model)

    def _hold(self, session: Session) -> Session:
        self._open[session.id] = session
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return session

    def _free(self, name: str | None) -> str | None:
        """An id for a new session: the client's name, with a number where that is taken."""
        if name is None:
            return None
        base = fitting_session_id(name)[:_LONGEST_NAME]
        names = (base if number == 1 else f"{base}.{number}" for number in count(1))
        return next(each for each in names if self.store.session(each) is None)

    def _kept(self, message: Message, request: ModelRequest) -> Message | None:
        """A message in the form that is stored; None if exactly this text was erased, and a client that still has it sends it again."""
        message = stored(message, request.format.VENDOR)
        return None if self.store.erasures() and self._was_erased(message, request) else message

    def _was_erased(self, message: Message, request: ModelRequest) -> bool:
        """Whether this text was erased, with the client's reminders, with others, or with none."""
        words = without_reminders(message)
        forms = {pack(message).digest, pack(words).digest, *self.places.forms(words_link(request, words))}
        return any(self.store.is_erased(form) and not has_expired(self.store, form) for form in forms)


class _Known:
    """What reconcile asks."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._places = sessions.places
        self.at = self._places.at

    def is_end(self, place: Place, link: str) -> bool:
        """Whether a session ends there, and has no other pages than we know of, after a crash or by another program."""
        end = self._places.end(place.session)
        return end.link == link and end.pages == self._sessions.session(place.session, None).reader.page_count
