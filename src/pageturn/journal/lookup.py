"""Looks up pages by their handles, and the calls that have no result yet."""

from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from pageturn.journal.journal import Journal
from pageturn.journal.state import SessionState
from pageturn.values.errors import InvalidInput, show
from pageturn.values.faults import AnyFault, NoMatch
from pageturn.values.handles import parse, parse_range
from pageturn.values.messages import ToolCall
from pageturn.values.pages import Page


class Damage(NamedTuple):
    """Something that could not be read: a page, or a whole session."""

    session: str
    page: Page | None
    fault: AnyFault


def pages_between(state: SessionState, text: str, start: int = 0) -> tuple[Page, ...] | NoMatch:
    """The pages from the first to the last handle of a range that count, without the first `start` of them."""
    ends = parse_range(text)
    found = [page_of(state, handle) for handle in ends] if ends is not None else []
    first, last = (found[0], found[1]) if found else (None, None)
    if first is None or last is None:
        return NoMatch()
    between = state.pages[state.after(first.seq - 1) : state.after(last.seq)]
    pages = tuple(page for page in between if page.counts)
    if start and start >= len(pages):
        return NoMatch(f"no page that far, the range has {len(pages):,} pages")
    return pages[start:] or NoMatch()


def page_of(state: SessionState, handle: str) -> Page | None:
    """The page of a handle, if the handle is genuine."""
    parsed = parse(handle)
    page = state.page(parsed[0]) if parsed else None
    return page if page is not None and parsed is not None and page.check == parsed[1] else None


def page_named(state: SessionState, what: str | Page) -> Page | None:
    """The page of a handle; None for any other text. Raises `InvalidInput` for a handle that does not resolve."""
    handle = what.handle if isinstance(what, Page) else what
    if parse(handle) is None:
        return None
    page = page_of(state, handle)
    if page is None:
        raise InvalidInput("handle", expected="the handle of a page of this session", got=show(handle))
    return page


def pending_calls(journal: Journal, *, besides: str | None) -> tuple[ToolCall, ...]:
    """The calls that have no result yet, oldest first, except those of one tool."""
    calls = []
    for page, references in groupby(journal.state.open_calls(), key=itemgetter(0)):
        message = journal.message(page)
        made = {call.id: call for call in reversed(message.tool_calls)} if message is not None else {}
        calls += [
            made.get(reference.id) or ToolCall(id=reference.id, name=reference.name, arguments="")
            for _, reference in references
            if reference.name != besides
        ]
    return tuple(calls)


def query_name(journal: Journal, query: str) -> str:
    """What is stored of a failed query: a digest, since a query that verifies an erasure contains the erased text."""
    digest = blake2b(query.encode("utf-8", "replace"), key=journal.row.key, digest_size=8).hexdigest()
    return f"query {digest}"


def handle_name(journal: Journal, handle: str) -> str:
    """What is stored of a failed lookup: the handle itself, or a digest if the text is not a handle."""
    is_handle = parse(handle) is not None or parse_range(handle) is not None
    return handle if is_handle else query_name(journal, handle if isinstance(handle, str) else show(handle))
