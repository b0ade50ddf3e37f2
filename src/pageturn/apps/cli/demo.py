"""Shows a session in one screen and a half: each turn, what happened, what it cost in five ways, a picture, and where to look closer."""

import sys
from collections.abc import Iterable
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.imports import claude_code_folder, codex_folder
from pageturn.apps.cli.journals import Wanted, journal_of
from pageturn.apps.cli.terminal import terminal
from pageturn.apps.demo.agent import SESSION
from pageturn.apps.demo.gateway import ROOM
from pageturn.apps.demo.kept import for_a_shell, fresh_store
from pageturn.apps.demo.own_session import OwnSession, newest
from pageturn.apps.demo.picture import NAMES, Picture, picture
from pageturn.apps.demo.play import Play
from pageturn.apps.demo.table import OURS, Played, rows
from pageturn.apps.demo.turns import Event, Turn
from pageturn.apps.inspector.history import History
from pageturn.lab.columns import COVERAGE, PRICED_BILL, VERBATIM
from pageturn.stores import open_store
from pageturn.values.model_prices import money

_LINES = 24  # of turns
_SENT, _SAVED, _FOLD = "█", "░", "▲"
_LEVELS = " ░▒▓█"  # by the numbers of `NAMES`
_COLOURS = ("", "grey50", "blue", "cyan", "bright_cyan")
_PLAIN = dict(zip("█▓▒░▲", "#+=.^", strict=True))  # for a terminal that lacks these characters
_MEGABYTE = 1_000_000


