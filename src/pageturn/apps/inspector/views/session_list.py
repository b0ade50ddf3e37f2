"""The sessions of a store: what each is about, who ran it, how long it is, what it took and cost."""

from collections.abc import Callable
from typing import NamedTuple

from pageturn.apps.inspector.bills import dollars_of
from pageturn.apps.inspector.facts import model_of, said_at
from pageturn.apps.inspector.opened import Opened
from pageturn.apps.inspector.views.texts import beginning
from pageturn.journal.journal import Journal
from pageturn.stores import Broken, SessionRow
from pageturn.values.entries import Entry, Imported, TurnTaken
from pageturn.values.errors import PageturnError
from pageturn.values.json import Closed, from_json
from pageturn.values.usage import Usage, total_usage

_TITLE = 140  # characters


class SessionRowView(Closed):
    """A session in the list; what only its journal says is None until that was read."""

    id: str
    scope: str | None
    parent: str | None  # the session that it was forked from; what it shares with it is not counted here
    created: int  # milliseconds
    entries: int
    flaw: str = ""
    inside: "Inside | None" = None


class Inside(Closed):
    """The totals of the entries of a session."""

    title: str  # how the first words of a person begin
    model: str
    client: str  # who ran it: the tool that recorded it, the gateway, or the library
    turns: int
    pages: int
    folds: int
    faults: int
    last: int  # when the last page came, in milliseconds
    input_tokens: int  # as the provider reported them, or else by our count of what was derived
    output_tokens: int
    is_reported: bool
    dollars: float | None  # None: no usage was reported, or the price is unknown


class SessionsView(Closed):
    """The list; it is `complete` once the journals of all sessions were read."""

    store: str
    complete: bool
    sessions: tuple[SessionRowView, ...]


class _Known(NamedTuple):
    head: int
    inside: Inside | None
    flaw: str


class SessionList:
    """The list of a store; each session is looked into once, and again where it has grown."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def view(self, opened: Opened, has_time: Callable[[], bool]) -> SessionsView:
        """The list as it is, with a look into as many sessions as there is time for."""
        rows, complete = [], True
        for row in opened.rows():
            known = self._known.get(row.id)
            if known is None or known.head != row.head:
                if has_time():
                    known = self._known[row.id] = _look(opened, row)
                else:
                    complete = False
            rows.append(_row(row, known))
        return SessionsView(opened.place.store, complete, tuple(rows))


def _row(row: SessionRow, known: _Known | None) -> SessionRowView:
    return SessionRowView(
        id=row.id,
        scope=row.scope,
        parent=row.parent,
        created=row.created_at // 1_000,
        entries=row.head,
        flaw=row.flaw or (known.flaw if known is not None else ""),
        inside=known.inside if known is not None else None,
    )


def _look(opened: Opened, row: SessionRow) -> _Known:
    try:
        return _Known(row.head, _inside(Journal(opened.store, row), internal=opened.place.internal), "")
    except PageturnError as error:
        return _Known(row.head, None, str(error))


def _inside(journal: Journal, *, internal: bool) -> Inside:
    state = journal.state
    usages: list[Usage] = []
    derived, turns, client = 0, 0, None
    for _, record in journal.records():
        if isinstance(record, Broken):
            continue
        entry = from_json(Entry, record.body)
        if isinstance(entry, Imported):
            client = entry.tool
        if isinstance(entry, TurnTaken) and record.seq > journal.row.parent_seq:
            turns += 1
            usages += [entry.usage] if entry.usage is not None else []
            derived += entry.shown.tokens if entry.shown is not None else 0
    pages = [*state.live_pages()]
    used, model = total_usage(usages), model_of(journal)
    return Inside(
        title=next((beginning(journal, page, _TITLE, internal=internal) for page in pages if page.is_human), ""),
        model=model,
        client=client or client_of(journal),
        turns=turns,
        pages=len(pages),
        folds=len(state.folds),
        faults=len(state.faults),
        last=(said_at(journal, pages[-1]) if pages else journal.row.created_at) // 1_000,
        input_tokens=used.input_tokens if usages else derived,
        output_tokens=used.output_tokens,
        is_reported=bool(usages),
        dollars=dollars_of(usages, model) if usages else None,
    )


def client_of(journal: Journal) -> str:
    """Who ran a session that was not imported: the gateway, which records that with each answer, or the library."""
    state = journal.state
    answer = state.page(state.turns[-1]) if state.turns else None
    try:
        message = journal.message(answer) if answer is not None else None
    except PageturnError:
        return "library"
    recorded = (message.metadata or {}).get("gateway") if message is not None else None
    return f"gateway, {recorded.get('endpoint', 'unknown')}" if isinstance(recorded, dict) else "library"
