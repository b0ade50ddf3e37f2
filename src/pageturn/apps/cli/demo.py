"""Plays a session of 120 turns through the library: what each request sends, what a recall returns, and what it all costs."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

import pageturn as pt
from pageturn.apps.cli.terminal import terminal
from pageturn.lab.baselines import everything, keep_last, masking
from pageturn.lab.columns import leading_cells, leading_heads, reference_dollars
from pageturn.lab.demo_session import FACT, PREFERENCE, QUESTION, RULE, Story, demo_session
from pageturn.lab.our_policies import CharacterCounter, Deriving, first_lines
from pageturn.lab.replay import Recording, Shows
from pageturn.lab.traces import estimated_tokens
from pageturn.values.json import to_json
from pageturn.values.messages import Role
from pageturn.values.model_prices import REFERENCE

BUDGET = 16_000
_EVERY = 8  # turns per line
_RECALL_AT = 108  # turns
_SENT, _SAVED = "█", "░"
_PLAIN = {_SENT: "#", _SAVED: "."}  # if the terminal lacks these characters
_COLUMNS = ("priced bill", "dollars", "bill", "coverage", "turns that miss")


class Turn(NamedTuple):
    """One request: its number, its tokens, those of sending everything, and whether it folded."""

    number: int
    sent: int
    everything: int
    folded: bool


class Event(NamedTuple):
    """Something that happened after a turn, described."""

    number: int
    text: str


def show_demo(console: Console | None = None) -> None:
    """Print the session, line by line, and the table."""
    console = console or terminal()
    story = demo_session()
    scale = sum(map(estimated_tokens, story.trace.messages))
    console.print(
        f"[bold]A coding agent at work[/]: 120 turns, {scale:,} tokens in all.\n"
        f"Pageturn keeps each request within {BUDGET:,} tokens.\n\n"
        f"turn  [green]{_letter(console, _SENT)}[/] tokens sent  {_letter(console, _SAVED)} what sending everything adds to them\n",
        highlight=False,
    )
    with TemporaryDirectory(prefix="pageturn-demo-", ignore_cleanup_errors=True) as folder:
        folds = 0
        for happened in play(story, str(Path(folder, "demo.db"))):
            if isinstance(happened, Event):
                console.print(_told(console, happened))
                continue
            folds += happened.folded
            if happened.number % _EVERY == 0:
                console.print(_line(console, happened, scale, folds))
                folds = 0
    console.print("\n[bold]What the 120 turns cost[/], by how the context is managed:\n", highlight=False)
    console.print(table(story))
    console.print(
        "\npriced bill: all requests with a prompt cache, plus re-fetching what a later\n"
        "call needed and did not see; sending everything is 1. dollars: that and the\n"
        f"output, at {REFERENCE.model}'s list prices of {REFERENCE.as_of}. A table of your own\n"
        "sessions: pageturn replay ~/.claude/projects",
        highlight=False,
        style="dim",
    )


def play(story: Story, path: str) -> Iterator[Turn | Event]:
    """The session through the library, as an agent's loop would run it, with a crash and a recall."""
    messages = story.trace.messages
    session = _opened(path)
    session.pin(RULE)
    yield Event(0, f'a rule is pinned: "{RULE}"')
    number = whole = 0
    context: pt.Context | None = None
    for place, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            number += 1
            if number == _RECALL_AT:
                yield from _recalled(session, number, _turn_of(story, story.page))
            context = session.derive()
            yield Turn(number, context.tokens, whole, context.fold is not None)
        session.append(message)
        whole += estimated_tokens(message)
        if place == story.page:
            yield Event(number, f'a web page is read; in it: "{FACT}"')
        if place == story.preference:
            session.prefer(PREFERENCE)
            yield Event(number, f'the user prefers: "{PREFERENCE}"')
        if place == story.crash:
            del session  # nothing is closed: what was acknowledged is on disk
            session = _opened(path)
            calls = ", ".join(call.name for call in session.pending())
            yield Event(number, f"a crash; opened again, the session knows which call to rerun: {calls}")
    assert context is not None
    shown = "\n".join(said.text for said in context.messages)
    kept = "word for word" if RULE in shown and PREFERENCE in shown else "NOT"
    yield Event(number, f"the rule and the preference are {kept} in the last request")
    session.close()


