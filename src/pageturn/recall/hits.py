"""Hits: what a search shows of the pages that it found, within an optional token budget."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from pageturn.journal.journal import Journal
from pageturn.journal.lookup import Damage
from pageturn.recall.excerpts import excerpt
from pageturn.recall.filters import SearchFilter
from pageturn.recall.ranking import Ranked
from pageturn.values.errors import StoreError
from pageturn.values.faults import BackendError
from pageturn.values.json import Closed
from pageturn.values.messages import Role
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.search_text import search_text

_FURTHEST_NEIGHBOUR = 16  # pages; those between are undone or hidden


class Hit(Closed):
    """A page that matched, and where it comes from."""

    handle: str
    session: str
    excerpt: str
    score: float
    turn: int
    time: datetime
    role: Role
    kind: PageKind
    tool: str | None
    size: int
    digest: str
    shown: ResidencyLevel | None = None  # the level at which the model last saw it
    start: int = 0  # the byte of the page at which its excerpt begins: `resolve(handle, start=...)` reads on from there
    count: int = 1  # how many pages found have exactly this text; the hit is the newest of them
    before: str | None = None  # the handle of the page before it
    after: str | None = None  # and of the one after it


class Recalled(Closed):
    """What a search found, the best first."""

    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # handles of pages that match equally well and cannot be read
    left_out: int = 0  # hits without room in the budget
    notices: tuple[str, ...] = ()  # why the search was limited


def hit_of(ranked: Ranked, query: str, filter_by: SearchFilter) -> Hit | Damage | None:
    """A hit, the damage if its page cannot be read, or None if its text is gone."""
    journal, page = ranked.candidate.journal, ranked.candidate.page
    try:
        message = journal.message(page)
    except StoreError as error:
        return Damage(journal.row.id, page, BackendError.of(error))
    if message is None:
        return None
    shown = excerpt(search_text(message), query, ranked.candidate.passage)
    state = journal.state
    before, after = (_neighbour(journal, page, step, filter_by) for step in (-1, 1))
    return Hit(
        handle=page.handle,
        session=journal.row.id,
        excerpt=shown.text,
        score=round(ranked.score, 3),
        turn=state.turn_of(page),
        time=datetime.fromtimestamp(page.at / 1_000_000, UTC),
        role=page.role,
        kind=state.kind(page),
        tool=state.tool_of(page),
        size=page.size,
        digest=page.digest,
        shown=state.level_of(page) if state.shown is not None else None,
        start=shown.start,
        count=ranked.copies,
        before=before,
        after=after,
    )


def _neighbour(journal: Journal, page: Page, step: int, filter_by: SearchFilter) -> str | None:
    """The handle of the next page in a direction that may be shown."""
    return next((each.handle for each in _from(journal, page, step) if filter_by.may_show(journal, each)), None)


def _from(journal: Journal, page: Page, step: int) -> Iterator[Page]:
    pages, at = journal.state.pages, journal.state.after(page.seq) - 1
    places = range(at + step, at + step * (_FURTHEST_NEIGHBOUR + 1), step)
    return (pages[place] for place in places if 0 <= place < len(pages))


def within(found: Recalled, budget_tokens: int, count: Callable[[str], int]) -> Recalled:
    """The best hits whose excerpts take at most this many tokens together, in their order.

    A hit that is too long is skipped in favour of shorter ones after it. The best skipped hit is then cut to the remaining room; the
    first hit stays in any case.
    """
    room = budget_tokens
    shown: dict[int, str] = {}
    for at, hit in enumerate(found.hits):
        if (tokens := count(hit.excerpt)) <= room:
            shown[at] = hit.excerpt
            room -= tokens
        elif not at:
            break  # the best skipped one is cut
    first = next((at for at in range(len(found.hits)) if at not in shown), None)
    if first is not None:
        words = _cut(found.hits[first].excerpt, room, count)
        if words or not first:
            shown[first] = words
    hits = tuple(msgspec.structs.replace(found.hits[at], excerpt=shown[at]) for at in sorted(shown))
    return Recalled(hits, found.damaged, len(found.hits) - len(hits), found.notices)


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """The first words up to a number of tokens, with a mark that there are more."""
    if count(text) <= tokens:
        return text
    words = text.split()
    few = bisect_right(range(len(words)), tokens, key=lambda at: count(" ".join([*words[: at + 1], "..."])))
    return " ".join([*words[:few], "..."]) if few else ""
