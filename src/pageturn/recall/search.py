"""Finds pages by their text. The answer is never empty: it is hits or a fault.

An unreadable page does not hide others: the rest is returned, and its own fault is recorded.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import Damage
from pageturn.journal.reindexing import give_words, is_missed
from pageturn.recall.embedders import EmbedderFailed
from pageturn.recall.filters import SearchFilter, Where
from pageturn.recall.hits import Hit, Recalled, hit_of
from pageturn.recall.ranking import Candidate, Ranked, rank
from pageturn.stores import Found, MemoryStore, Reindexed, Span, Store
from pageturn.stores.words import in_parts, terms
from pageturn.values.errors import Damaged, InvalidInput, PageturnError, StoreError, show
from pageturn.values.faults import AnyFault, BackendError, NoMatch
from pageturn.values.ids import require_session_id

if TYPE_CHECKING:  # it needs NumPy
    from pageturn.recall.vectors import Meaning, Near, QueryVector

_RERANKED = 20  # matches that a reranker gets
_LEAST_CANDIDATES = 128  # matches that are ranked, however few are asked for

Seers = Mapping[str, Sequence[tuple[int, Journal]]]
"""By session, who sees it up to where: itself, and its forks."""


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
    recall_tool: str | None = None,
    meaning: "Meaning | None" = None,
    reranker: Reranker | None = None,
    unread: Sequence[Damage] = (),
) -> Search:
    """The best matches in these sessions: by their words, with an embedder also by their meaning, and in the order of a reranker.

    `unread` are sessions that should be searched and cannot be read.
    """
    if not query.strip() or not (terms(query) or meaning):
        return Search(NoMatch())
    wanted = limit if reranker is None else max(limit, _RERANKED)
    try:
        hits, damages, notices = _search(
            journals, query, SearchFilter(where, see_internal, recall_tool), meaning, wanted
        )
    except StoreError as error:
        return Search(BackendError.of(error))
    damages = (*damages, *unread)
    if not hits:
        return Search(damages[0].fault if damages else NoMatch(), damages)
    if reranker is not None:
        try:
            hits = _reranked(reranker, query, hits)
        except _RerankerFailed as error:
            notices = (*notices, f"in the order of the search, the reranker has no answer: {error}")
    damaged = tuple(each.page.handle for each in damages if each.page is not None)
    return Search(Recalled(tuple(hits[:limit]), damaged, notices=notices), damages)


class _RerankerFailed(Exception):
    """A reranker raised, or gave no usable scores."""


def _reranked(reranker: Reranker, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits in the order of a reranker, with its scores."""
    try:
        scores = [float(score) for score in reranker.score(query, [hit.excerpt for hit in hits])]
    except Exception as error:  # whatever a user's own reranker raises
        raise _RerankerFailed(str(error) if isinstance(error, PageturnError) else type(error).__name__) from error
    if len(scores) != len(hits) or not all(map(isfinite, scores)):
        raise _RerankerFailed(f"expected {len(hits)} finite scores, got {show(scores)}")
    ranked = sorted(zip(hits, scores, strict=True), key=lambda pair: -pair[1])
    return [msgspec.structs.replace(hit, score=round(score, 3)) for hit, score in ranked]


def session_ids(given: Iterable[str] | None) -> tuple[str, ...]:
    """The ids of other sessions to search."""
    if given is None:
        return ()
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput("sessions", expected="a list of ids of sessions", got=show(given))
    ids = tuple(given)
    for id_ in ids:
        require_session_id(id_)
    return ids


def _search(
    journals: Sequence[Journal], query: str, filter_by: SearchFilter, meaning: "Meaning | None", limit: int
) -> tuple[list[Hit], tuple[Damage, ...], tuple[str, ...]]:
    seers: dict[str, list[tuple[int, Journal]]] = {}
    for journal in journals:
        for span in journal.spans:
            seers.setdefault(span.session, []).append((span.upto, journal))
        give_words(journal)
    vector, notices = _vector_of(meaning, query)
    look = _Look(journals, seers, query, filter_by, vector)
    try:
        hits, damages = look.best(limit)
        is_damaged = not hits and look.misses_words()
    except Damaged:
        if not isinstance(look.store, Reindexed):
            raise
        is_damaged = True
    if is_damaged and isinstance(look.store, Reindexed):  # the index, which is built from the messages
        look.store.drop_words()
        for journal in journals:
            give_words(journal)
        hits, damages = look.best(limit)
        if not hits and look.misses_words():
            raise Damaged(
                "messages are missing in the index, and the entries that have their words are damaged or gone"
            )
    return hits, tuple(damages), notices


