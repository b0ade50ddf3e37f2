"""The tools that read: what each takes, and what it answers.

The arguments of a tool are a value, and the schema that clients are shown is made from it.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from pageturn.apps.gateway.savings import account_of, lines
from pageturn.apps.mcp.answers import MOST_BYTES, Answer, failed, listed, quotation
from pageturn.apps.mcp.sessions import Sessions, shown_page, shown_pages
from pageturn.journal.journal import Journal
from pageturn.journal.reader import SessionReader
from pageturn.recall import resolving, search
from pageturn.recall.hits import Hit
from pageturn.stores import SessionRow
from pageturn.values.errors import InvalidInput, StoreError
from pageturn.values.faults import Fault, NoMatch
from pageturn.values.fencing import quoted
from pageturn.values.json import Closed
from pageturn.values.pages import Page
from pageturn.values.recall_tool import RecallTool
from pageturn.values.search_text import search_text

_HITS = 5
_MOST_SEARCHED = 200  # the newest sessions; a named one is always searched
_MOST_HITS = 1_000
_BEGINNING = 120  # shown characters of a page in a list
_MOST_TURNS = 500  # for which savings are computed while a model waits
_ROOM = 48_000  # of the estimate, as for `pageturn savings`
_OUR_SERVER = "pageturn"  # in the names that clients give our tools: mcp__pageturn__recall

_Id = Annotated[str, Meta(max_length=200)]
Session = Annotated[_Id | None, Meta(description="The id of a session, as browse lists them; by default the newest.")]
Handle = Annotated[str, Meta(description="The name of a page, such as p12-abcd.", max_length=40)]
Start = Annotated[int, Meta(description="Where to continue, as the last answer said.", ge=0, le=10**15)]


class Tool(NamedTuple):
    """A tool: its name, its description, the type of its arguments, and the function that answers."""

    name: str
    description: str
    arguments: type[Closed]
    answer: Callable[[Sessions, Any], Answer]
    proposes: bool = False  # otherwise it only reads


class Recall(Closed):
    """Arguments of `recall`."""

    query: Annotated[str, Meta(description="Words, names or a question.", min_length=1, max_length=2_000)]
    session: Annotated[_Id | None, Meta(description="Search only this session; by default all of them.")] = None
    start: Start = 0


class Resolve(Closed):
    """Arguments of `resolve`."""

    handle: Handle
    session: Session = None
    start: Annotated[int, Meta(description="The byte to begin at.", ge=0, le=10**15)] = 0


class Browse(Closed):
    """Arguments of `browse`."""

    session: Annotated[
        _Id | None, Meta(description="List the pages of this session; by default list the sessions.")
    ] = None
    start: Start = 0


class OfSession(Closed):
    """Arguments of a tool that lists something of a session."""

    session: Session = None
    start: Start = 0


class Explain(Closed):
    """Arguments of `explain`."""

    handle: Handle
    session: Session = None


class Savings(Closed):
    """Arguments of `savings`."""

    session: Session = None


def recall(sessions: Sessions, asked: Recall) -> Answer:
    """The pages that match, best first."""
    rows = sessions.rows() if asked.session is None else [sessions.row(asked.session)]
    journals, unread = _journals(sessions, rows[:_MOST_SEARCHED])
    if not journals:
        return failed(unread or NoMatch("there is no session yet"))
    wanted = min(4 * (asked.start + _HITS + 1), _MOST_HITS)
    outcome = search.recall(journals, asked.query, wanted, see_internal=lambda _: False).outcome
    if isinstance(outcome, Fault):
        return failed(outcome)
    hits = [hit for hit in outcome.hits if not _is_echo(hit)]
    if not hits:
        return failed(NoMatch())
    shown, end = hits[asked.start : asked.start + _HITS], asked.start + _HITS
    if not shown:
        return failed(NoMatch(f"no match from {asked.start:,} on, there are {len(hits):,}"))
    notes = [f"[more match; go on with start {end}]"] if len(hits) > end else []
    if len(rows) > _MOST_SEARCHED:
        notes.append(f"[{len(rows) - _MOST_SEARCHED:,} older sessions were not searched; name one to search it]")
    if outcome.damaged:
        notes.append(f"[these match too and cannot be read: {', '.join(outcome.damaged[:_HITS])}]")
    if unread:
        notes.append(f"[{quoted(unread)}]")
    return Answer("\n".join([*map(_excerpt, shown), *notes]))


def resolve(sessions: Sessions, asked: Resolve) -> Answer:
    """The text of a page, from a byte on."""
    journal = sessions.journal(asked.session)
    if shown_page(journal, asked.handle) is None:
        return _no_page(journal)
    found = resolving.resolve(journal, asked.handle, start=asked.start, length=MOST_BYTES)
    if isinstance(found, Fault):
        return failed(found)
    what = f"{found.size:,} bytes"
    if (found.start, found.end) != (0, found.size):
        what = f"bytes {found.start:,} to {found.end:,} of {found.size:,}"
    more = f"; go on with start {found.end}" if found.end < found.size else ""
    return Answer(quotation(f"{found.handle} {found.role}, {what}, session {journal.row.id}{more}", found.text))


def browse(sessions: Sessions, asked: Browse) -> Answer:
    """The sessions, or the pages of one."""
    if asked.session is None:
        rows = sessions.rows()
        if not rows:
            return failed(NoMatch("there is no session yet"))
        return listed((_session(sessions, row) for row in rows[asked.start :]), asked.start, len(rows))
    journal = sessions.journal(asked.session)
    pages = shown_pages(journal)
    if not pages:
        return failed(NoMatch("the session has no page"))
    return listed((_page(journal, page) for page in pages[asked.start :]), asked.start, len(pages))


def faults(sessions: Sessions, asked: OfSession) -> Answer:
    """What failed in a session, newest first."""
    journal = sessions.journal(asked.session)
    found = SessionReader(journal).faults()[::-1]
    if not found:
        return Answer(f"session {journal.row.id} has no fault")
    return listed((_fault(journal, record.entry) for record in found[asked.start :]), asked.start, len(found))


def explain(sessions: Sessions, asked: Explain) -> Answer:
    """How a page was last shown, and why."""
    journal = sessions.journal(asked.session)
    if shown_page(journal, asked.handle) is None:
        return _no_page(journal)
    return Answer(str(SessionReader(journal).explain(asked.handle)))


def savings(sessions: Sessions, asked: Savings) -> Answer:
    """What a session cost, and would have cost."""
    row = sessions.row(asked.session)
    turns = Journal(sessions.store, row).state.turn
    if turns > _MOST_TURNS:
        expected = f"a session of at most {_MOST_TURNS} turns (the command `pageturn savings` takes any)"
        raise InvalidInput("session", expected=expected, got=f"one of {turns:,}")
    account = account_of(sessions.store, row.id, room=_ROOM)
    if account is None:
        return failed(NoMatch("no provider reported usage for this session"))
    return Answer(quoted("\n".join([f"session {row.id}, model {account.model}", *lines([account])])))


def _journals(sessions: Sessions, rows: list[SessionRow]) -> tuple[list[Journal], str]:
    """The journals that can be read, and a notice about the others."""
    journals, unread = [], []
    for row in rows:
        try:
            journals.append(Journal(sessions.store, row))
        except StoreError:
            unread.append(row.id)
    return journals, f"{len(unread)} sessions cannot be read: {', '.join(unread[:_HITS])}" if unread else ""


def _is_echo(hit: Hit) -> bool:
    """Whether a hit is an earlier call or answer of one of our own tools."""
    return hit.tool is not None and (hit.tool == RecallTool().name or _OUR_SERVER in hit.tool)


def _excerpt(hit: Hit) -> str:
    there = f"; start {hit.start} opens it there" if hit.start else ""
    return quotation(
        f"{hit.handle} {hit.role}, {hit.size:,} bytes, session {hit.session}, an excerpt{there}", hit.excerpt
    )


def _no_page(journal: Journal) -> Answer:
    return failed(
        NoMatch(f"no page of session {journal.row.id} has this handle; recall and browse say whose a handle is")
    )


def _session(sessions: Sessions, row: SessionRow) -> str:
    heading = f"session {row.id}, begun {_time(row.created_at)}"
    try:
        journal = Journal(sessions.store, row)
    except StoreError as error:
        return quotation(f"{heading}, cannot be read", str(error))
    pages = shown_pages(journal)
    first = next((page for page in pages if page.is_human), None)
    heading = f"{heading}, turns: {journal.state.turn:,}, pages: {len(pages):,}"
    return (
        quotation(f"{heading}, begins with", _beginning(journal, first))
        if first is not None
        else quotation(heading, "")
    )


def _page(journal: Journal, page: Page) -> str:
    tool = journal.state.tool_of(page)
    kind = journal.state.kind(page)
    # the name of a tool comes from the client, so it is part of the quoted text and not of the heading
    words = f"{f'[{tool}] ' if tool else ''}{_beginning(journal, page)}"
    return quotation(f"{page.handle} {page.role}, {kind}, {page.size:,} bytes, begins with", words)


def _beginning(journal: Journal, page: Page) -> str:
    try:
        message = journal.message(page)
    except StoreError as error:
        return f"(cannot be read: {error})"
    words = " ".join(search_text(message)[: 4 * _BEGINNING].split()) if message is not None else "(erased)"
    return words if len(words) <= _BEGINNING else f"{words[:_BEGINNING]} ..."


def _fault(journal: Journal, entry: Any) -> str:
    page = journal.state.page(entry.page) if entry.page is not None else None
    about = f" {page.handle}" if page is not None else ""
    return f"turn {entry.turn}{about}: {quoted(str(entry.fault))}"


def _time(micros: int) -> str:
    try:
        return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "nobody knows when"


def _reading() -> Iterator[Tool]:
    yield Tool(
        "recall",
        "Search everything that was said in earlier and current sessions: messages, tool calls and their results. "
        "Returns excerpts with the handle of each page and its session; resolve returns the whole page.",
        Recall,
        recall,
    )
    yield Tool("resolve", "The original text of a page, by its handle and session.", Resolve, resolve)
    yield Tool("browse", "List the sessions, newest first; or the pages of one session, oldest first.", Browse, browse)
    yield Tool(
        "faults", "What was lost, fetched again or could not be read in a session, newest first.", OfSession, faults
    )
    yield Tool("explain", "How a page was shown to the model in the last context, and why.", Explain, explain)
    yield Tool(
        "savings", "What a session cost, and an estimate of what it would have cost otherwise.", Savings, savings
    )


READING = tuple(_reading())
