"""Prints what is in a session: its pages, search hits, its messages; and the result of a store check.

Only `doctor` and `vacuum` change a store, except that a search indexes sessions that were never searched before.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pageturn.apps.cli.answers import Health, HitLine, HitsFound, PageLine, PagesFound, Problem, SpaceFreed
from pageturn.apps.cli.prefixes import named, one_of
from pageturn.apps.cli.tables import bar, many, one_line, plain
from pageturn.apps.cli.terminal import answered, complain, hint, write_json
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
    row = _row(store.sessions(), wanted)
    require_scope(row, wanted.scope)
    journal = Journal(store, row)
    for what in damages(journal):
        complain(f"pageturn: {what}; run `pageturn doctor` for details")
    return journal


def _row(rows: Sequence[SessionRow], wanted: Wanted) -> SessionRow:
    """The row of a session; the beginning of an id names one of the scope."""
    if wanted.session is not None:
        require_session_id(wanted.session)
        exact = next((row for row in rows if row.id == wanted.session), None)
        if exact is not None:
            return exact
    here = [row for row in rows if row.scope == wanted.scope]
    scope = f"in scope {wanted.scope!r} " if wanted.scope is not None else ""
    others = len(rows) - len(here)
    apart = f"; {others:,} in other scopes, see --scope" if others else ""
    expected = f"a session {scope}of this store ({named([row.id for row in here])}{apart})"
    if wanted.session is None:
        if here:
            return here[0]
        raise InvalidInput("session", expected=expected, got=show(None))
    found = one_of("session", wanted.session, (row.id for row in here), expected=expected)
    return next(row for row in here if row.id == found)


def damages(journal: Journal) -> list[str]:
    """The entries of a session that cannot be read, and those that were rebuilt."""
    lost = journal.state.damage
    return [f"session {journal.row.id!r}: {lost.what}"] if lost is not None else [*journal.state.restored.values()]


def show_pages(console: Console, journal: Journal, *, internal: bool) -> None:
    """Print a table of the pages that are not undone or erased."""
    state = journal.state
    shown = [page for page in state.live_pages() if internal or page.visibility is not Visibility.INTERNAL]
    hidden = sum(1 for _ in state.live_pages()) - len(shown)
    lines = tuple(
        PageLine(
            page.handle, state.turn_of(page), page.role, state.kind(page), page.tokens, _first_words(journal, page)
        )
        for page in shown
    )
    if answered(PagesFound(journal.row.id, lines, hidden)):
        return
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("handle", no_wrap=True)
    table.add_column("turn", justify="right")
    table.add_column("role")
    table.add_column("kind")
    table.add_column("tokens", justify="right")
    table.add_column("begins", no_wrap=True, overflow="ellipsis", ratio=1)
    for each in lines:
        table.add_row(each.handle, str(each.turn), each.role, each.kind, f"{each.tokens:,}", plain(each.begins))
    console.print(table)
    if hidden:
        hint(console, f"{many(hidden, 'internal page')} hidden; use --internal to show them")


def show_hits(
    console: Console, journal: Journal, query: str, limit: int, *, everywhere: bool = False, internal: bool = False
) -> bool:
    """Print the best matches, if wanted in all sessions of the same scope; returns whether there were any."""
    found = _hits(journal, query, limit, everywhere=everywhere, internal=internal)
    if answered(found):
        return found.fault is None
    if found.fault is not None:
        console.print(plain(found.fault))
        return False
    for hit in found.hits:
        tool = f", {plain(hit.tool)}" if hit.tool else ""
        where = f"{plain(hit.session)} " if everywhere else ""
        times = f", {hit.count} times" if hit.count > 1 else ""
        console.print(f"{where}[bold]{hit.handle}[/] turn {hit.turn}, {hit.role}{tool}{times}")
        console.print(f"  {plain(hit.excerpt)}")
    for notice in found.notices:
        hint(console, one_line(notice))
    for what in found.unreadable:
        console.print(f"[red]{plain(what)}[/]")
    return True


def _hits(journal: Journal, query: str, limit: int, *, everywhere: bool, internal: bool) -> HitsFound:
    rows = journal.store.sessions() if everywhere else []
    within = reach(journal, None, [row.id for row in rows if row.scope == journal.row.scope])
    if isinstance(within, Fault):
        return HitsFound(fault=str(within))
    recall_tool = RecallTool().name if journal.state.has_handles else None  # if a model was ever offered it
    outcome, damages = recall(
        within.journals, query, limit, see_internal=lambda _: internal, recall_tool=recall_tool, unread=within.unread
    )
    if isinstance(outcome, Fault):
        return HitsFound(fault=str(outcome))
    hits = (
        HitLine(hit.session, hit.handle, hit.turn, hit.role, hit.tool, hit.count, hit.excerpt) for hit in outcome.hits
    )
    unreadable = (f"{page.handle if page is not None else ''} {fault}".strip() for _, page, fault in damages)
    return HitsFound(tuple(hits), notices=tuple(outcome.notices), unreadable=tuple(unreadable))


def show_health(console: Console, store: FullStore, *, wants_repair: bool = False) -> bool:
    """Check the store, repair it if that is wanted and needed, and print what is wrong; returns whether nothing is left."""
    health = _checked(console, store)
    if wants_repair and health.problems:
        repaired = repair(store)
        console.print(f"a copy of the store before the repair: {escape(repaired.backup)}", soft_wrap=True)
        for what in repaired.done:
            console.print(f"[green]repaired[/] {plain(what)}", soft_wrap=True)
        health = replace(_checked(console, store), backup=repaired.backup, repaired=repaired.done)
    answered(health)
    return not health.problems


def _checked(console: Console, store: FullStore) -> Health:
    rows = store.sessions()
    entries = sum(row.head - row.parent_seq for row in rows)
    problems = []
    with bar(console) as progress:
        task = progress.add_task("entries", total=entries)
        done: dict[str, int] = {}

        def advance(row: SessionRow, seq: int) -> None:
            done[row.id] = max(0, seq - row.parent_seq)
            progress.update(task, completed=sum(done.values()))

        for finding in examine(store, progress=advance, also=[examine_beliefs]):
            problems.append(Problem(finding.session, finding.what))
            progress.console.print(f"[red]{plain(finding.session or 'store')}[/]: {plain(finding.what)}")
    damaged = {problem.session for problem in problems}
    settled = sum(settle(store, row) for row in rows if row.id not in damaged)
    if settled:
        console.print(f"settled {many(settled, 'proposal')} that a crash had left staged")
    found = many(len(problems), "problem") if problems else "no problems"
    console.print(f"{many(len(rows), 'session')}, {entries:,} entries: {found} found", highlight=False)
    return Health(len(rows), entries, settled, tuple(problems))


def settle(store: Store, row: SessionRow) -> int:
    """Commit or reject what a crash left staged; returns the number of proposals."""
    staged = len(Journal(store, row).state.staged)
    if staged:
        Session.open(store, id=row.id, scope=row.scope)
    return staged


def show_vacuum(console: Console, store: Maintained, *, dry_run: bool) -> None:
    """Free unreferenced blobs, or print what would be freed."""
    freed = store.vacuum(dry_run=dry_run)
    if answered(SpaceFreed(freed.blobs, freed.bytes, is_done=not dry_run)):
        return
    verb = "would free" if dry_run else "freed"
    console.print(f"{verb} {freed.blobs} blobs, {freed.bytes:,} bytes")
    if dry_run and freed.blobs:
        hint(console, "use --yes to free them")


def export(console: Console, journal: Journal, *, internal: bool, mask: bool = False) -> bool:
    """Write the messages as JSON lines to standard output, all else to stderr; returns whether all could be read."""
    pages = [page for page in journal.state.live_pages() if internal or page.visibility == Visibility.ALL]
    is_whole = True
    with bar(console) as progress:
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


def _first_words(journal: Journal, page: Page) -> str:
    try:
        message = journal.message(page)
    except Damaged as error:
        return f"cannot be read: {error}"
    return "" if message is None else search_text(message)[:400]
