"""Defines `pageturn pack` and `unpack`: a session as one file."""

from contextlib import closing
from pathlib import Path

import click

from pageturn.apps.cli import journals
from pageturn.apps.cli.journals import Wanted
from pageturn.apps.cli.terminal import inert, terminal
from pageturn.journal.archive import pack as packed
from pageturn.journal.archive import unpack as unpacked
from pageturn.stores import open_store, shown
from pageturn.stores.files import make_private
from pageturn.values.errors import InvalidInput

_FILE = click.argument("file", type=click.Path(path_type=Path))


@click.command()
@click.argument("store")
@_FILE
@click.option("--session", "-s", help="The session; by default the newest one.")
@click.option("--scope", help="The scope of the session, if it has one.")
def pack(store: str, file: Path, session: str | None, scope: str | None) -> None:
    """Write a session, with what it was forked from and the key of its handles, to a new FILE. `unpack` reads it."""
    if file.exists():
        raise InvalidInput("FILE", expected="a file that does not exist yet", got=str(file))
    half = Path(f"{file}.part")
    with journals.opened(store) as opened:
        row = journals.journal_of(opened, Wanted(session, scope)).row
        half.unlink(missing_ok=True)
        make_private(str(half))
        try:
            with half.open("wb") as out:
                out.writelines(packed(opened, row.id))
            half.replace(file)
        finally:
            half.unlink(missing_ok=True)
    terminal().print(inert(f"{file}: session {row.id}, {file.stat().st_size:,} bytes"), markup=False, highlight=False)


@click.command()
@_FILE
@click.argument("store")
@click.option("--scope", help="The scope of the session in this store; by default none.")
def unpack(file: Path, store: str, scope: str | None) -> None:
    """Read a session from a FILE into a store, which is created if it does not exist."""
    if not file.is_file():
        raise InvalidInput("FILE", expected="a packed session", got=str(file))
    with closing(open_store(store)) as opened, file.open("rb") as lines:
        name = unpacked(opened, lines, scope)
    terminal().print(inert(f"session {name} is in {shown(store)}"), markup=False, highlight=False)
