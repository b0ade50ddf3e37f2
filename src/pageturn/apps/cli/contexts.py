"""Shows the next context of a session, why each page has its level, and what a fold changed. Nothing is written."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from shlex import quote
from typing import NamedTuple, TypeVar

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.table import Table

from pageturn.apps.cli.journals import plain
from pageturn.apps.cli.pages import whole_handle
from pageturn.apps.cli.terminal import inert
from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.journal.state import SessionState
from pageturn.policies import Paged, restored
from pageturn.session import Parts, Session
from pageturn.tokens.counters import counter_for
from pageturn.tokens.windows import DEFAULT_MODEL, window_of
from pageturn.values.context import Context, Explanation, NoteOutcome
from pageturn.values.entries import Shown, TurnTaken
from pageturn.values.errors import BudgetTooSmall, InvalidInput, PageturnError
from pageturn.values.layout import IndexLine, Placement, Why
from pageturn.values.messages import Visibility
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.recall_tool import RecallTool
from pageturn.values.search_text import search_text
from pageturn.values.units import Unit, units_of

T = TypeVar("T")

_BAR_WIDTH = 10
_COLOURS = {
    ResidencyLevel.FULL: "green",
    ResidencyLevel.COMPRESSED: "cyan",
    ResidencyLevel.STRUCTURED: "yellow",
    ResidencyLevel.POINTER: "magenta",
}


_MOST_NAMED = 20  # turns in one message


# -- the next context


class Look(NamedTuple):
    """The context of the next turn, derived without writing anything to the store."""

    journal: Journal
    context: Context
    asides: tuple[str, ...]  # how it differs from the next turn's real context

    @property
    def state(self) -> SessionState:
        return self.journal.state


def look_at(journal: Journal, budget_tokens: int | None, model: str | None) -> Look:
    """Derive the next context. A policy that looks ahead is replaced by paged, within the same limit."""
    state = journal.state
    last = state.shown
    model = model or state.model or (last.model if last is not None else DEFAULT_MODEL)
    asides = []
    instead = None
    policy = restored(state.policy)
    if policy.looks_ahead:
        instead = Paged(budget_tokens=policy.limit_tokens(window_of(model)))
        asides.append(
            f"the session's policy, {policy.kind}, needs to know the next turns: this is what paged would show"
        )
    recall = RecallTool() if journal.state.has_handles else None  # as the session was shown last
    # Never closed: closing writes an entry.
    session = Session(journal, Parts(recall=recall), policy=instead, model=model)
    try:
        context = session.derive(budget_tokens=budget_tokens)
    except BudgetTooSmall as error:
        if budget_tokens is None or error.budget_tokens >= budget_tokens:
            raise
        left = f"The policy, the model and the reported usage leave {error.budget_tokens:,} of {budget_tokens:,} tokens"
        raise PageturnError(f"{error}. {left}") from None
    if budget_tokens is None and last is not None and last.budget_tokens < context.budget_tokens:
        asides.append(
            f"the last turn had a budget of only {last.budget_tokens:,} tokens: use --budget {last.budget_tokens} for the same"
        )
    return Look(journal, context, tuple(asides))


def show_context(console: Console, look: Look, rows: int) -> None:
    """Print a row for each part of the context, and a line with the totals."""
    placements = look.context.layout.placements
    largest = max((placement.tokens for placement in placements), default=0)
    table = Table(box=None, pad_edge=False)
    table.add_column("pages", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("", max_width=_BAR_WIDTH)  # on a narrow terminal the bar shrinks first
    table.add_column("why", no_wrap=True)
    head, middle, tail = _shortened(placements, rows)
    for placement in head:
        table.add_row(*_cells(look, placement, largest))
    if middle:
        tokens = sum(placement.tokens for placement in middle)
        table.add_row(f"[dim]... {len(middle):,} more rows[/]", "", "", "", f"[dim]{tokens:,}[/]", "", "")
    for placement in tail:
        table.add_row(*_cells(look, placement, largest))
    console.print(table)
    _show_notes(console, look, rows)
    console.print(_totals(look), highlight=False, soft_wrap=True)
    for fault in look.context.faults:
        console.print(f"[red]fault: {plain(str(fault))}[/]", highlight=False, soft_wrap=True)
    for remark in (*look.context.notices, *look.asides):
        console.print(f"[yellow]{plain(remark)}[/]", highlight=False, soft_wrap=True)


def _show_notes(console: Console, look: Look, rows: int) -> None:
    """Print a row for every note: where it is shown, or why it is not."""
    if not look.context.notes:
        return
    table = Table(box=None, pad_edge=False)
    for name in ("note", "band"):
        table.add_column(name, no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("why", no_wrap=True)
    head, middle, tail = _shortened(look.context.notes, rows)
    for outcome in head:
        table.add_row(*_note_cells(outcome))
    if middle:
        tokens = sum(outcome.tokens for outcome in middle)
        table.add_row(f"[dim]... {len(middle):,} more rows[/]", "", f"[dim]{tokens:,}[/]", "")
    for outcome in tail:
        table.add_row(*_note_cells(outcome))
    console.print(table)


def _note_cells(outcome: NoteOutcome) -> tuple[str, ...]:
    band = str(outcome.band) if outcome.band is not None else "[dim]none[/]"
    return (plain(outcome.key), band, f"{outcome.tokens:,}", outcome.decision.because)


def show_text(console: Console, look: Look, *, internal: bool) -> None:
    """Print the messages as the model would read them."""
    upto = look.context.upto
    hidden = sum(1 for page in look.state.live_pages() if page.seq <= upto and page.visibility is Visibility.INTERNAL)
    notes = sum(1 for outcome in look.context.notes if outcome.band is not None)
    if (hidden or notes) and not internal:
        got = [_many(count, what) for count, what in ((hidden, "internal page"), (notes, "note")) if count]
        raise InvalidInput("text", expected="a context without internal content, or --internal", got=" and ".join(got))
    for message in look.context.messages:
        console.print(f"[bold]{message.role}[/]")
        console.print(inert(search_text(message)), markup=False, highlight=False, soft_wrap=True)
        console.print()


def _cells(look: Look, placement: Placement, largest: int) -> Iterator[RenderableType]:
    state = look.state
    colour = _COLOURS[placement.level]
    if placement.line is not None:
        pages = _covered(state, placement.line)
        kind = "summary" if placement.line.summary is not None else "index line"
        yield from (_named(pages), kind, _many(len(pages), "page"))
    else:
        first = state.page(placement.first)
        assert first is not None, f"{placement.handles} are pages of the session"
        more = len(placement.handles) - 1
        kind = str(PageKind.EVIDENCE if more else state.kind(first))
        yield from (first.handle + (f" +{more}" if more else ""), kind, str(first.role))
    yield from (f"[{colour}]{placement.level}[/]", f"{placement.tokens:,}")
    yield Bar(max(largest, 1), 0, placement.tokens, color=colour)
    yield str(placement.why)


def _totals(look: Look) -> str:
    context = look.context
    tools = [tool.definition if isinstance(tool, RecallTool) else tool for tool in context.tools]
    lines = [placement.line for placement in context.layout.placements if placement.line is not None]
    pages = sum(len(_covered(look.state, line)) for line in lines)
    fixed = counter_for(context.model).tools(tools)
    notes = sum(outcome.tokens for outcome in context.notes)
    between = context.tokens - fixed - notes - sum(placement.tokens for placement in context.layout.placements)
    since = look.state.folds[-1] if look.state.folds else None
    if context.fold is not None:
        fold = f"folded because {context.fold.reason.because}"
    else:
        fold = f"last fold in turn {since}" if since is not None else "no fold so far"
    return "; ".join(
        [
            f"[bold]{context.tokens:,} of {context.budget_tokens:,} tokens[/] for {plain(context.model)}",
            f"recall tool {fixed:,}"
            + (f", notes {notes:,}" if notes else "")
            + (f", pending and late results {between:,}" if between else ""),
            f"{_many(pages, 'page')} in {_many(len(lines), 'index line')}",
            _many(len(context.notices), "notice"),
            fold,
        ]
    )


# -- one page


def show_reasons(console: Console, look: Look, handles: Sequence[str], store: str) -> None:
    """Print why each page has its level, and how to raise it or read it."""
    explained = [look.context.explain(whole_handle(look.state, handle)) for handle in handles]
    for remark in look.asides:
        console.print(f"[yellow]{plain(remark)}[/]", highlight=False, soft_wrap=True)
    for explanation in explained:
        console.print(plain(str(explanation)), highlight=False, soft_wrap=True)
        for hint in _hints(look, explanation, store):
            console.print(f"  [dim]{plain(hint)}[/]", highlight=False, soft_wrap=True)


def _hints(look: Look, explanation: Explanation, store: str) -> Iterator[str]:
    state, handle = look.state, explanation.handle
    page = page_of(state, handle)
    assert page is not None, f"{handle} was explained"
    placement = look.context.placement(handle)
    if placement.is_run and placement.line is None:
        yield f"it is replaced by a summary: {placement.handles[0]}"
    if explanation.line is not None:
        unit = next(unit for unit in units_of(state.live_pages(), state.turns) if page in unit)
        yield f"in full it takes {sum(each.tokens for each in unit):,} tokens"
    if explanation.why is not Why.RULE:
        verb = "keep" if explanation.level is ResidencyLevel.FULL else "raise"
        yield f'to {verb} it in full: session.pin("{handle}")'
    internal = " --internal" if page.visibility is Visibility.INTERNAL else ""
    row = look.journal.row
    scope = f" --scope {quote(row.scope)}" if row.scope is not None else ""
    yield f"to read it: pageturn page show {quote(store)} {handle} -s {quote(row.id)}{scope} --level full{internal}"


# -- what a turn changed


class Turn(NamedTuple):
    """A turn of the session, numbered with undone turns included, and what was shown in it."""

    number: int
    seq: int
    shown: Shown | None


class Position(NamedTuple):
    """Where a unit was in a context."""

    unit: Unit
    where: str
    why: Why


def show_changes(console: Console, journal: Journal, number: int | None, rows: int) -> None:
    """Print how a turn's context differs from the previous one."""
    turns = _turns(journal)
    turn, shown = _wanted(turns, journal.state, number)
    earlier = next((each for each in reversed(turns[: turn.number - 1]) if each.shown is not None), None)
    before = journal.past(earlier.seq) if earlier is not None else None
    after = journal.past(turn.seq)
    grown = f"{shown.tokens:,} of {shown.budget_tokens:,} tokens"
    if earlier is not None and earlier.shown is not None:
        grown += f", {earlier.shown.tokens:,} in turn {earlier.number}"
    if shown.fold is None:
        console.print(f"turn {turn.number}: {grown}", highlight=False, soft_wrap=True)
        seen = before.shown.upto if before is not None and before.shown is not None else 0
        new = [page for page in after.live_pages() if seen < page.seq <= shown.upto]
        named = ", ".join(f"{page.handle} {page.role}" for page in new[:rows])
        more = f" and {len(new) - rows:,} more" if len(new) > rows else ""
        console.print(f"only appended: {named or 'nothing'}{more}", highlight=False, soft_wrap=True)
        return
    console.print(
        f"turn {turn.number} folded because {shown.fold.reason.because}: {grown}", highlight=False, soft_wrap=True
    )
    _show_moves(console, _positions(before), _positions(after), rows)
    lines = ", ".join(_named(_covered(after, line)) for line in shown.fold.lines)
    counts = f"index lines: {len(before.lines) if before is not None else 0} before, {len(shown.fold.lines)} now"
    console.print(counts + (f": {lines}" if lines else ""), highlight=False, soft_wrap=True)


