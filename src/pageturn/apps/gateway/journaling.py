"""Writes exchanges into sessions. One thread owns it, and its errors never affect traffic."""

from typing import Any, NamedTuple

from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.model_request import ModelRequest, ToolTokens
from pageturn.apps.gateway.reading import Answered, Seen, read_answer, read_request
from pageturn.apps.gateway.sessions import Sessions
from pageturn.apps.gateway.stored_messages import annotated
from pageturn.values.errors import Conflict, InvalidInput
from pageturn.values.reasoning import without_reasoning
from pageturn.values.usage import Usage


class Recorded(NamedTuple):
    """The result of recording one exchange."""

    session: str | None  # None where nothing is stored
    is_turn: bool
    has_reply: bool
    usage: Usage | None = None


class Journaling:
    """Records exchanges after they passed. Without a store, they are read and counted, and nothing is stored."""

    def __init__(self, url: str | None, scope: str | None = None) -> None:
        self._sessions = Sessions(url, scope) if url is not None else None
        self._reader = ItemReader()
        self._tools = ToolTokens()

    def record(self, seen: Seen) -> Recorded:
        """Record what is new in one exchange."""
        request, answered = read_request(seen, self._reader), read_answer(seen)
        has_reply = answered.reply is not None
        if self._sessions is None:
            return Recorded(None, has_reply, has_reply, usage=answered.usage)
        try:
            return written(self._sessions, request, answered, seen, self._tools)
        except Conflict:  # another gateway wrote to the same session; look again at what is known
            self._sessions.forget()
            return written(self._sessions, request, answered, seen, self._tools)

    def close(self) -> None:
        """Close every session, and the store."""
        if self._sessions is not None:
            self._sessions.close()


def written(sessions: Sessions, request: ModelRequest, answered: Answered, seen: Seen, tools: ToolTokens) -> Recorded:
    """Write down what is new of an exchange that passed as it was."""
    if request.follows and sessions.places.link_after(request.follows) is None:
        raise InvalidInput("previous_response_id", expected="an answer that was seen here", got="another")
    located, reply = sessions.locate(request), answered.reply
    if reply is not None and located.is_all_known:
        same = sessions.session_of(sessions.reply_link(located.links[-1], request, reply))
        if same is not None:  # a request that was sent twice, and answered alike
            return Recorded(same, is_turn=False, has_reply=True, usage=answered.usage)
    ticket = sessions.take(request, located, usage=answered.usage if reply is None else None)
    if reply is None:
        return Recorded(ticket.session, is_turn=False, has_reply=False, usage=answered.usage)
    if sessions.is_folded(ticket.session):  # it was made on the whole history, and will be sent after a shorter one
        reply = without_reasoning(reply) or reply
    fields = reply_fields(request, tools, request_bytes=len(seen.body), is_subscription=seen.is_subscription)
    session = sessions.answer(ticket, request, annotated(reply, {"endpoint": seen.name, **fields}))
    return Recorded(session or ticket.session, session is not None, has_reply=True, usage=answered.usage)


def reply_fields(
    request: ModelRequest,
    tools: ToolTokens,
    *,
    request_bytes: int,
    is_subscription: bool,
    sent_bytes: int | None = None,
) -> dict[str, Any]:
    """What is kept with a reply, for `pageturn savings` above all: bytes that a client sent, and those that went on in their place."""
    fields: dict[str, Any] = {"request_bytes": request_bytes, "tools_tokens": tools.of(request)}
    fields |= {"sent_bytes": sent_bytes} if sent_bytes is not None and sent_bytes != request_bytes else {}
    return {**fields, "subscription": True} if is_subscription else fields
