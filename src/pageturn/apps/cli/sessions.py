"""Prints the sessions of a store: what each is about, who ran it, when, and how long it is."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from pageturn.apps.cli.answers import SessionLine, SessionsFound
from pageturn.apps.cli.tables import plain, show_whole, width_of
from pageturn.apps.cli.terminal import answered, complain
from pageturn.apps.overview.sessions import inside_of
from pageturn.journal.journal import Journal
from pageturn.stores import SessionRow, Store
from pageturn.values.errors import StoreError

_SHORTEST = 8  # characters of a shortened id
_TITLE = 60  # characters of a title where no width limits it
_FEWEST = 12  # and where it is too narrow for more
_NAME = 14  # characters of a client or model on a narrow terminal
_COUNTS = ("turns", "tokens", "faults")
_TIME = "%Y-%m-%d %H:%M"
_SAME = ("title", "client", "model", "turns", "pages", "folds", "faults", "input_tokens", "output_tokens", "dollars")


def show_sessions(console: Console, store: Store) -> None:
    """Print a table of the sessions, newest first; one that cannot be read is a line on the error stream."""
    lines = tuple(_line(store, row) for row in store.sessions())
    if answered(SessionsFound(lines)):
        return
    for line in lines:
        if line.flaw:
            complain(f"pageturn: {line.flaw}; run `pageturn doctor` for details")
    whole = [line for line in lines if not line.flaw]
    table = _table(whole, [line.id for line in whole], _TITLE)
    if console.is_terminal and width_of(console, table) > console.width:
        narrow = _table(whole, shortened([line.id for line in whole]), _FEWEST, is_narrow=True)
        room = console.width - width_of(console, narrow)
        table = _table(whole, shortened([line.id for line in whole]), _FEWEST + max(room, 0), is_narrow=True)
    show_whole(console, table)


def shortened(ids: Sequence[str]) -> list[str]:
    """Ids cut to beginnings that name one of them each; one that is the beginning of another stays whole."""
    ordered = sorted(ids)
    shared = [0, *map(_shared, ordered, ordered[1:]), 0]  # characters, with the id before and with the one after
    cut = {each: each[: max(_SHORTEST, shared[at] + 1, shared[at + 1] + 1)] for at, each in enumerate(ordered)}
    return [cut[each] for each in ids]


def _shared(one: str, other: str) -> int:
    """The number of characters with which both begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _line(store: Store, row: SessionRow) -> SessionLine:
    began = datetime.fromtimestamp(row.created_at / 1_000_000, UTC)
    line = SessionLine(row.id, row.scope, row.parent, "", "", "", 0, 0, 0, 0, 0, 0, None, began, began)
    try:
        inside = inside_of(Journal(store, row), internal=False)
    except StoreError as error:
        return replace(line, flaw=str(error))
    return replace(
        line,
        first=datetime.fromtimestamp(inside.first / 1_000, UTC),
        last=datetime.fromtimestamp(inside.last / 1_000, UTC),
        **{name: getattr(inside, name) for name in _SAME},
    )


def _table(lines: Sequence[SessionLine], ids: Sequence[str], title: int, *, is_narrow: bool = False) -> Table:
    """The table with titles of so many characters; a narrow one has dates without times, and cuts names of clients and models."""
    name = _NAME if is_narrow else title
    heads = ["session", "title", "client", "model", "turns", "tokens", *(["date"] if is_narrow else ["began", "ended"])]
    others = [name for name in ("scope", "parent") if any(getattr(line, name) for line in lines)]
    table = Table(box=None, pad_edge=False)
    for head in (*heads, *others, "faults"):
        table.add_column(head, justify="right" if head in _COUNTS else "left", no_wrap=True)
    for line, id_ in zip(lines, ids, strict=True):
        times = [f"{line.last:%Y-%m-%d}"] if is_narrow else [f"{line.first:{_TIME}}", f"{line.last:{_TIME}}"]
        table.add_row(
            id_,
            _cut(line.title, title),
            _cut(line.client, name),
            _cut(line.model, name),
            f"{line.turns:,}",
            f"{line.input_tokens + line.output_tokens:,}",
            *times,
            *(plain(getattr(line, each) or "") for each in others),
            f"{line.faults:,}",
        )
    return table


def _cut(text: str, most: int) -> str:
    return plain(text if len(text) <= most else f"{text[: most - 1]}…")
