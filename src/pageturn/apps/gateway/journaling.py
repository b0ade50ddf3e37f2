"""Journaling: what passed, written into sessions. One thread owns it, and whatever it raises concerns nobody's traffic."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import msgspec

from pageturn.apps.gateway.reading import Answered, Seen, follows, is_side_call, read_answer, read_request
from pageturn.apps.gateway.reconcile import Begin, Continue, History, Repeat, chain, digest, first_link, reconcile
from pageturn.session import Session
from pageturn.stores import Slot, Store, open_store
from pageturn.values.digests import digest_of
from pageturn.values.errors import Conflict
from pageturn.values.ids import fitting_session_id
from pageturn.values.json import Closed, from_json, to_json
from pageturn.values.messages import Message, Role
from pageturn.values.prompt import Prompt
from pageturn.values.usage import Usage

_SIDECAR = "gateway/links"
_MOST_OPEN = 32  # sessions that are held open
_LONGEST_NAME = 110  # of a session, before a number is put behind it
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class Recorded(NamedTuple):
    """What came of one exchange."""

    session: str | None  # None where nothing is stored
    is_turn: bool
    has_reply: bool
    usage: Usage | None = None


class _End(Closed):
    """Where a session stands: the last link of its chain, the digest of the instructions that it has, and how many pages."""

    link: str
    opening: str
    pages: int


class Journaling:
    """The sessions of one store. Without a store, exchanges are read and counted, and nothing is kept."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._store: Store | None = None
        self._open: OrderedDict[str, Session] = OrderedDict()

    def record(self, seen: Seen) -> Recorded:
        """Write down what is new of one exchange."""
        asked, answered = read_request(seen), read_answer(seen)
        if self._url is None:
            has_reply = answered.reply is not None
            return Recorded(None, has_reply, has_reply, usage=answered.usage)
        if self._store is None:
            self._store = open_store(self._url)
        try:
            return self._write(self._store, seen, asked, answered)
        except Conflict:  # another gateway wrote to the same session; look again at what is known
            self._forget()
            return self._write(self._store, seen, asked, answered)

    def close(self) -> None:
        """Close every session, and the store."""
        try:
            self._forget()
        finally:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _write(self, store: Store, seen: Seen, asked: Prompt, answered: Answered) -> Recorded:
        known = _Known(store)
        history = History.of(asked.messages)
        name = _name_of(seen, asked)
        first = known.link_after(after) if (after := follows(asked)) else None
        links = chain(first or first_link(name, history), history.conversation)
        whole = chain(links[-1], [answered.reply])[1:] if answered.reply is not None else []
        opening: tuple[Message, ...] = ()
        match reconcile(links, whole[0] if whole else None, known.session_at, lambda each: self._end(known, each)):
            case Repeat(session=id_):
                return Recorded(id_, is_turn=False, has_reply=True, usage=answered.usage)
            case Continue(session=id_, known=there):
                session = self._session(store, id_, asked.model)
                self._renew_opening(session, known.end(id_).opening, history)
                new = history.conversation[there:]
            case Begin():
                session = self._session(store, _free(store, name), asked.model)
                opening, new = history.opening, history.conversation
        taken = [*opening, *map(_ranked, new)]
        if answered.reply is not None:
            taken.append(_told(answered.reply, seen))
        elif taken:
            taken[-1] = msgspec.structs.replace(taken[-1], usage=answered.usage)
        session.extend(taken)
        end = _End(link=(whole or links)[-1], opening=_opening(history), pages=_pages(session))
        known.note(session.id, end, [links[-1], *whole], answered.reply)
        return Recorded(session.id, bool(whole), bool(whole), answered.usage)

    def _session(self, store: Store, id_: str | None, model: str | None) -> Session:
        held = self._open.pop(id_, None) if id_ is not None else None
        if held is None or (model is not None and held.reader.model != model):
            held = Session.open(store, id=id_, model=model)
        else:
            held.refresh()  # another gateway may have gone on with it
        self._open[held.id] = held
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return held

    def _end(self, known: "_Known", id_: str) -> str | None:
        """Where a session ends. None where it has other pages than we know of, after a crash or by another program."""
        assert self._store is not None
        end = known.end(id_)
        return end.link if end.pages == _pages(self._session(self._store, id_, None)) else None

    def _renew_opening(self, session: Session, before: str, history: History) -> None:
        """Say so where the client has another system prompt than before."""
        if history.opening and _opening(history) != before:
            session.set_system("\n\n".join(each.text for each in history.opening))

    def _forget(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


class _Known:
    """What is known of chains, in a sidecar of the store: the session of each link, the end of each session, the link of an answer."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def session_at(self, link: str) -> str | None:
        body = self._store.document(Slot(_SIDECAR, f"link/{link}"))
        return body.decode() if body is not None else None

    def link_after(self, answer: str) -> str | None:
        body = self._store.document(Slot(_SIDECAR, f"answer/{answer}"))
        return body.decode() if body is not None else None

    def end(self, session: str) -> _End:
        body = self._store.document(Slot(_SIDECAR, f"end/{session}"))
        return from_json(_End, body) if body is not None else _End(link="", opening="", pages=0)

    def note(self, session: str, end: _End, links: Sequence[str], reply: Message | None) -> None:
        documents = {Slot(_SIDECAR, f"link/{link}"): session.encode() for link in links}
        documents[Slot(_SIDECAR, f"end/{session}")] = to_json(end)
        if reply is not None and (answer := _answer_id(reply)):
            documents[Slot(_SIDECAR, f"answer/{answer}")] = end.link.encode()
        self._store.amend([*documents], lambda _: documents)


def _name_of(seen: Seen, asked: Prompt) -> str | None:
    """The client's name for the conversation. Its side calls, for a title and the like, have the same id and are none of it."""
    if seen.identity is None:
        return None
    return None if is_side_call(asked) and not seen.identity.is_explicit else seen.identity.name


def _free(store: Store, name: str | None) -> str | None:
    """An id for a new session: the client's name, with a number where that is taken."""
    if name is None:
        return None
    base = fitting_session_id(name)[:_LONGEST_NAME]
    names = (base if number == 1 else f"{base}.{number}" for number in count(1))
    return next(each for each in names if store.session(each) is None)


def _ranked(message: Message) -> Message:
    """A message of the conversation as it is kept: instructions in the middle of it are a client's words, and nobody's rule."""
    if message.role not in _INSTRUCTIONS:
        return message
    metadata = {**(message.metadata or {}), "role": str(message.role)}
    return msgspec.structs.replace(message, role=Role.USER, synthetic=True, metadata=metadata)


def _told(reply: Message, seen: Seen) -> Message:
    told: dict[str, Any] = {"endpoint": seen.name, "request_bytes": len(seen.body)}
    return msgspec.structs.replace(reply, metadata={**(reply.metadata or {}), "gateway": told})


def _pages(session: Session) -> int:
    return len(session.reader.pages(uncounted=True))


def _opening(history: History) -> str:
    return digest_of("".join(map(digest, history.opening)).encode())


def _answer_id(reply: Message) -> str | None:
    response = (reply.metadata or {}).get("response")
    return id_ if isinstance(response, dict) and isinstance(id_ := response.get("id"), str) else None