def _show_moves(console: Console, before: dict[int, Position], after: dict[int, Position], rows: int) -> None:
    """Print a row for each run of units with the same change."""
    moves = [(before.get(first), after.get(first)) for first in sorted(before.keys() | after.keys())]
    runs = [(move, [*those]) for move, those in groupby(moves, _move) if move[0] != move[1]]
    stayed = sum(1 for was, now in moves if was is not None and now is not None and was.where == now.where)
    table = Table(box=None, pad_edge=False)
    table.add_column("pages", no_wrap=True)
    table.add_column("units", justify="right")
    for name in ("before", "after", "why"):
        table.add_column(name)
    head, middle, tail = _shortened(runs, rows)
    for move, those in head:
        table.add_row(*_move_cells(move, those))
    if middle:
        table.add_row(f"[dim]... {len(middle):,} more rows[/]", f"[dim]{sum(len(those) for _, those in middle):,}[/]")
    for move, those in tail:
        table.add_row(*_move_cells(move, those))
    console.print(table)
    console.print(f"{_many(stayed, 'unit')} unchanged", highlight=False)


Move = tuple[str, str, str]


def _move(positions: tuple[Position | None, Position | None]) -> Move:
    was, now = positions
    return (
        was.where if was else "absent",
        now.where if now else "removed",
        str(now.why) if now else "undone or erased",
    )


