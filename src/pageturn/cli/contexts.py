"""What a model is shown of a session, why each page stands as it does, and what a fold changed. Nothing is written."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from shlex import quote
from typing import NamedTuple, TypeVar

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.table import Table

from pageturn.bodies import search_text
from pageturn.cli.journals import plain
from pageturn.cli.terminal import inert
from pageturn.derivation.context import Context, Explanation, unit_of
from pageturn.derivation.weaving import NoteOutcome
from pageturn.entries import FoldReason, Shown, TurnTaken
from pageturn.errors import BudgetTooSmall, InvalidInput
from pageturn.journal import Journal
from pageturn.layout import IndexLine, Placement, Why
from pageturn.messages import Visibility
from pageturn.pages import Page, PageKind, ResidencyLevel
from pageturn.policies import Paged, restored
from pageturn.recall import page_of
from pageturn.recall_tool import RecallTool
from pageturn.session import DEFAULT_MODEL, Session
from pageturn.state import SessionState
from pageturn.tokens import counter_for
from pageturn.units import Unit, units_of
from pageturn.windows import window_of

T = TypeVar("T")

_BAR_WIDTH = 10
_COLOURS = {
    ResidencyLevel.FULL: "green",
    ResidencyLevel.COMPRESSED: "cyan",
    ResidencyLevel.STRUCTURED: "yellow",
    ResidencyLevel.POINTER: "magenta",
}
_BECAUSE = {
    FoldReason.FULL: "the context had grown too large",
    FoldReason.PAYS: "writing it anew costs less than reading on",
    FoldReason.COLD: "the cache was gone anyway",
    FoldReason.CHANGED: "something that was shown no longer holds",
}
_MOST_NAMED = 20  # pages in one message


# -- the next context


class Look(NamedTuple):
    """The context of the next turn, as somebody sees it who only looks."""

    journal: Journal
    context: Context
    asides: tuple[str, ...]  # what is not as the next turn would have it

    @property
    def state(self) -> SessionState:
        return self.journal.state


def look_at(journal: Journal, budget_tokens: int | None, model: str | None) -> Look:
    """Derive the next context. A session whose policy looks ahead is derived as if it were paged, within the same limit."""
    state = journal.state
    last = state.shown
    model = model or state.model or (last.model if last is not None else DEFAULT_MODEL)
    asides = []
    instead = None
    policy = restored(state.policy)
    if policy.looks_ahead:
        instead = Paged(budget_tokens=policy.limit_tokens(window_of(model)))
        asides.append(f"the policy of the session, {policy.kind}, looks ahead: this is what paged would show")
    recall = RecallTool() if journal.state.has_handles else None  # as the session was last shown
    session = Session(
        journal, policy=instead, model=model, recall=recall
    )  # it is never closed, since closing would be written down
    try:
        context = session.derive(budget_tokens=budget_tokens)
    except BudgetTooSmall as error:
        named = ", ".join(error.handles[:_MOST_NAMED]) + (" and others" if len(error.handles) > _MOST_NAMED else "")
        expected = f"at least {error.needed_tokens:,} tokens, needed by {named}"
        got = f"{error.budget_tokens:,}"
        if budget_tokens is not None and error.budget_tokens < budget_tokens:
            got += f", which the policy, the model and the usage that was reported leave of {budget_tokens:,}"
        raise InvalidInput("budget", expected=expected, got=got) from None
    if budget_tokens is None and last is not None and last.budget_tokens < context.budget_tokens:
        asides.append(f"the last turn had only {last.budget_tokens:,} tokens: --budget {last.budget_tokens}")
    return Look(journal, context, tuple(asides))


def show_context(console: Console, look: Look, rows: int) -> None:
    """A row for everything that stands, and a line with what it comes to."""
    placements = look.context.layout.placements
    largest = max((placement.tokens for placement in placements), default=0)
    table = Table(box=None, pad_edge=False)
    table.add_column("pages", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("", max_width=_BAR_WIDTH)  # what a narrow terminal has no room for is taken from the bar
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
    for told in (*look.context.notices, *look.asides):
        console.print(f"[yellow]{plain(told)}[/]", highlight=False, soft_wrap=True)


def _show_notes(console: Console, look: Look, rows: int) -> None:
    """A row for every note: where it stands, or why it does not."""
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
    return (plain(outcome.key), band, f"{outcome.tokens:,}", str(outcome.decision))


def show_text(console: Console, look: Look, *, internal: bool) -> None:
    """The messages as the model would read them."""
    upto = look.context.view.upto
    hidden = sum(1 for page in look.state.live_pages() if page.seq <= upto and page.visibility is Visibility.INTERNAL)
    notes = sum(1 for outcome in look.context.notes if outcome.band is not None)
    if (hidden or notes) and not internal:
        got = [_many(count, what) for count, what in ((hidden, "internal page"), (notes, "note")) if count]
        raise InvalidInput("text", expected="a context for everybody, or --internal", got=" and ".join(got))
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
        unit = unit_of(state, placement)
        kind = str(PageKind.EVIDENCE if len(unit) > 1 else state.kind(unit[0]))
        yield from (unit[0].handle + (f" +{len(unit) - 1}" if len(unit) > 1 else ""), kind, str(unit[0].role))
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
        fold = f"a fold, because {_BECAUSE[context.fold.reason]}"
    else:
        fold = f"no fold since that of turn {since}" if since is not None else "no fold so far"
    return "; ".join(
        [
            f"[bold]{context.tokens:,} of {context.budget_tokens:,} tokens[/] for {plain(context.model)}",
            f"the recall tool takes {fixed:,}"
            + (f", notes {notes:,}" if notes else "")
            + (f", pending and late results {between:,}" if between else ""),
            f"{_many(pages, 'page')} in {_many(len(lines), 'index line')}",
            _many(len(context.notices), "notice"),
            fold,
        ]
    )


# -- one page


def show_reasons(console: Console, look: Look, handles: Sequence[str], store: str) -> None:
    """Why each page stands as it does, and how to raise it or read it."""
    explained = [look.context.explain(handle) for handle in handles]
    for told in look.asides:
        console.print(f"[yellow]{plain(told)}[/]", highlight=False, soft_wrap=True)
    for explanation in explained:
        console.print(plain(str(explanation)), highlight=False, soft_wrap=True)
        for hint in _hints(look, explanation, store):
            console.print(f"  [dim]{plain(hint)}[/]", highlight=False, soft_wrap=True)


def _hints(look: Look, explanation: Explanation, store: str) -> Iterator[str]:
    state, handle = look.state, explanation.handle
    page = page_of(state, handle)
    assert page is not None, f"{handle} was explained"
    placement = look.context.view.placement(page)
    if placement.first > page.seq:
        yield f"only a summary stands for it: {unit_of(state, placement)[0].handle}"
    if explanation.line is not None:
        unit = next(unit for unit in units_of(state.live_pages(), state.turns) if page in unit)
        yield f"whole, it takes {sum(each.tokens for each in unit):,} tokens"
    if explanation.why is not Why.RULE:
        verb = "keep" if explanation.level is ResidencyLevel.FULL else "raise"
        yield f'to {verb} it whole: session.pin("{handle}")'
    internal = " --internal" if page.visibility is Visibility.INTERNAL else ""
    row = look.journal.row
    scope = f" --scope {quote(row.scope)}" if row.scope is not None else ""
    yield f"to read it: pageturn page show {quote(store)} {handle} -s {quote(row.id)}{scope} --level full{internal}"


# -- what a turn changed


class Turn(NamedTuple):
    """A turn that was taken, the undone ones counted too, and what was shown in it."""

    number: int
    seq: int
    shown: Shown | None


class Stood(NamedTuple):
    """Where a unit stood in a context."""

    unit: Unit
    where: str
    why: Why


def show_changes(console: Console, journal: Journal, number: int | None, rows: int) -> None:
    """What a turn's context changed of the one before."""
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
        f"turn {turn.number} folded, because {_BECAUSE[shown.fold.reason]}: {grown}", highlight=False, soft_wrap=True
    )
    _show_moves(console, _standing(before), _standing(after), rows)
    lines = ", ".join(_named(_covered(after, line)) for line in shown.fold.lines)
    told = f"index lines: {len(before.lines) if before is not None else 0} before, {len(shown.fold.lines)} now"
    console.print(told + (f": {lines}" if lines else ""), highlight=False, soft_wrap=True)