@click.command(cls=Documented, example="demo --your-own", fails="something did not go as promised")
@click.option("--your-own", is_flag=True, help="The newest session of Claude Code or Codex found here; asks first.")
@click.option("--yes", is_flag=True, help="With --your-own: do not ask.")
def demo(*, your_own: bool, yes: bool) -> None:
    """Play a session of 120 turns through the gateway: what was sent, a crash, a recall, and what it costs in five ways.

    Nothing leaves this machine. With --your-own it replays the newest session that Claude Code or Codex recorded here.
    """
    if not your_own:
        imported("gateway.server", "the demo", extra="gateway")
        sys.exit(0 if show_demo(terminal()) else 1)
    console = terminal()
    folders = [claude_code_folder(), codex_folder()]
    file = newest(folders)
    if file is None:
        raise click.ClickException(f"no session of Claude Code or Codex found in {folders[0]} or {folders[1]}")
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC).astimezone()
    console.print(
        f"The newest session found here: {file} ({file.stat().st_size / _MEGABYTE:,.1f} MB, {written:%Y-%m-%d %H:%M}).",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if not yes:
        click.confirm("Read and replay it? Nothing leaves this machine.", abort=True)
    show_own(console, file)


def show_demo(console: Console) -> bool:
    """Play the generated session and show it; returns whether all of it went as promised."""
    store = fresh_store("demo")
    play = Play(store)
    trace = play.story.trace
    _say(
        console,
        f"[bold]A coding agent at work[/]: {len(trace.turns)} turns through `pageturn serve --mode recall --room {ROOM}`, a scripted model behind it.",
    )
    is_kept = _show_turns(console, play.turns(), len(trace.turns), max(trace.tokens, ROOM))
    _show_result(console, play.played, store, SESSION)
    return is_kept


def show_own(console: Console, file: Path) -> None:
    """Replay a recorded session and show it."""
    store = fresh_store("your-own")
    own = OwnSession(file, store)
    turns = len(own.trace.turns)
    part = "" if turns == own.recorded_turns else f" (the first of {own.recorded_turns:,})"
    _say(
        console,
        f"[bold]Your session[/]: {turns:,} turns{part}, {own.trace.tokens:,} tokens; Paged has a budget of {own.budget_tokens:,}.",
    )
    _show_turns(console, own.turns(), turns, max(own.trace.tokens, own.budget_tokens))
    _show_result(console, own.played, store, own.session)


# -- turn by turn


def _show_turns(console: Console, happened: Iterable[Turn | Event], turns: int, scale: int) -> bool:
    """A line for every few turns and for each event; on a terminal the present turn moves below them. Whether all went as promised."""
    is_kept = True
    every = max(1, -(-turns // _LINES))
    _say(
        console,
        f"turn  [green]{_letter(console, _SENT)}[/] tokens sent  {_letter(console, _SAVED)} what sending everything adds",
    )
    folds: list[int] = []
    live = Live(console=console, transient=True, auto_refresh=False) if console.is_interactive else None
    with live or nullcontext():
        for each in happened:
            if isinstance(each, Event):
                is_kept = is_kept and each.is_kept
                _keep(console, live, _event(console, each))
                continue
            folds += [each.number] if each.folded else []
            line = _turn(console, each, scale, folds)
            if each.number % every == 0 or each.number == turns:
                _keep(console, live, line)
                folds.clear()
            elif live is not None:
                live.update(line, refresh=True)
    return is_kept


def _keep(console: Console, live: Live | None, line: Text) -> None:
    """Print a line above the one that moves."""
    if live is not None:
        live.update(Text())
    console.print(line)


def _turn(console: Console, turn: Turn, scale: int, folds: list[int]) -> Text:
    room = max(20, min(60, console.width - 41))
    sent = max(1, round(room * turn.sent / scale))
    rest = round(room * max(turn.everything - turn.sent, 0) / scale)
    line = Text(f"{turn.number:>4}  ", no_wrap=True, overflow="crop")
    line.append(_letter(console, _SENT) * sent, style="green")
    line.append(_letter(console, _SAVED) * rest, style="dim")
    line.append(" " * max(1, room + 1 - sent - rest))
    line.append(f"{turn.sent:>6,} of {turn.everything:>7,}")
    told = f"fold at {folds[0]}" if len(folds) == 1 else f"{len(folds)} folds"
    line.append(f"  {_letter(console, _FOLD)} {told}" if folds else "", style="yellow")
    return line


def _event(console: Console, event: Event) -> Text:
    """An event next to its turn; on a narrow terminal its lines wrap after the numbers."""
    lines = wrap(event.text, max(20, console.width - 6))
    return Text(f"{event.number:>4}  ").append("\n      ".join(lines), style="cyan")


# -- the end


def _show_result(console: Console, played: Played, store: Path, session: str) -> None:
    _say(console, "\n[bold]What it costs[/], by what is sent:")
    with console.status("comparing ...") if console.is_interactive else nullcontext():
        table = _table(played)
    console.print(table)
    price = played.price
    told = (
        f"priced bill: with a prompt cache, and re-fetching what later calls miss. dollars: that and the output, {price.model} as of {price.as_of}. "
        "coverage, verbatim: names and lines used later that were shown. rules: requests that show every rule of the user. "
        "rejected: requests that a strict provider rejects. summary reset: its summary is an extract, which costs nothing."
    )
    _say(console, "\n".join(wrap(told, console.width)), style="dim")
    with closing(open_store(str(store))) as opened:
        history = History(journal_of(opened, Wanted(session)))
        _show_picture(console, picture(history, max(20, console.width - 12)))
    command = Text(f"pageturn inspect {for_a_shell(store)}", style="bold")
    console.print(Text("\nLook at every turn of it in a browser: ").append_text(command), soft_wrap=True)


def _table(played: Played) -> Table:
    shown = Table(box=None, pad_edge=False)
    figures = (PRICED_BILL, COVERAGE, VERBATIM)
    heads = (PRICED_BILL.head, "dollars", COVERAGE.head, VERBATIM.head, "rules", "rejected")
    for head in ("", *heads):
        shown.add_column(head, justify="right" if head else "left", no_wrap=True)
    for row in rows(played):
        bill, *others = (column.cell(row.score) for column in figures)
        kept = "-" if row.rules_kept is None else f"{row.rules_kept:.0%}"
        cells = (bill, money(row.dollars), *others, kept, f"{row.rejected:,}")
        shown.add_row(row.name, *cells, style="bold" if row.name == OURS else "")
    return shown


def _show_picture(console: Console, drawn: Picture) -> None:
    legend = Text("\n").append("Pages over turns", style="bold").append(": ")
    for number in range(len(NAMES) - 1, 0, -1):
        legend.append(_letter(console, _LEVELS[number]), style=_COLOURS[number]).append(f" {NAMES[number]}  ")
    console.print(legend.append(_letter(console, _FOLD), style="yellow").append(" fold"))
    for line in drawn.lines:
        console.print(
            Text(f"{line.label:>9}  ", no_wrap=True, overflow="crop").append_text(_cells(console, line.cells))
        )
    columns = range(len(drawn.lines[0].cells) if drawn.lines else 0)
    marks = "".join(_letter(console, _FOLD) if column in drawn.folds else " " for column in columns)
    if marks.strip():
        console.print(Text(f"{'':>11}{marks.rstrip()}", style="yellow", no_wrap=True, overflow="crop"))


def _cells(console: Console, cells: Iterable[int]) -> Text:
    drawn = Text()
    for cell in cells:
        drawn.append(_letter(console, _LEVELS[max(cell, 0)]), style=_COLOURS[max(cell, 0)])
    return drawn


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(text, highlight=False, style=style)


def _letter(console: Console, letter: str) -> str:
    try:
        letter.encode(console.encoding)
    except (UnicodeError, LookupError):
        return _PLAIN.get(letter, letter)
    return letter
