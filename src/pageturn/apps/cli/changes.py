"""Shows how a turn's context differs from the one before. Nothing is written."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.answers import AppendedPage, Moved, TurnChanges
from pageturn.apps.cli.contexts import covered, named_pages, shortened_rows
from pageturn.apps.cli.tables import many
from pageturn.apps.cli.terminal import answered
from pageturn.journal.journal import Journal
from pageturn.journal.state import SessionState
from pageturn.values.entries import Shown, TurnTaken
from pageturn.values.errors import InvalidInput
from pageturn.values.layout import Why
from pageturn.values.pages import ResidencyLevel
from pageturn.values.units import Unit, units_of

_MOST_NAMED = 20  # turns in one message

Move = tuple[str, str, str]  # where a unit was, where it is now, and why


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
    changes = changes_of(journal, number)
    if answered(changes):
        return
    grown = f"{changes.tokens:,} of {changes.budget_tokens:,} tokens"
    if changes.tokens_before is not None:
        grown += f", {changes.tokens_before:,} in turn {changes.turn_before}"
    if changes.fold is None:
        console.print(f"turn {changes.turn}: {grown}", highlight=False, soft_wrap=True)
        named = ", ".join(f"{page.handle} {page.role}" for page in changes.appended[:rows])
        more = f" and {len(changes.appended) - rows:,} more" if len(changes.appended) > rows else ""
        console.print(f"only appended: {named or 'nothing'}{more}", highlight=False, soft_wrap=True)
        return
    console.print(f"turn {changes.turn} folded because {changes.fold}: {grown}", highlight=False, soft_wrap=True)
    _show_moves(console, changes, rows)
    lines = f"index lines: {changes.lines_before} before, {len(changes.lines)} now"
    named = f": {', '.join(changes.lines)}" if changes.lines else ""
    console.print(f"{lines}{named}", highlight=False, soft_wrap=True)


def changes_of(journal: Journal, number: int | None) -> TurnChanges:
    """How a turn's context differs from the previous one."""
    turns = _turns(journal)
    turn, shown = _wanted(turns, journal.state, number)
    earlier = next((each for each in reversed(turns[: turn.number - 1]) if each.shown is not None), None)
    before = journal.past(earlier.seq) if earlier is not None else None
    after = journal.past(turn.seq)
    changes = TurnChanges(
        turn=turn.number,
        tokens=shown.tokens,
        budget_tokens=shown.budget_tokens,
        turn_before=earlier.number if earlier is not None else None,
        tokens_before=earlier.shown.tokens if earlier is not None and earlier.shown is not None else None,
    )
    if shown.fold is None:
        seen = before.shown.upto if before is not None and before.shown is not None else 0
        new = (page for page in after.live_pages() if seen < page.seq <= shown.upto)
        return replace(changes, appended=tuple(AppendedPage(page.handle, page.role) for page in new))
    return replace(
        changes,
        fold=str(shown.fold.reason.because),
        lines_before=len(before.lines) if before is not None else 0,
        lines=tuple(named_pages(covered(after, line)) for line in shown.fold.lines),
        **_moves(_positions(before), _positions(after)),
    )


def _moves(before: dict[int, Position], after: dict[int, Position]) -> dict[str, Any]:
    """The runs of units with the same change, and how many units did not change."""
    moves = [(before.get(first), after.get(first)) for first in sorted(before.keys() | after.keys())]
    runs = [(move, [*those]) for move, those in groupby(moves, _move) if move[0] != move[1]]
    stayed = sum(1 for was, now in moves if was is not None and now is not None and was.where == now.where)
    return {"moves": tuple(_moved(move, those) for move, those in runs), "unchanged": stayed}


def _moved(move: Move, those: Sequence[tuple[Position | None, Position | None]]) -> Moved:
    pages = [page for was, now in those for position in (now or was,) if position is not None for page in position.unit]
    return Moved(named_pages(sorted(pages, key=lambda page: page.seq)), len(those), *move)


def _show_moves(console: Console, changes: TurnChanges, rows: int) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("pages", no_wrap=True)
    table.add_column("units", justify="right")
    for name in ("before", "after", "why"):
        table.add_column(name)
    head, middle, tail = shortened_rows(changes.moves, rows)
    for each in head:
        table.add_row(*_cells(each))
    if middle:
        table.add_row(f"[dim]... {len(middle):,} more rows[/]", f"[dim]{sum(each.units for each in middle):,}[/]")
    for each in tail:
        table.add_row(*_cells(each))
    console.print(table)
    console.print(f"{many(changes.unchanged, 'unit')} unchanged", highlight=False)


def _cells(moved: Moved) -> tuple[str, ...]:
    return moved.pages, f"{moved.units:,}", moved.before, moved.after, moved.why


def _move(positions: tuple[Position | None, Position | None]) -> Move:
    was, now = positions
    return (
        was.where if was else "absent",
        now.where if now else "removed",
        str(now.why) if now else "undone or erased",
    )


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
        got = f"a session of {many(len(turns), 'turn')} without a derived context" if not known else str(number)
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