def _vector_of(meaning: "Meaning | None", query: str) -> "tuple[QueryVector | None, tuple[str, ...]]":
    """The vector of a query, or why there is none."""
    if meaning is None:
        return None, ()
    try:
        return meaning.vector_of(query), ()
    except EmbedderFailed as error:
        return None, (f"searched by words alone, the embedder has no answer: {error}",)


class _Look(NamedTuple):
    """Where to search, and for what."""

    journals: Sequence[Journal]
    seers: Seers
    query: str
    filter_by: SearchFilter
    vector: "QueryVector | None"

    def best(self, limit: int) -> tuple[list[Hit], list[Damage]]:
        """The best hits by the query, or else by fewer of its words."""
        hits, damages = self.hits(self.query, limit)
        if len(hits) < limit:  # the words dropped as too common may find more
            hits, damages = self.hits(self.query, limit, every=True)
        # A name occurs as a whole, but only where it may not be found.
        if not hits and (parts := in_parts(self.query)) != self.query:
            hits, damages = self.hits(parts, limit, every=True)
        return hits, damages

    def misses_words(self) -> bool:
        """Whether a file's index has none of the words of the query, wanted or not, though the newest pages have some."""
        if not isinstance(self.store, Reindexed) or isinstance(self.store, MemoryStore):
            return False
        words = in_parts(self.query)
        if not terms(words) or self.store.search(self._spans, words, 1, every=True):
            return False
        return is_missed(self.journals, words)

    @property
    def store(self) -> Store:
        """The store that all of them are in."""
        return self.journals[0].store

    @property
    def _spans(self) -> list[Span]:
        return [Span(session, max(upto for upto, _ in those)) for session, those in self.seers.items()]

    def hits(self, words: str, limit: int, *, every: bool = False) -> tuple[list[Hit], list[Damage]]:
        """The best hits by these words and by meaning, and unreadable pages among them."""
        spans = self._spans
        wanted = max(limit, _LEAST_CANDIDATES)
        while True:
            found = self.store.search(spans, words, wanted, every=every)
            near, is_all_near = self.vector.near(spans, found, 2 * wanted) if self.vector is not None else ({}, True)
            candidates = self._candidates(found, near)
            ranked = rank(candidates, self.query, self.filter_by, by_meaning=self.vector is not None)
            hits, damages = self._readable(ranked, limit)
            if len(hits) == limit or (len(found) < wanted and is_all_near):
                return hits, damages
            wanted *= 4  # some of what was found is undone, erased, hidden, damaged or filtered out

    def _readable(self, ranked: Iterable[Ranked], limit: int) -> tuple[list[Hit], list[Damage]]:
        hits: list[Hit] = []
        damages: list[Damage] = []
        for each in ranked:
            hit = hit_of(each, self.query, self.filter_by)
            if isinstance(hit, Damage):
                damages.append(hit)
            elif hit is not None:
                hits.append(hit)
            if len(hits) == limit:
                break
        return hits, damages

    def _candidates(self, found: Sequence[Found], near: "Mapping[tuple[str, int], Near]") -> Iterator[Candidate]:
        """The pages that were found, by words, by meaning, or by both."""
        most = max((each.score for each in found), default=0.0) or 1.0
        by_words = {(each.session, each.seq): each for each in found}
        for key in dict.fromkeys((*by_words, *near)):
            candidate = self._candidate(*key)
            if candidate is not None:
                said, meant = by_words.get(key), near.get(key)
                words = max(said.score, 0.0) / most if said is not None else 0.0
                passage = said.passage if said is not None else meant.passage if meant is not None else None
                cosine = max(meant.cosine, 0.0) if meant is not None else 0.0
                yield candidate._replace(words=words, meaning=cosine, passage=passage)

    def _candidate(self, session: str, seq: int) -> Candidate | None:
        """The page in the first of these journals that has it: it may be undone in one and not in its fork.

        It need not match the filter: a call that does not may have a result that does.
        """
        for upto, journal in self.seers[session]:
            page = journal.state.page(seq) if seq <= upto else None
            if page is not None and self.filter_by.may_show(journal, page):
                return Candidate(journal, page)
        return None
