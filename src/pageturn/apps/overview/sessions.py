"""What each session is about, who ran it, how long it is, what it took and cost."""

from pageturn.apps.overview.beginnings import beginning
from pageturn.apps.overview.dollars import dollars_of
from pageturn.apps.overview.facts import model_of, said_at
from pageturn.journal.journal import Journal
from pageturn.stores import Broken
from pageturn.values.entries import Entry, Imported, TurnTaken
from pageturn.values.errors import PageturnError
from pageturn.values.json import Closed, from_json
from pageturn.values.usage import Usage, total_usage

_TITLE = 140  # characters


class Inside(Closed):
    """The totals of the entries of a session."""

    title: str  # how the first words of a person begin
    model: str
    client: str  # who ran it: the tool that recorded it, the gateway, or the library
    turns: int
    pages: int
    folds: int
    faults: int
    first: int  # when its first page was said, in milliseconds: in the recording, not when it was imported
    last: int  # and its last one
    input_tokens: int  # as the provider reported them, or else by our count of what was derived
    output_tokens: int
    is_reported: bool
    dollars: float | None  # None: no usage was reported, or the price is unknown


def inside_of(journal: Journal, *, internal: bool) -> Inside:
    """What is known of a session, from all of its entries."""
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
        first=(said_at(journal, pages[0]) if pages else journal.row.created_at) // 1_000,
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
