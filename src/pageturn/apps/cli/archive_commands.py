"""Defines `pageturn pack` and `unpack`: a session as one file."""

from contextlib import closing
from pathlib import Path

import click

from pageturn.apps.cli import journals
from pageturn.apps.cli.answers import FileWritten, SessionUnpacked
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.journals import Wanted
from pageturn.apps.cli.options import SCOPE, SESSION, STORE
from pageturn.apps.cli.terminal import answered, inert, terminal
from pageturn.journal import archive, packed_file
from pageturn.stores import open_store, shown
from pageturn.stores.files import make_private
from pageturn.values.errors import InvalidInput

_FILE = click.argument("file", type=click.Path(path_type=Path))


@click.command(cls=Documented, example="pack agent.db login-bug.pageturn -s login-bug", prints=FileWritten, acts=True)
@STORE
@_FILE
@SESSION
@SCOPE
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
                out.writelines(archive.pack(opened, row.id))
            half.replace(file)
        finally:
            half.unlink(missing_ok=True)
    size = file.stat().st_size
    if not answered(FileWritten(str(file), size, row.id)):
        terminal().print(inert(f"{file}: session {row.id}, {size:,} bytes"), markup=False, highlight=False)


@click.command(cls=Documented, example="unpack login-bug.pageturn other.db", prints=SessionUnpacked, acts=True)
@_FILE
@STORE
@click.option("--scope", help="The scope of the session in this store; by default none.")
def unpack(file: Path, store: str, scope: str | None) -> None:
    """Read a session from a FILE into a store, which is created if it does not exist."""
    if not file.is_file():
        raise InvalidInput("FILE", expected="a packed session", got=str(file))
    with file.open("rb") as lines:
        packed = packed_file.read(lines)  # before the store, so that a file that is refused creates none
    with closing(open_store(store)) as opened:
        name = archive.write(opened, packed, scope)
    if answered(SessionUnpacked(store, name, packed.unchecked)):
        return
    said = [f"session {name} is in {shown(store)}", *filter(None, [packed.unchecked])]
    terminal().print(inert("\n".join(said)), markup=False, highlight=False)
