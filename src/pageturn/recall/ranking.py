"""Ranks what a search found: by the words that it shares with the query, and by who said it to whom.

`make bench-recall` shows what the constants were fitted on, and the effect of each.
"""

from collections.abc import Iterable, Sequence
from math import log2
from typing import NamedTuple

from pageturn.journal.journal import Journal
from pageturn.recall.filters import SearchFilter
from pageturn.recall.question import aims_of, is_wish
from pageturn.stores.words import parts_of, terms
from pageturn.values.errors import PageturnError
from pageturn.values.pages import Page
from pageturn.values.passages import passage_at
from pageturn.values.search_text import search_text

_HUMAN = 2.0  # a person's words score higher than those of models and tools
_HUMAN_MEANING = 1.5
_WISH = 1.4  # and higher still if they state a standing preference
_MEANING = 2.0  # a cosine of 1, relative to the best match by words
_LONGER = 0.1  # what a result gains with every doubling of its size: a search for a file wants its text, not the note that it was written
_SMALL, _LARGE = 200, 20_000  # bytes
_AS_GOOD = 0.8  # of the best score: if the latest is asked for, the newest of these come first
_AS_GOOD_ELSEWHERE = 0.5  # in another session, which says the same in words of its own
_FURTHEST_RESULT = 64  # pages after its call
_LOOKED_AT = 40  # candidates whose text is read


class Candidate(NamedTuple):
    """A page that was found: by words (relative to the best), by meaning (a cosine), or by the call that it answers."""

    journal: Journal
    page: Page
    words: float = 0.0
    meaning: float = 0.0
    passage: int | None = None

    def strongest(self, other: "Candidate") -> "Candidate":
        """The same page with the better score of each kind."""
        first, second = (self, other) if self.words >= other.words else (other, self)
        passage = first.passage if first.passage is not None else second.passage
        return first._replace(meaning=max(self.meaning, other.meaning), passage=passage)


class Ranked(NamedTuple):
    """A candidate, its score, and how many pages have exactly the same text."""

    candidate: Candidate
    score: float
    copies: int = 1


def rank(found: Iterable[Candidate], query: str, filter_by: SearchFilter, *, by_meaning: bool = False) -> list[Ranked]:
    """The candidates that match the filter, best first, and of equal ones the newest.

    A call is shown as its result, which seldom says itself which call it answers.
    """
    best: dict[tuple[str, int], Candidate] = {}

    def add(candidate: Candidate) -> None:
        key = candidate.journal.row.id, candidate.page.seq
        best[key] = best[key].strongest(candidate) if key in best else candidate

    for candidate in found:
        journal = candidate.journal
        results = [page for page in _results(candidate, query) if filter_by.may_show(journal, page)]
        wanted = [page for page in results if filter_by.wants(journal, page)]
        for page in wanted:
            add(candidate._replace(page=page, passage=None))
        if not wanted and filter_by.wants(journal, candidate.page):
            add(candidate)
    ranked = [Ranked(each, _score(each, query, by_meaning=by_meaning)) for each in best.values()]
    ranked.sort(key=_best_first)
    if aims_of(query).wants_wishes:
        ranked[:_LOOKED_AT] = sorted(map(_with_wish, ranked[:_LOOKED_AT]), key=lambda each: -each.score)
    ranked = _folded(ranked)
    return _newest_first(ranked) if aims_of(query).wants_latest else ranked


def _best_first(ranked: Ranked) -> tuple[float, int, int]:
    page = ranked.candidate.page
    return -ranked.score, -page.at, -page.seq


def _folded(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Of candidates with exactly the same text the newest, at the rank of the best."""
    folded: dict[object, Ranked] = {}
    for each in ranked:
        said = _said(each.candidate)
        if (known := folded.get(said)) is None:
            folded[said] = each
        else:
            newest = max(known.candidate, each.candidate, key=lambda candidate: (candidate.page.at, candidate.page.seq))
            folded[said] = Ranked(newest, known.score, known.copies + 1)
    return [*folded.values()]


def _said(candidate: Candidate) -> object:
    """A key that pages with the same content share, in any session; for results also the call that they answer."""
    journal, page = candidate.journal, candidate.page
    if not page.results:
        return page.role, page.digest
    caller = journal.state.caller(page)
    called = {call.id: (call.name, call.arguments) for call in caller.calls} if caller is not None else {}
    return tuple((called.get(result.call), result.content) for result in page.results)


def _newest_first(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Those that answer nearly as well as the best, newest first, and then the others."""
    if not ranked:
        return []
    best = ranked[0]

    def is_good(each: Ranked) -> bool:
        is_elsewhere = each.candidate.journal is not best.candidate.journal
        return each.score >= best.score * (_AS_GOOD_ELSEWHERE if is_elsewhere else _AS_GOOD)

    good = [each for each in ranked if is_good(each)]
    good.sort(key=lambda each: (-each.candidate.page.at, -each.candidate.page.seq))
    return [*good, *(each for each in ranked if not is_good(each))]


def _score(candidate: Candidate, query: str, *, by_meaning: bool) -> float:
    words, meaning = candidate.words, _MEANING * candidate.meaning if by_meaning else 0.0
    if candidate.page.is_human and aims_of(query).prefers_people:
        words, meaning = words * _HUMAN, meaning * _HUMAN_MEANING
    score = words + meaning
    if candidate.page.results:
        score *= 1 + _LONGER * log2(1 + min(candidate.page.size, _LARGE) / _SMALL)
    return score


def _with_wish(ranked: Ranked) -> Ranked:
    candidate = ranked.candidate
    if not candidate.page.is_human:
        return ranked
    try:
        message = candidate.journal.message(candidate.page)
    except PageturnError:  # reported when that page is read
        return ranked
    text = search_text(message) if message is not None else ""
    start, end = passage_at(text, candidate.passage or 0)
    return ranked._replace(score=ranked.score * _WISH) if is_wish(text[start:end]) else ranked


def _results(candidate: Candidate, query: str) -> list[Page]:
    """The pages with the results of those calls of a page that a query is about."""
    journal, page = candidate.journal, candidate.page
    wanted = _calls(journal, page, query) if len(page.calls) > 1 else {call.id for call in page.calls}
    if not wanted:
        return []
    first = journal.state.after(page.seq)
    found = []
    for later in journal.state.pages[first : first + _FURTHEST_RESULT]:
        answered = {result.call for result in later.results} & wanted
        if answered:
            found.append(later)
            wanted -= answered
        if not wanted or any(call.id in wanted for call in later.calls):  # some vendors use an id twice
            break
    return found


def _calls(journal: Journal, page: Page, query: str) -> set[str]:
    """The ids of the calls of a page that contain most of the query."""
    try:
        message = journal.message(page)
    except PageturnError:
        message = None
    if message is None:
        return set()
    sought = {word.lower() for term in terms(query) for word in (term, *parts_of(term))}
    counts = {call.id: sum(word in call.texts.lower() for word in sought) for call in message.tool_calls}
    most = max(counts.values(), default=0)
    return {id_ for id_, count in counts.items() if count == most}
