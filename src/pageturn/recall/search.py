"""Recall: getting pages back, by what they say or by their handle. Never an empty answer: hits, or a fault.

A page that cannot be read hides no other: the rest is given, and its own fault stands beside.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import Damage, page_of
from pageturn.stores import Found, Span
from pageturn.stores.words import terms
from pageturn.values.errors import InvalidInput, StoreError, show
from pageturn.values.faults import AnyFault, BackendError, Denied, NoMatch
from pageturn.values.ids import require_session_id
from pageturn.values.json import Closed, from_json, to_json
from pageturn.values.messages import Message, Role, Visibility
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.search_text import search_text

_PIECE = 1_000_000  # characters whose bytes are counted at a time
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


class Where(Closed):
    """What a search is narrowed to; what is None may be any."""

    role: Role | None = None
    kind: PageKind | None = None
    tool: str | None = None  # that a page calls, or whose result it holds
    turns: tuple[int | None, int | None] | None = None  # the first and the last; None is as far as there are any


class Recalled(Closed):
    """What a search found, the best first."""

    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # handles of pages that match as well as these, and whose words cannot be read
    left_out: int = 0  # hits that there was no room for


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


class Search(NamedTuple):
    """What came of a search, and what could not be read on the way."""

    outcome: Recalled | AnyFault
    damages: tuple[Damage, ...] = ()


class Reranker(Protocol):
    """Puts texts in order of what they mean; see `pageturn.recall.embedders`."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query; a greater score is a better answer."""
        ...


def recall(
    journals: Sequence[Journal],
    query: str,
    limit: int,
    *,
    see_internal: Callable[[Journal], bool],
    where: Where = Where(),  # noqa: B008
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
        look = _Look(query, see_internal, where)
        hits, damages = _search(journals, look, wanted)
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


class _Look(NamedTuple):
    """What is looked for, and who may see what."""

    query: str
    see_internal: Callable[[Journal], bool]
    where: Where

    def may_find(self, journal: Journal, page: Page) -> bool:
        """Whether a page that has the words is one that is wanted, and that may be told."""
        if not page.counts or (page.visibility == Visibility.INTERNAL and not self.see_internal(journal)):
            return False
        role, kind, tool, turns = self.where.role, self.where.kind, self.where.tool, self.where.turns
        state = journal.state
        if role not in (None, page.role) or (kind is not None and kind is not state.kind(page)):
            return False
        if tool is not None and tool != state.tool_of(page):
            return False
        first, last = turns if turns is not None else (None, None)
        turn = state.turn_of(page)
        return (first is None or first <= turn) and (last is None or turn <= last)


def where_of(given: Where | Mapping[str, object] | None) -> Where:
    """What a search is narrowed to, from a value or from its fields by name."""
    if given is None or isinstance(given, Where):
        return given or Where()
    if not isinstance(given, Mapping):
        raise InvalidInput("where", expected="a Where, or its fields by name", got=show(given))
    return from_json(Where, to_json(dict(given)))


def session_ids(given: Iterable[str] | None) -> tuple[str, ...]:
    """The ids of the sessions that are to be searched too."""
    if given is None:
        return ()
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput("sessions", expected="a list of ids of sessions", got=show(given))
    ids = tuple(given)
    for id_ in ids:
        require_session_id(id_)
    return ids


def within(found: Recalled, budget_tokens: int, count: Callable[[str], int]) -> Recalled:
    """The best hits whose excerpts take at most so many tokens: the last is cut to what is left, and the first stays whatever it takes."""
    hits: list[Hit] = []
    left = budget_tokens
    for hit in found.hits:
        excerpt = _cut(hit.excerpt, left, count)
        if hits and not excerpt:
            break
        hits.append(msgspec.structs.replace(hit, excerpt=excerpt))
        left -= count(excerpt) if excerpt else 0
        if excerpt != hit.excerpt:
            break
    return Recalled(tuple(hits), found.damaged, len(found.hits) - len(hits))


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """As many of the first words as take so many tokens, with the sign that there are more."""
    if count(text) <= tokens:
        return text
    words = text.split()
    few = bisect_right(range(len(words)), tokens, key=lambda at: count(" ".join([*words[: at + 1], "..."])))
    return " ".join([*words[:few], "..."]) if few else ""


def _search(journals: Sequence[Journal], look: _Look, limit: int) -> tuple[list[Hit], tuple[Damage, ...]]:
    seers: dict[str, list[tuple[int, Journal]]] = {}  # session -> who sees it up to where: itself, and its forks
    for journal in journals:
        for span in journal.spans:
            seers.setdefault(span.session, []).append((span.upto, journal))
    spans = [Span(session, max(upto for upto, _ in those)) for session, those in seers.items()]
    wanted = limit
    while True:
        found = journals[0].store.search(spans, look.query, wanted)
        hits: list[Hit] = []
        damages: list[Damage] = []
        for each in found:
            hit = _first_hit(seers[each.session], each, look)
            if isinstance(hit, Damage):
                damages.append(hit)
            elif hit is not None:
                hits.append(hit)
            if len(hits) == limit:
                break
        if len(hits) == limit or len(found) < wanted:
            return hits, tuple(damages)
        wanted *= 4  # some of what was found is undone, erased, hidden, damaged or not wanted


def _first_hit(seers: Sequence[tuple[int, Journal]], found: Found, look: _Look) -> Hit | Damage | None:
    """The hit as the first of these journals has it: a page may be undone in one and not in its fork."""
    for upto, journal in seers:
        if found.seq <= upto and (hit := _hit(journal, found, look)) is not None:
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
    """A part of a text: its words, from which byte to which it goes, and the bytes of the whole."""

    text: str
    first: int
    end: int
    size: int


def _part_of(text: str, start: int, length: int | None) -> _Said:
    """The bytes of a text in a range, without characters that are cut."""
    if start == 0 and length is None:
        size = sum(len(text[at : at + _PIECE].encode()) for at in range(0, len(text), _PIECE))
        return _Said(text, 0, size, size)
    data = text.encode()
    first, end = _whole_characters(data, start, len(data) if length is None else start + length)
    return _Said(data[first:end].decode(), first, end, len(data))


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


def _hit(journal: Journal, found: Found, look: _Look) -> Hit | Damage | None:
    page = journal.state.page(found.seq)
    if page is None or not look.may_find(journal, page):
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
        excerpt=_excerpt(search_text(message), look.query),
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
