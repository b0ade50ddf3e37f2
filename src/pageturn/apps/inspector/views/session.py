"""One session: a map of pages by turns, what each turn took and cost compared with two other methods, and what happened on the way.

Turns and pages come as columns: lists of one length, since there may be ten thousand of them.
"""

from collections.abc import Sequence

from pageturn.apps.inspector.bills import Bill, Bills, bills_of
from pageturn.apps.inspector.history import Move, policy_words
from pageturn.apps.inspector.opened import ViewedSession
from pageturn.apps.overview.beginnings import beginning
from pageturn.apps.overview.dollars import price_for
from pageturn.apps.overview.facts import model_of
from pageturn.apps.overview.sessions import client_of
from pageturn.values.json import Closed
from pageturn.values.model_prices import AS_OF
from pageturn.values.pages import Page, ResidencyLevel

_TRIM_TOKENS = 32_000  # where the session has no budget of its own: that of the tables in the README
_BEGINNING = 160  # characters
_MOST_ROWS = 300
_NOWHERE = 4
_CODES = {level: code for code, level in enumerate(ResidencyLevel)}


class BillColumns(Closed):
    """Requests, one for each turn: tokens by what the provider does with them, and the cost in tokens of fresh input."""

    fresh: tuple[int, ...]
    cached: tuple[int, ...]
    written: tuple[int, ...]
    output: tuple[int, ...]
    cost: tuple[float, ...]


class TurnColumns(Closed):
    """The turns: number n is at place n - 1."""

    answer: tuple[str, ...]  # the handle of the answer
    at: tuple[int, ...]  # milliseconds
    tokens: tuple[int | None, ...]  # of the context by our count; None where none was derived
    budget: tuple[int | None, ...]
    fold: tuple[str | None, ...]  # why it folded; None where it did not
    undone: tuple[bool, ...]
    reported: tuple[bool, ...]  # whether `sent` is what the provider said, or else an estimate
    sent: BillColumns
    everything: BillColumns
    trim: BillColumns


class PageColumns(Closed):
    """The pages, in order. `moves` has for each page a list of turn, level, turn, level, ...; levels are places in `levels`."""

    handle: tuple[str, ...]
    role: tuple[str, ...]
    kind: tuple[str, ...]
    tool: tuple[str, ...]
    tokens: tuple[int, ...]
    turn: tuple[int, ...]
    counts: tuple[bool, ...]
    moves: tuple[tuple[int, ...], ...]


class EventView(Closed):
    """Something besides the conversation, after a turn."""

    turn: int
    kind: str
    text: str
    page: str | None = None


class PriceView(Closed):
    """The list price by which costs are made dollars."""

    model: str
    dollars_per_million: float  # of fresh input
    as_of: str
    source: str


class SessionView(Closed):
    """A session."""

    id: str
    title: str
    scope: str | None
    parent: str | None
    created: int
    client: str
    model: str
    policy: str
    head: int  # the last entry, by which a change is noticed
    levels: tuple[str, ...]
    trim_tokens: int  # the budget of the rolling trim
    price: PriceView | None
    turns: TurnColumns
    pages: PageColumns
    events: tuple[EventView, ...]
    damage: str = ""


class PageRow(Closed):
    """How a page begins."""

    handle: str
    begins: str


class PageRows(Closed):
    """A stretch of the pages of a session, by their places."""

    start: int
    rows: tuple[PageRow, ...]


