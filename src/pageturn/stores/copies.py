"""Copies a store while others use it, and puts a copy back."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from pageturn.stores.files import make_private
from pageturn.stores.sqlite import SqliteStore
from pageturn.values.errors import InvalidInput, StoreError

_PAGES = 256  # that are copied before others may write again


def back_up(source: Path, target: Path) -> int:
    """Copy a store that may be in use to a new file, as it is at one moment; its bytes. Half a copy is never left behind."""
    if target.exists():
        raise InvalidInput("FILE", expected="a file that does not exist yet", got=str(target))
    if not source.is_file():
        raise InvalidInput("store", expected="the path of an existing store", got=str(source))
    half = Path(f"{target}.part")
    half.unlink(missing_ok=True)
    make_private(str(half))
    try:
        with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(half)) as copy:
            live.backup(copy, pages=_PAGES)
        with closing(SqliteStore(half)) as store:
            if problems := store.check():
                raise StoreError(f"{target}: the copy is not sound: {problems[0]}")
        half.replace(target)
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be copied: {error}") from error
    finally:
        for left in (half, Path(f"{half}-wal"), Path(f"{half}-shm")):
            with suppress(OSError):
                left.unlink(missing_ok=True)
    return target.stat().st_size


def restore(copy: Path, target: Path) -> Path | None:
    """Replace a store, which must not be open, by a copy; returns where the old file is kept now."""
    if not copy.is_file():
        raise InvalidInput("FILE", expected="a copy of a store", got=str(copy))
    fresh = Path(f"{target}.restored")
    fresh.unlink(missing_ok=True)
    back_up(copy, fresh)  # which also looks whether it is sound
    kept: Path | None = None
    if target.exists():
        kept = _free(target)
        with closing(sqlite3.connect(target)) as old:
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # so that nothing of it waits in a log
        target.replace(kept)
    for left in (Path(f"{target}-wal"), Path(f"{target}-shm")):
        left.unlink(missing_ok=True)
    fresh.replace(target)
    return kept


def _free(target: Path) -> Path:
    number = 1
    while (path := Path(f"{target}.before-restore-{number}")).exists():
        number += 1
    return path
