"""Finds pages by their text or by their handle. The answer is never empty: it is hits or a fault.

An unreadable page does not hide others: the rest is returned, and its own fault is recorded.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import Damage, page_of
from pageturn.journal.reindexing import give_words, is_missed
from pageturn.recall.embedders import EmbedderFailed
from pageturn.recall.excerpts import excerpt
from pageturn.recall.ranking import Candidate, Ranked, rank
from pageturn.stores import Found, MemoryStore, Reindexed, Span
from pageturn.stores.words import terms
from pageturn.values.errors import Damaged, InvalidInput, StoreError, show
from pageturn.values.faults import AnyFault, BackendError, Denied, NoMatch
from pageturn.values.ids import micros, require_session_id
from pageturn.values.json import Closed, from_json, to_json
from pageturn.values.messages import Message, Role, Visibility
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.search_text import search_text

if TYPE_CHECKING:  # which needs NumPy
    from pageturn.recall.vectors import Meaning, Near

_PIECE = 1_000_000  # characters whose bytes are counted at a time
_RERANKED = 20  # how many matches a reranker is shown
_LEAST_CANDIDATES = 128  # that are put in order, however few are asked for


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
    start: int = 0  # at which byte of the page its excerpt begins: `resolve(handle, start=...)` goes on from there


class Where(Closed):
    """The filter of a search; None matches anything."""

    role: Role | None = None
    kind: PageKind | None = None
    tool: str | None = None  # that a page calls, or whose result it holds
    turns: tuple[int | None, int | None] | None = None  # the first and the last; None is as far as there are any
    path: str | None = None  # that a call names, or a part of it: the call and its result are found
    times: tuple[datetime | None, datetime | None] | None = None  # from when to when; without a zone they are UTC


class Recalled(Closed):
    """What a search found, the best first."""

    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # handles of pages that match as well as these, and whose words cannot be read
    left_out: int = 0  # hits that there was no room for
    notices: tuple[str, ...] = ()  # why the search was less than it could be


class Resolved(Closed):
    """The page behind a handle: its message, and the text from byte `start` to `end`."""

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
    """The outcome of a search, and what could not be read."""

    outcome: Recalled | AnyFault
    damages: tuple[Damage, ...] = ()


class Reranker(Protocol):
    """Scores texts by meaning; see `pageturn.recall.embedders`."""

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
    meaning: "Meaning | None" = None,
    reranker: Reranker | None = None,
    unread: Sequence[Damage] = (),
) -> Search:
    """The best matches in these sessions: by their words, with an embedder also by their meaning, and in the order of a reranker.

    `unread` are the sessions that should have been searched, and cannot be read.
    """
    if not query.strip() or not (terms(query) or meaning):
        return Search(NoMatch())
    wanted = limit if reranker is None else max(limit, _RERANKED)
    try:
        look = _Look(query, see_internal, where, meaning)
        hits, damages, notices = _search(journals, look, wanted)
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
    return Search(Recalled(tuple(hits[:limit]), damaged, notices=notices), damages)


class _Look(NamedTuple):
    """The query, its filter, and which sessions may show internal pages."""

    query: str
    see_internal: Callable[[Journal], bool]
    where: Where
    meaning: "Meaning | None" = None

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
        is_in_turns = (first is None or first <= turn) and (last is None or turn <= last)
        return is_in_turns and self._is_in_time(page) and self._is_about_path(journal, page)

    def _is_in_time(self, page: Page) -> bool:
        first, last = (None if each is None else micros(_zoned(each)) for each in self.where.times or (None, None))
        return (first is None or first <= page.at) and (last is None or page.at <= last)

    def _is_about_path(self, journal: Journal, page: Page) -> bool:
        """Whether a call of the page, or the call whose result it is, names the path."""
        if self.where.path is None:
            return True
        caller = journal.state.caller(page) if page.results else page if page.calls else None
        wanted = {result.call for result in page.results}
        try:
            message = journal.message(caller) if caller is not None else None
        except StoreError:
            return False
        calls = message.tool_calls if message is not None else ()
        return any(self.where.path in call.texts for call in calls if not wanted or call.id in wanted)


def _zoned(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


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
    return Recalled(tuple(hits), found.damaged, len(found.hits) - len(hits), found.notices)


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """As many of the first words as take so many tokens, with the sign that there are more."""
    if count(text) <= tokens:
        return text
    words = text.split()
    few = bisect_right(range(len(words)), tokens, key=lambda at: count(" ".join([*words[: at + 1], "..."])))
    return " ".join([*words[:few], "..."]) if few else ""


def _search(
    journals: Sequence[Journal], look: _Look, limit: int
) -> tuple[list[Hit], tuple[Damage, ...], tuple[str, ...]]:
    seers: dict[str, list[tuple[int, Journal]]] = {}  # session -> who sees it up to where: itself, and its forks
    for journal in journals:
        for span in journal.spans:
            seers.setdefault(span.session, []).append((span.upto, journal))
    spans = [Span(session, max(upto for upto, _ in those)) for session, those in seers.items()]
    for journal in journals:
        give_words(journal)
    wanted = max(limit, _LEAST_CANDIDATES)
    near: dict[tuple[str, int], Near] = {}
    notices: tuple[str, ...] = ()
    is_embedded = look.meaning is None
    while True:
        found = _found(journals, spans, look.query, wanted)
        if not is_embedded:
            near, notices = _near(look, spans, found)
            is_embedded = True
        ranked = rank(_candidates(seers, found, near, look), look.query, look.may_find, by_meaning=bool(near))
        hits, damages = _hits(ranked, look.query, limit)
        if len(hits) == limit or len(found) < wanted:
            return hits, tuple(damages), notices
        wanted *= 4  # some of what was found is undone, erased, hidden, damaged or not wanted


def _found(journals: Sequence[Journal], spans: Sequence[Span], query: str, wanted: int) -> Sequence[Found]:
    """What the index finds. Where it is damaged, it is built anew; where it finds nothing, the newest pages tell whether that is so."""
    store = journals[0].store
    try:
        found = store.search(spans, query, wanted)
    except Damaged:
        if not isinstance(store, Reindexed):
            raise
    else:
        if found or not terms(query) or not isinstance(store, Reindexed) or isinstance(store, MemoryStore):
            return found
        if not is_missed(journals, query):
            return found
    store.drop_words()
    for journal in journals:
        give_words(journal)
    return store.search(spans, query, wanted)


def _near(
    look: _Look, spans: Sequence[Span], found: Sequence[Found]
) -> "tuple[dict[tuple[str, int], Near], tuple[str, ...]]":
    """What is near in meaning, and how near that is which was found by words; or why nobody can say."""
    if look.meaning is None:
        return {}, ()
    try:
        return look.meaning.near(spans, look.query, [(each.session, each.seq) for each in found]), ()
    except EmbedderFailed as error:
        return {}, (f"searched by words alone, the embedder has no answer: {error}",)


def _hits(ranked: Iterable[Ranked], query: str, limit: int) -> tuple[list[Hit], list[Damage]]:
    hits: list[Hit] = []
    damages: list[Damage] = []
    for each in ranked:
        hit = _hit(each, query)
        if isinstance(hit, Damage):
            damages.append(hit)
        elif hit is not None:
            hits.append(hit)
        if len(hits) == limit:
            break
    return hits, damages


def _candidates(
    seers: Mapping[str, Sequence[tuple[int, Journal]]],
    found: Sequence[Found],
    near: "Mapping[tuple[str, int], Near]",
    look: _Look,
) -> Iterator[Candidate]:
    """The pages that were found, by words, by meaning, or by both."""
    most = max((each.score for each in found), default=0.0) or 1.0
    by_words = {(each.session, each.seq): each for each in found}
    for key in dict.fromkeys((*by_words, *near)):
        candidate = _candidate(seers[key[0]], key[1], look)
        if candidate is not None:
            said, meant = by_words.get(key), near.get(key)
            words = max(said.score, 0.0) / most if said is not None else 0.0
            passage = said.passage if said is not None else meant.passage if meant is not None else None
            yield candidate._replace(words=words, meaning=max(meant.cosine, 0.0) if meant else 0.0, passage=passage)


def _candidate(seers: Sequence[tuple[int, Journal]], seq: int, look: _Look) -> Candidate | None:
    """The page as the first of these journals has it: it may be undone in one and not in its fork."""
    for upto, journal in seers:
        page = journal.state.page(seq) if seq <= upto else None
        if page is not None and look.may_find(journal, page):
            return Candidate(journal, page)
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


def _hit(ranked: Ranked, query: str) -> Hit | Damage | None:
    journal, page = ranked.candidate.journal, ranked.candidate.page
    try:
        message = journal.message(page)
    except StoreError as error:
        return Damage(journal.row.id, page, BackendError.of(error))
    if message is None:
        return None
    shown = excerpt(search_text(message), query, ranked.candidate.passage)
    return Hit(
        handle=page.handle,
        session=journal.row.id,
        excerpt=shown.text,
        score=round(ranked.score, 3),
        turn=journal.state.turn_of(page),
        role=page.role,
        kind=journal.state.kind(page),
        tool=journal.state.tool_of(page),
        size=page.size,
        digest=page.digest,
        shown=journal.state.level_of(page) if journal.state.shown is not None else None,
        start=shown.start,
    )
