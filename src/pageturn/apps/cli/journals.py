"""Prints the contents of a store: sessions, pages, search hits, and the result of a store check.

Only `doctor` and `vacuum` change a store, except that a search indexes sessions that were never searched before.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from pageturn.apps.cli.terminal import complain, write_json
from pageturn.journal.doctor import examine
from pageturn.journal.journal import Journal, require_scope
from pageturn.journal.repair import repair
from pageturn.recall.reach import reach
from pageturn.recall.search import recall
from pageturn.routing.stored_state import examine_beliefs
from pageturn.session import Session
from pageturn.stores import FullStore, Maintained, SessionRow, Store, is_postgres, open_store
from pageturn.values.errors import Damaged, InvalidInput, StoreError, show
from pageturn.values.faults import Fault
from pageturn.values.ids import require_session_id
from pageturn.values.json import to_json
from pageturn.values.masking import masked_json
from pageturn.values.messages import Visibility
from pageturn.values.pages import Page
from pageturn.values.recall_tool import RecallTool
from pageturn.values.search_text import search_text


@contextmanager
def opened(path: str) -> Iterator[FullStore]:
    """An existing store; a command that reads never creates one."""
    file = path.removeprefix("sqlite:").removeprefix("//").partition("?")[0]
    if not is_postgres(path) and not Path(file).is_file():
        raise InvalidInput("store", expected="the path of an existing store", got=f"{path!r}, which does not exist")
    with closing(open_store(path, create=False)) as store:
        yield store


class Wanted(NamedTuple):
    """The session a command was asked for: an id, or the newest one; in a scope, or in none."""

    session: str | None
    scope: str | None = None


def journal_of(store: Store, wanted: Wanted) -> Journal:
    """The journal of a session; without an id, of the newest session in the scope."""
    rows = store.sessions()
    if wanted.session is not None:
        require_session_id(wanted.session)
    in_scope = [row for row in rows if row.scope == wanted.scope]
    found = next((row for row in rows if row.id == wanted.session), None) if wanted.session else None
    row = found if wanted.session is not None else in_scope[0] if in_scope else None
    if row is None:
        known = ", ".join(row.id for row in in_scope[:5]) or "none"
        scope = f"in scope {wanted.scope!r} " if wanted.scope is not None else ""
        others = len(rows) - len(in_scope)
        apart = f"; {others} in other scopes, see --scope" if others else ""
        expected = f"a session {scope}of this store ({known}{apart})"
        raise InvalidInput("session", expected=expected, got=show(wanted.session))
    require_scope(row, wanted.scope)
    journal = Journal(store, row)
    for what in damages(journal):
        complain(f"pageturn: {what}; run `pageturn doctor` for details")
    return journal


def damages(journal: Journal) -> list[str]:
    """The entries of a session that cannot be read, and those that were rebuilt."""
    lost = journal.state.damage
    return [f"session {journal.row.id!r}: {lost.what}"] if lost is not None else [*journal.state.restored.values()]


def show_sessions(console: Console, store: Store) -> None:
    """Print a table of the sessions, newest first."""
    table = Table(box=None, pad_edge=False)
    for name in ("session", "started", "scope", "parent"):
        table.add_column(name)
    for name in ("pages", "turns", "faults"):
        table.add_column(name, justify="right")
    for row in store.sessions():
        try:
            state = Journal(store, row).state
        except StoreError as error:
            complain(f"pageturn: {error}; run `pageturn doctor` for details")
            continue
        counts = (sum(1 for _ in state.live_pages()), len(state.turns), len(state.faults))
        cells = (row.id, _time(row.created_at), plain(row.scope or ""), row.parent or "")
        table.add_row(*cells, *(f"{count:,}" for count in counts))
    console.print(table)


def show_pages(console: Console, journal: Journal, *, internal: bool) -> None:
    """Print a table of the pages that are not undone or erased."""
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("handle", no_wrap=True)
    table.add_column("turn", justify="right")
    table.add_column("role")
    table.add_column("kind")
    table.add_column("tokens", justify="right")
    table.add_column("begins", no_wrap=True, overflow="ellipsis", ratio=1)
    hidden = 0
    for page in journal.state.live_pages():
        if page.visibility == Visibility.INTERNAL and not internal:
            hidden += 1
            continue
        cells = (page.handle, str(journal.state.turn_of(page)), page.role, journal.state.kind(page), f"{page.tokens:,}")
        table.add_row(*cells, plain(_first_words(journal, page)))
    console.print(table)
    if hidden:
        console.print(f"[dim]{hidden} internal pages are hidden; use --internal to show them[/]")


def show_hits(
    console: Console, journal: Journal, query: str, limit: int, *, everywhere: bool = False, internal: bool = False
) -> bool:
    """Print the best matches, if wanted in all sessions of the same scope; returns whether there were any."""
    rows = journal.store.sessions() if everywhere else []
    within = reach(journal, None, [row.id for row in rows if row.scope == journal.row.scope])
    if isinstance(within, Fault):
        console.print(plain(str(within)))
        return False
    recall_tool = RecallTool().name if journal.state.has_handles else None  # if a model was ever offered it
    outcome, damages = recall(
        within.journals, query, limit, see_internal=lambda _: internal, recall_tool=recall_tool, unread=within.unread
    )
    if isinstance(outcome, Fault):
        console.print(plain(str(outcome)))
        return False
    for hit in outcome.hits:
        tool = f", {plain(hit.tool)}" if hit.tool else ""
        where = f"{plain(hit.session)} " if everywhere else ""
        times = f", {hit.count} times" if hit.count > 1 else ""
        console.print(f"{where}[bold]{hit.handle}[/] turn {hit.turn}, {hit.role}{tool}{times}")
        console.print(f"  {plain(hit.excerpt)}")
    for notice in outcome.notices:
        console.print(f"[dim]{plain(notice)}[/]")
    for _, page, fault in damages:
        console.print(f"[red]{page.handle if page is not None else ''}[/] {plain(str(fault))}")
    return True


def show_health(console: Console, store: FullStore) -> bool:
    """Check the store and print what is wrong; returns whether no problems were found."""
    rows = store.sessions()
    findings = []
    with _bar(console) as progress:
        task = progress.add_task("entries", total=sum(row.head - row.parent_seq for row in rows))
        done: dict[str, int] = {}

        def advance(row: SessionRow, seq: int) -> None:
            done[row.id] = max(0, seq - row.parent_seq)
            progress.update(task, completed=sum(done.values()))

        for finding in examine(store, progress=advance, also=[examine_beliefs]):
            findings.append(finding)
            progress.console.print(f"[red]{plain(finding.session or 'store')}[/]: {plain(finding.what)}")
    damaged = {finding.session for finding in findings}
    settled = sum(settle(store, row) for row in rows if row.id not in damaged)
    if settled:
        console.print(f"settled {settled} proposals that were left staged by a crash")
    console.print(
        f"{len(rows):,} {'session' if len(rows) == 1 else 'sessions'}, {sum(row.head - row.parent_seq for row in rows):,} entries: ",
        end="",
    )
    console.print("no problems found" if not findings else f"{len(findings)} problems found")
    return not findings


def show_repair(console: Console, store: Maintained) -> None:
    """Repair the store and print what was done."""
    repaired = repair(store)
    console.print(f"a copy of the store before the repair: {escape(repaired.backup)}", soft_wrap=True)
    for what in repaired.done:
        console.print(f"[green]repaired[/] {plain(what)}", soft_wrap=True)


def settle(store: Store, row: SessionRow) -> int:
    """Commit or reject what a crash left staged; returns the number of proposals."""
    staged = len(Journal(store, row).state.staged)
    if staged:
        Session.open(store, id=row.id, scope=row.scope)
    return staged


def show_vacuum(console: Console, store: Maintained, *, dry_run: bool) -> None:
    """Free unreferenced blobs, or print what would be freed."""
    freed = store.vacuum(dry_run=dry_run)
    verb = "would free" if dry_run else "freed"
    console.print(f"{verb} {freed.blobs} blobs, {freed.bytes:,} bytes")
    if dry_run and freed.blobs:
        console.print("[dim]use --yes to free them[/]")


def export(console: Console, journal: Journal, *, internal: bool, mask: bool = False) -> bool:
    """Write the messages as JSON lines to standard output, all else to stderr; returns whether all could be read."""
    pages = [page for page in journal.state.live_pages() if internal or page.visibility == Visibility.ALL]
    is_whole = True
    with _bar(console) as progress:
        for page in progress.track(pages, description="messages"):
            try:
                message = journal.message(page)
            except StoreError as error:
                complain(f"pageturn: {page.handle} was skipped: {error}")
                is_whole = False
                continue
            if message is not None:
                write_json(masked_json(to_json(message)) if mask else to_json(message))
    return is_whole


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _first_words(journal: Journal, page: Page) -> str:
    try:
        message = journal.message(page)
    except Damaged as error:
        return f"cannot be read: {error}"
    return "" if message is None else search_text(message)[:400]


def plain(text: str) -> str:
    """A text from a journal on one line, with rich markup escaped and control characters removed."""
    return escape(" ".join("".join(letter if letter.isprintable() else " " for letter in text).split()))


def _time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")
