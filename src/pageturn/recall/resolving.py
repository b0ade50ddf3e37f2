"""Opens the page of a handle: its message, and its text or a range of it."""

from typing import NamedTuple

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.values.errors import StoreError
from pageturn.values.faults import AnyFault, BackendError, Denied, NoMatch
from pageturn.values.json import Closed
from pageturn.values.messages import Message, Role
from pageturn.values.pages import PageKind
from pageturn.values.search_text import search_text

_PIECE = 1_000_000  # characters whose bytes are counted at a time


class Resolved(Closed):
    """The page of a handle: its message, and its text from byte `start` to `end`."""

    handle: str
    message: Message
    text: str
    start: int
    end: int
    size: int
    turn: int
    role: Role
    kind: PageKind
    tool: str | None
    digest: str


def resolve(journal: Journal, handle: str, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault:
    """The page of a handle with its original text, undone or not; no match if the range has no text."""
    page = page_of(journal.state, handle)
    if page is None:
        return NoMatch()
    if page.erased:
        return Denied("erased")
    try:
        message = journal.message(page)
    except StoreError as error:
        return BackendError.of(error)
    if message is None:
        return Denied("erased")
    said = _part_of(search_text(message), start, length)
    if said.first >= said.end and (said.size or start or length == 0):
        return NoMatch(f"no text in that range, the page has {said.size:,} bytes")
    state = journal.state
    return Resolved(
        handle=handle,
        message=message,
        text=said.text,
        start=said.first,
        end=said.end,
        size=said.size,
        turn=state.turn_of(page),
        role=page.role,
        kind=state.kind(page),
        tool=state.tool_of(page),
        digest=page.digest,
    )


class _Said(NamedTuple):
    """A part of a text: its first and last byte, and the bytes of the whole."""

    text: str
    first: int
    end: int
    size: int


def _part_of(text: str, start: int, length: int | None) -> _Said:
    """The bytes of a text in a range, without partial characters."""
    if start == 0 and length is None:
        size = sum(len(text[at : at + _PIECE].encode()) for at in range(0, len(text), _PIECE))
        return _Said(text, 0, size, size)
    data = text.encode()
    first, end = _whole_characters(data, start, len(data) if length is None else start + length)
    return _Said(data[first:end].decode(), first, end, len(data))


def _whole_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """The range without partial characters at its beginning and end, which would not be valid text."""
    end = min(end, len(data))
    while _is_inside(data, start):
        start += 1
    while end > start and _is_inside(data, end):
        end -= 1
    return start, end


def _is_inside(data: bytes, at: int) -> bool:
    """Whether a position is inside a character."""
    return at < len(data) and data[at] & 0xC0 == 0x80