def _show_moves(console: Console, before: dict[int, Stood], after: dict[int, Stood], rows: int) -> None:
    """A row for every run of units that moved alike."""
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
    console.print(f"{_many(stayed, 'unit')} did not move", highlight=False)


Move = tuple[str, str, str]


def _move(stood: tuple[Stood | None, Stood | None]) -> Move:
    was, now = stood
    return (
        was.where if was else "not there",
        now.where if now else "gone",
        str(now.why) if now else "undone or erased",
    )


def _move_cells(move: Move, those: Sequence[tuple[Stood | None, Stood | None]]) -> tuple[str, ...]:
    pages = [page for was, now in those for stood in (now or was,) if stood is not None for page in stood.unit]
    return (_named(sorted(pages, key=lambda page: page.seq)), f"{len(those):,}", *move)


def _turns(journal: Journal) -> list[Turn]:
    taken = ((record.seq, entry) for record, entry in journal.entries() if isinstance(entry, TurnTaken))
    return [Turn(number, seq, entry.shown) for number, (seq, entry) in enumerate(taken, start=1)]


def _wanted(turns: Sequence[Turn], state: SessionState, number: int | None) -> tuple[Turn, Shown]:
    """The turn that is meant, and what was shown in it."""
    known = [turn.number for turn in turns if turn.shown is not None]
    if number is None:
        number = state.folds[-1] if state.folds else known[-1] if known else 0
    turn = turns[number - 1] if 0 < number <= len(turns) else None
    if turn is None or turn.shown is None:
        last = ", ".join(map(str, known[-_MOST_NAMED:]))
        expected = "a turn whose context was derived"
        got = f"a session of {_many(len(turns), 'turn')} without one" if not known else str(number)
        raise InvalidInput("turn", expected=f"{expected} ({last})" if known else expected, got=got)
    return turn, turn.shown


