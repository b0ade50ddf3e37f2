"""Paging: a message becomes a page, with blobs for its words and a text to find it by."""

import msgspec

from pageturn.bodies import digest_of, pack
from pageturn.entries import MessageAdded
from pageturn.handles import check_of
from pageturn.journal import Fresh
from pageturn.messages import File, Image, Message, Text, Thinking, ToolCall, ToolResult
from pageturn.pages import CallReference, Page, PageKind, ResultReference
from pageturn.wire import to_json


def page_up(message: Message, kind: PageKind, *, seq: int, id: str, key: bytes, tokens: int) -> Fresh:  # noqa: A002
    """The entry that makes a message the page at `seq`."""
    digest, size, blobs = pack(message)
    page = Page(
        seq=seq,
        check=check_of(key, seq, digest),
        id=id,
        role=message.role,
        kind=kind,
        digest=digest,
        size=size,
        tokens=tokens,
        visibility=message.visibility,
        synthetic=message.synthetic,
        calls=tuple(CallReference(call.id, call.name, _canonical(call)) for call in message.tool_calls),
        results=tuple(
            ResultReference(result.tool_call_id, digest_of(to_json(result.content)), result.is_error)
            for result in message.tool_results
        ),
    )
    return Fresh(MessageAdded(page=page), blobs, search_text(message))


def search_text(message: Message) -> str:
    """The words of a message that a search can find: all but pictures and what only a vendor can read."""
    words: list[str] = []
    for part in message.content:
        match part:
            case Text(text=text) | Thinking(text=text):
                words.append(text)
            case ToolCall(name=name, arguments=arguments):
                words += [name, arguments]
            case ToolResult(parts=parts):
                words += [inner.text for inner in parts if isinstance(inner, Text)]
                words += [inner.path for inner in parts if isinstance(inner, File) and not _is_inline(inner.path)]
            case File(path=path) | Image(url=path) if not _is_inline(path):
                words.append(path)
    return "\n".join(words)


def _is_inline(url: str) -> bool:
    return url.startswith("data:")


def _canonical(call: ToolCall) -> str:
    """The digest of a call's arguments, the same for every order of keys and every spacing."""
    value = call.parsed
    data = call.arguments.encode() if value is None else msgspec.json.encode(value, order="deterministic")
    return digest_of(data)