def _move_cells(move: Move, those: Sequence[tuple[Position | None, Position | None]]) -> tuple[str, ...]:
    pages = [page for was, now in those for position in (now or was,) if position is not None for page in position.unit]
    return (_named(sorted(pages, key=lambda page: page.seq)), f"{len(those):,}", *move)


def _turns(journal: Journal) -> list[Turn]:
    taken = ((record.seq, entry) for record, entry in journal.entries() if isinstance(entry, TurnTaken))
    return [Turn(number, seq, entry.shown) for number, (seq, entry) in enumerate(taken, start=1)]


def _wanted(turns: Sequence[Turn], state: SessionState, number: int | None) -> tuple[Turn, Shown]:
    """The requested turn, and what was shown in it."""
    known = [turn.number for turn in turns if turn.shown is not None]
    if number is None:
        number = state.folds[-1] if state.folds else known[-1] if known else 0
    turn = turns[number - 1] if 0 < number <= len(turns) else None
    if turn is None or turn.shown is None:
        last = ", ".join(map(str, known[-_MOST_NAMED:]))
        expected = "a turn whose context was derived"
        got = f"a session of {_many(len(turns), 'turn')} without a derived context" if not known else str(number)
        raise InvalidInput("turn", expected=f"{expected} ({last})" if known else expected, got=got)
    return turn, turn.shown


