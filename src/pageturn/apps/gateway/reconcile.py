"""Reconcile: what of a request is new, and to which session it belongs.

Clients send their whole history each time. Each message is named by a digest of what it says, and each beginning of a history by a
chain of those names. The longest beginning that is known tells the session; where that session has gone on since, this is another
one. Pure: who keeps what is known is the caller's business.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from pageturn.values.digests import digest_of
from pageturn.values.messages import File, Image, Message, Native, Part, Role, Text, ToolCall, ToolResult

_BILLING = "x-anthropic-billing-header:"  # a line that Claude Code puts into its prompt, and changes
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_ENCODER = msgspec.json.Encoder(order="sorted")


class Continue(NamedTuple):
    """The request goes on with this session, which has so many of its messages."""

    session: str
    known: int


class Repeat(NamedTuple):
    """All of it is known, and so is the reply: a request that was sent twice."""

    session: str


class Begin(NamedTuple):
    """Nothing is known of it, or what is known went on otherwise: a new session."""


class History(NamedTuple):
    """The messages of a request: instructions that open it, and the conversation."""

    opening: tuple[Message, ...]
    conversation: tuple[Message, ...]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "History":
        """The two parts of a request."""
        end = next((at for at, each in enumerate(messages) if each.role not in _INSTRUCTIONS), len(messages))
        return cls(tuple(messages[:end]), tuple(messages[end:]))

    @property
    def is_plainly_opened(self) -> bool:
        """Whether it is opened by one system prompt, which can be replaced, or by none."""
        return len(self.opening) <= 1 and all(each.role is Role.SYSTEM for each in self.opening)


def first_link(name: str | None, history: History) -> str:
    """Where the chain of a history begins: at the name that the client has for it, and else at its instructions."""
    opening = [] if name is not None and history.is_plainly_opened else [digest(each) for each in history.opening]
    return digest_of(_ENCODER.encode(["pageturn", name, *opening]))


def chain(first: str, messages: Iterable[Message]) -> list[str]:
    """A name for each beginning of a history: the first for nothing of it, the last for all."""
    links = [first]
    for message in messages:
        links.append(digest_of(f"{links[-1]}{digest(message)}".encode()))
    return links


def reconcile(
    links: Sequence[str],
    reply: str | None,
    session_at: Callable[[str], str | None],
    end_of: Callable[[str], str | None],
) -> Continue | Repeat | Begin:
    """What a request is, by its chain and by that of its reply: `session_at` and `end_of` say what is known."""
    found = ((known, session) for known in range(len(links) - 1, -1, -1) if (session := session_at(links[known])))
    known, session = next(found, (0, None))
    if session is None:
        return Begin()
    if end_of(session) == links[known]:
        return Continue(session, known)
    is_all = known == len(links) - 1
    return Repeat(session) if is_all and reply is not None and session_at(reply) == session else Begin()


def digest(message: Message) -> str:
    """A name for what a message says, whichever way a client writes it.

    Cache marks, reasoning, spaces around a text and the form of a content do not count. A message with calls is known by their ids,
    since clients write arguments anew and leave out words around them.
    """
    calls = sorted(call.id for call in message.tool_calls)
    said: list[Any] = ["calls", *calls] if calls else [each for part in message.content for each in _said(part)]
    role = Role.SYSTEM if message.role in _INSTRUCTIONS else message.role
    return digest_of(_ENCODER.encode([role, *said]))


def _said(part: Part) -> list[Any]:
    match part:
        case Text(text=text):
            stripped = text.strip()
            return [stripped] if stripped and not stripped.startswith(_BILLING) else []
        case ToolResult(tool_call_id=id_):
            return [["result", id_, *(each for inner in part.parts for each in _said(inner))]]
        case Image(url=where) | File(path=where):
            return [["media", where]]
        case Native(item=item):
            return [["native", {name: item[name] for name in item if name not in ("id", "cache_control", "status")}]]
        case ToolCall(id=id_):
            return [["call", id_]]
        case _:
            return []
