"""Recall: getting pages back, by what they say or by their handle. Never an empty answer: hits, or a fault.

A page that cannot be read hides no other: the rest is given, and its own fault stands beside.
"""

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol

import msgspec

from pageturn.bodies import search_text
from pageturn.errors import StoreError, show
from pageturn.faults import AnyFault, BackendError, Denied, Fault, NoMatch
from pageturn.handles import parse, parse_range
from pageturn.journal import Journal
from pageturn.messages import Message, Role, Visibility
from pageturn.pages import Page, PageKind, ResidencyLevel
from pageturn.state import SessionState
from pageturn.stores import Found, Span
from pageturn.stores.words import terms
from pageturn.wire import Closed

_EXCERPT_CHARS = 300
_RERANKED = 20  # how many matches a reranker is shown


class Hit(Closed):
    """A page that matched, and where it comes from."""

    handle: str
    session: str
    excerpt: str
    score: float
    turn: int
    role: Role
    kind: PageKind
    tool: str | None
    size: int
    digest: str
    shown: ResidencyLevel | None = None  # at which level the model last saw it


class Recalled(Closed):
    """What a search found, the best first."""

    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # handles of pages that match as well as these, and whose words cannot be read


class Resolved(Closed):
    """What a handle stands for: the message, and the bytes of its text from `start` to `end`."""

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


class Damage(NamedTuple):
    """Something that could not be read: a page, or a whole session."""

    session: str
    page: Page | None
    fault: AnyFault


class Search(NamedTuple):
    """What came of a search, and what could not be read on the way."""

    outcome: Recalled | AnyFault
    damages: tuple[Damage, ...] = ()


class Reranker(Protocol):
    """Puts texts in order of what they mean; see `pageturn.embedding`."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query; a greater score is a better answer."""
        ...


def recall(
    journals: Sequence[Journal],
    query: str,
    limit: int,
    *,
    see_internal: Callable[[Journal], bool],
    reranker: Reranker | None = None,
    unread: Sequence[Damage] = (),
) -> Search:
    """The best matches in these sessions: by their words, and then, with a reranker, by their meaning.

    `unread` are the sessions that should have been searched, and cannot be read.
    """
    if not terms(query):
        return Search(NoMatch())
    wanted = limit if reranker is None else max(limit, _RERANKED)
    try:
        hits, damages = _search(journals, query, wanted, see_internal)
    except StoreError as error:
        return Search(BackendError.of(error))
    damages = (*damages, *unread)
    if not hits:
        return Search(damages[0].fault if damages else NoMatch(), damages)
    if reranker is not None:
        scores = reranker.score(query, [hit.excerpt for hit in hits])
        ranked = sorted(zip(hits, scores, strict=True), key=lambda pair: -pair[1])
        hits = [msgspec.structs.replace(hit, score=round(score, 3)) for hit, score in ranked]
    damaged = tuple(each.page.handle for each in damages if each.page is not None)
    return Search(Recalled(tuple(hits[:limit]), damaged), damages)


def query_name(journal: Journal, query: str) -> str:
    """What is written down of a query that failed: whoever looks whether something was erased asks for it by its own words."""
    digest = blake2b(query.encode("utf-8", "replace"), key=journal.row.key, digest_size=8).hexdigest()
    return f"query {digest}"


def handle_name(journal: Journal, handle: str) -> str:
    """What is written down of a handle that failed: itself, or as little as of a query where it is none."""
    is_handle = parse(handle) is not None or parse_range(handle) is not None
    return handle if is_handle else query_name(journal, handle if isinstance(handle, str) else show(handle))


def _search(
    journals: Sequence[Journal], query: str, limit: int, see_internal: Callable[[Journal], bool]
) -> tuple[list[Hit], tuple[Damage, ...]]:
    seers: dict[str, list[tuple[int, Journal]]] = {}  # session -> who sees it up to where: itself, and its forks
    for journal in journals:
        for span in journal.spans:
            seers.setdefault(span.session, []).append((span.upto, journal))
    spans = [Span(session, max(upto for upto, _ in those)) for session, those in seers.items()]
    wanted = limit
    while True:
        found = journals[0].store.search(spans, query, wanted)
        hits: list[Hit] = []
        damages: list[Damage] = []
        for each in found:
            hit = _first_hit(seers[each.session], each, query, see_internal)
            if isinstance(hit, Damage):
                damages.append(hit)
            elif hit is not None:
                hits.append(hit)
            if len(hits) == limit:
                break
        if len(hits) == limit or len(found) < wanted:
            return hits, tuple(damages)
        wanted *= 4  # some of what was found is undone, erased, hidden or damaged