def _opened(path: str) -> pt.Session:
    return pt.Session.open(
        path,
        id="demo",
        policy=pt.Paged(budget_tokens=BUDGET),
        counter=CharacterCounter(),
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        entropy=bytes,
    )


def _recalled(session: pt.Session, number: int, read_at: int) -> Iterator[Event]:
    """The model asks for something that its context only points to, and the session answers."""
    context = session.derive()
    stands = any(FACT in message.text or FACT in _results(message) for message in context.messages)
    call = pt.ToolCall(id="call_recall", name="recall", arguments=to_json({"query": QUESTION}).decode())
    session.append(pt.assistant(call))
    session.answer()
    answer = session.derive().messages[-1]
    found = "the line" if FACT in _results(answer) else "NOTHING"
    where = "still in its request" if stands else "no longer in its request"
    yield Event(number, f'the model asks to recall: "{QUESTION}"')
    yield Event(number, f"{found} of turn {read_at} comes back, {number - read_at} turns later ({where})")


def _results(message: pt.Message) -> str:
    return "\n".join(str(part.content) for part in message.tool_results)


def _turn_of(story: Story, place: int) -> int:
    return sum(message.role is Role.ASSISTANT for message in story.trace.messages[:place])


def _told(console: Console, event: Event) -> Text:
    """An event next to its turn; on a narrow terminal its lines wrap after the numbers."""
    lines = wrap(event.text, max(20, console.width - 6))
    return Text(f"{event.number:>4}  ").append("\n      ".join(lines), style="cyan")


def _line(console: Console, turn: Turn, scale: int, folds: int) -> Text:
    room = max(20, min(60, console.width - 40))
    sent, rest = (round(room * tokens / scale) for tokens in (turn.sent, max(turn.everything - turn.sent, 0)))
    line = Text(f"{turn.number:>4}  ", no_wrap=True, overflow="crop")
    line.append(_letter(console, _SENT) * max(sent, 1), style="green")
    line.append(_letter(console, _SAVED) * rest, style="dim")
    line.append(" " * max(1, room + 1 - max(sent, 1) - rest))
    line.append(f"{turn.sent:>6,} of {turn.everything:>6,}")
    line.append(f"  {'fold' if folds == 1 else f'{folds} folds'}" if folds else "", style="yellow")
    return line


def _letter(console: Console, letter: str) -> str:
    try:
        letter.encode(console.encoding)
    except (UnicodeError, LookupError):
        return _PLAIN[letter]
    return letter


def table(story: Story) -> Table:
    """What the session costs under each method."""
    methods: Mapping[str, Callable[[], Shows]] = {
        "send everything": lambda: everything,
        "rolling trim": lambda: keep_last(BUDGET),
        "observation masking": masking,
        "summary reset": lambda: Deriving(pt.Reset(threshold_tokens=BUDGET), summarise=first_lines),
        "Pageturn": lambda: Deriving(pt.Paged(budget_tokens=BUDGET)),
    }
    shown = Table(box=None, pad_edge=False)
    heads = leading_heads()
    for head in ("", *_COLUMNS):
        shown.add_column(head, justify="right" if head else "left", no_wrap=True)
    recording = Recording(story.trace)
    for name, shows in methods.items():
        score = recording.score(shows())
        cells = dict(zip(heads, leading_cells(score, reference_dollars(score)), strict=True))
        shown.add_row(name, *(cells[head] for head in _COLUMNS), style="bold" if name == "Pageturn" else "")
    return shown
