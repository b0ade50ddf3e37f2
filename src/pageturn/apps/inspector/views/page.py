"""One page: its text at each level, how it was shown over the turns and why, and which later calls name what it says."""

from collections.abc import Iterator

from pageturn.apps.inspector.opened import ViewedSession
from pageturn.apps.inspector.views.texts import PIECE, PartView, parts_of
from pageturn.context.forms import offers
from pageturn.tokens.counters import counter_for
from pageturn.values.context import REASONS
from pageturn.values.entries import Faulted
from pageturn.values.errors import InvalidInput, PageturnError, StoreError
from pageturn.values.identifiers import names_in
from pageturn.values.json import Closed
from pageturn.values.messages import Visibility
from pageturn.values.pages import Page, ResidencyLevel
from pageturn.values.search_text import search_text
from pageturn.values.units import units_of

_MOST_LATER = 4_000  # pages that are looked through for uses
_MOST_USES = 100
_MOST_NAMES = 6  # of one use
_MOST_READ = 200_000  # characters of the page whose names are looked for


class LevelView(Closed):
    """The page's unit as it is shown at a level: a call and its results are one."""

    level: str
    tokens: int
    parts: tuple[PartView, ...]


class MoveView(Closed):
    """How it was shown from a turn on."""

    turn: int
    level: str
    why: str


class UseView(Closed):
    """A later call that names something of the page."""

    turn: int
    page: str
    tool: str
    names: tuple[str, ...]
    shown: str  # the level at which the page was shown then


class PageView(Closed):
    """A page."""

    session: str
    handle: str
    place: int  # among the pages
    before: str | None
    after: str | None
    role: str
    kind: str
    tool: str | None
    turn: int
    last: int  # the number of the last turn
    at: int
    tokens: int
    size: int
    floor: str  # the lowest level that it may sink to
    state: str  # counts, undone, erased or replaced
    why: str  # how it was shown in the last context, in a sentence
    unit: tuple[str, ...]
    start: int  # the character at which the pieces of text begin
    parts: tuple[PartView, ...]  # the page itself
    levels: tuple[LevelView, ...]
    moves: tuple[MoveView, ...]
    faults: tuple[str, ...]
    uses: tuple[UseView, ...]


def page_view(viewed: ViewedSession, handle: str, start: int = 0) -> PageView:
    """A page, with its text from a character on."""
    page = viewed.page(handle)
    journal, state = viewed.journal, viewed.journal.state
    place = state.after(page.seq) - 1
    unit = _unit(viewed, page)
    flaw = ""
    parts: tuple[PartView, ...] = ()
    try:
        if (message := journal.message(page)) is not None:
            parts = parts_of(message, internal=viewed.is_internal_shown, start=start, piece=PIECE)
    except StoreError as error:
        flaw = str(error)
    kind = state.kind(page)
    return PageView(
        session=viewed.reader.id,
        handle=page.handle,
        place=place,
        before=state.pages[place - 1].handle if place else None,
        after=state.pages[place + 1].handle if place + 1 < len(state.pages) else None,
        role=str(page.role),
        kind=str(kind),
        tool=state.tool_of(page),
        turn=viewed.history.turn_of(page),
        last=len(viewed.history.turns),
        at=viewed.history.time_of(page) // 1_000,
        tokens=page.tokens,
        size=page.size,
        floor=str(kind.min_fidelity),
        state=_state(page),
        why=flaw or _why(viewed, page),
        unit=tuple(each.handle for each in unit),
        start=start,
        parts=parts,
        levels=tuple(_levels(viewed, unit)) if not start else (),
        moves=tuple(
            MoveView(move.turn, str(move.level) if move.level is not None else "nowhere", REASONS[move.why])
            for move in viewed.history.moves.get(page.seq, ())
        ),
        faults=tuple(_faults(viewed, page)),
        uses=tuple(_uses(viewed, page)) if not start else (),
    )


def _unit(viewed: ViewedSession, page: Page) -> tuple[Page, ...]:
    state = viewed.journal.state
    return next((unit for unit in units_of(state.live_pages(), state.turns) if page in unit), (page,))


def _state(page: Page) -> str:
    flags = (("erased", page.erased), ("undone", page.undone), ("replaced", page.replaced))
    return next((name for name, holds in flags if holds), "counts")


def _why(viewed: ViewedSession, page: Page) -> str:
    if not page.counts:
        return f"it is {_state(page)}, and no context has it any more"
    try:
        return str(viewed.reader.explain(page.handle))
    except InvalidInput as error:
        return f"no context that was answered has it yet: {error.got}"


def _levels(viewed: ViewedSession, unit: tuple[Page, ...]) -> Iterator[LevelView]:
    """The forms that a fold could show."""
    if not viewed.is_internal_shown and any(each.visibility is Visibility.INTERNAL for each in unit):
        return
    try:
        if not all(each.counts for each in unit) or any(viewed.journal.message(each) is None for each in unit):
            return
        forms = offers(viewed.journal, unit, counter_for(viewed.reader.model))
    except PageturnError:
        return  # the page says what is wrong with it
    for level in ResidencyLevel:
        if level in forms:
            parts = tuple(
                part for message in forms[level].messages for part in parts_of(message, internal=True, piece=PIECE)
            )
            yield LevelView(str(level), forms[level].tokens, parts)


def _faults(viewed: ViewedSession, page: Page) -> Iterator[str]:
    for record in viewed.reader.faults():
        entry: Faulted = record.entry
        if entry.page == page.seq:
            yield f"turn {entry.turn}: {entry.fault}" + (f" ({entry.detail})" if entry.detail else "")


def _uses(viewed: ViewedSession, page: Page) -> Iterator[UseView]:
    """Later calls that name what the page was the last to say before them, or says too."""
    journal, state = viewed.journal, viewed.journal.state
    names = _names(viewed, page)
    if not names:
        return
    found = 0
    later = state.pages[state.after(page.seq) : state.after(page.seq) + _MOST_LATER]
    for each in later:
        if not each.calls or not each.counts:
            continue
        try:
            message = journal.message(each, asks_again=False)
        except StoreError:
            continue
        for call in message.tool_calls if message is not None else ():
            named = [name for name in names_in(call.arguments) if name in names]
            if named:
                turn = viewed.history.turn_of(each)
                move = viewed.history.level_at(page.seq, turn)
                shown = str(move.level) if move is not None and move.level is not None else "nowhere"
                yield UseView(turn, each.handle, call.name, tuple(named[:_MOST_NAMES]), shown)
                found += 1
                if found == _MOST_USES:
                    return


def _names(viewed: ViewedSession, page: Page) -> frozenset[str]:
    if page.visibility is Visibility.INTERNAL and not viewed.is_internal_shown:
        return frozenset()
    try:
        message = viewed.journal.message(page)
    except StoreError:
        return frozenset()
    return frozenset(names_in(search_text(message)[:_MOST_READ])) if message is not None else frozenset()
