"""Shows the next context of a session, and why each page has its level. Nothing is written."""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import NamedTuple, TypeVar

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.table import Table

from pageturn.apps.cli.answers import ContextPart, NextContext, NoteLine, PageReason, PageReasons, SaidText
from pageturn.apps.cli.pages import whole_handle
from pageturn.apps.cli.tables import many, one_line, plain
from pageturn.apps.cli.terminal import answered, hint, inert
from pageturn.journal.journal import Journal
from pageturn.journal.lookup import page_of
from pageturn.journal.state import SessionState
from pageturn.policies import Paged, restored
from pageturn.session import Parts, Session
from pageturn.tokens.counters import counter_for
from pageturn.tokens.windows import DEFAULT_MODEL, window_of
from pageturn.values.context import Context, Explanation, NoteOutcome
from pageturn.values.errors import BudgetTooSmall, InvalidInput, PageturnError
from pageturn.values.layout import IndexLine, Placement, Why
from pageturn.values.messages import Visibility
from pageturn.values.pages import Page, PageKind, ResidencyLevel
from pageturn.values.recall_tool import RecallTool
from pageturn.values.search_text import search_text
from pageturn.values.units import units_of

T = TypeVar("T")

_BAR_WIDTH = 10
_COLOURS = {
    ResidencyLevel.FULL: "green",
    ResidencyLevel.COMPRESSED: "cyan",
    ResidencyLevel.STRUCTURED: "yellow",
    ResidencyLevel.POINTER: "magenta",
}


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


def next_context(look: Look, *, internal: bool, with_text: bool) -> NextContext:
    """The context as --json prints it."""
    context = look.context
    return NextContext(
        session=look.journal.row.id,
        model=context.model,
        tokens=context.tokens,
        budget_tokens=context.budget_tokens,
        fold=str(context.fold.reason.because) if context.fold is not None else None,
        parts=tuple(_part(look, placement) for placement in context.layout.placements),
        notes=tuple(
            NoteLine(each.key, str(each.band) if each.band is not None else None, each.tokens, each.decision.because)
            for each in context.notes
        ),
        faults=tuple(map(str, context.faults)),
        notices=(*context.notices, *look.asides),
        messages=tuple(_texts(look, internal=internal)) if with_text else None,
    )


def _part(look: Look, placement: Placement) -> ContextPart:
    if placement.line is not None:
        pages = covered(look.state, placement.line)
        handles = tuple(dict.fromkeys(page.handle for page in (*pages[:1], *pages[-1:])))
        kind, role = ("summary" if placement.line.summary is not None else "index line"), None
    else:
        first = _first_page(look, placement)
        handles, role = tuple(placement.handles), str(first.role)
        kind = str(PageKind.EVIDENCE if len(handles) > 1 else look.state.kind(first))
    return ContextPart(handles, kind, role, placement.level.value, placement.tokens, str(placement.why))


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
    head, middle, tail = shortened_rows(placements, rows)
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
    head, middle, tail = shortened_rows(look.context.notes, rows)
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
    for message in _texts(look, internal=internal):
        console.print(f"[bold]{message.role}[/]")
        console.print(inert(message.text), markup=False, highlight=False, soft_wrap=True)
        console.print()


def _texts(look: Look, *, internal: bool) -> list[SaidText]:
    """The messages; raises if some are internal, and nobody asked for those."""
    upto = look.context.upto
    hidden = sum(1 for page in look.state.live_pages() if page.seq <= upto and page.visibility is Visibility.INTERNAL)
    notes = sum(1 for outcome in look.context.notes if outcome.band is not None)
    if (hidden or notes) and not internal:
        got = [many(count, what) for count, what in ((hidden, "internal page"), (notes, "note")) if count]
        raise InvalidInput("text", expected="a context without internal content, or --internal", got=" and ".join(got))
    return [SaidText(message.role, search_text(message)) for message in look.context.messages]


def _cells(look: Look, placement: Placement, largest: int) -> Iterator[RenderableType]:
    state = look.state
    colour = _COLOURS[placement.level]
    if placement.line is not None:
        pages = covered(state, placement.line)
        kind = "summary" if placement.line.summary is not None else "index line"
        yield from (named_pages(pages), kind, many(len(pages), "page"))
    else:
        first = _first_page(look, placement)
        more = len(placement.handles) - 1
        kind = str(PageKind.EVIDENCE if more else state.kind(first))
        yield from (first.handle + (f" +{more}" if more else ""), kind, str(first.role))
    yield from (f"[{colour}]{placement.level}[/]", f"{placement.tokens:,}")
    yield Bar(max(largest, 1), 0, placement.tokens, color=colour)
    yield str(placement.why)


def _first_page(look: Look, placement: Placement) -> Page:
    first = look.state.page(placement.first)
    assert first is not None, f"{placement.handles} are pages of the session"
    return first


def _totals(look: Look) -> str:
    context = look.context
    tools = [tool.definition if isinstance(tool, RecallTool) else tool for tool in context.tools]
    lines = [placement.line for placement in context.layout.placements if placement.line is not None]
    pages = sum(len(covered(look.state, line)) for line in lines)
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
            f"{many(pages, 'page')} in {many(len(lines), 'index line')}",
            many(len(context.notices), "notice"),
            fold,
        ]
    )


# -- one page


def show_reasons(console: Console, look: Look, handles: Sequence[str], store: str) -> None:
    """Print why each page has its level, and how to raise it or read it."""
    explained = [look.context.explain(whole_handle(look.state, handle)) for handle in handles]
    reasons = tuple(PageReason(each.handle, str(each), tuple(_hints(look, each, store))) for each in explained)
    if answered(PageReasons(reasons, look.asides)):
        return
    for remark in look.asides:
        console.print(f"[yellow]{plain(remark)}[/]", highlight=False, soft_wrap=True)
    for reason in reasons:
        console.print(plain(reason.why), highlight=False, soft_wrap=True)
        for what in reason.hints:
            hint(console, f"  {one_line(what)}")


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


def covered(state: SessionState, line: IndexLine) -> list[Page]:
    """The pages of an index line."""
    pages = state.pages[state.after(line.first - 1) : state.after(line.last)]
    return [page for page in pages if page.counts]


def named_pages(pages: Sequence[Page]) -> str:
    """The handle of a page, or the range of several."""
    if not pages:
        return "none"
    return pages[0].handle if len(pages) == 1 else f"{pages[0].handle}..{pages[-1].handle}"


def shortened_rows(rows: Sequence[T], most: int) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
    """The first rows, the rows to be summed up in one, and the last rows: at most `most` lines."""
    if len(rows) <= most:
        return rows, (), ()
    head = (most - 1) // 2
    tail = len(rows) - (most - 1 - head)
    return rows[:head], rows[head:tail], rows[tail:]