def _positions(state: SessionState | None) -> dict[int, Position]:
    """Where each unit was in the last context, by the sequence number of its first page."""
    if state is None or state.shown is None:
        return {}
    upto = state.shown.upto
    units = units_of((page for page in state.live_pages() if page.seq <= upto), state.turns)
    return {unit[0].seq: _position(state, unit) for unit in units}


def _position(state: SessionState, unit: Unit) -> Position:
    first = unit[0].seq
    if any(line.first <= first <= line.last for line in state.lines):
        return Position(unit, "index line", Why.ROOM)
    if first > state.folded:
        return Position(unit, str(ResidencyLevel.FULL), Why.NEW)
    placed = state.placed.get(first)  # else, without pointers, only the summary of a reset replaces it
    return (
        Position(unit, str(placed.level), placed.why) if placed is not None else Position(unit, "summary", Why.COVERED)
    )


# -- formatting


def _covered(state: SessionState, line: IndexLine) -> list[Page]:
    pages = state.pages[state.after(line.first - 1) : state.after(line.last)]
    return [page for page in pages if page.counts]


def _named(pages: Sequence[Page]) -> str:
    """The handle of a page, or the range of several."""
    if not pages:
        return "none"
    return pages[0].handle if len(pages) == 1 else f"{pages[0].handle}..{pages[-1].handle}"


def _shortened(rows: Sequence[T], most: int) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
    """The first rows, the rows to be summed up in one, and the last rows: at most `most` lines."""
    if len(rows) <= most:
        return rows, (), ()
    head = (most - 1) // 2
    tail = len(rows) - (most - 1 - head)
    return rows[:head], rows[head:tail], rows[tail:]


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
