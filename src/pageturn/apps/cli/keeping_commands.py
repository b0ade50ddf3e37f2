"""Defines `pageturn retain`, `backup` and `restore`: how long a store keeps what it has, and where copies of it are."""

import re
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from pageturn.apps.cli import journals
from pageturn.apps.cli.answers import FileWritten, SessionsErased, StoreRestored
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.options import STORE
from pageturn.apps.cli.terminal import answered, complain, inert, terminal
from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.journal.retention import Expired, expire, old_sessions
from pageturn.stores import Sidecars, open_store
from pageturn.stores.copies import back_up
from pageturn.stores.copies import restore as put_back
from pageturn.values.errors import InvalidInput

_AGE = re.compile(r"(\d{1,5})\s*([dhw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_FILE = click.argument("file", type=click.Path(path_type=Path))


def _age(context: click.Context, parameter: click.Parameter, value: str) -> timedelta:
    found = _AGE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"expected an age as 90d, 12w or 36h, got {value!r}", context, parameter)
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


@click.command(
    cls=Documented,
    example="retain agent.db --older-than 90d --yes",
    prints=SessionsErased,
    acts=True,
    fails="a session could not be read",
)
@STORE
@click.option(
    "--older-than", "age", required=True, callback=_age, help="How long a session was not used, as 90d, 12w or 36h."
)
@click.option("--yes", is_flag=True, help="Erase them; by default only list them.")
def retain(store: str, age: timedelta, *, yes: bool) -> None:
    """Erase the sessions that nobody used for that long, and check that their bytes have left the file.

    A session and its forks are erased together, once all of them are old enough. `--retention-days` of a gateway key applies to its
    scope.
    """
    console, now = terminal(), datetime.now(UTC)
    with journals.opened(store) as opened:
        rows = old_sessions(opened, now - age, _limits(opened, now))
        if not yes or not rows:
            if answered(SessionsErased(tuple(row.id for row in rows), is_done=False)):
                return
            for row in rows:
                console.print(f"would erase {row.id}", markup=False, highlight=False)
            console.print(f"{len(rows)} sessions are old enough" + ("; --yes erases them" if rows else ""))
            return
        done = expire(opened, rows, Path(opened.path), at=int(now.timestamp() * 1e6))
    answered(_erased(done))
    console.print(
        f"erased {len(done.sessions)} sessions of {done.pages:,} pages; the file is {done.bytes:,} bytes smaller"
    )
    console.print(
        f"looked for {done.looked_for:,} of the erased texts in the file: {done.still_there:,} are still there"
        + (", because remaining sessions have them too" if done.still_there else "")
    )
    for name in done.unread:
        complain(f"pageturn: {name} cannot be read and was not erased; see pageturn doctor")
    sys.exit(1 if done.unread else 0)


@click.command(cls=Documented, example="backup agent.db agent-copy.db", prints=FileWritten, acts=True)
@click.argument("store", type=click.Path(path_type=Path))
@_FILE
def backup(store: Path, file: Path) -> None:
    """Copy a store to a new FILE, also while it is in use. The copy is a store as it was at one moment."""
    _require_file(store)
    size = back_up(store, file)
    if not answered(FileWritten(str(file), size)):
        terminal().print(inert(f"{file}: {size:,} bytes"), markup=False, highlight=False)


@click.command(cls=Documented, example="restore agent-copy.db agent.db --yes", prints=StoreRestored, acts=True)
@_FILE
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Replace an existing store; the old file is kept under another name.")
def restore(file: Path, store: Path, *, yes: bool) -> None:
    """Replace a store by a backup. No program may have the store open: stop the gateway first."""
    _require_file(store)
    if store.exists() and not yes:
        raise InvalidInput("store", expected="a path where nothing is, or --yes", got=str(store))
    kept = put_back(file, store)
    with closing(open_store(str(store))) as opened:
        count = len(opened.sessions())
    if answered(StoreRestored(str(store), count, str(kept) if kept is not None else None)):
        return
    told = f"; the old file is now {kept}" if kept is not None else ""
    terminal().print(inert(f"{store} has {count} sessions{told}"), markup=False, highlight=False)


def _erased(done: Expired) -> SessionsErased:
    return SessionsErased(
        done.sessions,
        is_done=True,
        pages=done.pages,
        bytes=done.bytes,
        looked_for=done.looked_for,
        still_there=done.still_there,
        unreadable=done.unread,
    )


def _require_file(store: Path) -> None:
    if store.parts[:1] in (("postgresql:",), ("postgres:",)):
        raise InvalidInput("store", expected="a SQLite file; a PostgreSQL database is copied by pg_dump", got="a URL")


def _limits(store: Sidecars, now: datetime) -> dict[str, datetime]:
    """The times of scopes whose keys name one; the longest, where several do."""
    limits: dict[str, datetime] = {}
    for key in Keys(store).all():
        if key.retention_days is not None:
            since = now - timedelta(days=key.retention_days)
            limits[key.scope] = min(limits.get(key.scope, since), since)
    return limits