def _standing(state: SessionState | None) -> dict[int, Stood]:
    """Where each unit stood in the last context, by its first page."""
    if state is None or state.shown is None:
        return {}
    upto = state.shown.upto
    units = units_of((page for page in state.live_pages() if page.seq <= upto), state.turns)
    return {unit[0].seq: _stood(state, unit) for unit in units}


def _stood(state: SessionState, unit: Unit) -> Stood:
    first = unit[0].seq
    if any(line.first <= first <= line.last for line in state.lines):
        return Stood(unit, "index line", Why.ROOM)
    if first > state.folded:
        return Stood(unit, str(ResidencyLevel.FULL), Why.NEW)
    placed = state.placed.get(first)  # without one, and without pointers, only the summary of a reset stands for it
    return Stood(unit, str(placed.level), placed.why) if placed is not None else Stood(unit, "summary", Why.COVERED)


# -- words


def _covered(state: SessionState, line: IndexLine) -> list[Page]:
    pages = state.pages[state.after(line.first - 1) : state.after(line.last)]
    return [page for page in pages if page.counts]


def _named(pages: Sequence[Page]) -> str:
    """The handle of a page, or the range of several."""
    if not pages:
        return "none"
    return pages[0].handle if len(pages) == 1 else f"{pages[0].handle}..{pages[-1].handle}"


def _shortened(rows: Sequence[T], most: int) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
    """The first rows, those to be summed up in one, and the last rows: at most so many."""
    if len(rows) <= most:
        return rows, (), ()
    head = (most - 1) // 2
    tail = len(rows) - (most - 1 - head)
    return rows[:head], rows[head:tail], rows[tail:]


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
