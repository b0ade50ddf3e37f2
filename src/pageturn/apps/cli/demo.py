"""Prints a short sample session unit by unit, with its tokens at every level."""

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from pageturn.apps.cli.terminal import terminal
from pageturn.context.forms import offers
from pageturn.journal.journal import Journal
from pageturn.session import Session
from pageturn.stores import MemoryStore
from pageturn.tokens.counters import counter_for
from pageturn.values.messages import Message, ToolCall, assistant, system, tool_result, user
from pageturn.values.pages import PageKind, ResidencyLevel
from pageturn.values.relevance import bucket_for_messages
from pageturn.values.search_text import search_text
from pageturn.values.units import units_of

MODEL = "gpt-5"


def show_demo() -> None:
    """Print the sample session as a table."""
    messages = sample_session()
    journal = _journal_of(messages)
    counter = counter_for(MODEL)
    table = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False, title="A session as pages", title_justify="left")
    table.add_column("page", justify="right", min_width=4)
    table.add_column("kind", min_width=12)
    table.add_column("begins", no_wrap=True, overflow="ellipsis", ratio=1)
    for level in ResidencyLevel:
        table.add_column(str(level), justify="right", min_width=len(str(level)))
    totals = dict.fromkeys(ResidencyLevel, 0)
    number = 1
    for unit in units_of(journal.state.live_pages(), journal.state.turns):
        sizes = {level: form.tokens for level, form in offers(journal, unit, counter).items()}
        for level in ResidencyLevel:
            totals[level] += min(size for other, size in sizes.items() if other >= level)
        pages = f"{number}" if len(unit) == 1 else f"{number}-{number + len(unit) - 1}"
        kind = unit[-1].kind
        begins = " ".join(search_text(messages[number - 1]).split())
        cells = (f"{sizes[level]:,}" if level in sizes else "[dim]·[/]" for level in ResidencyLevel)
        table.add_row(pages, f"[{_COLOURS[kind]}]{kind}[/]", escape(begins), *cells)
        number += len(unit)
    table.add_section()
    table.add_row("", "total", "", *(f"{total:,}" for total in totals.values()), style="bold")
    console = terminal()
    console.print(table)
    console.print(
        f"Tokens as {MODEL} counts them. A dot: this level is not offered, because it is forbidden or saves too little."
    )
    bucket = bucket_for_messages(messages)
    console.print(f"The last messages are {bucket.difficulty}, {bucket.dependency}, tool use: {bucket.tool_use}.")


def _journal_of(messages: Iterable[Message]) -> Journal:
    """The journal of a session with these messages; the same on every run."""
    store = MemoryStore()
    session = Session.open(store, entropy=bytes, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for message in messages:
        session.append(message)
    return Journal(store, store.sessions()[0])


_COLOURS = {
    PageKind.BOOTSTRAP: "magenta",
    PageKind.CONSTRAINT: "red",
    PageKind.PLAN: "yellow",
    PageKind.PREFERENCE: "yellow",
    PageKind.EVIDENCE: "cyan",
    PageKind.CONVERSATION: "green",
}


def sample_session() -> tuple[Message, ...]:
    """A login bug: rules, a task, a test run that fails, a file, an edit, and a run that passes."""
    run = ToolCall(id="call_1", name="bash", arguments='{"command":"pytest tests/test_login.py -q"}')
    read = ToolCall(id="call_2", name="read_file", arguments='{"path":"src/auth/login.py"}')
    edit = ToolCall(
        id="call_3",
        name="edit_file",
        arguments='{"path":"src/auth/login.py","old":"token[\\"exp\\"]","new":"token.get(\\"exp\\", 0)"}',
    )
    again = ToolCall(id="call_4", name="bash", arguments=run.arguments)
    return (
        system("You are a coding agent. Work in small steps and run the tests after every edit.\nNever push to main."),
        user("Login returns 500 since yesterday. Find out why and mend it."),
        assistant("I will run the login tests first.", run),
        tool_result(run, _FAILING_RUN, is_error=True),
        assistant("The token has no expiry. Let me read the code.", read),
        tool_result(read, _SOURCE),
        assistant(edit),
        tool_result(edit, "edited src/auth/login.py"),
        assistant("And the tests again.", again),
        tool_result(again, _PASSING_RUN),
        assistant("Tokens issued before 3.2 have no `exp`. src/auth/login.py now treats them as expired."),
    )


_FAILING_RUN = "\n".join(
    [
        *(f"tests/test_login.py::test_session_{number:02} PASSED [{number * 3:3}%]" for number in range(1, 31)),
        "tests/test_login.py::test_old_token FAILED [100%]",
        "E   KeyError: 'exp'",
        "src/auth/login.py:31: KeyError",
        "Traceback (most recent call last):",
        '  File "src/auth/login.py", line 31, in is_expired',
        "1 failed, 30 passed in 2.41s",
    ]
)

_PASSING_RUN = "\n".join(
    [
        *(f"tests/test_login.py::test_session_{number:02} PASSED [{number * 3:3}%]" for number in range(1, 31)),
        "tests/test_login.py::test_old_token PASSED [100%]",
        "31 passed in 2.38s",
    ]
)

_SOURCE = '''"""Login: tokens, sessions and their expiry."""

import time

from auth.store import SessionStore
from auth.tokens import decode_token


class LoginService:
    """Issues sessions for tokens that are still valid."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store

    def login(self, raw_token: str) -> str:
        token = decode_token(raw_token)
        if is_expired(token):
            raise PermissionError("token expired")
        return self.store.open_session(token["sub"])

    def logout(self, session_id: str) -> None:
        self.store.close_session(session_id)


def is_expired(token: dict[str, int]) -> bool:
    """Whether the token's time is over."""
    return token["exp"] < time.time()
'''