def session_view(viewed: ViewedSession, trim_tokens: int | None = None) -> SessionView:
    """The session as it is now."""
    history, reader, state = viewed.history, viewed.reader, viewed.journal.state
    turns = history.turns
    budgets = [taken.shown.budget_tokens for taken in turns if taken.shown is not None]
    trim = trim_tokens or (budgets[-1] if budgets else _TRIM_TOKENS)
    model = model_of(viewed.journal)
    price = price_for(model)
    bills = bills_of(history, trim)
    info = reader.info
    pages = state.pages
    human = next((page for page in pages if page.is_human and page.counts), None)
    title = beginning(viewed.journal, human, _BEGINNING, internal=viewed.is_internal_shown) if human is not None else ""
    return SessionView(
        id=reader.id,
        title=title,
        scope=reader.scope,
        parent=info.parent,
        created=_at(viewed, pages[0]) if pages else round(info.created.timestamp() * 1_000),
        client=history.client or client_of(viewed.journal),
        model=model,
        policy=policy_words(state.policy),
        head=reader.head,
        levels=(*map(str, ResidencyLevel), "nowhere"),
        trim_tokens=trim,
        price=PriceView(model, price.input, AS_OF, price.source) if price is not None else None,
        turns=_turn_columns(viewed, bills),
        pages=_page_columns(viewed),
        events=tuple(
            EventView(each.turn, each.kind, each.text, _handle(viewed, each.page) if each.page else None)
            for each in history.events
        ),
        damage=state.damage.what if state.damage is not None else "",
    )


def _turn_columns(viewed: ViewedSession, bills: Bills) -> TurnColumns:
    state, turns = viewed.journal.state, viewed.history.turns
    return TurnColumns(
        answer=tuple(_handle(viewed, taken.page) for taken in turns),
        at=tuple(_at(viewed, state.page(taken.page)) for taken in turns),
        tokens=tuple(taken.shown.tokens if taken.shown is not None else None for taken in turns),
        budget=tuple(taken.shown.budget_tokens if taken.shown is not None else None for taken in turns),
        fold=tuple(
            taken.shown.fold.reason.because if taken.shown is not None and taken.shown.fold is not None else None
            for taken in turns
        ),
        undone=tuple(page is None or page.undone for taken in turns for page in (state.page(taken.page),)),
        reported=bills.is_reported,
        sent=_columns(bills.sent),
        everything=_columns(bills.everything),
        trim=_columns(bills.trim),
    )


def _page_columns(viewed: ViewedSession) -> PageColumns:
    state, history = viewed.journal.state, viewed.history
    pages = state.pages
    return PageColumns(
        handle=tuple(page.handle for page in pages),
        role=tuple(str(page.role) for page in pages),
        kind=tuple(str(state.kind(page)) for page in pages),
        tool=tuple(_tools(pages)),
        tokens=tuple(page.tokens for page in pages),
        turn=tuple(history.turn_of(page) for page in pages),
        counts=tuple(page.counts for page in pages),
        moves=tuple(_flat(history.moves.get(page.seq, ())) for page in pages),
    )


def page_rows(viewed: ViewedSession, start: int, count: int) -> PageRows:
    """How some pages begin, by their places."""
    some = viewed.journal.state.pages[start : start + min(count, _MOST_ROWS)]
    internal = viewed.is_internal_shown
    rows = (PageRow(page.handle, beginning(viewed.journal, page, _BEGINNING, internal=internal)) for page in some)
    return PageRows(start, tuple(rows))


def _handle(viewed: ViewedSession, seq: int) -> str:
    page = viewed.journal.state.page(seq)
    return page.handle if page is not None else f"p{seq}"


def _at(viewed: ViewedSession, page: Page | None) -> int:
    return viewed.history.time_of(page) // 1_000 if page is not None else 0


def _tools(pages: Sequence[Page]) -> list[str]:
    """The tool that each page calls, or whose result it holds; the first of several."""
    names: dict[str, str] = {}
    found = []
    for page in pages:
        names.update({call.id: call.name for call in page.calls})
        called = (names.get(result.call, "") for result in page.results)
        found.append(next(called, "") if page.results else next((call.name for call in page.calls), ""))
    return found


def _flat(moves: Sequence[Move]) -> tuple[int, ...]:
    return tuple(
        number for move in moves for number in (move.turn, _CODES[move.level] if move.level is not None else _NOWHERE)
    )


def _columns(bills: Sequence[Bill]) -> BillColumns:
    fresh, cached, written, output, cost = zip(*bills, strict=True) if bills else ((), (), (), (), ())
    return BillColumns(fresh, cached, written, output, cost)