def _first_hit(
    seers: Sequence[tuple[int, Journal]], found: Found, query: str, see_internal: Callable[[Journal], bool]
) -> Hit | Damage | None:
    """The hit as the first of these journals has it: a page may be undone in one and not in its fork."""
    for upto, journal in seers:
        if found.seq <= upto and (hit := _hit(journal, found, query, see_internal)) is not None:
            return hit
    return None


def resolve(journal: Journal, handle: str, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault:
    """The page of a handle with its original words, undone or not; no match where the range has none of them."""
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
    data = search_text(message).encode()
    first, end = _whole_characters(data, start, len(data) if length is None else start + length)
    if first >= end and (data or start or length == 0):
        return NoMatch(f"no text in that range, the page has {len(data):,} bytes")
    text = data[first:end].decode()
    state = journal.state
    return Resolved(
        handle=handle,
        message=message,
        text=text,
        start=first,
        end=end,
        size=len(data),
        turn=state.turn_of(page),
        role=page.role,
        kind=state.kind(page),
        tool=state.tool_of(page),
        digest=page.digest,
    )


def _whole_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """The range without cut characters, which would not be text: one that is cut at its begin or at its end is left out."""
    end = min(end, len(data))
    while _is_inside(data, start):
        start += 1
    while end > start and _is_inside(data, end):
        end -= 1
    return start, end


def _is_inside(data: bytes, at: int) -> bool:
    """Whether a place is inside a character."""
    return at < len(data) and data[at] & 0xC0 == 0x80


class ResolvedRange(NamedTuple):
    """What came of a range of handles, and what of it could not be read."""

    outcome: tuple[Resolved, ...] | AnyFault
    damages: tuple[Damage, ...] = ()


def resolve_range(journal: Journal, text: str) -> ResolvedRange:
    """Every page from the first to the last handle of a range that counts and can be read, with its original words."""
    pages = pages_between(journal.state, text)
    if isinstance(pages, Fault):
        return ResolvedRange(pages)
    resolved: list[Resolved] = []
    damages: list[Damage] = []
    for page in pages:
        outcome = resolve(journal, page.handle)
        if isinstance(outcome, Resolved):
            resolved.append(outcome)
        else:
            damages.append(Damage(journal.row.id, page, outcome))
    return ResolvedRange(tuple(resolved) or damages[0].fault, tuple(damages))


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
    """The page that a handle names, if it is genuine."""
    parsed = parse(handle)
    page = state.page(parsed[0]) if parsed else None
    return page if page is not None and parsed is not None and page.check == parsed[1] else None


def _hit(journal: Journal, found: Found, query: str, see_internal: Callable[[Journal], bool]) -> Hit | Damage | None:
    page = journal.state.page(found.seq)
    if page is None or not page.counts:
        return None
    if page.visibility == Visibility.INTERNAL and not see_internal(journal):
        return None
    try:
        message = journal.message(page)
    except StoreError as error:
        return Damage(journal.row.id, page, BackendError.of(error))
    if message is None:
        return None
    return Hit(
        handle=page.handle,
        session=journal.row.id,
        excerpt=_excerpt(search_text(message), query),
        score=round(found.score, 3),
        turn=journal.state.turn_of(page),
        role=page.role,
        kind=journal.state.kind(page),
        tool=journal.state.tool_of(page),
        size=page.size,
        digest=page.digest,
        shown=journal.state.level_of(page) if journal.state.shown is not None else None,
    )


def _excerpt(text: str, query: str) -> str:
    """The surroundings of the first place at which a term of the query occurs."""
    pattern = "|".join(re.escape(term) for term in sorted(terms(query), key=len, reverse=True))
    place = re.search(pattern, text, re.IGNORECASE)
    start = max(0, (place.start() if place else 0) - _EXCERPT_CHARS // 3)
    excerpt = " ".join(text[start : start + _EXCERPT_CHARS].split())
    return f"{'... ' if start else ''}{excerpt}{' ...' if start + _EXCERPT_CHARS < len(text) else ''}"
