"""Recall over one session or all of them, as `pageturn recall` does it."""

from pageturn.apps.inspector.opened import Opened
from pageturn.journal.journal import Journal
from pageturn.journal.state import SessionState
from pageturn.recall.hits import Hit, Recalled
from pageturn.recall.search import recall
from pageturn.values.errors import InvalidInput, PageturnError
from pageturn.values.json import Closed
from pageturn.values.recall_tool import RecallTool

_MOST_SESSIONS = 200  # the newest
_MOST_HITS = 50
_LONGEST_QUERY = 2_000


class HitView(Closed):
    """A page that matched."""

    session: str
    handle: str
    turn: int
    role: str
    kind: str
    tool: str | None
    at: int
    score: float
    count: int  # pages that say exactly this
    shown: str  # the level at which the model last saw it
    excerpt: str


class SearchView(Closed):
    """What a search found, the best first."""

    query: str
    session: str | None
    hits: tuple[HitView, ...]
    outcome: str  # why there is nothing, where there is nothing
    notices: tuple[str, ...]


def search_view(opened: Opened, query: str, session: str | None) -> SearchView:
    """The pages that match, of one session or of the newest ones."""
    if len(query) > _LONGEST_QUERY:
        raise InvalidInput("q", expected=f"a query of at most {_LONGEST_QUERY:,} characters", got=f"{len(query):,}")
    if not query.strip():
        return SearchView(query, session, (), "", ())
    rows = [opened.row(session)] if session is not None else opened.rows()
    journals, notices = [], []
    for row in rows[:_MOST_SESSIONS]:
        try:
            journals.append(Journal(opened.store, row))
        except PageturnError as error:
            notices.append(f"session {row.id} was not searched: {error}")
    if len(rows) > _MOST_SESSIONS:
        notices.append(f"{len(rows) - _MOST_SESSIONS:,} older sessions were not searched")
    if not journals:
        return SearchView(query, session, (), "no session could be searched", tuple(notices))
    internal = opened.place.internal
    by_id = {journal.row.id: journal for journal in journals}
    outcome, damages = recall(
        journals, query, _MOST_HITS, see_internal=lambda _: internal, recall_tool=RecallTool().name
    )
    notices += [f"{each.session}: {each.fault}" for each in damages]
    if not isinstance(outcome, Recalled):
        return SearchView(query, session, (), str(outcome), tuple(notices))
    hits = tuple(
        HitView(
            session=hit.session,
            handle=hit.handle,
            turn=_turn(opened, hit, by_id[hit.session].state),
            role=str(hit.role),
            kind=str(hit.kind),
            tool=hit.tool,
            at=round(hit.time.timestamp() * 1_000),
            score=hit.score,
            count=hit.count,
            shown=str(hit.shown) if hit.shown is not None else "",
            excerpt=hit.excerpt,
        )
        for hit in outcome.hits
    )
    return SearchView(query, session, hits, "", (*notices, *outcome.notices))


def _turn(opened: Opened, hit: Hit, state: SessionState) -> int:
    """The turn of a hit as the other views count it: with those that were undone."""
    if state.turn == len(state.turns):
        return min(hit.turn, state.turn)
    viewed = opened.session(hit.session)
    return min(viewed.history.turn_of(viewed.page(hit.handle)), state.turn)
